"""Cookies of one chain of redirects (RFC 6265 §5). They obey the rules of domain, path and scheme, and are bounded:
what many hops pile up would else be sent to the last of them in one header.

`http.cookiejar` is not used: it warns, with a traceback, at what a site can make up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.retry_after import http_date

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kb_pipeline.fetch.guard import Target

_MOST_CHARACTERS: Final = 4096
"""Of one cookie's name and value, as browsers have it (RFC 6265bis §5.6)."""
_MOST_OF_ALL: Final = 8192
"""Of all that are kept: servers refuse requests with longer lines."""
_MOST_OF_AN_ATTRIBUTE: Final = 1024
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECONDS: Final = re.compile(r"(-?)0*([0-9]+)")
_COUNTRY_SUFFIX: Final = re.compile(r"(?:com?|org|net|edu|gov|mil|ac|ne|or|go|gob|ltd|plc|sch|nhs)\.[a-z]{2}")
"""Second levels that many countries give names under. No list of all such: a cookie lives for one chain."""


@dataclass(frozen=True, slots=True)
class _Cookie:
    name: str
    value: str
    domain: str
    host_only: bool
    path: str
    secure: bool

    @property
    def size(self) -> int:
        return len(self.name) + len(self.value)

    def goes_to(self, target: Target) -> bool:
        if self.secure and target.scheme != "https":
            return False
        if target.host != self.domain and (self.host_only or not _is_under(target.host, self.domain)):
            return False
        path = target.path.partition("?")[0]
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")


class ChainCookies:
    """What the hops have set so far."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}

    def __len__(self) -> int:
        return len(self._cookies)

    def take(self, target: Target, lines: Iterable[str]) -> None:
        """Keep what the Set-Cookie `lines` of an answer of `target` set, as far as there is room."""
        for line in lines:
            cookie, is_over = _read(line, target)
            if cookie is None:
                continue
            key = (cookie.name, cookie.domain, cookie.path)
            before = self._cookies.pop(key, None)
            room = _MOST_OF_ALL - sum(known.size for known in self._cookies.values())
            if not is_over and cookie.size <= room:
                self._cookies[key] = cookie
            elif not is_over and before is not None:
                self._cookies[key] = before

    def header(self, target: Target, own: Collection[tuple[str, str]] = ()) -> str:
        """The Cookie header for a request: the operator's `own`, unless the site has set one of that name, and the
        chain's, those of longer paths first. Empty without any."""
        if not self._cookies and not own:
            return ""
        sent = sorted((cookie for cookie in self._cookies.values() if cookie.goes_to(target)), key=_path_length)
        names = {cookie.name for cookie in sent}
        pairs = [(name, value) for name, value in own if name not in names]
        return "; ".join(f"{name}={value}" for name, value in [*pairs, *((c.name, c.value) for c in sent)])


def _path_length(cookie: _Cookie) -> int:
    return -len(cookie.path)


def _read(line: str, target: Target) -> tuple[_Cookie | None, bool]:
    """The cookie that a Set-Cookie line sets, if it may, and whether it is over already (RFC 6265 §5.2, §5.3)."""
    pair, *rest = line.split(";")
    name, equals, value = (part.strip(" \t") for part in pair.partition("="))
    if not equals or not name or len(name) + len(value) > _MOST_CHARACTERS or _CONTROL.search(pair):
        return None, False
    attributes = _attributes(rest)
    domain = attributes.get("domain", "").removeprefix(".").lower()
    host_only = not domain or domain == target.host
    if not host_only and (not _is_under(target.host, domain) or _is_suffix(domain)):
        return None, False
    secure = "secure" in attributes
    if secure and target.scheme != "https":
        return None, False
    path = attributes.get("path", "")
    path = path if path.startswith("/") else target.path.partition("?")[0].rpartition("/")[0] or "/"
    return _Cookie(name, value, domain or target.host, host_only, path, secure), _is_over(attributes)


def _attributes(parts: Iterable[str]) -> dict[str, str]:
    """By lower-case name, the last of each; one that is longer than any that says something is left out."""
    found: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        if len(part) <= _MOST_OF_AN_ATTRIBUTE:
            found[name.strip(" \t").lower()] = value.strip(" \t")
    return found


def _is_over(attributes: dict[str, str]) -> bool:
    seconds = _SECONDS.fullmatch(attributes.get("max-age", ""))
    if seconds is not None:
        return bool(seconds[1]) or seconds[2] == "0"
    until = http_date(attributes.get("expires", ""))
    return until is not None and until <= datetime.now(UTC)


def _is_under(host: str, domain: str) -> bool:
    """Whether a host is a subdomain. An address has none."""
    if not host.endswith(f".{domain}"):
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


def _is_suffix(domain: str) -> bool:
    return "." not in domain or bool(_COUNTRY_SUFFIX.fullmatch(domain))
