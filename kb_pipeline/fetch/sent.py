"""What a request says of us: the headers of every request, and those that only a page's own origin may see."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import origin_of
from kb_pipeline.fetch.content_coding import ACCEPT_ENCODING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.core.fetch_policy import FetchPolicy

_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_LANGUAGE: Final = "en-US,en;q=0.9,*;q=0.5"


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
        if not own:
            return dict(self.headers)
        overruled = {name.lower() for name in own}
        return {name: value for name, value in self.headers.items() if name.lower() not in overruled} | dict(own)


def what_is_sent(policy: FetchPolicy, user_agent: str, more: Mapping[str, str] | None) -> Sent:
    """Headers by `policy`; `more` are the caller's own, validators say."""
    headers = {
        "Connection": "keep-alive",
        "User-Agent": user_agent,
        "Accept": _ACCEPT,
        "Accept-Encoding": ACCEPT_ENCODING,
        "Accept-Language": _accept_language(policy.locale),
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


def same_origin(url: str, other: str) -> bool:
    """Scheme, host and port alike (RFC 6454 §5)."""
    return origin_of(url) == origin_of(other)
