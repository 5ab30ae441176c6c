"""A page of its own in a browser: a context that shares nothing with others, with what the page's policy says."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Any, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.core.urls import origin_of
from kb_pipeline.fetch.chromium.scripts import INIT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.chromium.browser import Browser
    from kb_pipeline.fetch.chromium.traffic import PageTraffic
    from kb_pipeline.settings import Settings

SCALE: Final = 2
"""Device pixels a CSS pixel: small print is legible in a picture."""
_VIEWPORT: Final = {"width": 1280, "height": 1024}
_CLOSE_SECONDS: Final = 3.0


@contextlib.asynccontextmanager
async def blank_page(
    browser: Browser, request: PageRequest, traffic: PageTraffic, proxy: str, settings: Settings
) -> AsyncIterator[Page]:
    """An empty page. Whatever it has become when the block ends, it is closed; a browser that cannot do that is
    marked as broken."""
    context = await browser.driven.new_context(**_options(request, traffic, proxy, settings, browser.driven.version))
    try:
        await context.add_init_script(INIT)
        if request.policy.cookies:
            cookies = [{"name": name, "value": value, "url": request.url} for name, value in request.policy.cookies]
            await context.add_cookies(cookies)  # type: ignore[arg-type] # a dict is what it takes
        page = await context.new_page()
        context.on("page", _close)
        yield page
    finally:
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await context.close()
        except (PlaywrightError, TimeoutError):
            browser.broken = browser.broken or "a page would not close"


def user_agent(policy: FetchPolicy, settings: Settings, version: str) -> str:
    """The name to give, in a browser of that version. Chromium tells its true version besides the name, and shields
    notice when the two differ: unless the operator has chosen the name, it is made to agree."""
    if policy.user_agent:
        return policy.user_agent
    if policy.user_agent_mode == "bot":
        return settings.bot_user_agent
    chosen = settings.browser_user_agent
    if chosen != type(settings).model_fields["browser_user_agent"].default:
        return chosen
    return re.sub(r"Chrome/\d+", f"Chrome/{version.partition('.')[0]}", chosen)


def _options(
    request: PageRequest, traffic: PageTraffic, proxy: str, settings: Settings, version: str
) -> dict[str, Any]:
    policy = request.policy
    options: dict[str, Any] = {
        "proxy": {"server": proxy, "bypass": "<-loopback>", "username": traffic.user, "password": traffic.password},
        "user_agent": user_agent(policy, settings, version),
        "locale": policy.locale or "en-US",
        "viewport": _VIEWPORT,
        "device_scale_factor": SCALE,
        "accept_downloads": False,
        "service_workers": "block",
        "reduced_motion": "reduce",
    }
    if policy.timezone_id:
        options["timezone_id"] = policy.timezone_id
    if policy.basic_auth:
        user, password = policy.basic_auth
        origin = origin_of(request.url)
        options["http_credentials"] = {"username": user, "password": password, "origin": origin, "send": "unauthorized"}
    return options


def _close(page: Page) -> None:
    """A pop-up is of no use to anybody."""
    task = asyncio.ensure_future(page.close())
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
