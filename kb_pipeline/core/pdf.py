"""PDF → pages of text lines with their font sizes, bounded in pages, time and memory.

How the lines become Markdown is in `core.pdf_markdown`.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.errors import PdfProblem, PdfUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pypdf import PageObject, PdfReader

MAX_PAGES: Final = 1_000
MAX_CHARACTERS: Final = 250_000
"""Reading stops after the page that passes this: a text is cut at less."""
MAX_SECONDS: Final = 15.0
MAX_STREAM_BYTES: Final = 32 * 2**20
"""Most bytes that one compressed stream may unfold to; text needs a fraction of it."""
_TYPEWRITER: Final = re.compile(r"courier|mono|consol|typewriter|cmtt|menlo|lucidacons", re.IGNORECASE)
_TAIL_BYTES: Final = 4_096
_INLINE_IMAGE: Final = re.compile(rb"(?:^|\s)BI\s[^<>]{0,500}?\sID\s")
_MOST_DRAWN: Final = 64
"""Pictures and forms of a page that are looked at."""
_OPERATIONS_BETWEEN_CLOCK_READINGS: Final = 256


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text; `size` (points) is that of most of its letters, `height` its place above the page's foot."""

    text: str
    size: float
    height: float = 0.0
    is_code: bool = False
    """Set in a typewriter face; its white space is kept then."""


@dataclass(frozen=True, slots=True)
class PdfDocument:
    """What was read. `page_count` counts the pages of the file; `pages` may hold fewer when `truncated`."""

    title: str
    pages: tuple[tuple[PdfLine, ...], ...]
    page_count: int
    truncated: bool


class _OutOfTimeError(Exception):
    """The time for one PDF is used up."""


def read_pdf(body: bytes) -> PdfDocument:
    """Read a PDF's text page by page, in the order its content streams draw it.

    Raises PdfUnreadable when the file is encrypted, broken, beyond the limits, or holds no text (then `problem` tells
    scanned pages from empty ones).
    """
    from pypdf import PdfReader, apply_configuration  # noqa: PLC0415 - slow to import, and few sites have PDFs
    from pypdf.errors import FileNotDecryptedError, LimitReachedError  # noqa: PLC0415

    # pypdf tells each of a broken file's thousand faults as a warning.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    limits: dict[str, Any] = {
        "zlib_maximum_output_length": MAX_STREAM_BYTES,
        "lzw_maximum_output_length": MAX_STREAM_BYTES,
        "run_length_maximum_output_length": MAX_STREAM_BYTES,
        "brotli_maximum_output_length": MAX_STREAM_BYTES,
        "stream_decoding_work_maximum_length": 3 * MAX_STREAM_BYTES,
        "jbig2dec_binary": None,
        "disable_legacy_handling": True,
    }
    try:
        with apply_configuration(**limits):
            return _read(PdfReader(BytesIO(_with_end(body))))
    except PdfUnreadable:
        raise
    except FileNotDecryptedError:
        raise PdfUnreadable(PdfProblem.ENCRYPTED, "the PDF is encrypted and asks for a password") from None
    except LimitReachedError as error:
        raise PdfUnreadable(PdfProblem.TOO_BIG, f"the PDF needs more memory or work than it may: {error}") from None
    except _OutOfTimeError:
        raise PdfUnreadable(
            PdfProblem.TOO_BIG, f"no page of the PDF could be read within {MAX_SECONDS:.0f} s"
        ) from None
    except MemoryError:
        raise PdfUnreadable(PdfProblem.TOO_BIG, "the PDF needs more memory than there is") from None
    except Exception as error:  # noqa: BLE001 - "broken PDF files might cause other exceptions", says pypdf.errors
        raise PdfUnreadable(PdfProblem.BROKEN, f"the PDF is broken: {type(error).__name__}: {error}"[:300]) from None


def _with_end(body: bytes) -> bytes:
    """A file whose last lines were lost gets others, which make its reader look for the objects itself. One that lost
    its trailer too has lost pages, and so may one that begins with its trailer (linearized): neither is mended."""
    tail = body[-_TAIL_BYTES:]
    if b"%%EOF" in tail and b"startxref" in tail:
        return body
    has_trailer = b"/Root" in tail and b"/Linearized" not in body[:_TAIL_BYTES]
    return body + b"\nstartxref\n0\n%%EOF\n" if has_trailer else body


