"""The last tier: a picture of the page, read. Scanned PDFs too, which the site need not be asked for again."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.errors import FetchError, LimitReached, PdfProblem, PdfUnreadable
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.envelope import Said, paragraphs_as_html, said_by, wrap
from kb_pipeline.fetch.pdf_pictures import PdfPictures
from kb_pipeline.fetch.rendering import PictureText, Rendered
from kb_pipeline.fetch.tiers.rendered import attempt, kind_answered, passed_over, words_do_not_tell

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.fetch.rendering import PictureReader, Renderer
    from kb_pipeline.settings import Settings

NAME: Final = "vision"
_TIMES_A_PAGE: Final = 6
"""A whole PDF is read for so many times as long as one page of a site."""
_HOLDS_PICTURES: Final = frozenset({PdfProblem.SCANNED, PdfProblem.EMPTY})
"""EMPTY: letters may be drawn as curves, which are text to the eye alone."""


class Vision:
    """Implements fetch.chain.Tier."""

    name = NAME

    def __init__(self, renderer: Renderer, reader: PictureReader, settings: Settings) -> None:
        self._renderer = renderer
        self._reader = reader
        self._settings = settings

    async def fetch(self, request: PageRequest) -> TierResult:
        """Take a picture of the page, or of a scanned PDF's pages, and read it."""
        token = self._settings.bot_token
        answered = request.answered
        if answered is not None and kind_answered(request) is BodyKind.PDF:
            why = await asyncio.to_thread(_why_not_read, answered.body)
            if why:
                return TierResult(NAME, Answer.PASSED_OVER, why)
            return await attempt(NAME, request, token, self._scanned(answered))
        unfit = passed_over(NAME, request) or words_do_not_tell(NAME, request)
        return unfit or await attempt(NAME, request, token, self._page(request), words_only=True)

    async def _page(self, request: PageRequest) -> Rendered:
        shown = await self._renderer.screenshot(request)
        try:
            text = await self._reader.read(shown.body)
        except FetchError as error:
            error.calls += shown.calls
            raise
        said = await asyncio.to_thread(said_by, request.answered, self._settings.bot_token)
        body = wrap(paragraphs_as_html(text.paragraphs), said, shown.title) if text.paragraphs else b""
        degraded = "; ".join(filter(None, (shown.degraded, text.degraded)))
        return replace(shown, body=body, calls=shown.calls + text.calls, degraded=degraded)

    async def _scanned(self, answered: Response) -> Rendered:
        """Read page after page until the time is up; what is not read is said."""
        deadline = time.monotonic() + _TIMES_A_PAGE * self._settings.render_timeout_seconds
        texts: list[PictureText] = []
        async with PdfPictures(answered.body) as pictures, aclosing(pictures.pages()) as pages:
            async for picture in pages:
                text = await self._read(picture, texts)
                if text is None:
                    break
                texts.append(text)
                if time.monotonic() > deadline:
                    break
            count, title = pictures.count, pictures.title
        degraded = _lost(texts, count)
        body = _pdf_as_html(texts, title)
        calls = sum(text.calls for text in texts)
        return Rendered(body, answered.final_url, answered.status, degraded, requests=0, calls=calls)

    async def _read(self, picture: bytes, before: list[PictureText]) -> PictureText | None:
        """None: the day's calls ended, and the pages before this one are what counts."""
        try:
            return await self._reader.read(picture)
        except LimitReached:
            if not before:
                raise
            return None
        except FetchError as error:
            error.calls += sum(text.calls for text in before)
            raise


def _why_not_read(body: bytes) -> str:
    """Why the pages of this PDF are not looked at; empty when they are. Takes CPU time."""
    try:
        read_pdf(body)
    except PdfUnreadable as error:
        return "" if error.problem in _HOLDS_PICTURES else str(error)
    # It has text, and too little of it: the rest may be in pictures.
    return ""


def _lost(texts: list[PictureText], count: int) -> str:
    unread = count - len(texts)
    cut = f"only {len(texts)} of {count} pages were read" if unread > 0 else ""
    return "; ".join(dict.fromkeys(filter(None, [cut, *(text.degraded for text in texts)])))


def _pdf_as_html(texts: list[PictureText], title: str) -> bytes:
    """Pages are headings with the anchor that opens a PDF there (`#page=3`, RFC 8118 §3)."""
    if not any(text.paragraphs for text in texts):
        return b""
    inner = [
        (f'<h6 id="page={number}">Page {number}</h6>\n' if len(texts) > 1 else "") + paragraphs_as_html(text.paragraphs)
        for number, text in enumerate(texts, start=1)
        if text.paragraphs
    ]
    return wrap("".join(inner), Said(), title)
