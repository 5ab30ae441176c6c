"""A small tree of an HTML page, built by libxml2's tokenizer and element rules through lxml's target interface.

libxml2's own tree stops without a word 2,048 levels down and takes quadratic time over the attributes of one
tag; this one has neither limit, and walking it never recurses. What a page says is decided elsewhere.
"""

from __future__ import annotations

import gc
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Answer = TypeVar("Answer")
MAX_DEPTH: Final = 400
"""Elements further down are not made; their text goes to the deepest element that was."""
MAX_EVENTS: Final = 300_000
"""Tags and pieces of text that are read. Hundreds of times what a long page has; a second or two of work."""
MAX_ATTRIBUTES: Final = 64
_ENCODED_AT_ONCE: Final = 4_096


def names(written: str) -> frozenset[str]:
    """A set of tags, roles or words, written with blanks between them."""
    return frozenset(written.split())


HEADING_TAGS: Final = names("h1 h2 h3 h4 h5 h6")
_MEASURED: Final = (
    "h1 h2 h3 h4 h5 h6 nav table pre dl article section div p ul ol blockquote header main input textarea select li"
    " address aside caption center dd details dt fieldset figcaption figure footer form noscript summary tbody td tfoot"
    " th thead tr"
)
BIT_OF: Final = {tag: 1 << place for place, tag in enumerate(_MEASURED.split())}
"""The tags that are looked for below an element, each with its bit in `Node.holds`."""


def bits(tags: Iterable[str]) -> int:
    """The tags as `Node.holds` has them; those that are not looked for have no bit."""
    return sum(BIT_OF.get(tag, 0) for tag in frozenset(tags))


HEADING_BITS: Final = bits(HEADING_TAGS)
H1: Final = BIT_OF["h1"]
_NO_ATTRIBUTES: Final[dict[str, str]] = {}
_UNREAD: Final = frozenset({"script", "style"})
TELLING_TAGS: Final = names("base h1 html link meta script time title")
"""Elements that say something of the page as a whole; so does what has an `itemprop`."""
_NOTED: Final = TELLING_TAGS | {"head", "body"}
_HEAD_TAGS: Final = names("base basefont bgsound link meta noscript script style template title")
"""What may stand in a head (HTML, 13.2.6.4.4 "in head"); anything else begins the body."""
_NAME_PARTS: Final = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+(?![a-z])|\d+")


def words_of_names(classes: str, identifier: str) -> frozenset[str]:
    """The words that class and id are made of: `postBody side-bar` gives post, body, side, bar."""
    return frozenset(word.lower() for word in _NAME_PARTS.findall(f"{classes} {identifier}"[:2_000]))


