"""What the tiers that render have in common: which pages are nothing for them, and how what they give is read."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, kind_of
from kb_pipeline.core.page_state import classify
from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.answers import BLOCKED, WALLED, Answer, TierResult
from kb_pipeline.fetch.client import Response
from kb_pipeline.fetch.envelope import CONTENT_TYPE, is_good, with_controls
from kb_pipeline.fetch.failures import failed
from kb_pipeline.fetch.reading import Reading, read_response
from kb_pipeline.fetch.retry_after import retry_after_seconds
from kb_pipeline.model import PageState

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.rendering import Rendered

_ROBOTS: Final = "x-robots-tag"
_OK: Final = 200
_REFUSED: Final = BLOCKED | {Answer.RATE_LIMITED}
_WALLS: Final = frozenset(
    {
        PageState.COOKIE_WALL,
        PageState.AGE_GATE,
        PageState.LOGIN_WALL,
        PageState.PAYWALL,
        PageState.CHALLENGE,
        PageState.BLOCKED,
    }
)
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


def words_do_not_tell(name: str, request: PageRequest) -> TierResult | None:
    """The result of a tier that keeps only a page's words, and is not asked where a tier before it met a wall: it would
    read the wall as a page. Else None."""
    wall = next((answer for answer in request.before if answer in WALLED), None)
    if wall is None:
        return None
    return TierResult(name, Answer.PASSED_OVER, f"words alone do not tell a {wall.value} from the page behind it")


async def attempt(
    name: str, request: PageRequest, token: str, work: Awaitable[Rendered], *, words_only: bool = False
) -> TierResult:
    """Await the page and read it as any other: the boundary at which a FetchError becomes a result.

    `token` is our product token. The seconds are those of the clock on the wall, waits for a turn among them. With
    `words_only`, what could be a wall is none of the pages that clear.
    """
    started = time.monotonic()
    try:
        rendered = await work
    except FetchError as error:
        return failed(name, error, time.monotonic() - started, calls=error.calls)
    seconds = time.monotonic() - started
    if rendered.status is None and _REFUSED & set(request.before):
        why = "it may be the refusal as well: the service does not say under which status the page came"
        return TierResult(
            name, Answer.PASSED_OVER, why, requests=rendered.requests, seconds=seconds, calls=rendered.calls
        )
    response = response_of(request, rendered, seconds)
    reading = await asyncio.to_thread(read_response, response, request, token)
    if words_only and reading.answer is Answer.DOCUMENT:
        reading = await asyncio.to_thread(_doubted, reading, response)
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
        retry_after=retry_after_seconds(rendered.headers, datetime.now(UTC)),
        calls=rendered.calls,
        degraded=rendered.degraded,
    )


def _doubted(reading: Reading, response: Response) -> Reading:
    """A document read off words alone, unless they would be a wall's if they could be pressed. Takes CPU time."""
    state = classify(response.status, {}, with_controls(response.body), response.final_url)
    if state not in _WALLS:
        return reading
    return Reading(Answer.THIN, f"its words alone could be those of a {state.value.replace('_', ' ')}")


def response_of(request: PageRequest, rendered: Rendered, seconds: float) -> Response:
    """The rendered page as a response. It has no validators: a browser's page cannot be asked for conditionally.

    What robots may do with the page is the site's word, and not every service passes it on: what the first answer said
    holds besides.
    """
    lines = [("content-type", CONTENT_TYPE)]
    lines += [(_ROBOTS, value) for value in rendered.headers.get(_ROBOTS, "").splitlines()]
    answered = request.answered
    if answered is not None and is_good(answered):
        lines += [line for line in answered.header_list if line[0] == _ROBOTS and line not in lines]
    moved = rendered.final_url != request.url
    return Response(
        url=request.url,
        final_url=rendered.final_url,
        status=_OK if rendered.status is None else rendered.status,
        headers={"content-type": CONTENT_TYPE}
        | ({_ROBOTS: ", ".join(value for name, value in lines if name == _ROBOTS)} if len(lines) > 1 else {}),
        body=rendered.body,
        redirects=(rendered.final_url,) if moved else (),
        elapsed=seconds,
        wire_bytes=rendered.wire_bytes,
        header_list=tuple(lines),
    )