def _read(reader: PdfReader) -> PdfDocument:
    if reader.is_encrypted:
        # Most encrypted files only restrict printing, and open with the empty password.
        reader.decrypt("")
    deadline = time.monotonic() + MAX_SECONDS
    count = len(reader.pages)
    pages: list[tuple[PdfLine, ...]] = []
    characters = 0
    has_images = False
    for number in range(min(count, MAX_PAGES)):
        page = reader.pages[number]
        try:
            lines = _page_lines(page, deadline)
        except _OutOfTimeError:
            if not characters:
                raise
            break
        pages.append(lines)
        characters += sum(len(line.text) for line in lines)
        has_images = has_images or (not lines and _shows_images(page))
        if characters > MAX_CHARACTERS or time.monotonic() > deadline:
            break
    if not characters:
        raise _nothing_to_read(count, has_images=has_images)
    return PdfDocument(_title(reader), tuple(pages), count, len(pages) < count)


def _nothing_to_read(pages: int, *, has_images: bool) -> PdfUnreadable:
    if has_images:
        return PdfUnreadable(PdfProblem.SCANNED, f"the PDF's {pages} pages are pictures without text (scanned)")
    return PdfUnreadable(PdfProblem.EMPTY, f"the PDF's {pages} pages hold no text")


def _page_lines(page: PageObject, deadline: float) -> tuple[PdfLine, ...]:
    """A page's lines. One page that cannot be read is left out; the others are worth having."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    collector = _LineCollector(deadline)
    try:
        page.extract_text(visitor_text=collector.text, visitor_operand_before=collector.operation)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError):
        if not collector.lines():
            raise
    return tuple(collector.lines())


class _LineCollector:
    """Puts the pieces that pypdf hands out together to lines."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._operations = 0
        self._pieces: list[_Piece] = []

    def operation(self, *_: Any) -> None:
        self._operations += 1
        if self._operations % _OPERATIONS_BETWEEN_CLOCK_READINGS == 0 and time.monotonic() > self._deadline:
            raise _OutOfTimeError

    def text(self, text: str, current: Sequence[float], matrix: Sequence[float], font: Any, size: float) -> None:
        if text:
            scale = math.hypot(matrix[2], matrix[3]) * math.hypot(current[2], current[3])
            height = current[1] * matrix[4] + current[3] * matrix[5] + current[5]
            face = str(font.get("/BaseFont", "")) if font else ""
            self._pieces.append(_Piece(text, round(abs(size) * scale * 2) / 2, height, bool(_TYPEWRITER.search(face))))

    def lines(self) -> list[PdfLine]:
        lines: list[PdfLine] = []
        parts: list[_Piece] = []
        for piece in self._pieces:
            first, *others = piece.text.split("\n")
            parts.append(replace(piece, text=first))
            for other in others:
                lines += _line(parts)
                parts = [replace(piece, text=other)]
        return lines + _line(parts)


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    size: float
    height: float
    is_code: bool


def _line(pieces: Sequence[_Piece]) -> list[PdfLine]:
    written = [piece for piece in pieces if piece.text.strip()]
    if not written:
        return []
    text = "".join(piece.text for piece in pieces).replace("\0", "")
    letters: Counter[float] = Counter()
    for piece in written:
        letters[piece.size] += len(piece.text.strip())
    is_code = all(piece.is_code for piece in written)
    shown = text.rstrip() if is_code else " ".join(text.split())
    return [PdfLine(shown, letters.most_common(1)[0][0], written[0].height, is_code)]


def _shows_images(page: PageObject) -> bool:
    """Whether a page without text has a picture: among its resources, in a form that it draws, or written inline."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        contents = page.get_contents()
        inline = contents is not None and _INLINE_IMAGE.search(contents.get_data())
        return bool(inline) or any(map(_is_image, _drawn(page["/Resources"])))
    except (PyPdfError, KeyError, TypeError, AttributeError, ValueError):
        return False


def _drawn(resources: Any) -> Iterator[Any]:
    """The pictures and forms that resources name, and those within the forms; a form may name itself."""
    waiting = [resources.get_object()]
    left = _MOST_DRAWN
    while waiting:
        for reference in waiting.pop().get("/XObject", {}).get_object().values():
            item = reference.get_object()
            left -= 1
            if left < 0:
                return
            yield item
            if "/Resources" in item:
                waiting.append(item["/Resources"].get_object())


def _is_image(item: Any) -> bool:
    if item.get("/Subtype") == "/Form":
        return bool(_INLINE_IMAGE.search(item.get_data()))
    return bool(item.get("/Subtype") == "/Image")


def _title(reader: PdfReader) -> str:
    """The title in the document's information, where it is one and not the name of a file."""
    try:
        title = reader.metadata.title if reader.metadata else None
    except (KeyError, TypeError, AttributeError, ValueError):
        return ""
    title = " ".join(str(title or "").split())
    is_file_name = title.lower().endswith((".doc", ".docx", ".indd", ".tex", ".pdf", ".qxd")) or title.lower() in {
        "untitled",
        "(anonymous)",
        "anonymous",
    }
    return "" if is_file_name else title[:300]