class Node:
    """One element. `children` mixes nodes and the pieces of text between them, in document order."""

    __slots__ = ("attributes", "children", "holds", "letters", "link_letters", "parent", "tag")

    def __init__(self, tag: str, attributes: Mapping[str, str] = _NO_ATTRIBUTES, parent: Node | None = None) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Node | str] = []
        self.parent = parent
        self.letters = 0
        """Characters below that are no white space; `link_letters` is those within links. Set by `measure`."""
        self.link_letters = 0
        self.holds = 0
        """Which of the tags in BIT_OF occur below. Set by `measure`."""

    def get(self, name: str) -> str:
        """Value of an attribute, blanks trimmed; empty when it is missing."""
        value = self.attributes.get(name)
        return value.strip() if value else ""

    def names(self) -> str:
        """Class and id in one string, in lower case."""
        attributes = self.attributes
        return f"{attributes.get('class', '')} {attributes.get('id', '')}".lower() if attributes else ""

    def words(self) -> frozenset[str]:
        """The words of class and id, as `words_of_names` has them."""
        attributes = self.attributes
        return words_of_names(attributes.get("class", ""), attributes.get("id", "")) if attributes else frozenset()

    def iter(self) -> Iterator[Node]:
        """The element itself and all below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            if node.children:
                stack += [child for child in node.children[::-1] if type(child) is Node]

    def pieces(self) -> Iterator[str]:
        """Every piece of text below, in document order."""
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                yield item
            else:
                stack.extend(reversed(item.children))

    def text(self) -> str:
        """All text below, white space collapsed."""
        return " ".join("".join(self.pieces()).split())

    def find(self, *tags: str) -> Node | None:
        """The first element below (or this one) with one of the tags."""
        return next((node for node in self.iter() if node.tag in tags), None)

    def ancestors(self) -> Iterator[Node]:
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


class _TooManyEventsError(Exception):
    """Ends the parse of a page that no person and no sane program wrote."""


class _Builder:
    """lxml parser target (https://lxml.de/parsing.html#the-target-parser-interface).

    An element is measured when it ends, which is cheaper than another walk over all of them.
    """

    __slots__ = ("_body", "_events", "_head", "_here", "_open", "_text", "data", "measured", "nodes", "root", "telling")

    def __init__(self) -> None:
        self.root = Node("#document")
        self.nodes = [self.root]
        """All elements, in document order."""
        self.telling = [self.root]
        """The document, and after it the elements that say something of the page as a whole."""
        self.measured = True
        """Whether each element ended once, where it began."""
        self._open: list[Node | None] = [self.root]
        self._here = self.root
        self._text: list[str] = []
        self.data = self._text.append
        self._events = 0
        self._head: Node | None = None
        self._body: Node | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._events += 1
        if self._events > MAX_EVENTS:
            raise _TooManyEventsError
        if self._text:
            self._put_text()
        if len(self._open) > MAX_DEPTH:
            self._open.append(None)
            self._text.append(" ")
            return
        here = self._here
        if here is self._head and tag not in _HEAD_TAGS:
            self._leave_head()
            here = self._here
        if tag == "body" and self._body is not None:
            self.measured = False
            node = self._body
        else:
            if not attributes:
                attributes = _NO_ATTRIBUTES
            elif len(attributes) > MAX_ATTRIBUTES:
                attributes = dict(islice(attributes.items(), MAX_ATTRIBUTES))
            node = Node(tag, attributes, here)
            here.children.append(node)
            self.nodes.append(node)
            if tag in _NOTED:
                self._note(node)
            elif "itemprop" in attributes:
                self.telling.append(node)
        self._open.append(node)
        self._here = node

    def end(self, _tag: str) -> None:
        node = self._open.pop()
        if node is None:
            self._text.append(" ")
            return
        above = node.parent
        if above is None:
            # Of the document itself there is no end.
            self._open.append(node)
            return
        tag = node.tag
        if tag in _UNREAD:
            if not _is_read(node):
                self._text.clear()
            self._put_text()
            node.letters = 0
        elif self._text:
            self._put_text()
        self._here = above
        above.holds |= node.holds | BIT_OF.get(tag, 0)
        letters = node.letters
        if letters:
            above.letters += letters
            if tag == "a":
                node.link_letters = letters
            above.link_letters += node.link_letters

    def close(self) -> Node:
        self._put_text()
        return self.root

    def hand_over(self) -> tuple[list[Node], list[Node]]:
        """All elements, and those that are telling. lxml's parser and its target hold each other for ever, and would
        hold the tree with them."""
        found = self.nodes, self.telling
        self.root = self._here = Node("#document")
        self.nodes, self.telling, self._open, self._head, self._body = [], [], [self.root], None, None
        return found

    def _put_text(self) -> None:
        """Character references arrive one by one; what belongs together is put together."""
        pieces = self._text
        count = len(pieces)
        self._events += count
        if count == 1:
            text = pieces.pop()
        else:
            text = "".join(pieces)
            pieces.clear()
        here = self._here
        if text.isspace():
            here.children.append(text)
        elif text:
            if here is self._head:
                self._leave_head()
                here = self._here
            here.children.append(text)
            # Of white space only blanks can be printed.
            here.letters += len(text) - text.count(" ") if text.isprintable() else len("".join(text.split()))

    def _note(self, node: Node) -> None:
        if node.tag == "head":
            self._head = node
        elif node.tag == "body":
            self._body = node
        if node.tag in TELLING_TAGS or "itemprop" in node.attributes:
            self.telling.append(node)

    def _leave_head(self) -> None:
        """Go on in the body. libxml2 knows no element of HTML 5, and keeps a `<main>` that follows an unclosed or
        implied head within it, with all the page's text."""
        self.measured = False
        head = self._here
        html = head.parent or self.root
        if self._body is None:
            self._body = Node("body", parent=html)
            html.children.append(self._body)
            self.nodes.append(self._body)
        self._open[-1] = self._here = self._body


def is_formula_script(node: Node) -> bool:
    """Whether a `<script>` is the source of a formula, as MathJax 2 keeps it."""
    return node.tag == "script" and node.get("type").lower().startswith("math/tex")


def _is_read(node: Node) -> bool:
    return "ld+json" in node.get("type").lower() or is_formula_script(node)


def parse_html(html: str) -> tuple[Node, bool]:
    """Parse any text at all as HTML. Returns the document node, measured, and whether the page was cut at MAX_EVENTS.

    Scripts and style sheets are left empty, but for JSON-LD and formulas.
    """
    nodes, _, cut = _parse(html)
    return nodes[0], cut


def _parse(html: str) -> tuple[list[Node], list[Node], bool]:
    """As `parse_html`; returns all elements in document order, those that are telling, the document first, and whether
    the page was cut."""
    builder = _Builder()
    target: Any = builder
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    whole = True
    try:
        # All at once: a parser that is fed looks ahead for the end of each tag, in case it is still to come.
        etree.fromstring(_utf_8(html), parser)
    except _TooManyEventsError:
        whole = False
        builder.close()
    except etree.LxmlError:
        # Nothing but an empty document makes a recovering parser give up; what was built so far stands.
        builder.close()
    nodes, telling = builder.hand_over()
    if not (whole and builder.measured):
        _measure(nodes)
    return nodes, telling, not whole


def _utf_8(html: str) -> bytes:
    """The page without zeros. Most pieces of a page are ASCII, which takes no time to encode; whole pages are not."""
    pieces = (html[start : start + _ENCODED_AT_ONCE] for start in range(0, len(html), _ENCODED_AT_ONCE))
    return b"".join([piece.encode("utf-8", "replace") for piece in pieces]).replace(b"\0", b"")


def with_tree(html: str, read: Callable[[list[Node], bool], Answer]) -> Answer:
    """What `read` answers of a page's measured document, in a list with the elements after it that say something of the
    page as a whole, in order; and of whether the page was cut. The tree is gone afterwards.

    A tree is thousands of objects that live until it is read. Looking for garbage among them, again and again, took
    as long as parsing, so the collector rests meanwhile; what a page may allocate has a limit.
    """
    resting = gc.isenabled()
    gc.disable()
    try:
        return _with_tree(html, read)
    finally:
        if resting:
            gc.enable()


def _with_tree(html: str, read: Callable[[list[Node], bool], Answer]) -> Answer:
    nodes, telling, cut = _parse(html)
    try:
        return read(telling, cut)
    finally:
        for node in nodes:
            # Without circles nothing is left for the collector to find.
            node.parent = None


def measure(root: Node) -> None:
    """Set `letters`, `link_letters` and `holds` of every element, in one pass from the leaves up."""
    nodes = [root]
    for node in nodes:
        # Grows while it is walked: level by level, so that backwards each element comes after all below it.
        nodes += [child for child in node.children if type(child) is Node]
    _measure(nodes)


def measure_again(changed: Iterable[Node]) -> None:
    """Measure elements that lost some of their children, and all above these: as `measure`, where nothing else of the
    tree has changed since it was measured."""
    found: dict[Node, None] = {}
    for node in changed:
        way: list[Node] = []
        at: Node | None = node
        while at is not None and at not in found:
            way.append(at)
            at = at.parent
        found.update(dict.fromkeys(reversed(way)))
    # Each comes after the one that holds it.
    _measure(list(found))


def _measure(nodes: list[Node]) -> None:
    for node in reversed(nodes):
        letters = linked = holds = 0
        for child in node.children:
            if type(child) is str:
                if not child.isspace():
                    letters += len("".join(child.split()))
                continue
            assert type(child) is Node
            letters += child.letters
            linked += child.link_letters
            holds |= child.holds | BIT_OF.get(child.tag, 0)
        node.letters = letters if node.tag not in _UNREAD else 0
        node.link_letters = letters if node.tag == "a" else linked
        node.holds = holds
