"""Chromium's words for why a page did not come, as errors of this project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import (
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    GuardRefused,
    NameNotResolved,
    TierUnavailable,
    TimedOut,
    TooManyRedirects,
)

if TYPE_CHECKING:
    from kb_pipeline.errors import FetchError

_CODE: Final = re.compile(r"net::(ERR_[A-Z0-9_]+)")
_KINDS: Final[tuple[tuple[re.Pattern[str], type[FetchError], str], ...]] = (
    (re.compile("ERR_CERT_COMMON_NAME_INVALID"), CertificateInvalid, "the certificate is for another host"),
    (re.compile("ERR_(CERT|SSL|BAD_SSL|ECH)_"), CertificateInvalid, "bad certificate"),
    (re.compile("ERR_TOO_MANY_REDIRECTS"), TooManyRedirects, "the redirects run in a loop"),
    (re.compile("ERR_NAME_"), NameNotResolved, "the name has no address"),
    (re.compile("ERR_(TIMED_OUT|CONNECTION_TIMED_OUT)"), TimedOut, "no answer in time"),
    (re.compile("ERR_(TUNNEL|PROXY|CONNECTION_REFUSED|ADDRESS)_?"), ConnectFailed, "the connection was not accepted"),
    (re.compile("ERR_(UNSAFE_PORT|DISALLOWED|UNKNOWN_URL)"), GuardRefused, "the address may not be opened"),
    (re.compile("ERR_INSUFFICIENT_RESOURCES|ERR_OUT_OF_MEMORY"), TierUnavailable, "Chromium has no memory left"),
)


def net_code(error: Exception) -> str:
    """`ERR_…` in a driver's message; empty when there is none."""
    found = _CODE.search(str(error))
    return found.group(1) if found else ""


def from_net_error(error: Exception) -> FetchError:
    """What a failed navigation means."""
    code = net_code(error)
    if not code:
        return TierUnavailable(f"Chromium failed on the page ({str(error).partition(chr(10))[0][:200]})")
    for pattern, kind, words in _KINDS:
        if pattern.match(code):
            return kind(f"{words} ({code})")
    return ConnectionBroken(f"the connection broke ({code})")
