"""Keeps of a page the blocks that are its content, and takes the rest out of the tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_features import PageKind, heading_blocks
from kb_pipeline.core.block_model import block_model
from kb_pipeline.core.chrome import ENOUGH_LETTERS, strip_unseen
from kb_pipeline.core.html_tree import BIT_OF, Node, measure_again, names
from kb_pipeline.core.main_content import main_of
from kb_pipeline.core.page_blocks import MAX_BLOCKS, TAG_BITS, read_blocks
from kb_pipeline.core.reasons import NotWeighed, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, Context
    from kb_pipeline.core.page_metadata import PageMetadata
    from kb_pipeline.core.trace import Trace

MIN_LETTERS: Final = 500
"""With less than this a page has nothing to compare its blocks with."""
LEAST_SHARE: Final = 0.1
"""A block less likely than this is never kept,"""
ENOUGH_SHARE: Final = 0.5
"""and one more likely than this always is."""
_LENIENCE: Final = 0.9
BOX_TAGS: Final = names("table dl figure")
_BOX_BITS: Final = sum(TAG_BITS[tag] for tag in BOX_TAGS)
_PRICE: Final = re.compile(r"[$€£¥₹]\s?\d|\d\s?(?:[$€£¥₹]|EUR|USD|kr\b|zł)")
MOST_PRICE_WORDS: Final = 6
"""A block with more tells of a price, and is none."""
_CODE: Final = BIT_OF["pre"]


def keep_content(document: Node, metadata: PageMetadata, url: str, trace: Trace | None = None) -> Node | None:
    """Drop from a measured tree what is no content. Returns its body, measured; None, with all that a reader sees still
    there, when too little would be left, or when the page is a manual's."""
    content = NotWeighed.MANUAL if _is_manual(document) else _keep_likely(document, metadata, url, trace)
    if isinstance(content, Node):
        return content
    if trace is not None:
        trace.leave_to_names(content)
    return None


def _keep_likely(document: Node, metadata: PageMetadata, url: str, trace: Trace | None) -> Node | NotWeighed:
    stripped = strip_unseen(document, trace)
    blocks, kind = _read_blocks(document, metadata, url)
    letters = np.array([block.letters for block in blocks])
    if letters.sum() < MIN_LETTERS:
        return NotWeighed.FEW_LETTERS
    if len(blocks) > MAX_BLOCKS:
        return NotWeighed.MANY_BLOCKS
    shares = block_model().shares(blocks, kind)
    titles = np.array([block.context.node.tag == "h1" for block in blocks])
    words = np.array([len(block.words) for block in blocks])
    leading = heading_blocks(blocks) | np.array([_is_price(block) for block in blocks])
    kept = chosen_blocks(shares, words, titles, leading, trace)
    keep_whole_boxes(blocks, kept, words, trace)
    if letters[kept].sum() < ENOUGH_LETTERS:
        return NotWeighed.LITTLE_LEFT
    if trace is not None:
        trace.weigh(blocks, shares, kept, threshold(shares, words))
    measure_again([*stripped, *_prune(blocks, kept)])
    return blocks[0].context.top()


def _is_manual(document: Node) -> bool:
    """Whether a page marks its content itself, and has code in it. There every block of it counts, however short it is
    and however many links it holds: class names alone do better on hosts that are new (docs/extraction.md)."""
    if not document.holds & _CODE:
        return False
    main = main_of(document, document.iter())
    return main is not None and bool(main.holds & _CODE)


def read_page(document: Node, metadata: PageMetadata, url: str) -> tuple[list[Block], PageKind]:
    """Strip a measured tree of what is certainly no content, and cut the rest into blocks."""
    strip_unseen(document)
    return _read_blocks(document, metadata, url)


def _read_blocks(document: Node, metadata: PageMetadata, url: str) -> tuple[list[Block], PageKind]:
    body = document.find("body") or document
    return read_blocks(body, main_of), PageKind(metadata.title, url, metadata.kind)


def chosen_blocks(
    shares: NDArray[np.float64],
    words: NDArray[np.integer],
    titles: NDArray[np.bool_],
    leading: NDArray[np.bool_],
    trace: Trace | None = None,
) -> NDArray[np.bool_]:
    """Which blocks are kept: the likely ones, what leads them (headings, and prices between those and the text),
    and the first h1."""
    kept = np.asarray(shares >= threshold(shares, words))
    if titles.any():
        _raise(int(np.argmax(titles)), kept, Reason.FIRST_H1, trace)
    leads_kept = False
    for place in range(len(kept) - 1, -1, -1):
        if not leading[place]:
            leads_kept = bool(kept[place])
        elif leads_kept:
            _raise(place, kept, Reason.HEADING, trace)
    return kept


def _is_price(block: Block) -> bool:
    return len(block.words) <= MOST_PRICE_WORDS and _PRICE.search(block.text) is not None


def keep_whole_boxes(
    blocks: Sequence[Block], kept: NDArray[np.bool_], words: NDArray[np.integer], trace: Trace | None = None
) -> None:
    """Keep all of a table, definition list or figure of which at least half of the words are kept: its parts say little
    without each other."""
    boxes: dict[int, list[int]] = {}
    for place, block in enumerate(blocks):
        context: Context | None = block.context if block.context.tags & _BOX_BITS else None
        while context is not None:
            if context.node.tag in BOX_TAGS:
                boxes.setdefault(id(context), []).append(place)
            context = context.above
    for places in boxes.values():
        inside = words[places]
        if inside[kept[places]].sum() * 2 >= inside.sum():
            for place in places:
                _raise(place, kept, Reason.BOX, trace)


def _raise(place: int, kept: NDArray[np.bool_], reason: Reason, trace: Trace | None) -> None:
    """Keep a block whatever its share."""
    if trace is not None and not kept[place]:
        trace.raise_block(place, reason)
    kept[place] = True


def threshold(shares: NDArray[np.float64], words: NDArray[np.integer]) -> float:
    """The share from which blocks are kept, so that the F1 that may be expected of the page's words is largest."""
    order = np.argsort(-shares, kind="stable")
    expected = (shares * words)[order]
    found = np.cumsum(expected)
    best = int(np.argmax(2 * found / (np.cumsum(words[order]) + found[-1] + 1e-9)))
    return min(max(float(shares[order][best]) * _LENIENCE, LEAST_SHARE), ENOUGH_SHARE)


def _prune(blocks: Sequence[Block], kept: NDArray[np.bool_]) -> list[Node]:
    """Take the dropped blocks out, and with them each element of which nothing is left. Returns the elements that lost
    something."""
    needed = set()
    for block, keep in zip(blocks, kept, strict=True):
        context = block.context if keep else None
        while context is not None and id(context) not in needed:
            needed.add(id(context))
            context = context.above
    gone: dict[int, tuple[Node, set[int]]] = {}
    for block, keep in zip(blocks, kept, strict=True):
        if keep:
            continue
        context = block.context
        if id(context) in needed:
            gone.setdefault(id(context), (context.node, set()))[1].update(range(block.first, block.last))
            continue
        while context.above is not None and id(context.above) not in needed:
            context = context.above
        if context.above is not None:
            gone.setdefault(id(context.above), (context.above.node, set()))[1].add(context.place)
    for node, lost in gone.values():
        node.children = [child for place, child in enumerate(node.children) if place not in lost]
    return [node for node, _ in gone.values()]
