"""Takes the dropped blocks of a page out of its tree, but for the pictures that stand among kept text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, Context

_PICTURE_BOXES: Final = re.compile(r"image|figure|picture|photo|lightbox|media", re.IGNORECASE)
_PICTURE_FILES: Final = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)(?:[?#]|$)", re.IGNORECASE)
_MOST_CAPTION_LETTERS: Final = 600
_NEARBY: Final = 6
"""Blocks that are looked at before and after a picture."""


class _Losses:
    """What an element loses: places among its children, each with a dropped block of it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.places: dict[int, int] = {}


def prune(blocks: Sequence[Block], kept: NDArray[np.bool_]) -> list[Node]:
    """Take the dropped blocks out, and with them each element of which nothing is left. Returns the elements that lost
    something."""
    keeps = kept.tolist()
    losses = _losses(blocks, keeps, _needed(blocks, keeps))
    for lost in losses:
        node = lost.context.node
        children: list[Node | str] = []
        for place, child in enumerate(node.children):
            block = lost.places.get(place)
            if block is None:
                children.append(child)
            elif isinstance(child, Node) and _may_show(child) and _is_beside_kept(blocks, keeps, block, lost.context):
                children += _pictures(child, node)
        node.children = children
    return [lost.context.node for lost in losses]


def _needed(blocks: Sequence[Block], kept: Sequence[bool]) -> set[int]:
    """The topmost element, and those that hold a kept block."""
    needed = {id(blocks[0].context.top())}
    for block, keep in zip(blocks, kept, strict=True):
        context = block.context if keep else None
        while context is not None and id(context) not in needed:
            needed.add(id(context))
            context = context.above
    return needed


def _losses(blocks: Sequence[Block], kept: Sequence[bool], needed: set[int]) -> list[_Losses]:
    gone: dict[int, _Losses] = {}
    for number, block in enumerate(blocks):
        if kept[number]:
            continue
        context = block.context
        if id(context) in needed:
            places = _losses_of(context, gone).places
            places.update(dict.fromkeys(range(block.first, block.last), number))
            continue
        above = context.above
        while above is not None and id(above) not in needed:
            context, above = above, above.above
        assert above is not None
        _losses_of(above, gone).places[context.place] = number
    return list(gone.values())


def _losses_of(context: Context, gone: dict[int, _Losses]) -> _Losses:
    found = gone.get(id(context))
    if found is None:
        found = gone[id(context)] = _Losses(context)
    return found


def _may_show(node: Node) -> bool:
    """Whether an element is a picture, or a box of one with its caption."""
    if not node.letters or node.tag == "figure":
        return True
    return node.letters <= _MOST_CAPTION_LETTERS and _NAMED_FOR_PICTURES[node.attributes.get("class", "")]


_NAMED_FOR_PICTURES: Final = Remembered(lambda written: _PICTURE_BOXES.search(written) is not None)


def _is_beside_kept(blocks: Sequence[Block], kept: Sequence[bool], number: int, holder: Context) -> bool:
    """Whether a kept block of the same element stands near before or after a dropped one."""
    before = range(number - 1, max(-1, number - 1 - _NEARBY), -1)
    after = range(number + 1, min(len(blocks), number + 1 + _NEARBY))
    found = (next((place for place in places if kept[place]), None) for places in (before, after))
    return any(place is not None and blocks[place].context.is_within(holder) for place in found)


def _pictures(node: Node, holder: Node) -> Iterator[Node]:
    """The pictures in an element, but for those that lead to another page: these stand for it."""
    stack = [node]
    while stack:
        at = stack.pop()
        if at.tag == "img":
            at.parent = holder
            yield at
        elif at.tag != "a" or _PICTURE_FILES.search(at.get("href")) or not at.get("href"):
            stack += [child for child in reversed(at.children) if isinstance(child, Node)]
