"""What Cloudflare's refusals mean: one table from status, code and message to an error of ours. Pure.

Statuses, codes and messages of Browser Rendering: https://developers.cloudflare.com/browser-rendering/reference/errors/
and https://developers.cloudflare.com/browser-rendering/limits/; of Workers AI:
https://developers.cloudflare.com/workers-ai/platform/errors/
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from kb_pipeline.errors import (
    BodyTooLarge,
    ConnectionBroken,
    FetchError,
    LimitReached,
    TierUnavailable,
    TimedOut,
)

REJECTED_SECONDS: Final = 600.0
"""An account that is rejected is not asked again for so long."""
UNTIL_TOMORROW: Final = -1.0
_LONGEST_MESSAGE: Final = 200

_FOR_TODAY: Final = re.compile(r"for today|daily", re.IGNORECASE)
_TIMEOUT: Final = re.compile(r"timed?[\s_-]?out|ms exceeded", re.IGNORECASE)
_PAGE_CODES: Final = frozenset({*range(5000, 5012), *range(6000, 6004)})
"""Browser Rendering: Chrome could not load the page, or could not work on it."""
_TIMEOUT_CODES: Final = frozenset({6002})
_NEURONS_USED_UP: Final = 3036
_NOT_AGREED: Final = 5016
_PICTURE_NOT_TAKEN: Final = frozenset({5004, 5006})
"""Workers AI: the input does not fit the model's schema."""
_NO_SUCH_ACCOUNT: Final = frozenset({7000, 7003})
_AUTHENTICATION: Final = frozenset({1000, 6111, 9106, 9107, 9109, 10000, 10001})
_BAD_HEADERS: Final = "invalid request headers"
"""How a token of the wrong form is told, with 400 and the code 6003 (which Browser Rendering has another use for)."""


class WrongInput(TierUnavailable):
    """Workers AI does not take the picture in this form."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no result."""

    error: FetchError
    silence: float = 0.0
    """Seconds in which no request would fare better; UNTIL_TOMORROW: until the next day (UTC) begins."""
    try_again: bool = False
    """Too many requests at once: the same request may be made again when Retry-After has passed."""
    is_fault: bool = False
    """The service failed of its own accord."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """The first of the envelope's errors: `{"success": false, "errors": [{"code": 10000, "message": "…"}]}`."""

    code: int = 0
    message: str = ""


def complaint_in(body: bytes) -> Complaint:
    """What an answer that is no success says; no words when it is not of the documented form."""
    try:
        errors = json.loads(body)["errors"]
        first = errors[0]
        code, message = first.get("code"), first.get("message")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Complaint(message=_one_line(body[:_LONGEST_MESSAGE].decode("utf-8", "replace")))
    return Complaint(code if isinstance(code, int) else 0, _one_line(str(message or "")))


def browser_refusal(status: int, complaint: Complaint) -> Refusal:
    """Why Browser Rendering gave no page."""
    is_about_page = complaint.code in _PAGE_CODES or status == 422  # noqa: PLR2004
    if is_about_page and not _is_rejection(status, complaint):
        return _about_the_page(complaint)
    if status == 408:  # noqa: PLR2004
        return Refusal(TimedOut(_said("the browser at Cloudflare ran out of time", complaint)))
    return _about_the_account("Browser Rendering", status, complaint)


def vision_refusal(status: int, complaint: Complaint) -> Refusal:
    """Why Workers AI read nothing."""
    if complaint.code == _NOT_AGREED:
        message = (
            "the model's licence was not agreed to for this account: send it the prompt 'agree' once"
            " (docs/fetching.md, Reading pictures)"
        )
        return Refusal(TierUnavailable(message), REJECTED_SECONDS)
    if status == 413:  # noqa: PLR2004
        return Refusal(BodyTooLarge(_said("the picture is too large for Workers AI", complaint)))
    if status == 408:  # noqa: PLR2004
        return Refusal(TimedOut(_said("Workers AI ran out of time", complaint)), is_fault=True)
    if status == 400 and (complaint.code in _PICTURE_NOT_TAKEN or "mismatch" in complaint.message):  # noqa: PLR2004
        return Refusal(WrongInput(_said("the model does not take the picture in this form", complaint)))
    return _about_the_account("Workers AI", status, complaint)


def _about_the_page(complaint: Complaint) -> Refusal:
    if complaint.code in _TIMEOUT_CODES or _TIMEOUT.search(complaint.message):
        return Refusal(TimedOut(_said("the page did not finish in the browser at Cloudflare", complaint)))
    return Refusal(ConnectionBroken(_said("the browser at Cloudflare could not open the page", complaint)))


def _about_the_account(service: str, status: int, complaint: Complaint) -> Refusal:
    if status == 429:  # noqa: PLR2004
        return _too_many(service, complaint)
    if _is_rejection(status, complaint):
        return Refusal(
            TierUnavailable(_said(f"{service} refuses this account or its token", complaint)), REJECTED_SECONDS
        )
    if complaint.code in _NO_SUCH_ACCOUNT or status == 404:  # noqa: PLR2004
        said = _said(f"{service} knows no such account or model", complaint)
        return Refusal(TierUnavailable(said), REJECTED_SECONDS)
    said = _said(f"{service} answered with status {status}", complaint)
    return Refusal(TierUnavailable(said), is_fault=True)


def _is_rejection(status: int, complaint: Complaint) -> bool:
    by_code = complaint.code in _AUTHENTICATION or _BAD_HEADERS in complaint.message.lower()
    return status in {401, 403} or by_code


def _too_many(service: str, complaint: Complaint) -> Refusal:
    if complaint.code == _NEURONS_USED_UP or _FOR_TODAY.search(complaint.message):
        return Refusal(LimitReached(_said(f"the account's {service} of today is used up", complaint)), UNTIL_TOMORROW)
    return Refusal(TierUnavailable(_said(f"{service} asked for fewer requests", complaint)), try_again=True)


def unreadable(service: str, why: str) -> Refusal:
    """An answer with a good status that is not what is documented."""
    return Refusal(TierUnavailable(f"{service} gave an answer that cannot be read: {why}"), is_fault=True)


def _said(what: str, complaint: Complaint) -> str:
    code = f"{complaint.code}: " if complaint.code else ""
    return f"{what} ({code}{complaint.message})" if complaint.message else what


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_MESSAGE]
