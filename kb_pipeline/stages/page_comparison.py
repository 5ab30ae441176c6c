"""One page's stored text held against the one that its body gives now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.core.text_changes import compare_texts
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTENT: Final = {
    "markdown": "text",
    "title": "title",
    "description": "description",
    "anchors": "anchors",
    "page_state": "kind of page",
    "url": "address",
}
"""Columns that chunks are made of, as people call them."""
FACTS: Final = ("language", "canonical", "author", "published", "modified", "noindex", "degraded", "truncated")
NO_TEXT: Final = "no text"
SHORT: Final = f"under {MIN_TEXT_CHARACTERS} characters"

Row = dict[str, Any]


class Change(StrEnum):
    """What a page's text would do."""

    UNCHANGED = "unchanged"
    FACTS = "facts"
    """The text stays, and only what is known about it differs: its author, a date."""
    CHANGED = "changed"
    NEW = "new"
    """There is no text of the page yet."""
    FAILED = "failed"
    """The body cannot be read; the text that is there would stay."""


@dataclass(frozen=True, slots=True)
class PageComparison:
    """One page's stored text and the one that its body gives now."""

    page_id: str
    url: str
    change: Change
    characters_before: int | None
    characters_after: int | None
    detail: str
    """What differs, or why the body cannot be read."""
    leaves_index_because: str = ""
    """NO_TEXT, SHORT or the kind of page it is taken for; empty when it stays, or was not in."""
    joins_index: bool = False
    words_before: int = 0
    words_lost: int = 0
    words_gained: int = 0
    share_lost: float = 0.0
    share_gained: float = 0.0
    """0 to 1, of the words there were and of those there are now."""
    lines_lost: tuple[str, ...] = ()
    lines_gained: tuple[str, ...] = ()
    """The first lines that went and came."""


def rank(page: PageComparison) -> tuple[bool, float, int, str]:
    """Sorts what somebody should look at first to the front: pages that leave the index or cannot be read, then those
    that lose the largest share of their words."""
    stays = not page.leaves_index_because and page.change is not Change.FAILED
    return stays, -page.share_lost, -page.words_lost, page.url


def is_indexable(row: Row) -> bool:
    """As `stages.chunk.INDEXABLE` has it."""
    return bool(row["characters"] >= MIN_TEXT_CHARACTERS and row["page_state"] == PageState.OK)


def _why_not(row: Row) -> str:
    """Why a text is not indexed."""
    if row["page_state"] not in {PageState.OK, PageState.EMPTY}:
        return str(row["page_state"]).replace("_", " ")
    return SHORT if row["characters"] else NO_TEXT


def compared(old: Row | None, new: Row) -> PageComparison:
    """Compare the stored row of a page, where there is one, with the row that would take its place."""
    words = compare_texts(old["markdown"] if old else "", new["markdown"])
    was_in, is_in = old is not None and is_indexable(old), is_indexable(new)
    differs = _differences(old, new)
    return PageComparison(
        page_id=new["page_id"],
        url=new["url"],
        change=_change(old, differs),
        leaves_index_because=_why_not(new) if was_in and not is_in else "",
        joins_index=is_in and not was_in,
        characters_before=old["characters"] if old else None,
        characters_after=new["characters"],
        words_before=words.words_before,
        words_lost=words.words_lost,
        words_gained=words.words_gained,
        share_lost=round(words.share_lost, 4),
        share_gained=round(words.share_gained, 4),
        detail=", ".join(differs),
        lines_lost=words.lines_lost,
        lines_gained=words.lines_gained,
    )


def _differences(old: Row | None, new: Row) -> list[str]:
    """Names of what differs. A column that an earlier version did not store counts as empty."""
    if old is None:
        return []
    content = [name for column, name in CONTENT.items() if old.get(column) != new[column]]
    return [*content, *(name for name in FACTS if old.get(name) != new[name])]


def _change(old: Row | None, differs: Sequence[str]) -> Change:
    if old is None:
        return Change.NEW
    if not differs:
        return Change.UNCHANGED
    return Change.CHANGED if set(differs) & set(CONTENT.values()) else Change.FACTS


def not_read(page_id: str, url: str, old: Row | None, why: str) -> PageComparison:
    """The page, where its body gives no text now; `url` is for one that has no stored text either."""
    characters = old["characters"] if old else None
    return PageComparison(
        page_id=page_id,
        url=old["url"] if old else url,
        change=Change.FAILED,
        characters_before=characters,
        characters_after=characters,
        detail=why,
    )
