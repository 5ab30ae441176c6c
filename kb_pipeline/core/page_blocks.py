"""Cuts a page's tree into its blocks of text, each with what can be seen of it and of what stands around it.

A block is a paragraph, a heading, a cell of a layout, a list of plain items, a data table, a piece of code, or a run of
text between two such; what a block is worth is decided in `block_model`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import BIT_OF, Node, bits, names
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_BLOCKS: Final = 5_000
"""Blocks that are weighed; a page with more is kept by its tags and class names alone."""
PARTING: Final = names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav noscript ol p pre search section summary"
    " table tbody td tfoot th thead tr ul"
)
_APART: Final = PARTING | {"br"}
_PARTING_BITS: Final = bits(PARTING)
_PLAIN_LISTS: Final = names("ul ol dl menu")
_ITEM_PARTS: Final = bits(names("li dt dd ul ol dl"))
_TABLE_PARTS: Final = bits(names("tr td th tbody thead tfoot caption p li ul ol br"))
_WORD: Final = re.compile(r"[A-Z][a-z]+|[a-z]{2,}")
_ONLY_LETTERS: Final = bytes(sign if sign in ascii_lowercase.encode() else ord(" ") for sign in range(256))
_MOST_OF_CLASS: Final = 400
_MOST_OF_ID: Final = 100
_MOST_OF_ROLE: Final = 40
_TOLD_APART: Final = (
    "article main section aside header footer nav ul ol li table td th form blockquote dl dt dd figure figcaption a"
    " noscript button details summary p pre h1 h2 h3 h4 h5 h6 div span label address"
)
_OTHER_NAMES: Final = names("id role itemprop aria-hidden")
TAG_BITS: Final = {tag: 1 << place for place, tag in enumerate(_TOLD_APART.split())}
_LINK: Final = TAG_BITS["a"]


@dataclass(slots=True)
class Context:
    """An element on the way down to a block, and what its ancestors are."""

    node: Node
    above: Context | None
    depth: int
    tags: int
    """Bits of the tags from here up to the body."""
    named: tuple[str, ...]
    alike: int
    """Siblings of the same tag and class, itself counted."""
    most_alike: int
    """The largest such number from here up."""
    place: int = 0
    """Where the element stands among the children of the one above."""
    shape: int = 0
    """Stands for the tags and classes of this element and those above."""
    number: int = 0
    """Its place among the elements that hold blocks, each of which comes after the one above it."""
    chosen: bool = True
    """Whether this is, or is within, what the page marks as its content; so it is where nothing is marked."""

    def top(self) -> Context:
        """The element that blocks were read from."""
        at = self
        while at.above is not None:
            at = at.above
        return at

    def is_within(self, outer: Context) -> bool:
        """Whether this is another element, or within it."""
        at: Context | None = self
        while at is not None and at.depth > outer.depth:
            at = at.above
        return at is outer

    def climb(self, levels: int) -> Context:
        """The element so many levels above this one, below the topmost."""
        at = self
        for _ in range(levels):
            if at.above is None or at.above.above is None:
                break
            at = at.above
        return at

    def around(self, levels: int) -> Context:
        """As `climb`; the topmost for what stands in that itself, as on pages without boxes."""
        found = self.climb(levels)
        return self.above or self if found is self else found


@dataclass(slots=True)
class Block:
    """The children of an element from `first` to before `last`."""

    context: Context
    first: int
    last: int
    text: str
    letters: int
    link_letters: int
    words: list[str]


@dataclass(frozen=True, slots=True)
class PageBlocks:
    """A page's blocks, and the elements that hold them, both in document order."""

    blocks: list[Block]
    contexts: list[Context]


def _words_of(written: str) -> tuple[str, ...]:
    """The words that a class or id is made of, each once, without single letters."""
    if written.isascii() and written.islower():
        # Most are; to look for words takes four times as long.
        parts = written.encode().translate(_ONLY_LETTERS).decode().split()
        return tuple(dict.fromkeys([part for part in parts if len(part) > 1]))
    return tuple(dict.fromkeys(" ".join(_WORD.findall(written)).lower().split()))


_CLASS_WORDS: Final = Remembered(_words_of)


def read_blocks(body: Node, main_of: Callable[[Node, Iterable[Node]], Node | None]) -> PageBlocks:
    """The blocks of a measured tree. `main_of` says which of the elements that hold blocks is the page's main one."""
    blocks: list[Block] = []
    contexts: list[Context] = []
    stack: list[Context | tuple[Context, int, int]] = [Context(body, None, 0, 0, _named(body), 1, 1)]
    while stack:
        item = stack.pop()
        if type(item) is Context:
            node = item.node
            item.number = len(contexts)
            contexts.append(item)
            if not node.holds & _PARTING_BITS or _is_whole(node):
                _add_whole(blocks, item)
            else:
                stack += _parts(item)[::-1]
        elif type(item) is tuple:
            _add(blocks, *item)
    _mark_main(contexts, main_of(body, [context.node for context in contexts]))
    return PageBlocks(blocks, contexts)


