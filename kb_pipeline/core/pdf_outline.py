"""The bookmarks of a PDF (ISO 32000-2 §12.3.3): its headings, as whoever wrote it sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pypdf import PdfReader

_MOST_ENTRIES: Final = 5_000
_MOST_PAGES: Final = 1_000
_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A bookmark; `depth` counts from 0, and `page` too."""

    title: str
    depth: int
    page: int


def outline_of(reader: PdfReader) -> tuple[OutlineEntry, ...]:
    """The bookmarks that point at pages. One that is broken has none: then headings are told by their looks."""
    from pypdf.errors import PyPdfError  # noqa: PLC0415 - slow to import

    try:
        root = reader.root_object.get("/Outlines")
        if root is None:
            return ()
        pages = (reader.pages[number].indirect_reference for number in range(min(len(reader.pages), _MOST_PAGES)))
        places = {page.idnum: number for number, page in enumerate(pages) if page is not None}
        named = reader.named_destinations
        return tuple(_entries(root.get_object(), places, named))
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return ()


def _entries(root: Any, places: dict[int, int], named: Mapping[str, Any]) -> list[OutlineEntry]:
    """Depth first. Items are linked to one another, and may be linked in a circle."""
    found: list[OutlineEntry] = []
    seen: set[int] = set()
    waiting = [(root.get("/First"), 0)]
    while waiting and len(seen) < _MOST_ENTRIES:
        reference, depth = waiting.pop()
        number = getattr(reference, "idnum", None)
        if number is None or number in seen:
            continue
        seen.add(number)
        item = reference.get_object()
        waiting.append((item.get("/Next"), depth))
        page = _page(item, places, named)
        title = " ".join(str(item.get("/Title", "")).split())
        if title and page is not None:
            found.append(OutlineEntry(title, depth, page))
        if depth < _DEEPEST:
            waiting.append((item.get("/First"), depth + 1))
    return found


def _page(item: Any, places: dict[int, int], named: Mapping[str, Any]) -> int | None:
    target = item.get("/Dest")
    if target is None and "/A" in item:
        target = item["/A"].get_object().get("/D")
    target = target.get_object() if target is not None else None
    if isinstance(target, str):
        page = named[target].page if target in named else None
        return places.get(getattr(page, "idnum", -1))
    return places.get(getattr(target[0], "idnum", -1)) if target else None
