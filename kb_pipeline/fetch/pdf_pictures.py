"""The pages of a PDF as pictures. PDFium draws them in a process of its own: a file that crashes it, stalls it or
fills its memory ends that process and nothing else (fetch.pdf_pictures_child)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kb_pipeline.errors import BodyUndecodable, TierUnavailable
from kb_pipeline.fetch.pictures import why_no_pictures

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from types import TracebackType

T = TypeVar("T")

MOST_PAGES: Final = 20
LONGEST_SIDE: Final = 2000
"""Pixels; a letter of 10 points on A4 is 24 of them high."""
PAGE_SECONDS: Final = 30.0
_MOST_BYTES: Final = 24 * 2**20
"""Of one picture: more than an uncompressed one of that size has."""
_CHILD: Final = Path(__file__).with_name("pdf_pictures_child.py")


def why_no_pdfs() -> str:
    """Why a PDF's pages cannot be drawn; empty when they can."""
    if importlib.util.find_spec("pypdfium2") is None:
        return "pypdfium2 is not installed (it comes with the extra `ocr`)"
    return why_no_pictures()


class PdfPictures:
    """`async with PdfPictures(body) as pictures:` then `pictures.pages()`. `count` and `title` are the document's.
    `seconds` is the most that one page may take, `child` the program that draws."""

    def __init__(self, body: bytes, *, seconds: float = PAGE_SECONDS, child: Path = _CHILD) -> None:
        self._body = body
        self._seconds = seconds
        self._program = child
        self.count = 0
        self.title = ""

    async def __aenter__(self) -> Self:
        """Start the process and open the document. Raises TierUnavailable, and BodyUndecodable for a broken one."""
        if why := why_no_pdfs():
            raise TierUnavailable(why)
        arguments = [sys.executable, "-I", str(self._program), str(MOST_PAGES), str(LONGEST_SIDE)]
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        self._child = await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe, stderr=nowhere, env={})
        try:
            await self._in_time(self._hand_over())
            head = json.loads(await self._in_time(self._message()))
            self.count, self.title = int(head["pages"]), str(head["title"])
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def pages(self) -> AsyncGenerator[bytes, None]:
        """PNGs of the first pages, in order."""
        for _ in range(min(self.count, MOST_PAGES)):
            yield await self._in_time(self._message())

    async def _hand_over(self) -> None:
        stdin = self._child.stdin
        if stdin is None:
            raise AssertionError
        with contextlib.suppress(ConnectionError):  # a child that died says so when it is listened to
            stdin.write(self._body)
            await stdin.drain()
            stdin.close()

    async def _message(self) -> bytes:
        stdout = self._child.stdout
        if stdout is None:
            raise AssertionError
        size = int.from_bytes(await stdout.readexactly(4), "big")
        if size > _MOST_BYTES:
            message = "a page of the PDF is too large to draw"
            raise BodyUndecodable(message)
        return await stdout.readexactly(size)

    async def _in_time(self, step: Coroutine[None, None, T]) -> T:
        try:
            async with asyncio.timeout(self._seconds):
                return await step
        except TimeoutError:
            message = f"a page of the PDF took more than {self._seconds:g} s to draw"
            raise BodyUndecodable(message) from None
        except asyncio.IncompleteReadError:
            message = "the PDF's pages cannot be drawn"
            raise BodyUndecodable(message) from None

    async def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._child.kill()
        await self._child.wait()
