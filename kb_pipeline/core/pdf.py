"""PDF → pages of text lines with their font sizes, bounded in pages, time and memory.

How the lines become Markdown is in `core.pdf_markdown`.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.core.pdf_fonts import Fonts
from kb_pipeline.core.pdf_layout import in_reading_order
from kb_pipeline.core.pdf_outline import outline_of
from kb_pipeline.core.pdf_running import without_running
from kb_pipeline.core.pdf_runs import OutOfTimeError, PageRuns, turned_rule
from kb_pipeline.core.pdf_segments import segments_of
from kb_pipeline.errors import PdfProblem, PdfUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pypdf import PageObject, PdfReader

    from kb_pipeline.core.pdf_layout import PlacedSegment
    from kb_pipeline.core.pdf_outline import OutlineEntry
    from kb_pipeline.core.pdf_runs import Rule
    from kb_pipeline.core.pdf_segments import Segment

MAX_PAGES: Final = 1_000
MAX_CHARACTERS: Final = 250_000
"""Reading stops after the page that passes this: a text is cut at less."""
MAX_SECONDS: Final = 15.0
MAX_STREAM_BYTES: Final = 32 * 2**20
"""Most bytes that one compressed stream may unfold to; text needs a fraction of it."""
_TAIL_BYTES: Final = 4_096
_INLINE_IMAGE: Final = re.compile(rb"(?:^|\s)BI\s[^<>]{0,500}?\sID\s")
_MOST_DRAWN: Final = 64
"""Pictures and forms of a page that are looked at."""


@dataclass(frozen=True, slots=True)
class PdfLine:
    """A line of text; `size` (points) is that of most of its letters, `height` its place above the page's foot."""

    text: str
    size: float
    height: float = 0.0
    is_code: bool = False
    """Set in a typewriter face; its white space is kept then."""
    is_bold: bool = False
    indent: float = 0.0
    """From the near edge of its column, and `short` from the far one, in points."""
    short: float = 0.0
    width: float = 0.0
    column: int = 0
    """Parts of a page with a column each, counted as they are read."""
    table: tuple[tuple[str, ...], ...] = ()
    """The cells of a table, by rows; `text` holds them too."""


@dataclass(frozen=True, slots=True)
class PdfDocument:
    """What was read. `page_count` counts the pages of the file; `pages` may hold fewer when `truncated`."""

    title: str
    pages: tuple[tuple[PdfLine, ...], ...]
    page_count: int
    truncated: bool
    outline: tuple[OutlineEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class _Frame:
    """Text of one direction on a page."""

    segments: list[Segment]
    rules: list[Rule]


def read_pdf(body: bytes) -> PdfDocument:
    """Read a PDF's text page by page, in reading order.

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
    except OutOfTimeError:
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
    pages: list[list[_Frame]] = []
    characters = 0
    has_images = False
    fonts = Fonts()
    for number in range(min(count, MAX_PAGES)):
        page = reader.pages[number]
        try:
            drawn = _page_runs(page, fonts, deadline)
        except OutOfTimeError:
            if not characters:
                raise
            break
        pages.append(_frames(drawn))
        characters += sum(len(run.text) for run in drawn.runs)
        has_images = has_images or (not drawn.runs and _shows_images(page))
        if characters > MAX_CHARACTERS or time.monotonic() > deadline:
            break
    if not characters:
        raise _nothing_to_read(count, has_images=has_images)
    return PdfDocument(_title(reader), _laid_out(pages), count, len(pages) < count, outline_of(reader))


def _nothing_to_read(pages: int, *, has_images: bool) -> PdfUnreadable:
    if has_images:
        return PdfUnreadable(PdfProblem.SCANNED, f"the PDF's {pages} pages are pictures without text (scanned)")
    return PdfUnreadable(PdfProblem.EMPTY, f"the PDF's {pages} pages hold no text")


def _page_runs(page: PageObject, fonts: Fonts, deadline: float) -> PageRuns:
    """What a page draws. One page that cannot be read is left out; the others are worth having."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415
    from pypdf.generic import ContentStream  # noqa: PLC0415

    drawn = PageRuns(fonts, deadline)
    try:
        resources = page.get("/Resources")
        if resources is not None and "/Contents" in page:
            drawn.read(ContentStream(page["/Contents"].get_object(), page.pdf, "bytes"), resources.get_object())
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError):
        if not drawn.runs:
            raise
    return drawn


def _frames(drawn: PageRuns) -> list[_Frame]:
    """The text of each direction, that with most letters first: a page on its side reads as one that stands."""
    runs = [run for run in drawn.runs if not run.is_artifact] or drawn.runs
    letters: Counter[int] = Counter()
    for run in runs:
        letters[run.quarter] += len(run.text)
    frames = []
    for quarter, _ in letters.most_common():
        rules = [turned_rule(rule, quarter) for rule in drawn.rules]
        frames.append(_Frame(segments_of([run for run in runs if run.quarter == quarter], rules), rules))
    return frames


def _laid_out(pages: Sequence[Sequence[_Frame]]) -> tuple[tuple[PdfLine, ...], ...]:
    """The lines of the pages, without what runs through them."""
    upright = without_running([frames[0].segments if frames else [] for frames in pages])
    laid_out = []
    for frames, segments in zip(pages, upright, strict=True):
        turned = [(frame.segments, frame.rules) for frame in frames[1:]]
        parts = [(segments, frames[0].rules), *turned] if frames else []
        laid_out.append(tuple(_line(placed) for part in parts for placed in in_reading_order(*part)))
    return tuple(laid_out)


def _line(placed: PlacedSegment) -> PdfLine:
    segment = placed.segment
    return PdfLine(
        segment.text,
        segment.size,
        segment.top if segment.table else segment.base,
        segment.is_code,
        segment.is_bold,
        segment.left - placed.near,
        placed.far - segment.right,
        segment.width,
        placed.column,
        segment.table,
    )


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
