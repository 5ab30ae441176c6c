"""Cloudflare Browser Rendering as a renderer: which options a page is asked for with, and what its answers say.

Options and endpoints: https://developers.cloudflare.com/api/resources/browser_rendering/; their limits:
https://developers.cloudflare.com/browser-rendering/reference/timeouts/

What cannot be known: `/content` and `/markdown` tell the status and the title of the page they ended on (`meta`), not
its address. A redirect that only their browser meets is therefore not seen by robots.txt, unless an answer names it;
the site's own answer to the first tier, whose redirects were all checked, is taken to have led to the same place. Nor
does our guard see the requests of that browser: it runs at Cloudflare, which reaches public addresses only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import host_of
from kb_pipeline.errors import BodyTooLarge, FetchError, TierUnavailable
from kb_pipeline.fetch.addresses import parse_address, why_not_public
from kb_pipeline.fetch.budget import BROWSER_CALLS
from kb_pipeline.fetch.cloudflare_api import Call
from kb_pipeline.fetch.cloudflare_errors import browser_refusal, unreadable
from kb_pipeline.fetch.rendering import Rendered
from kb_pipeline.fetch.turns import turn_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.cloudflare_api import CloudflareApi, Reply
    from kb_pipeline.fetch.guard import Guard
    from kb_pipeline.fetch.turns import Turns
    from kb_pipeline.settings import Settings

MAX_PICTURE_BYTES: Final = 32 * 2**20
VIEWPORT: Final = {"width": 1280, "height": 1024}
_MOST_PAGE_MS: Final = 60_000
"""Longest gotoOptions.timeout and waitForSelector.timeout that Cloudflare takes."""
_SHARE_FOR_LOADING: Final = 0.7
"""Of the time for a page; the rest is for reading it, and for the way."""
_WAIT_UNTIL: Final = {
    "load": "load",
    "domcontentloaded": "domcontentloaded",
    "networkidle": "networkidle0",
    "commit": "domcontentloaded",
}
_NOT_READ: Final = ["image", "media", "font"]
"""Types of requests that give no text."""
_STRAINED: Final = frozenset({429, 503})


def why_no_account(settings: Settings) -> str:
    """Why Cloudflare cannot be asked; empty when it can."""
    if not settings.cloudflare_account_id.strip():
        return "CLOUDFLARE_ACCOUNT_ID is not set"
    if not settings.cloudflare_api_token.get_secret_value().strip():
        return "CLOUDFLARE_API_TOKEN is not set"
    return ""


class CloudflareRenderer:
    """Implements fetch.rendering.Renderer, and gives Markdown too.

    A page's turn at its host is waited for as for any other request, since it is our request; the account's pace comes
    after that. What Cloudflare's browser waited for tells nothing of the host, but for a 429 or a 503.
    """

    def __init__(
        self,
        api: CloudflareApi,
        settings: Settings,
        guard: Guard,
        *,
        on_redirect: Callable[[str, str], Awaitable[None]] | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._api = api
        self._settings = settings
        self._guard = guard
        self._on_redirect = on_redirect
        self._turns = turns

    async def content(self, request: PageRequest) -> Rendered:
        """The rendered HTML (`POST …/browser-rendering/content`). Frames are not in it."""
        return await self._render("content", request, {"rejectResourceTypes": _NOT_READ})

    async def markdown(self, request: PageRequest) -> Rendered:
        """The page as Cloudflare writes it in Markdown (`POST …/browser-rendering/markdown`)."""
        return await self._render("markdown", request, {"rejectResourceTypes": _NOT_READ})

    async def screenshot(self, request: PageRequest) -> Rendered:
        """The whole page as a picture (`POST …/browser-rendering/screenshot`, which answers with its bytes)."""
        options = {"screenshotOptions": {"fullPage": True, "type": "png"}, "viewport": VIEWPORT}
        return await self._render("screenshot", request, options, gives_picture=True)

    async def _render(
        self, endpoint: str, request: PageRequest, extra: dict[str, object], *, gives_picture: bool = False
    ) -> Rendered:
        await self._admit(request)
        call = self._call(endpoint, request, extra, gives_picture=gives_picture)
        async with turn_at(self._turns, request.url) as turn:
            reply = await self._api.post(call)
            if reply.status in _STRAINED:
                turn.answered(reply.status, {}, 0.0)
        try:
            final = await self._final_url(request, reply)
            body = self._body(reply, gives_picture=gives_picture)
        except FetchError as error:
            error.calls = 1
            raise
        return Rendered(body, final, reply.status, wire_bytes=reply.wire_bytes, calls=1, title=reply.said("title"))

    def _call(self, endpoint: str, request: PageRequest, extra: dict[str, object], *, gives_picture: bool) -> Call:
        settings = self._settings
        loading = loading_ms(request.policy, settings) / 1000
        return Call(
            service=self._api.account.browser,
            path=f"browser-rendering/{endpoint}",
            body=page_options(request, settings) | extra,
            counter=BROWSER_CALLS,
            most=settings.cloudflare_browser_daily_limit,
            gap=60.0 / settings.cloudflare_requests_a_minute,
            max_bytes=MAX_PICTURE_BYTES if gives_picture else settings.max_html_bytes,
            seconds=max(settings.render_timeout_seconds, loading / _SHARE_FOR_LOADING),
            refusal=browser_refusal,
            gives_picture=gives_picture,
        )

    async def _admit(self, request: PageRequest) -> None:
        """Raise for a page that may not be handed on: not public, or with secrets that would not stay with its site."""
        if request.policy.headers or request.policy.basic_auth:
            # Both are Puppeteer's, which gives them to every host that the page loads something from.
            message = "pages with headers or a password of their own are not handed to Cloudflare"
            raise TierUnavailable(message)
        target = self._guard.check_url(request.url)
        addresses = await self._guard.addresses(target.host, target.port)
        private = any(why_not_public(parse_address(address)) for address in addresses)
        if private and _is_cloudflares_own(self._settings.cloudflare_api_url):
            message = f"{target.host} is in a network of your own, which Cloudflare does not reach"
            raise TierUnavailable(message)

    async def _final_url(self, request: PageRequest, reply: Reply) -> str:
        """Where the page was in the end, as far as it is told. Raises what `on_redirect` does about a new place."""
        expected = request.answered.final_url if request.answered is not None else request.url
        final = reply.said("url") or expected
        if final in {expected, request.url}:
            return final
        final = self._guard.check_url(final).url
        if self._on_redirect is not None:
            await self._on_redirect(request.url, final)
        return final

    def _body(self, reply: Reply, *, gives_picture: bool) -> bytes:
        result = reply.result
        if gives_picture and isinstance(result, bytes):
            return result
        if gives_picture or not isinstance(result, str):
            raise unreadable("Browser Rendering", "its result is not what was asked for").error
        body = result.encode("utf-8", "replace")
        if len(body) > self._settings.max_html_bytes:
            message = f"the page is larger than {self._settings.max_html_bytes:,} bytes"
            raise BodyTooLarge(message)
        return body


def loading_ms(policy: FetchPolicy, settings: Settings) -> int:
    """Milliseconds for loading the page, as much as Cloudflare takes."""
    asked = policy.page_timeout_ms or int(1000 * settings.render_timeout_seconds * _SHARE_FOR_LOADING)
    return min(asked, _MOST_PAGE_MS)


def page_options(request: PageRequest, settings: Settings) -> dict[str, object]:
    """The body of a request for this page. Its time zone is Cloudflare's: the API has no option for it."""
    policy, milliseconds = request.policy, loading_ms(request.policy, settings)
    by_mode = settings.bot_user_agent if policy.user_agent_mode == "bot" else settings.browser_user_agent
    options: dict[str, object] = {
        "url": request.url,
        "userAgent": policy.user_agent or by_mode,
        "gotoOptions": {"waitUntil": _WAIT_UNTIL.get(policy.wait_until or "", "networkidle2"), "timeout": milliseconds},
        # A page that never stops loading is read as it is when the time is up.
        "bestAttempt": True,
    }
    if policy.wait_for:
        options["waitForSelector"] = {"selector": policy.wait_for, "timeout": milliseconds}
    if policy.delay_before_return_html:
        options["waitForTimeout"] = min(int(1000 * policy.delay_before_return_html), _MOST_PAGE_MS)
    if policy.locale:
        language = policy.locale.partition("-")[0]
        options["setExtraHTTPHeaders"] = {"Accept-Language": f"{policy.locale},{language};q=0.9"}
    if policy.cookies:
        # By address, so that a cookie goes to the page's own host and to no other.
        place = {"url": request.url, "secure": request.url.startswith("https:")}
        options["cookies"] = [{"name": name, "value": value} | place for name, value in policy.cookies]
    return options


def _is_cloudflares_own(api_url: str) -> bool:
    """Not a gateway of the operator's, which may reach pages that Cloudflare does not."""
    return f".{host_of(api_url)}".endswith(".cloudflare.com")
