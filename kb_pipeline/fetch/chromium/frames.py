"""A page's document with those of its frames in their places: inner HTML first, inner text as a last resort."""

from __future__ import annotations

import asyncio
import html
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.core.urls import is_http
from kb_pipeline.errors import BodyTooLarge
from kb_pipeline.fetch.chromium.scripts import MARK_FRAME, SERIALISE

if TYPE_CHECKING:
    from playwright.async_api import Frame

MOST_FRAMES: Final = 30
DEEPEST: Final = 4
_FRAME_SECONDS: Final = 3.0
"""For one frame to answer: its page may be busy, or not have come."""
_TEXT_MS: Final = 1000
_LINKS_OUT: Final = re.compile(
    r"google_ads_|\baswift_|\bgoogle_esf\b|3rd party ad|\badvert|re?captcha|\bturnstile\b", re.IGNORECASE
)
"""What frames call themselves that are advertisement, or ask whether somebody is human."""
_TEXT: Final = re.compile(r">[^<]*[^\s<][^<]*<")


@dataclass(slots=True)
class Document:
    """What was read of a page."""

    html: str
    content_type: str
    """As the browser took it: of the header, or what the body looked like."""
    title: str = ""
    lacking: list[str] = field(default_factory=list)
    """What could not be had, in words."""


class FrameReader:
    """Reads one page. `most` is the most characters of all its documents together, `deepest` how far down frames are
    read: 0 not at all."""

    def __init__(self, most: int, deepest: int) -> None:
        self._left = most
        self._most = most
        self._deepest = deepest
        self._frames_left = MOST_FRAMES
        self._mark = f"kb-frame-{secrets.token_hex(8)}-"
        self._lacking: list[str] = []

    async def read(self, main: Frame) -> Document:
        """The whole page. Raises BodyTooLarge, PlaywrightError when the main document cannot be read."""
        marked = await self._mark_children(main, 0)
        found = await self._serialise(main, body_only=False)
        if found["tooLarge"]:
            message = f"the rendered page has more than {self._most:,} characters"
            raise BodyTooLarge(message)
        written = await self._with_children(found["html"], marked, 0)
        return Document(f"<!DOCTYPE html>{written}", found["type"], found["title"], self._lacking)

    async def _with_children(self, written: str, marked: dict[str, tuple[Frame, str]], depth: int) -> str:
        for token, (child, title) in marked.items():
            mark = f"<!--{self._mark}{token}-->"
            part = await self._section(child, title, depth + 1)
            # A frame in a place that is not written, a part that the page hides from scripts say, goes to the end.
            written = written.replace(mark, part, 1) if mark in written else written + part
        return written

    async def _mark_children(self, frame: Frame, depth: int) -> dict[str, tuple[Frame, str]]:
        """The frames directly in a document that a visitor sees, each marked in it with a token."""
        marked: dict[str, tuple[Frame, str]] = {}
        if depth >= self._deepest:
            return marked
        for child in frame.child_frames:
            if self._frames_left <= 0:
                self._lack(f"only {MOST_FRAMES} frames were read")
                break
            token = str(len(marked))
            shown = await self._shown(child, token)
            if shown is not None:
                self._frames_left -= 1
                marked[token] = (child, shown)
        return marked

    @staticmethod
    async def _shown(child: Frame, token: str) -> str | None:
        """The title that the frame's element gives it; None when nobody sees it, or nobody is to read it."""
        try:
            async with asyncio.timeout(_FRAME_SECONDS):
                element = await child.frame_element()
                about: dict[str, Any] = await element.evaluate(MARK_FRAME, token)
        except (PlaywrightError, TimeoutError):
            return None  # it was removed, or its parent is busy: then that is not read either
        return about["title"] if about["seen"] and not _LINKS_OUT.search(about["said"]) else None

    async def _section(self, frame: Frame, title: str, depth: int) -> str:
        address = frame.url
        try:
            async with asyncio.timeout(_FRAME_SECONDS):
                marked = await self._mark_children(frame, depth)
                found = await self._serialise(frame, body_only=True)
            if found["tooLarge"]:
                self._lack(f"a frame is too large ({_shown_address(address)})")
                return ""
            title, written = found["title"].strip() or title, found["html"]
        except (PlaywrightError, TimeoutError):
            marked, written = {}, await self._words_of(frame)
        written = await self._with_children(written, marked, depth)
        return _written_section(address, title, written) if _TEXT.search(f">{written}<") else ""

    async def _words_of(self, frame: Frame) -> str:
        """The visible words, when that is all that can be had."""
        where = _shown_address(frame.url)
        try:
            words = await frame.inner_text("body", timeout=_TEXT_MS)
        except PlaywrightError:
            self._lack(f"a frame could not be read ({where})")
            return ""
        self._lack(f"only the visible words of a frame could be had ({where})")
        paragraphs = [line.strip() for line in words[: self._left].splitlines()]
        self._left -= len(words)
        return "".join(f"<p>{html.escape(line)}</p>" for line in paragraphs if line)

    async def _serialise(self, frame: Frame, *, body_only: bool) -> dict[str, Any]:
        options = {"most": max(0, self._left), "bodyOnly": body_only, "absolute": body_only, "mark": self._mark}
        found: dict[str, Any] = await frame.evaluate(SERIALISE, options)
        self._left -= len(found["html"])
        return found

    def _lack(self, words: str) -> None:
        if words not in self._lacking:
            self._lacking.append(words)


def _written_section(address: str, title: str, written: str) -> str:
    heading = f"<h2>{html.escape(title)}</h2>" if title else ""
    if not is_http(address):
        return f"<section>{heading}{written}</section>"
    link = html.escape(address)
    return f'<section data-frame-src="{link}">{heading}<p><a href="{link}">{link}</a></p>{written}</section>'


def _shown_address(address: str) -> str:
    return address.partition("?")[0][:200] or "without an address"
