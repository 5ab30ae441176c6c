"""GETs addresses that came from a site: directly, through the operator's proxy, or the one and then the other. Knows
nothing of pages, robots.txt or politeness beyond the hooks it offers for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

import httpx
import structlog

from kb_pipeline.core.proxy_address import Proxy
from kb_pipeline.core.site_config import SiteConfig
from kb_pipeline.errors import (
    ConnectFailed,
    ConnectionBroken,
    FetchError,
    HostnameMismatch,
    HostOnHold,
    NameNotResolved,
    ProxyFailed,
    TimedOut,
)
from kb_pipeline.fetch.certificates import Certificates
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline.fetch.proxies import ProxyDialler
from kb_pipeline.fetch.response import ByteLimit, Head, Response
from kb_pipeline.fetch.sent import what_is_sent
from kb_pipeline.fetch.transport import GuardedTransport
from kb_pipeline.fetch.walk import Asked, Get, Walk

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.turns import Turns
    from kb_pipeline.settings import Settings

__all__ = ["ByteLimit", "Head", "HttpClient", "Response"]

log = structlog.get_logger(__name__)

MAX_REDIRECTS: Final = 10
MOST_IN_FLIGHT: Final = 256
"""Requests, to all hosts together: far more than a crawl of one site needs, and few enough for the 1,024 files that a
process may commonly open. How many one host is given is politeness' business."""

_NETWORK_ERRORS: Final = (ConnectFailed, ConnectionBroken, TimedOut)
"""What another way through the network may cure."""
_NO_WORD_OF_THE_SITE: Final = (*_NETWORK_ERRORS, NameNotResolved, ProxyFailed, HostOnHold)


