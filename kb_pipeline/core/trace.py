"""Writes down what the extraction of one page decides, for who asks why a part of it is missing.

Whoever decides is handed a Trace or, as in every refresh, None; nothing is worked out here that was decided there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_pipeline.core.html_tree import Node
from kb_pipeline.core.page_blocks import read_blocks
from kb_pipeline.core.reasons import Addition, NotWeighed, Reason, Way

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block


class Trace:
    """What was decided of one page. Stripping and pruning give an element another list of children and leave the old
    one as it was, so that `children` is the page as it came."""

    def __init__(self) -> None:
        self.document: Node | None = None
        self.children: dict[int, list[Node | str]] = {}
        """By the id of an element, which lives as long as this does."""
        self.gone: dict[int, Reason] = {}
        """The elements that were taken out."""
        self.blocks: Sequence[Block] = ()
        self.shares: Sequence[float] = ()
        self.kept: Sequence[bool] = ()
        self.raised: dict[int, Reason] = {}
        """Blocks that are kept for another reason than their share."""
        self.cut: float | None = None
        self.chosen: Sequence[Node] = ()
        self.way: Way | None = None
        self.not_weighed: NotWeighed | None = None
        self.additions: list[Addition] = []
        self.owners: dict[int, int] = {}
        """The block that an element belongs to with all below it,"""
        self.text_owners: dict[tuple[int, int], int] = {}
        """and the one of an element's n-th piece of text."""

    def begin(self, document: Node) -> None:
        """See a page before anything is taken out of it."""
        self.document = document
        self.children = {id(node): node.children for node in document.iter()}

    def drop(self, nodes: Iterable[Node], reason_of: Callable[[Node], Reason | None]) -> None:
        """Elements that are taken out, and the rule that says so."""
        for node in nodes:
            if (reason := reason_of(node)) is not None:
                self.gone[id(node)] = reason

    def take_back(self, reason: Reason) -> None:
        """What was taken out for a reason is put back."""
        self.gone = {node: found for node, found in self.gone.items() if found is not reason}

    def leave_to_names(self, why: NotWeighed) -> None:
        """The blocks are not chosen by the model."""
        self.not_weighed = why

    def raise_block(self, place: int, reason: Reason) -> None:
        """A block is kept although its share is under the cut."""
        self.raised[place] = reason

    def weigh(self, blocks: Sequence[Block], shares: NDArray[np.float64], kept: NDArray[np.bool_], cut: float) -> None:
        """The blocks are chosen, and still in the tree."""
        self.way = Way.BLOCKS
        self.shares, self.kept, self.cut = shares.tolist(), kept.tolist(), cut
        self._own(blocks)

    def choose(self, body: Node, chosen: Sequence[Node], way: Way) -> None:
        """Of a page without its chrome these elements are written."""
        self.way, self.chosen = way, chosen
        self._own(read_blocks(body, lambda *_: None).blocks)

    def _own(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        counted: dict[int, list[int]] = {}
        for number, block in enumerate(blocks):
            node = block.context.node
            if id(node) not in counted:
                counted[id(node)] = list(texts_before(node.children))
            texts = counted[id(node)]
            for place in range(block.first, block.last):
                child = node.children[place]
                if isinstance(child, Node):
                    self.owners[id(child)] = number
                else:
                    self.text_owners[id(node), texts[place]] = number


def texts_before(children: Sequence[Node | str]) -> Iterator[int]:
    """For each child how many pieces of text come before it. That number stays when elements are taken out."""
    count = 0
    for child in children:
        yield count
        count += isinstance(child, str)
