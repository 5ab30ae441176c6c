"""Words of a PDF that a line end divides: which hyphen goes, and which is the word's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.pdf_segments import glued

if TYPE_CHECKING:
    from collections.abc import Iterable

SOFT_HYPHEN: Final = "\u00ad"
_LONGEST_WORD: Final = 80
_DIVIDED: Final = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)[-\u2010]$")
_FIRST: Final = re.compile(r"[^\W\d_]+")
_WORDS: Final = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_FORMERS: Final = frozenset(
    re.split(
        " ",
        "all back best better cross double ever fast first four full half hard high ill large left light long low mid "
        "multi new non one open quasi real right second self short single six small third three top two vice well wide",
    )
)
"""Words that form compounds with a hyphen, more often than they begin a divided word."""


class Words:
    """The words that a document has within its lines."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._known: set[str] = set()
        for line in lines:
            # The last word may be half of one.
            self._known.update(word.lower().replace("\u2010", "-") for word in _WORDS.findall(line)[:-1])

    def joined(self, before: str, line: str) -> str:
        """Two lines of a paragraph as one."""
        if before.endswith(SOFT_HYPHEN):
            return before.rstrip(SOFT_HYPHEN) + line
        # Only the last words: a paragraph of thousands of lines is not read again for each.
        divided, first = _DIVIDED.search(before[-_LONGEST_WORD:]), _FIRST.match(line)
        if not divided or not first:
            return glued(before, line)
        if not line[0].islower() and not divided[1].isupper():
            # "Baden-" and "Württemberg": no line end divides before a capital.
            return before + line
        return before + line if self._is_compound(divided[1], first[0]) else before[:-1] + line

    def _is_compound(self, start: str, end: str) -> bool:
        start, end = start.lower(), end.lower()
        if f"{start}-{end}" in self._known:
            return True
        if start + end in self._known:
            return False
        return start in _FORMERS or (start in self._known and end in self._known)
