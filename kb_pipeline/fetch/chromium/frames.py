"""A page's document with those of its frames in their places: inner HTML first, inner text as a last resort."""

from __future__ import annotations

import asyncio
import html
import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.core.urls import is_http, without_fragment
from kb_pipeline.errors import BodyTooLarge
from kb_pipeline.fetch.chromium.scripts import MARK_FRAME, SERIALISE, WORDS

if TYPE_CHECKING:
    from collections.abc import Collection

    from playwright.async_api import Frame

MOST_FRAMES: Final = 30
DEEPEST: Final = 4
_FRAME_SECONDS: Final = 3.0
"""For one frame to answer: its page may be busy, or not have come."""
_WORDS_SECONDS: Final = 2.0
_MOST_LOOKS: Final = 150
"""Frames whose elements are looked at, seen or not."""
SPOILT: Final = "the page's scripts spoilt the answer"
_LEFT_OUT: Final = re.compile(
    r"google_ads_|\baswift_|\bgoogle_esf\b|3rd party ad|\badvert|re?captcha|\bturnstile\b", re.IGNORECASE
)
"""What frames call themselves that are advertisement, or ask whether somebody is human."""
_TEXT: Final = re.compile(r">[^<]*[^\s<][^<]*<")
_LONGEST_ADDRESS: Final = 2_048
_GOING: Final = ("navigat", "context was destroyed", "detached", "closed", "crash")
"""Words of the driver for a document that is no longer there. Else it was the document's scripts that failed ours."""


@dataclass(slots=True)
class Document:
    """What was read of a page."""

    html: str
    content_type: str
    """As the browser took it: of the header, or what the body looked like."""
    lacking: list[str] = field(default_factory=list)
    """What could not be had, in words."""


@dataclass(frozen=True, slots=True)
class _Child:
    """A frame that a visitor sees, as the element says that it is in."""

    frame: Frame
    title: str
    source: str


