"""What the tiers that render have in common: which pages are nothing for them, and how what they give is read."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, kind_of
from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.client import Response
from kb_pipeline.fetch.envelope import CONTENT_TYPE, is_good
from kb_pipeline.fetch.failures import failed
from kb_pipeline.fetch.reading import read_response

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.rendering import Rendered

_ROBOTS: Final = "x-robots-tag"
_SHOWN_BY_BROWSERS: Final = frozenset({BodyKind.HTML, BodyKind.EMPTY})


def kind_answered(request: PageRequest) -> BodyKind | None:
    """What the site served to the first tier; None when it served nothing."""
    answered = request.answered
    if answered is None or not is_good(answered):
        return None
    return kind_of(answered.content_type, answered.body, answered.final_url)


def passed_over(name: str, request: PageRequest) -> TierResult | None:
    """The result of a browser that is not asked, when what the site serves is no page; else None."""
    kind = kind_answered(request)
    if kind is None or kind in _SHOWN_BY_BROWSERS:
        return None
    what = "a PDF" if kind is BodyKind.PDF else f"{kind.value}"
    return TierResult(name, Answer.PASSED_OVER, f"{what} is not for a browser")


async def attempt(name: str, request: PageRequest, token: str, work: Awaitable[Rendered]) -> TierResult:
    """Await the page and read it as any other: the boundary at which a FetchError becomes a result.

    `token` is our product token. The seconds are those of the clock on the wall, waits for a turn among them.
    """
    started = time.monotonic()
    try:
        rendered = await work
    except FetchError as error:
        return failed(name, error, time.monotonic() - started, calls=error.calls)
    seconds = time.monotonic() - started
    response = response_of(request, rendered, seconds)
    reading = await asyncio.to_thread(read_response, response, request, token)
    return TierResult(
        name,
        reading.answer,
        reading.why,
        response,
        replace(reading.text, degraded=True) if reading.text and rendered.degraded else reading.text,
        reading.nofollow,
        requests=rendered.requests,
        seconds=seconds,
        wire_bytes=rendered.wire_bytes,
        calls=rendered.calls,
        degraded=rendered.degraded,
    )


def response_of(request: PageRequest, rendered: Rendered, seconds: float) -> Response:
    """The rendered page as a response. It has no validators: a browser's page cannot be asked for conditionally.

    What robots may do with the page is the site's word, and a browser's page would lose it: the header of the first
    answer stays.
    """
    lines = [("content-type", CONTENT_TYPE)]
    answered = request.answered
    if answered is not None and is_good(answered):
        lines += [(name, value) for name, value in answered.header_list if name == _ROBOTS]
    moved = rendered.final_url != request.url
    return Response(
        url=request.url,
        final_url=rendered.final_url,
        status=rendered.status,
        headers={"content-type": CONTENT_TYPE}
        | ({_ROBOTS: ", ".join(value for name, value in lines if name == _ROBOTS)} if len(lines) > 1 else {}),
        body=rendered.body,
        redirects=(rendered.final_url,) if moved else (),
        elapsed=seconds,
        wire_bytes=rendered.wire_bytes,
        header_list=tuple(lines),
    )
