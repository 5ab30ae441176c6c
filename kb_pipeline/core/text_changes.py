"""What one text of a page has that another has not: for those who look before a new extractor's texts go live."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.plain import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE_LINES: Final = 3
LONGEST_SAMPLE: Final = 160
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words: each letter counts as one."""
_WORD: Final = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class TextChange:
    """Two Markdown texts of one page held against each other.

    Words are those that a reader sees, and are told apart by how often each occurs: a passage that only moved is
    neither lost nor gained.
    """

    words_before: int
    words_after: int
    words_lost: int
    words_gained: int
    lines_lost: tuple[str, ...] = ()
    """The first SAMPLE_LINES lines that the later text lacks, each cut to LONGEST_SAMPLE characters."""
    lines_gained: tuple[str, ...] = ()

    @property
    def share_lost(self) -> float:
        """0 to 1, of the words that there were."""
        return self.words_lost / self.words_before if self.words_before else 0.0

    @property
    def share_gained(self) -> float:
        """0 to 1, of the words that there are now."""
        return self.words_gained / self.words_after if self.words_after else 0.0


def compare_texts(before: str, after: str) -> TextChange:
    """Compare two Markdown texts."""
    old = _words(before)
    if before == after:
        return TextChange(old.total(), old.total(), 0, 0)
    new = _words(after)
    return TextChange(
        words_before=old.total(),
        words_after=new.total(),
        words_lost=(old - new).total(),
        words_gained=(new - old).total(),
        lines_lost=_sample(before, after),
        lines_gained=_sample(after, before),
    )


def unified_diff(before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff with three lines of context, without its head; none where the texts are equal."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    return (line for place, line in enumerate(lines) if place > 1)


def _words(markdown: str) -> Counter[str]:
    return Counter(_WORD.findall(plain_text(markdown)))


def _sample(text: str, other: str) -> tuple[str, ...]:
    """Lines of `text` that `other` has less often."""
    left = Counter(line.strip() for line in other.splitlines())
    found: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if left[line] > 0:
            left[line] -= 1
            continue
        found.append(line if len(line) <= LONGEST_SAMPLE else f"{line[: LONGEST_SAMPLE - 1]}…")
        if len(found) == SAMPLE_LINES:
            break
    return tuple(found)
