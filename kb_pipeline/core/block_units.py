"""Keeps together what belongs together: the rows of a table, a term and its definition, a note and its title, the lines
of a piece of code, a formula or a footnote and the text it stands in.

The parts say little without each other, and most are short, so that each by itself is doubtful.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.chrome import NAVIGATION_WORDS
from kb_pipeline.core.html_tree import Node, bits, names
from kb_pipeline.core.markdown_notes import KIND_OF_CLASS, ClassKind, is_code, is_note
from kb_pipeline.core.markdown_tables import is_data_table, read_rows
from kb_pipeline.core.page_blocks import TAG_BITS
from kb_pipeline.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, Context
    from kb_pipeline.core.trace import Trace

UNIT_TAGS: Final = names("table dl figure details")
LENIENCE: Final = 0.65
"""A unit beside kept text stays from this part of the cut, by the mean share of its words: it is lost all at once."""
MOST_LENIENT_WORDS: Final = 50
"""What says more is weighed well enough."""
MOST_LINKED: Final = 0.3
"""Of what has a larger share of its letters in links some is navigation."""
NEAR_LEVELS: Final = 3
"""How far above a unit the element is, at most, that holds the kept text beside it as well."""
_PAGE_PARTS: Final = bits(names("h1 h2 main article"))
_LARGEST_MARKED: Final = 4_000
"""Letters of an element that is asked for its class."""
_MOST_ATTACHED_WORDS: Final = 60
_MOST_BETWEEN: Final = 4
"""Blocks after what is kept that are looked at."""
_BACK: Final = re.compile(r"#(?:[\w-]*-)?(?:fnref|footnote-?ref|cite_ref|ftnref|_ftnref)")
_FOOTNOTE_LINK: Final = re.compile(r"foot-?note|backref|reversefootnote|doc-backlink", re.IGNORECASE)
_ITEM: Final = TAG_BITS["li"]
_FORMULA_BEGINS: Final = ("\\[", "$$", "\\begin{")


def keep_anyway(place: int, kept: NDArray[np.bool_], reason: Reason, trace: Trace | None) -> None:
    """Keep a block whatever its share."""
    if trace is not None and not kept[place]:
        trace.raise_block(place, reason)
    kept[place] = True


def keep_units(
    blocks: Sequence[Block],
    kept: NDArray[np.bool_],
    shares: NDArray[np.float64],
    words: NDArray[np.integer],
    cut: float,
    trace: Trace | None = None,
) -> None:
    """Keep all of a unit of which at least half of the words are kept, or that is nearly likely enough as a whole."""
    for edge, unit in _units_at_edges(blocks, kept):
        inside = _places(blocks, edge.dropped, unit)
        held, sizes = kept[inside], words[inside]
        if held.all():
            continue
        if not _is_mostly_kept(held, sizes):
            near = _is_beside_kept(blocks, kept, (edge.kept, inside.start - 1, inside.stop), unit)
            if not (near and _is_nearly_likely(unit.node, shares[inside], sizes, cut)):
                continue
        if unit.node.tag != "table" or is_data_table(unit.node, read_rows(unit.node)):
            for number in range(inside.start, inside.stop):
                keep_anyway(number, kept, Reason.BOX, trace)


def _is_beside_kept(blocks: Sequence[Block], kept: NDArray[np.bool_], places: Sequence[int], unit: Context) -> bool:
    """Whether one of the places has kept text that stands near a unit, which does not call itself navigation."""
    box = unit.around(NEAR_LEVELS)
    near = (place for place in places if 0 <= place < len(blocks) and kept[place])
    return any(blocks[place].context.is_within(box) for place in near) and not _is_named_navigation(unit)


def _is_mostly_kept(kept: NDArray[np.bool_], words: NDArray[np.integer]) -> bool:
    return int(words[kept].sum()) * 2 >= int(words.sum())


def _is_nearly_likely(unit: Node, shares: NDArray[np.float64], words: NDArray[np.integer], cut: float) -> bool:
    total = int(words.sum())
    if total > MOST_LENIENT_WORDS or unit.tag == "figure" or unit.link_letters > unit.letters * MOST_LINKED:
        return False
    return float(shares @ words) >= LENIENCE * cut * total


def _is_named_navigation(unit: Context) -> bool:
    """Whether the unit, or what it stands in, calls itself navigation, as a table with the pages before and after."""
    context: Context | None = unit
    for _ in range(NEAR_LEVELS):
        if context is None:
            break
        if not NAVIGATION_WORDS.isdisjoint(context.named):
            return True
        context = context.above
    return False


@dataclass(frozen=True, slots=True)
class _Edge:
    """Two blocks that stand side by side."""

    kept: int
    dropped: int


def _units_at_edges(blocks: Sequence[Block], kept: NDArray[np.bool_]) -> Iterator[tuple[_Edge, Context]]:
    """The units that hold a dropped block beside a kept one, inner ones first; no other can change."""
    seen: set[int] = set()
    for before in np.flatnonzero(kept[1:] != kept[:-1]).tolist():
        edge = _Edge(before, before + 1) if kept[before] else _Edge(before + 1, before)
        context: Context | None = blocks[edge.dropped].context
        while context is not None and id(context) not in seen:
            seen.add(id(context))
            if _is_unit(context.node):
                yield edge, context
            context = context.above


def _is_unit(node: Node) -> bool:
    if node.tag in UNIT_TAGS:
        return True
    attributes = node.attributes
    if not attributes or node.letters > _LARGEST_MARKED or node.holds & _PAGE_PARTS:
        return False
    role = attributes.get("role")
    kind = KIND_OF_CLASS[attributes.get("class", "")]
    if kind is ClassKind.PLAIN and role is None:
        return False
    return role == "table" or is_note(node, kind) or is_code(node, kind)


def _places(blocks: Sequence[Block], place: int, unit: Context) -> slice:
    """The blocks of a unit, one of which stands at `place`: they follow each other."""

    def is_inside(number: int) -> bool:
        return blocks[number].context.is_within(unit)

    numbers = range(len(blocks))
    first = bisect_left(numbers, True, hi=place, key=is_inside)
    return slice(first, bisect_left(numbers, True, lo=place, key=lambda number: not is_inside(number)))


def keep_attached(blocks: Sequence[Block], kept: NDArray[np.bool_], trace: Trace | None = None) -> None:
    """Keep the formulas and footnotes that follow kept text, and each other."""
    since = _MOST_BETWEEN
    for place, keep in enumerate(kept.tolist()):
        if keep:
            since = 0
        elif since < _MOST_BETWEEN and _is_attached(blocks[place]):
            keep_anyway(place, kept, Reason.ATTACHED, trace)
            since = 0
        else:
            since += 1


def _is_attached(block: Block) -> bool:
    if len(block.words) > _MOST_ATTACHED_WORDS:
        return False
    return _is_formula(block) or (bool(block.link_letters) and _may_be_footnote(block.context) and _leads_back(block))


def _is_formula(block: Block) -> bool:
    if block.text.lstrip().startswith(_FORMULA_BEGINS):
        return True
    # What a formula is made from stands beside it, for those who do not see it.
    return "\\" in block.text and any(node.tag == "math" and node.get("display") == "block" for node in _nodes(block))


def _may_be_footnote(context: Context) -> bool:
    return bool(context.tags & _ITEM) or _is_named_footnote(context)


def _is_named_footnote(context: Context) -> bool:
    outer = context.above
    return "footnote" in context.named or (outer is not None and "footnote" in outer.named)


def _leads_back(block: Block) -> bool:
    """Whether the link from a footnote to where it is called is in a block."""
    named = _is_named_footnote(block.context)
    links = (node for node in _nodes(block) if node.tag == "a" and node.get("href").startswith("#"))
    return any(named or _is_back_link(link) for link in links)


def _is_back_link(link: Node) -> bool:
    named = f"{link.get('class')} {link.get('role')}"
    return _BACK.match(link.get("href")) is not None or _FOOTNOTE_LINK.search(named) is not None


def _nodes(block: Block) -> Iterator[Node]:
    for child in block.context.node.children[block.first : block.last]:
        if isinstance(child, Node):
            yield from child.iter()