class FrameReader:
    """Reads one page. `most` is the most characters of all its documents together, `deepest` how far down frames are
    read: 0 not at all. `lost` are addresses that gave no answer."""

    def __init__(self, most: int, deepest: int, lost: Collection[str]) -> None:
        self._left = most
        self._most = most
        self._deepest = deepest
        self._lost = lost
        self._frames_left = MOST_FRAMES
        self._looks_left = _MOST_LOOKS
        self._mark = f"kb-frame-{secrets.token_hex(8)}-"
        self._lacking: list[str] = []

    async def read(self, main: Frame) -> Document:
        """The whole page. Raises BodyTooLarge, PlaywrightError when the document went away meanwhile."""
        children = await self._children(main, 0)
        try:
            found = await self._serialise(main, body_only=False)
        except PlaywrightError as error:
            if is_going(error):
                raise
            title, words = await self._words_of(main, "the page")
            found = {"html": f"<title>{html.escape(title)}</title>{words}", "type": "", "tooLarge": False}
        if found["tooLarge"]:
            message = f"the rendered page has more than {self._most:,} characters"
            raise BodyTooLarge(message)
        written = await self._with_children(found["html"], children, 0)
        return Document(f"<!DOCTYPE html>{written}", found["type"], self._lacking)

    async def _with_children(self, written: str, children: list[_Child], depth: int) -> str:
        for number, child in enumerate(children):
            mark = f"<!--{self._mark}{number}-->"
            part = await self._section(child, depth + 1)
            # A frame in a place that is not written, a part that the page hides from scripts say, goes to the end.
            written = written.replace(mark, part, 1) if mark in written else written + part
        return written

    async def _children(self, frame: Frame, depth: int) -> list[_Child]:
        """The frames directly in a document that a visitor sees, each marked in it with its number."""
        children: list[_Child] = []
        if depth >= self._deepest:
            return children
        for below in frame.child_frames:
            if self._frames_left <= 0 or self._looks_left <= 0:
                self._lack(f"only {MOST_FRAMES - self._frames_left} frames were read")
                break
            self._looks_left -= 1
            child = await self._seen(below, len(children))
            if child is not None:
                self._frames_left -= 1
                children.append(child)
        return children

    @staticmethod
    async def _seen(frame: Frame, number: int) -> _Child | None:
        """The frame with what its element says; None when nobody sees it, or nobody is to read it."""
        try:
            async with asyncio.timeout(_FRAME_SECONDS):
                element = await frame.frame_element()
                about = _shaped(
                    await element.evaluate(MARK_FRAME, str(number)), seen=bool, title=str, source=str, said=str
                )
        except (PlaywrightError, TimeoutError):
            return None  # it was removed, or its parent is busy: then that is not read either
        if not about["seen"] or _LEFT_OUT.search(about["said"]):
            return None
        return _Child(frame, about["title"], about["source"])

    async def _section(self, child: _Child, depth: int) -> str:
        frame, title = child.frame, child.title
        did_not_come = frame.url.startswith("chrome-error:")  # Chromium's own page in its place
        if did_not_come or (not is_http(frame.url) and is_http(child.source)):
            self._lack(f"a frame did not come ({_shown(child.source)})")
            return ""
        try:
            async with asyncio.timeout(_FRAME_SECONDS):
                children = await self._children(frame, depth)
                found = await self._serialise(frame, body_only=True)
            if found["tooLarge"]:
                self._lack(f"a frame is too large ({_shown(child.source)})")
                return ""
            title, written = found["title"].strip() or title, found["html"]
        except (PlaywrightError, TimeoutError):
            children = []
            _, written = await self._words_of(frame, f"a frame ({_shown(child.source)})")
        written = await self._with_children(written, children, depth)
        if _TEXT.search(f">{written}<"):
            return _written_section(frame.url, title, written)
        if without_fragment(frame.url) in self._lost:
            self._lack(f"a frame did not come ({_shown(child.source)})")
        return ""

    async def _words_of(self, frame: Frame, what: str) -> tuple[str, str]:
        """The title and the visible words, when that is all that can be had."""
        try:
            async with asyncio.timeout(_WORDS_SECONDS):
                found = _shaped(await frame.evaluate(WORDS, max(0, self._left)), title=str, words=str)
        except (PlaywrightError, TimeoutError):
            self._lack(f"{what} could not be read")
            return "", ""
        self._lack(f"only the visible words of {what} could be had")
        self._left -= len(found["words"])
        paragraphs = [line.strip() for line in found["words"].splitlines()]
        return found["title"], "".join(f"<p>{html.escape(line)}</p>" for line in paragraphs if line)

    async def _serialise(self, frame: Frame, *, body_only: bool) -> dict[str, Any]:
        options = {"most": max(0, self._left), "bodyOnly": body_only, "absolute": body_only, "mark": self._mark}
        answer = await frame.evaluate(SERIALISE, options)
        found = _shaped(answer, html=str, title=str, type=str, tooLarge=bool)
        self._left -= len(found["html"])
        return found

    def _lack(self, words: str) -> None:
        if words not in self._lacking:
            self._lacking.append(words)


def _shaped(answer: Any, **shape: type) -> dict[str, Any]:
    """The answer of a script of ours. Raises PlaywrightError when the page has made something else of it."""
    if not isinstance(answer, dict) or any(not isinstance(answer.get(name), kind) for name, kind in shape.items()):
        raise PlaywrightError(SPOILT)
    return answer


def is_going(error: PlaywrightError) -> bool:
    """Whether a document could not be asked because it was just being left."""
    return any(word in str(error) for word in _GOING)


def _written_section(address: str, title: str, written: str) -> str:
    heading = f"<h2>{html.escape(title)}</h2>" if title else ""
    if not is_http(address) or len(address) > _LONGEST_ADDRESS:
        return f"<section>{heading}{written}</section>"
    link = html.escape(address)
    return f'<section data-frame-src="{link}">{heading}<p><a href="{link}">{link}</a></p>{written}</section>'


def _shown(address: str) -> str:
    return address.partition("?")[0][:200] or "without an address"
