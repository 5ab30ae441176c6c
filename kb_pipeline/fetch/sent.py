"""What a request says of us: the headers of every request, and those that only a page's own origin may see."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

import httpx

from kb_pipeline.core.urls import origin_of
from kb_pipeline.fetch.content_coding import ACCEPT_ENCODING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.fetch.policy import FetchPolicy

_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_LANGUAGE: Final = "en-US,en;q=0.9,*;q=0.5"
_MOST_COOKIE_CHARACTERS: Final = 4096
"""Of one cookie's name and value, as browsers have it (RFC 6265bis §5.6)."""
_MOST_COOKIES_CHARACTERS: Final = 8192
"""Of all that are kept: servers refuse requests with longer lines."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The headers of one `get`."""

    headers: Mapping[str, str]
    """On every hop."""
    own_headers: Mapping[str, str]
    """On the hops at the page's own origin, as long as the chain of redirects has not left it."""
    own_cookies: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        """Without what may be a secret."""
        return f"Sent({', '.join(self.headers)})"

    def on_hop(self, *, at_home: bool) -> dict[str, str]:
        """Headers in which no name stands twice, however it is spelled."""
        own = self.own_headers if at_home else {}
        overruled = {name.lower() for name in own}
        return {name: value for name, value in self.headers.items() if name.lower() not in overruled} | dict(own)


def what_is_sent(policy: FetchPolicy, user_agent: str, more: Mapping[str, str] | None) -> Sent:
    """Headers by `policy`; `more` are the caller's own, validators say."""
    headers = {
        "User-Agent": user_agent,
        "Accept": _ACCEPT,
        "Accept-Language": _accept_language(policy.locale),
        "Accept-Encoding": ACCEPT_ENCODING,
    }
    own = dict(policy.headers)
    if policy.basic_auth is not None:
        # RFC 7617 §2.1
        own["Authorization"] = f"Basic {base64.b64encode(':'.join(policy.basic_auth).encode()).decode()}"
    return Sent(headers | dict(more or {}), own, policy.cookies)


def _accept_language(locale: str | None) -> str:
    if locale is None:
        return _ACCEPT_LANGUAGE
    language = locale.partition("-")[0]
    return f"{locale},{language};q=0.9,*;q=0.5" if language != locale else f"{locale},*;q=0.5"


class ChainCookies:
    """Cookies of one chain of redirects. They obey the rules of their domain, path and scheme, and are bounded: what a
    chain of hops piles up would else be sent to the last of them in one header."""

    def __init__(self) -> None:
        # Strict: not even a cookie for all of co.uk.
        self._cookies = httpx.Cookies(CookieJar(DefaultCookiePolicy(strict_domain=True)))

    def __len__(self) -> int:
        return len(self._cookies.jar)

    def take(self, response: httpx.Response) -> None:
        """Keep what `response` sets, as far as there is room; the latest goes first."""
        self._cookies.extract_cookies(response)
        room = _MOST_COOKIES_CHARACTERS
        for cookie in list(self._cookies.jar):
            size = len(cookie.name) + len(cookie.value or "")
            if size > min(room, _MOST_COOKIE_CHARACTERS):
                self._cookies.jar.clear(cookie.domain, cookie.path, cookie.name)
            else:
                room -= size

    def send(self, request: httpx.Request, own: tuple[tuple[str, str], ...]) -> None:
        """Set the Cookie header: the chain's, and the operator's `own` unless the site has set one of that name."""
        self._cookies.set_cookie_header(request)
        set_by_site = request.headers.get("Cookie", "")
        names = {pair.partition("=")[0].strip() for pair in set_by_site.split(";")}
        pairs = [f"{name}={value}" for name, value in own if name not in names]
        if pairs:
            request.headers["Cookie"] = "; ".join([*pairs, set_by_site] if set_by_site else pairs)


def same_origin(url: str, other: str) -> bool:
    """Scheme, host and port alike (RFC 6454 §5)."""
    return origin_of(url) == origin_of(other)