def _mark_main(contexts: Sequence[Context], main: Node | None) -> None:
    if main is None:
        return
    for context in contexts:
        above = context.above
        context.chosen = context.node is main or (above is not None and above.chosen)


def _is_whole(node: Node) -> bool:
    """Whether an element is one block although others that part text are in it."""
    parts = node.holds & _PARTING_BITS
    tag = node.tag
    if tag == "pre":
        return True
    if tag in _PLAIN_LISTS:
        return not parts & ~_ITEM_PARTS
    if tag == "table":
        return bool(parts & BIT_OF["th"]) and not parts & ~_TABLE_PARTS
    return False


def _parting(context: Context) -> tuple[list[tuple[int, Node, int]], dict[int, int]]:
    """The elements within one that part its text, each with its place and shape; and how often each shape occurs."""
    shapes: dict[int, int] = {}
    inner: list[tuple[int, Node, int]] = []
    above = context.shape
    for place, child in enumerate(context.node.children):
        if type(child) is Node and (child.holds & _PARTING_BITS or child.tag in PARTING):
            shape = hash((child.tag, child.attributes.get("class", ""), above))
            shapes[shape] = shapes.get(shape, 0) + 1
            inner.append((place, child, shape))
    return inner, shapes


def _parts(context: Context) -> list[Context | tuple[Context, int, int]]:
    children = context.node.children
    inner, shapes = _parting(context)
    found: list[Context | tuple[Context, int, int]] = []
    depth, tags, most_alike = context.depth + 1, context.tags, context.most_alike
    at = 0
    for place, child, shape in inner:
        if place > at and not (place == at + 1 and type(before := children[at]) is str and before.isspace()):
            found.append((context, at, place))
        at = place + 1
        if child.letters:
            alike = shapes[shape]
            found.append(
                Context(
                    child,
                    context,
                    depth,
                    tags | TAG_BITS.get(child.tag, 0),
                    _named(child),
                    alike,
                    alike if alike > most_alike else most_alike,  # noqa: FURB136 - `max` takes longer
                    place,
                    shape,
                )
            )
    if at < len(children):
        found.append((context, at, len(children)))
    return found


def _named(node: Node) -> tuple[str, ...]:
    """The words that class, id, role and itemprop are made of, each once."""
    attributes = node.attributes
    if not attributes:
        return ()
    found = _CLASS_WORDS[attributes["class"][:_MOST_OF_CLASS]] if "class" in attributes else ()
    if _OTHER_NAMES.isdisjoint(attributes):
        return found
    value = attributes.get
    found += _words_of(value("id", "")[:_MOST_OF_ID])
    if role := value("role"):
        found += (f"role={role[:_MOST_OF_ROLE].lower()}",)
    if prop := value("itemprop"):
        found += (f"prop={prop[:_MOST_OF_ROLE].lower()}",)
    found = tuple(dict.fromkeys(found))
    return ("aria-hidden", *found) if value("aria-hidden") == "true" else found


def _add_whole(blocks: list[Block], context: Context) -> None:
    node = context.node
    children = node.children
    text = _text(children)
    words = text.split()
    if words:
        linked = node.letters if context.tags & _LINK else node.link_letters
        blocks.append(Block(context, 0, len(children), text, node.letters, linked, words))


def _add(blocks: list[Block], context: Context, first: int, last: int) -> None:
    children = context.node.children[first:last]
    text = _text(children)
    words = text.split()
    if not words:
        return
    letters = len("".join(words))
    linked = 0
    if context.tags & _LINK or context.node.tag == "a":
        linked = letters
    else:
        for child in children:
            if type(child) is Node:
                linked += child.link_letters
    blocks.append(Block(context, first, last, text, letters, linked, words))


def _text(children: list[Node | str]) -> str:
    while len(children) == 1:
        only = children[0]
        if type(only) is str:
            return only
        assert type(only) is Node
        children = only.children
    pieces: list[str] = []
    stack = children[::-1]
    while stack:
        item = stack.pop()
        if type(item) is str:
            pieces.append(item)
            continue
        assert type(item) is Node
        if item.tag in _APART:
            # Nothing but their elements parts the words of some lists and lines.
            pieces.append(" ")
            stack.append(" ")
        if item.letters:
            stack += item.children[::-1]
        elif item.children:
            pieces.append(" ")
    return "".join(pieces)
