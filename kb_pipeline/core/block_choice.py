"""Keeps of a page the blocks that are its content, and takes the rest out of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_features import PageKind
from kb_pipeline.core.block_leads import keep_leading
from kb_pipeline.core.block_model import block_model
from kb_pipeline.core.block_pruning import prune
from kb_pipeline.core.block_units import keep_anyway, keep_attached, keep_units
from kb_pipeline.core.chrome import ENOUGH_LETTERS, strip_unseen
from kb_pipeline.core.conversations import is_conversation
from kb_pipeline.core.html_tree import BIT_OF, Node, measure_again
from kb_pipeline.core.main_content import main_of
from kb_pipeline.core.page_blocks import MAX_BLOCKS, TAG_BITS, read_blocks
from kb_pipeline.core.reasons import NotWeighed, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, PageBlocks
    from kb_pipeline.core.page_metadata import PageMetadata
    from kb_pipeline.core.trace import Trace

MIN_LETTERS: Final = 500
"""With less than this a page has nothing to compare its blocks with."""
LEAST_SHARE: Final = 0.1
"""A block less likely than this is never kept,"""
ENOUGH_SHARE: Final = 0.5
"""and one more likely than this always is."""
_LENIENCE: Final = 0.9
_MARKS: Final = TAG_BITS["h1"] | TAG_BITS["main"]
_CODE: Final = BIT_OF["pre"]


def keep_content(document: Node, metadata: PageMetadata, url: str, trace: Trace | None = None) -> Node | None:
    """Drop from a measured tree what is no content. Returns its body, measured; None, with all that a reader sees still
    there, when too little would be left, or when the page is a manual's. With nothing likely the body is emptied."""
    content = NotWeighed.MANUAL if _is_manual(document) else _keep_likely(document, metadata, url, trace)
    if isinstance(content, Node):
        return content
    if trace is not None:
        trace.leave_to_names(content)
    return None


def _keep_likely(document: Node, metadata: PageMetadata, url: str, trace: Trace | None) -> Node | NotWeighed:
    stripped = strip_unseen(document, trace)
    page, kind = _read_blocks(document, metadata, url)
    blocks = page.blocks
    letters = np.array([block.letters for block in blocks])
    if letters.sum() < MIN_LETTERS:
        return NotWeighed.FEW_LETTERS
    if len(blocks) > MAX_BLOCKS:
        return NotWeighed.MANY_BLOCKS
    shares = block_model().shares(page, kind)
    kept, cut = chosen_blocks(blocks, shares, trace)
    if letters[kept].sum() < ENOUGH_LETTERS:
        if shares.max() >= ENOUGH_SHARE or _names_its_content(blocks):
            return NotWeighed.LITTLE_LEFT
        # A shell that waits for its scripts has a menu and a footer, and nothing that looks like content.
        kept, cut = shares >= ENOUGH_SHARE, ENOUGH_SHARE
    if trace is not None:
        trace.weigh(blocks, shares, kept, cut)
    measure_again([*stripped, *prune(blocks, kept)])
    return page.contexts[0].node


def _names_its_content(blocks: Sequence[Block]) -> bool:
    """Whether a page has a title, or says something in its `<main>`: then a few links or facts are a short page, and no
    shell."""
    return any(block.context.tags & _MARKS for block in blocks)


def _is_manual(document: Node) -> bool:
    """Whether a page marks its content itself, and has code in it. There every block of it counts, however short it is
    and however many links it holds: class names alone do better on hosts that are new (docs/extraction.md). Where
    people answer each other, much of a post is not what they wrote."""
    if not document.holds & _CODE:
        return False
    main = main_of(document, document.iter())
    return main is not None and bool(main.holds & _CODE) and not is_conversation(main)


def read_page(document: Node, metadata: PageMetadata, url: str) -> tuple[PageBlocks, PageKind]:
    """Strip a measured tree of what is certainly no content, and cut the rest into blocks."""
    strip_unseen(document)
    return _read_blocks(document, metadata, url)


def _read_blocks(document: Node, metadata: PageMetadata, url: str) -> tuple[PageBlocks, PageKind]:
    body = document.find("body") or document
    return read_blocks(body, main_of), PageKind(metadata.title, url, metadata.kind)


def chosen_blocks(
    blocks: Sequence[Block], shares: NDArray[np.float64], trace: Trace | None = None
) -> tuple[NDArray[np.bool_], float]:
    """Which blocks are kept: the likely ones, the first h1, what belongs together with them, and what leads that; and
    the share from which blocks are likely."""
    titles = np.array([block.context.node.tag == "h1" for block in blocks])
    words = np.array([len(block.words) for block in blocks])
    cut = threshold(shares, words)
    kept = likely_blocks(shares, cut, titles, trace)
    keep_units(blocks, kept, shares, words, cut, trace)
    keep_attached(blocks, kept, trace)
    keep_leading(blocks, kept, trace)
    return kept, cut


def likely_blocks(
    shares: NDArray[np.float64], cut: float, titles: NDArray[np.bool_], trace: Trace | None = None
) -> NDArray[np.bool_]:
    """Which blocks are kept by their share, and the first h1."""
    kept = np.asarray(shares >= cut)
    if titles.any():
        keep_anyway(int(np.argmax(titles)), kept, Reason.FIRST_H1, trace)
    return kept


def threshold(shares: NDArray[np.float64], words: NDArray[np.integer]) -> float:
    """The share from which blocks are kept, so that the F1 that may be expected of the page's words is largest."""
    order = np.argsort(-shares, kind="stable")
    expected = (shares * words)[order]
    found = np.cumsum(expected)
    best = int(np.argmax(2 * found / (np.cumsum(words[order]) + found[-1] + 1e-9)))
    return min(max(float(shares[order][best]) * _LENIENCE, LEAST_SHARE), ENOUGH_SHARE)
