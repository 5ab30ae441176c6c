"""What a block is by its class: a note, its title, code without a `<pre>`, a row of tabs, a gutter of line numbers.

Class names are those of kinds of markup, which many generators share or vary, never those of one site.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import islice
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, bits, names
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.markdown_tables import Row

_NOTE_TAGS: Final = names("aside blockquote div p section")
_NOT_IN_NOTES: Final = bits(names("h1 h2 main article"))
_NOT_IN_CODE: Final = bits(names("h1 h2 h3 h4 h5 h6 ol p pre table ul"))
_LONGEST_GUTTER: Final = 10_000
"""Pieces of text, so that gutters within gutters are not read to their ends again and again."""
_LARGEST_CODE: Final = 2_000
"""Elements that are looked at."""
_LONGEST_CLASS: Final = 1_000


class ClassKind(Enum):
    """What a class attribute says of a block, as far as it matters here."""

    PLAIN = auto()
    EDITOR = auto()
    CODE_LINES = auto()
    NOTE = auto()
    TITLE = auto()
    CODE_BOX = auto()
    TABS = auto()
    GUTTER = auto()


_WORDS: Final = {
    **dict.fromkeys(
        names("alert hint note tip warning caution important danger admonitionblock notecard"), ClassKind.NOTE
    ),
    **dict.fromkeys(names("codemirror-code cm-content view-lines"), ClassKind.EDITOR),
    **dict.fromkeys(names("linenos lineno linenodiv line-numbers gutter rouge-gutter blob-num"), ClassKind.GUTTER),
    "title": ClassKind.TITLE,
    "fragment": ClassKind.CODE_LINES,
    "tabs": ClassKind.TABS,
}
_PATTERNS: Final = (
    (
        re.compile(r"(?:[\w-]*-)?(?:admonition|callout|custom-block|information-macro|markdown-alert)(?:-block)?"),
        ClassKind.NOTE,
    ),
    (
        re.compile(r"[\w-]*(?:admonition|callout|custom-block|hint|alert|tag)(?:-|__)?(?:title|heading)(?:_\w+)?"),
        ClassKind.TITLE,
    ),
    (re.compile(r"(?:[\w-]*-)?code-?block"), ClassKind.CODE_BOX),
    (
        re.compile(r"(?:[\w-]*[_-])?(?:tab(?:s|bed)?[_-]?(?:menu|nav|labels?|list|links)|nav[_-]tabs|tabs)"),
        ClassKind.TABS,
    ),
)
_STEMS: Final = re.compile(r"admonition|callout|-block|-macro|-alert|title|heading|codeblock|tab")
"""One of these is in every word that a pattern matches."""
_PRECEDENCE: Final = tuple(ClassKind)[1:]


def class_kind(written: str) -> ClassKind:
    """Read a class attribute. Of several kinds the first one counts, in the order of the enumeration."""
    if len(written) > _LONGEST_CLASS:
        return ClassKind.PLAIN
    kinds = [kind for kind in map(_KIND_OF_WORD.__getitem__, written.lower().split()) if kind is not ClassKind.PLAIN]
    return min(kinds, key=_PRECEDENCE.index, default=ClassKind.PLAIN)


KIND_OF_CLASS: Final = Remembered(class_kind)
"""`class_kind`, remembered."""


def _word_kind(word: str) -> ClassKind:
    """What one word of a class attribute says."""
    known = _WORDS.get(word)
    if known is not None or not _STEMS.search(word):
        return known or ClassKind.PLAIN
    return next((kind for pattern, kind in _PATTERNS if pattern.fullmatch(word)), ClassKind.PLAIN)


_KIND_OF_WORD: Final = Remembered(_word_kind)


def is_note(node: Node, kind: ClassKind) -> bool:
    """Whether a block is set apart as a note: not one that holds sections of the page."""
    marked = kind is ClassKind.NOTE or node.get("role") == "note"
    return marked and node.tag in _NOTE_TAGS and not _NOT_IN_NOTES & node.holds


def is_code(node: Node, kind: ClassKind) -> bool:
    """Whether a block is code though it is no `<pre>`: an editor's lines, or text whose line breaks count."""
    if kind is ClassKind.EDITOR:
        return True
    if kind is ClassKind.CODE_LINES:
        return any(isinstance(child, Node) and child.get("class") == "line" for child in node.children)
    if kind is not ClassKind.CODE_BOX or _NOT_IN_CODE & node.holds or not node.letters:
        return False
    inner = (child for child in islice(node.iter(), 1, _LARGEST_CODE) if child.attributes)
    boxes = any(class_kind(child.get("class")) is ClassKind.CODE_BOX for child in inner)
    return not boxes and any("\n" in piece.strip() for piece in islice(node.pieces(), _LARGEST_CODE))


def is_numbers(gutter: Node) -> bool:
    """Whether what its class calls a gutter shows numbers only: lay-outs have gutters too."""
    if gutter.tag not in {"div", "td"}:
        return False
    pieces = list(islice(gutter.pieces(), _LONGEST_GUTTER))
    return len(pieces) < _LONGEST_GUTTER and all(piece.isspace() or piece.strip().isdigit() for piece in pieces)


def icon_cell(rows: Sequence[Row]) -> Node | None:
    """The first cell of a table that places a note beside its icon."""
    first = rows[0].cells[0]
    return first if not first.letters and len(rows) <= 2 and len(rows[0].cells) == 2 else None  # noqa: PLR2004


def icon_name(cell: Node) -> str:
    """What an icon stands for, as its alternative text or title says."""
    named = (node.get("alt") or node.get("title") for node in cell.iter())
    return next(filter(None, named), "").strip("[] ")
