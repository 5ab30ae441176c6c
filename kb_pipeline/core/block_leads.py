"""Keeps what names kept text: its heading, the price below that, the label of its tab, the summary that unfolds it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_units import keep_anyway
from kb_pipeline.core.html_tree import HEADING_TAGS, names
from kb_pipeline.core.markdown_notes import KIND_OF_CLASS, ClassKind
from kb_pipeline.core.markdown_tabs import TabNames
from kb_pipeline.core.page_blocks import TAG_BITS
from kb_pipeline.core.reasons import Reason
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.core.page_blocks import Block, Context
    from kb_pipeline.core.trace import Trace

LEVELS: Final = 3
"""How far above a heading the element is, at most, that holds its text as well. Of headings on the pages of WCXB that
were kept for text further away, one in thirty was content; of nearer ones, one in three."""
_PRICE: Final = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:[$€£¥₹]|EUR|USD|kr\b|zł)")
_CURRENCIES: Final = ("$", "€", "£", "¥", "₹", "EUR", "USD", "kr", "zł")
"""One of these is in every price; most short texts have none, which is found in a fraction of the time."""
MOST_PRICE_WORDS: Final = 6
"""A block with more tells of a price, and is none."""
MOST_HEADING_WORDS: Final = 30
"""What stands within a heading and says more is no part of one: the heading was never closed."""
_HEADINGS: Final = sum(TAG_BITS[tag] for tag in HEADING_TAGS)
MOST_LABEL_WORDS: Final = 25
_MOST_TAB_WORDS: Final = 60
_LONGEST_CLASS: Final = 400
_LABEL_TAGS: Final = names("summary legend caption dt")
_NO_LABELS: Final = names("td th li")
_BEGINS_LABEL: Final = re.compile(r"(?:^|[_-])(?:panel|accordion|expand|collaps|toggle|spoiler|faqs?|fold)")
_ENDS_LABEL: Final = re.compile(r"(?:header|heading|title|control|trigger|question|summary|label|toggle)(?:$|[_-])")


def keep_leading(blocks: Sequence[Block], kept: NDArray[np.bool_], trace: Trace | None = None) -> None:
    """Keep the headings, prices and labels of kept text."""
    leading = np.array([_leads(block) for block in blocks])
    raise_leading(kept, leading, _Leads(blocks, leading).reason, trace)


def _leads(block: Block) -> bool:
    """Whether a block is a heading, or a part of one, or a price."""
    size = len(block.words)
    if block.context.tags & _HEADINGS and (size <= MOST_HEADING_WORDS or block.context.node.tag in HEADING_TAGS):
        return True
    return size <= MOST_PRICE_WORDS and _is_price(block)


def _is_price(block: Block) -> bool:
    text = block.text
    for currency in _CURRENCIES:
        if currency in text:
            return _PRICE.search(text) is not None
    return False


def raise_leading(
    kept: NDArray[np.bool_],
    leading: NDArray[np.bool_],
    reason_of: Callable[[int, int], Reason | None],
    trace: Trace | None = None,
) -> None:
    """Keep what leads kept text. `leading` are the blocks that lead by what they are, one after the other; `reason_of`
    says whether a block leads the one at another place."""
    led = None
    for place in range(len(kept) - 1, -1, -1):
        if kept[place]:
            led = led if leading[place] else place
        elif led is not None:
            reason = reason_of(place, led)
            if reason is not None:
                keep_anyway(place, kept, reason, trace)
            elif not leading[place]:
                led = None


class _Leads:
    """Which block of a page leads which."""

    def __init__(self, blocks: Sequence[Block], leading: NDArray[np.bool_]) -> None:
        self._blocks = blocks
        self._leading = leading
        self._tab_rows: dict[int, bool] = {}
        """By the id of an element: a row is read once, not once for each of its labels."""

    def reason(self, place: int, led: int) -> Reason | None:
        """Why a block is kept with the one at `led`, which is the next that leads nothing."""
        block, text = self._blocks[place], self._blocks[led]
        if self._leading[place]:
            return Reason.HEADING if text.context.is_within(_section_of(block.context)) else None
        return Reason.LABEL if self._is_label(block, text) else None

    def _is_label(self, block: Block, text: Block) -> bool:
        size = len(block.words)
        if size > _MOST_TAB_WORDS:
            return False
        context = block.context
        for _ in range(LEVELS):
            if context.above is None or context.node.tag in _NO_LABELS:
                return False
            if self._is_tab_row(context.node):
                return text.context.is_within(context.around(2))
            if size <= MOST_LABEL_WORDS and _names_what_follows(context.node):
                return text.context.is_within(context.above)
            context = context.above
        return False

    def _is_tab_row(self, node: Node) -> bool:
        found = self._tab_rows.get(id(node))
        if found is None:
            found = self._tab_rows[id(node)] = _is_tab_row(node)
        return found


def _section_of(heading: Context) -> Context:
    """The element that holds a heading and its text; the body where the heading stands there itself."""
    outer = _outermost(heading)
    return outer.around(LEVELS) if outer is heading else outer.climb(LEVELS)


def _outermost(context: Context) -> Context:
    """The outermost element that holds nothing but a heading: DocBook puts a section's title in three."""
    letters = context.node.letters
    while context.above is not None and context.above.node.letters == letters:
        context = context.above
    return context


def _names_what_follows(node: Node) -> bool:
    if node.tag in _LABEL_TAGS:
        return True
    attributes = node.attributes
    return bool(attributes) and ("aria-expanded" in attributes or _NAMED_LABEL[attributes.get("class", "")])


def _is_named_label(written: str) -> bool:
    if len(written) > _LONGEST_CLASS:
        return False
    return KIND_OF_CLASS[written] is ClassKind.TITLE or any(map(_names_label, written.lower().split()))


def _names_label(word: str) -> bool:
    # As one pattern, a name of many beginnings and no end took the square of its length.
    begins = _BEGINS_LABEL.search(word)
    return begins is not None and _ENDS_LABEL.search(word, begins.end()) is not None


_NAMED_LABEL: Final = Remembered(_is_named_label)


def _is_tab_row(node: Node) -> bool:
    if node.get("role") == "tablist":
        return TabNames().read(node)
    return KIND_OF_CLASS[node.attributes.get("class", "")] is ClassKind.TABS and TabNames().read_row(node)
