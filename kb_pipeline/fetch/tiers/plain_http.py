"""The first tier: GET as a browser would name itself, and under our own name where that is refused."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, kind_of
from kb_pipeline.errors import FetchError, HostnameMismatch, NotADocument
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.failures import failed
from kb_pipeline.fetch.hops import refuse_known_redirect
from kb_pipeline.fetch.reading import DOCUMENT_KINDS, read_response
from kb_pipeline.fetch.retry_after import retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.client import Head, HttpClient, Response
    from kb_pipeline.fetch.reading import Reading
    from kb_pipeline.settings import Settings

NAME: Final = "plain_http"

_MOST_OF_A_TYPE: Final = 100
"""Characters of a Content-Type that are passed on."""
_NOT_BELIEVED: Final = frozenset({Answer.NOT_FOUND, Answer.SOFT_NOT_FOUND})
"""From a site that has just refused the same page: shields say so too, and a copy would be removed for it."""
_REFUSALS: Final = frozenset({403, 429})


class PlainHttp:
    """Implements fetch.chain.Tier. `on_redirect` decides about each hop (fetch.hops.Hops)."""

    name = NAME

    def __init__(
        self,
        client: HttpClient,
        settings: Settings,
        *,
        on_redirect: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> None:
        self._client = client
        self._settings = settings
        self._on_redirect = on_redirect

    async def fetch(self, request: PageRequest) -> TierResult:
        """GET the page. A 403, or a 429 that names no time to wait, is tried once more under our own name, unless the
        page's policy names one, or wants no fallback."""
        first = await self._attempt(request, self._client.user_agent_for(request.policy))
        if not _is_asked_twice(first, request):
            return first
        second = await self._attempt(request, self._settings.bot_user_agent)
        refused_again = second.response is None or second.response.status in _REFUSALS
        return replace(
            first if refused_again or second.answer in _NOT_BELIEVED else second,
            requests=first.requests + second.requests,
            seconds=first.seconds + second.seconds,
            wire_bytes=first.wire_bytes + second.wire_bytes,
            retry_after=second.retry_after,
        )

    async def _attempt(self, request: PageRequest, user_agent: str) -> TierResult:
        started = time.monotonic()
        try:
            response = await self._client.get(
                request.url,
                max_bytes=self._limit,
                headers=_validators(request),
                user_agent=user_agent,
                policy=request.policy,
                on_redirect=partial(self._hop, request),
                to_apex=False,  # All tiers are asked there, by the chain.
            )
        except HostnameMismatch as error:
            apex = await self._client.apex_for(error.url)
            return replace(failed(NAME, error, time.monotonic() - started), apex_url=apex)
        except FetchError as error:
            return failed(NAME, error, time.monotonic() - started)
        reading = await self._read(response, request)
        return TierResult(
            NAME,
            reading.answer,
            reading.why,
            response,
            reading.text,
            reading.nofollow,
            requests=response.requests,
            seconds=response.elapsed,
            wire_bytes=response.wire_bytes,
            retry_after=retry_after_seconds(response.headers, datetime.now(UTC)),
        )

    async def _hop(self, request: PageRequest, source: str, target: str) -> None:
        refuse_known_redirect(request, target)
        if self._on_redirect is not None:
            await self._on_redirect(source, target)

    async def _read(self, response: Response, request: PageRequest) -> Reading:
        token = self._settings.bot_token
        if not response.body:
            return read_response(response, request, token)
        # Off the event loop: a large page or a PDF takes long enough to starve the other requests' timeouts.
        return await asyncio.to_thread(read_response, response, request, token)

    def _limit(self, head: Head, first_bytes: bytes) -> int:
        """Bytes to read of a body, told by its type and first bytes. Raises NotADocument for a video or an archive."""
        content_type = head.headers.get("content-type", "")
        kind = kind_of(content_type, first_bytes, head.url)
        if kind is BodyKind.PDF:
            return self._settings.max_pdf_bytes
        if kind not in DOCUMENT_KINDS:
            raise NotADocument(_why_no_page(content_type, kind))
        return self._settings.max_html_bytes


def _why_no_page(content_type: str, kind: BodyKind) -> str:
    if "pdf" in content_type.lower():
        return "it is called a PDF, and does not begin like one"
    return f"this is {content_type[:_MOST_OF_A_TYPE] or kind.value}, no page"


def _is_asked_twice(first: TierResult, request: PageRequest) -> bool:
    if request.policy.fallback_enabled is False or request.policy.names_its_agent:
        return False
    status = first.response.status if first.response else 0
    return status in _REFUSALS and not first.retry_after


def _validators(request: PageRequest) -> dict[str, str]:
    found = {"If-None-Match": request.etag, "If-Modified-Since": request.last_modified}
    return {name: value for name, value in found.items() if value}