class HttpClient:
    """GETs addresses that came from a site. Close it, or use it as an async context manager.

    Cookies live for one chain of redirects and no longer. `turns` makes every request, each hop of a redirect
    too, wait for its turn; without it nothing waits. Raises ConfigError for a proxy or a site configuration that
    cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        guard: Guard | None = None,
        turns: Turns | None = None,
        ssl_context: ssl.SSLContext | None = None,
        site_config: SiteConfig | None = None,
    ) -> None:
        self.guard = guard or Guard(settings.allow_private)
        if site_config is None:
            site_config = SiteConfig.parse(settings.site_config.get_secret_value())
        self.site_config = site_config
        self._settings = settings
        self._turns = turns
        self._ssl_context = ssl_context or httpx.create_ssl_context()
        self._proxy = None
        self._by_proxy = None
        if settings.proxy_mode != "none":
            self._proxy = Proxy.parse(settings.proxy.get_secret_value())
            self._by_proxy = self._transport(ProxyDialler(self._proxy, self._ssl_context))
        by_proxy_alone = self._by_proxy if settings.proxy_mode in {"proxy", "direct"} else None
        self._first = by_proxy_alone or self._transport()
        self._certificates = Certificates(self._first.backend, self._ssl_context, settings.connect_timeout_seconds)

    @property
    def backend(self) -> PinnedBackend:
        """What opens the connections: to addresses that the guard has checked, by the operator's proxy where all
        requests go by it."""
        return self._first.backend

    @property
    def second_backend(self) -> PinnedBackend | None:
        """The way by the proxy, where it is taken only after trouble on the direct one."""
        return None if self._by_proxy is None or self._by_proxy is self._first else self._by_proxy.backend

    def _transport(self, dialler: ProxyDialler | None = None) -> GuardedTransport:
        return GuardedTransport(self.guard, ssl_context=self._ssl_context, connections=MOST_IN_FLIGHT, dialler=dialler)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._first.aclose()
        if self._by_proxy is not None:
            await self._by_proxy.aclose()

    async def get(
        self,
        url: str,
        *,
        max_bytes: ByteLimit,
        headers: Mapping[str, str] | None = None,
        user_agent: str | None = None,
        policy: FetchPolicy | None = None,
        on_redirect: Callable[[str, str], Awaitable[None]] | None = None,
        max_redirects: int = MAX_REDIRECTS,
        truncate: bool = False,
        to_apex: bool = True,
    ) -> Response:
        """GET `url` and follow its redirects.

        `max_bytes` bounds the decoded body; with `truncate` a longer body is cut there instead of refused.
        `on_redirect(from, to)` is awaited before each hop and may raise to end the chain. Without a
        `user_agent` the policy's name is given, or the browser's. Without a `policy` the site configuration has it;
        its headers, cookies and credentials go to the origin of `url` alone. A host whose certificate covers its name
        without `www.` alone leads there as a redirect does, unless `to_apex` is false. Raises FetchError.
        """
        get = Get(url, max_bytes, headers, user_agent, policy, on_redirect, max_redirects, truncate)
        try:
            return await self._get(get)
        except HostnameMismatch as error:
            apex = await self._apex_of(get, error.url) if to_apex else None
            if apex is None:
                raise
            return await self._at_apex(get, error.url, apex)

    async def _get(self, get: Get) -> Response:
        policy = self._policy_of(get)
        asked = self._asked(get, policy)
        if self._by_proxy is None or self._by_proxy is self._first or policy.fallback_enabled is False:
            return await self._walk(asked, self._first)
        return await self._directly_then_by_proxy(asked, self._by_proxy)

    def _policy_of(self, get: Get) -> FetchPolicy:
        return self.site_config.policy_for(get.url) if get.policy is None else get.policy

    def _asked(self, get: Get, policy: FetchPolicy) -> Asked:
        settings = self._settings
        seconds = settings.page_timeout_seconds
        if policy.page_timeout_ms is not None:
            seconds = policy.page_timeout_ms / 1000
        return Asked(
            get,
            what_is_sent(policy, get.user_agent or self.user_agent_for(policy), get.headers),
            seconds,
            min(settings.read_timeout_seconds, seconds),
            min(settings.connect_timeout_seconds, seconds),
        )

    async def _apex_of(self, get: Get, www: str) -> str | None:
        return None if self._policy_of(get).fallback_enabled is False else await self.apex_for(www)

    async def _at_apex(self, get: Get, www: str, apex: str) -> Response:
        """As after a redirect from `www` to `apex`."""
        log.info("crawler.client.www_apex_fallback", url=www, apex=apex)
        if get.on_redirect is not None:
            await get.on_redirect(www, apex)
        policy = None if get.policy is None else get.policy.for_another_origin()
        there = await self._get(replace(get, url=apex, policy=policy))
        return replace(there, url=get.url, redirects=(apex, *there.redirects), requests=there.requests + 1)

    def user_agent_for(self, policy: FetchPolicy) -> str:
        """The name that a request under `policy` gives first."""
        if policy.user_agent is not None:
            return policy.user_agent
        settings = self._settings
        return settings.bot_user_agent if policy.user_agent_mode == "bot" else settings.browser_user_agent

    async def apex_for(self, url: str) -> str | None:
        """`url` without its `www.`, when the certificate of its host is valid, and for that name and not its own."""
        return await self._certificates.apex_for(self.guard.check_url(url))

    async def _walk(self, asked: Asked, transport: GuardedTransport) -> Response:
        return await Walk(asked, transport, self.guard, self._turns).run()

    async def _directly_then_by_proxy(self, asked: Asked, by_proxy: GuardedTransport) -> Response:
        first: Response | FetchError
        try:
            first = await self._walk(asked, self._first)
        except _NETWORK_ERRORS as error:
            first = error
        if isinstance(first, Response) and not _is_refusal(first):
            return first
        log.info("crawler.proxy.fallback", url=asked.get.url, why=_words(first), proxy=self._proxy_shown)
        try:
            second = await self._walk(asked, by_proxy)
        except _NO_WORD_OF_THE_SITE as error:
            log.warning("crawler.proxy.failed", url=asked.get.url, error=str(error), proxy=self._proxy_shown)
            if isinstance(first, Response):
                return first
            message = f"{first}; then by the proxy: {error}"
            both = type(first)(message)
            both.requests, both.began = _sent(first) + _sent(error), first.began or error.began
            raise both from error
        return _better(first, replace(second, by_proxy=True))

    @property
    def _proxy_shown(self) -> str:
        return self._proxy.shown if self._proxy else ""


_MISSING: Final = frozenset({404, 410})


def _is_refusal(response: Response) -> bool:
    return response.status in {403, 429} or response.status >= 500  # noqa: PLR2004


def _words(first: Response | FetchError) -> str:
    return f"status {first.status}" if isinstance(first, Response) else str(first)


def _sent(error: FetchError) -> int:
    return 1 if error.requests is None else error.requests


def _better(first: Response | FetchError, second: Response) -> Response:
    """What the proxy brought, unless that is a refusal too, or a page that is missing where it was refused just now;
    with what both of them cost."""
    if not isinstance(first, Response):
        return replace(second, requests=second.requests + _sent(first))
    return replace(
        first if _is_refusal(second) or second.status in _MISSING else second,
        requests=first.requests + second.requests,
        elapsed=first.elapsed + second.elapsed,
        wire_bytes=first.wire_bytes + second.wire_bytes,
    )
