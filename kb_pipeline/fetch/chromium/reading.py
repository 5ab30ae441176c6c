"""What is taken from an opened page: its HTML, or its picture."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.errors import BodyTooLarge, NotADocument, TierUnavailable
from kb_pipeline.fetch.chromium.frames import DEEPEST, SPOILT, Document, FrameReader, is_going
from kb_pipeline.fetch.chromium.scripts import HEIGHT
from kb_pipeline.fetch.rendering import Rendered

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.chromium.visit import Visit

TALLEST: Final = 16_384
"""CSS pixels of a picture."""
_SHARP: Final = 4_096
"""CSS pixels of height up to which a picture has all its device pixels."""
_LONGEST_TITLE: Final = 300
_MAX_PICTURE_BYTES: Final = 24 * 2**20
_READABLE: Final = frozenset({"text/html", "application/xhtml+xml", "text/plain", ""})
_TRIES: Final = 3
_BUSY_SECONDS: Final = 6.0
"""For a page to answer before its scripts are stopped."""


async def read_html(visit: Visit, session: CDPSession, max_bytes: int) -> Rendered:
    """The page as HTML. Raises BodyTooLarge, NotADocument, and what the page's last address may not be."""
    if visit.is_empty:
        return _rendered(visit, b"", visit.request.url)
    document = await _document(visit, session, max_bytes)
    if document.content_type not in _READABLE:
        message = f"this is {document.content_type}, no page"
        raise NotADocument(message)
    final_url = await visit.check_end()
    visit.lacking += document.lacking
    body = document.html.encode("utf-8", "replace")
    if len(body) > max_bytes:
        message = f"the rendered page has {len(body):,} bytes, more than {max_bytes:,}"
        raise BodyTooLarge(message)
    return _rendered(visit, body, final_url)


async def take_picture(visit: Visit) -> Rendered:
    """The page as a PNG, from its top down to TALLEST; sharper when it is short. Raises BodyTooLarge, and what the
    page's last address may not be."""
    if visit.is_empty:
        return _rendered(visit, b"", visit.request.url)
    height = await visit.page.evaluate(HEIGHT)
    if not isinstance(height, int):
        raise TierUnavailable(SPOILT)
    options: dict[str, Any] = {"full_page": True, "animations": "disabled"}
    options["scale"] = "device" if height <= _SHARP else "css"
    if height > TALLEST:
        visit.lacking.append(f"the picture ends {TALLEST:,} pixels down a page of {height:,}")
        options["clip"] = {"x": 0, "y": 0, "width": 1280, "height": TALLEST}
    final_url = await visit.check_end()
    picture = await visit.page.screenshot(**options, type="png")
    if len(picture) > _MAX_PICTURE_BYTES:
        picture = await visit.page.screenshot(**options, type="jpeg", quality=80)
    if len(picture) > _MAX_PICTURE_BYTES:
        message = f"the picture of the page has {len(picture):,} bytes"
        raise BodyTooLarge(message)
    return replace(_rendered(visit, picture, final_url), title=await _title(visit))


async def _title(visit: Visit) -> str:
    """What a script may have set; a page too busy to say it has none."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_BUSY_SECONDS):
            return (await visit.page.title())[:_LONGEST_TITLE]
    return ""


async def _document(visit: Visit, session: CDPSession, most: int) -> Document:
    """Read the page. Scripts that leave no time for it are stopped; a page that moves on is read where it gets to."""
    for attempt in range(_TRIES):
        try:
            async with asyncio.timeout(_BUSY_SECONDS if attempt == 0 else None):
                return await FrameReader(most, _deepest(visit.request.policy), visit.traffic.lost).read(
                    visit.page.main_frame
                )
        except TimeoutError:
            visit.lacking.append("its scripts were stopped")
            await session.send("Runtime.terminateExecution")
        except PlaywrightError as error:
            if not is_going(error):
                raise
            visit.navigation.check()
            await visit.page.wait_for_load_state("domcontentloaded", timeout=_BUSY_SECONDS * 1000)
    return await FrameReader(most, 0, visit.traffic.lost).read(visit.page.main_frame)


def _deepest(policy: FetchPolicy) -> int:
    if policy.process_iframes is False:
        return 0
    return 1 if policy.deep_iframe_extraction is False else DEEPEST


def _rendered(visit: Visit, body: bytes, final_url: str) -> Rendered:
    return Rendered(
        body=body,
        final_url=final_url,
        status=visit.navigation.status,
        degraded=visit.degraded(),
        requests=max(1, visit.navigation.requests),
        wire_bytes=visit.traffic.received,
        headers=visit.navigation.headers,
    )
