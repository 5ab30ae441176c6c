"""Writes a part of an HTML tree as Markdown (CommonMark with GitHub's tables and Pandoc's definition lists).

What is main content and what is page chrome has been decided before; here everything visible is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, measure, names
from kb_pipeline.core.markdown_anchors import HEADINGS, SectionAnchors, without_permalinks
from kb_pipeline.core.markdown_code import code_language, code_text
from kb_pipeline.core.markdown_inline import HARD_BREAK, InlineText, clean, destination, escape
from kb_pipeline.core.markdown_tables import is_data_table, is_title_row, read_rows, write_table
from kb_pipeline.core.markdown_tabs import TabNames
from kb_pipeline.core.markdown_writer import Blocks, Container
from kb_pipeline.core.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_CHARACTERS: Final = 200_000
MAX_LINK_LENGTH: Final = 1_000
MAX_HEADER_LINE: Final = 120
"""A post's or card's `<header>` is one line up to this many characters."""

_HEADING_TAGS: Final = frozenset(HEADINGS)
BLOCKS: Final = names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table"
    " tbody td tfoot th thead tr ul"
)
_UNSEEN: Final = names(
    "annotation area audio base canvas col colgroup datalist embed frame frameset head iframe input link map meta meter"
    " object option param progress script select source style svg template textarea title track video"
)
_EMPHASIS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_ADMONITION: Final = frozenset({"admonition", "admonitionblock", "callout", "notecard"})
_FILE_NAME: Final = re.compile(r"[\w-]*\.(?:jpe?g|png|gif|webp|svg|avif)|image|img|logo|icon|\d+", re.IGNORECASE)
_CELL_BREAK: Final = "<br>"


@dataclass(frozen=True, slots=True)
class Markdown:
    """A page as Markdown. `characters` counts the visible text; `anchors` are (heading ordinal from 0, fragment id)."""

    text: str
    characters: int
    anchors: tuple[tuple[int, str], ...]
    truncated: bool


def write_markdown(nodes: Sequence[Node], base_url: str, limit: int = MAX_CHARACTERS) -> Markdown:
    """Write the nodes one after the other, links made absolute against `base_url`, at most `limit` characters."""
    for node in nodes:
        measure(node)
    walk = _Walk(base_url, limit)
    walk.run(nodes)
    walk.flush()
    blocks = walk.blocks
    return Markdown(blocks.markdown(), blocks.characters, tuple(blocks.anchors), blocks.full)


class _Walk:
    """One pass over the tree. Blocks are written as they end; in a cell or a heading (`_break` is set) there are
    none, and their borders become that break. That nests once, so nothing here recurses with the page."""

    def __init__(self, base_url: str, limit: int) -> None:
        self.blocks = Blocks(limit)
        self._base_url = base_url
        self._limit = limit
        self._inline = InlineText()
        self._break: str | None = None
        self._emphasis: set[str] = set()
        self._in_link = False
        self._card_link = ""
        self._card_mark = (-1, 0)
        self._anchors = SectionAnchors()
        self._tabs = TabNames()
        self._numbers: list[int | None] = []
        self._special: dict[str, Callable[[Node], Callable[[], None]]] = {
            **dict.fromkeys(HEADINGS, self._heading),
            "header": self._header,
            "pre": self._preformatted,
            "table": self._table,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "li": self._item,
            "dt": self._term,
            "dd": self._definition,
            "blockquote": self._quote,
            "summary": self._summary,
        }
        self._phrases: dict[str, Callable[[Node], Callable[[], None]]] = {
            **dict.fromkeys(_EMPHASIS, self._emphasised),
            **dict.fromkeys(_CODE, self._code),
            "a": self._link,
            "br": self._line_break,
            "img": self._image,
            "math": self._formula,
        }

    def run(self, nodes: Sequence[Node | str]) -> None:
        stack: list[Node | str | Callable[[], None]] = list(reversed(nodes))
        while stack and not self.blocks.full:
            item = stack.pop()
            if isinstance(item, str):
                self._inline.text(item, self._limit)
            elif isinstance(item, Node):
                leave = self._enter(item)
                if leave is not _DONE:
                    stack.append(leave)
                    stack.extend(reversed(item.children))
            else:
                item()

    def flush(self, kind: str = "paragraph") -> None:
        """End the paragraph that is being collected; in a cell or heading, break."""
        if self._break is not None:
            self._inline.break_line(self._break)
            return
        if self._card_link and self._inline.visible:
            mark = self._card_mark
            self._inline.close(mark, "[", f"]({destination(self._card_link)})")
            self._card_link = ""
        text, visible = self._inline.take()
        if text:
            self.blocks.paragraph(text, visible, kind)
        if self._card_link:
            self._card_mark = self._inline.open()

    # --- entering an element: do what its start means, and return what its end means, or _DONE to pass over it

    def _enter(self, node: Node) -> Callable[[], None]:
        tag = node.tag
        if tag in _UNSEEN:
            return _DONE
        self._anchors.note(node, self.blocks.count)
        if tag in BLOCKS:
            return self._enter_block(node)
        enter = self._phrases.get(tag)
        return enter(node) if enter is not None else _nothing

    def _enter_block(self, node: Node) -> Callable[[], None]:
        if self._break is None:
            special = self._special.get(node.tag)
            if special is None and node.attributes:
                special = self._special_by_attribute(node)
            if special is not None:
                return special(node)
        elif node.tag == "pre":
            self._inline.code(code_text(node))
            return _DONE
        self.flush()
        return self.flush

    def _special_by_attribute(self, node: Node) -> Callable[[Node], Callable[[], None]] | None:
        role = node.attributes.get("role")
        if role == "tablist":
            return self._tab_list
        if role == "tabpanel":
            return self._tab_panel
        classes = node.attributes.get("class", "").lower().split()
        if not _ADMONITION.isdisjoint(classes):
            return self._quote
        return self._summary if "admonition-title" in classes else None

    def _heading(self, node: Node) -> Callable[[], None]:
        anchor = self._anchor_of(node)
        self.flush()
        text, visible = self._inline_of(without_permalinks(node))
        self._write_heading(HEADINGS[node.tag], text, visible, anchor)
        return _DONE

    def _write_heading(self, level: int, text: str, visible: int, anchor: str | None) -> None:
        if not text:
            return
        if self.blocks.nested:
            # A heading within a list item or quote heads no section of the page.
            self.blocks.paragraph(_bold(text), visible)
        else:
            self.blocks.heading(level, text, visible, anchor)

    def _header(self, node: Node) -> Callable[[], None]:
        heading = node.find(*HEADINGS) if _HEADING_TAGS & node.holds and node.letters <= MAX_HEADER_LINE else None
        text, visible = self._inline_of(without_permalinks(node)) if heading else ("", 0)
        if heading is None or not text:
            self.flush()
            return self.flush
        anchor = self._anchor_of(heading)
        self.flush()
        self._write_heading(HEADINGS[heading.tag], text, visible, anchor)
        return _DONE

    def _preformatted(self, node: Node) -> Callable[[], None]:
        self.flush()
        code = code_text(node)[: 2 * self._limit]
        if code.strip():
            self.blocks.fence(clean_code(code), code_language(node))
        return _DONE

    def _table(self, node: Node) -> Callable[[], None]:
        self.flush()
        rows = read_rows(node)
        if not is_data_table(node, rows):
            return self.flush
        captions = [child for child in node.children if isinstance(child, Node) and child.tag == "caption"]
        while len(rows) > 1 and is_title_row(rows):
            captions += rows.pop(0).cells
        for caption in captions:
            self.blocks.paragraph(*self._inline_of(caption.children))
        self.blocks.table(*write_table(rows, self._cell))
        return _DONE

    def _cell(self, node: Node) -> tuple[str, int]:
        text, visible = self._inline_of(node.children, _CELL_BREAK)
        return text.replace("\n", " ").replace("\\|", "|").replace("|", "\\|"), visible

    def _list(self, node: Node) -> Callable[[], None]:
        self.flush()
        start = node.get("start")
        first = int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1  # noqa: PLR2004
        self._numbers.append(first if node.tag == "ol" else None)

        def leave() -> None:
            self.flush()
            self._numbers.pop()

        return leave

    def _item(self, node: Node) -> Callable[[], None]:
        if _HEADING_TAGS & node.holds:
            # A card, set as a list item: its heading heads a section.
            self.flush()
            return self.flush
        marker = "- "
        if self._numbers and (number := self._numbers[-1]) is not None:
            value = node.get("value")
            number = int(value) if value.isascii() and value.isdigit() and len(value) < 7 else number  # noqa: PLR2004
            marker = f"{number}. "
            self._numbers[-1] = number + 1
        return self._enter_container(Container("item", marker, " " * len(marker)))

    def _term(self, node: Node) -> Callable[[], None]:
        self.flush()
        text, visible = self._inline_of(without_permalinks(node))
        if text:
            self.blocks.paragraph(text, visible, "term")
        return _DONE

    def _definition(self, _node: Node) -> Callable[[], None]:
        return self._enter_container(Container("definition", ": ", "  "))

    def _quote(self, _node: Node) -> Callable[[], None]:
        return self._enter_container(Container("quote", "> ", "> "))

    def _summary(self, node: Node) -> Callable[[], None]:
        if _HEADING_TAGS & node.holds:
            self.flush()
            return self.flush
        self.flush()
        text, visible = self._inline_of(node.children)
        if text:
            self.blocks.paragraph(_bold(text), visible)
        return _DONE

    def _enter_container(self, container: Container) -> Callable[[], None]:
        self.flush()
        self.blocks.open(container)
        return self._leave_container

    def _leave_container(self) -> None:
        self.flush()
        self.blocks.close()

    def _tab_list(self, node: Node) -> Callable[[], None]:
        self.flush()
        return _DONE if self._tabs.read(node) else self.flush

    def _tab_panel(self, node: Node) -> Callable[[], None]:
        self.flush()
        if name := self._tabs.name_of(node):
            self.blocks.paragraph(_bold(escape(name)), len(name))
        return self.flush

    # --- inline elements

    def _inline_of(self, nodes: Sequence[Node | str], separator: str = " ") -> tuple[str, int]:
        """The Markdown of some nodes on one line, and its visible length."""
        outer, self._inline = self._inline, InlineText()
        outer_break, self._break = self._break, separator
        outer_link, self._card_link = self._card_link, ""
        self.run(nodes)
        text, visible = self._inline.take()
        if outer_link and text and separator == " ":
            text = text if "](" in text else f"[{text}]({destination(outer_link)})"
            outer_link = ""
        self._inline, self._break, self._card_link = outer, outer_break, outer_link
        text = text.replace("\n", " ")
        if separator == " ":
            return " ".join(text.split()), visible
        return text.removesuffix(separator).rstrip(), visible

    def _emphasised(self, node: Node) -> Callable[[], None]:
        mark_up = _EMPHASIS[node.tag]
        if mark_up in self._emphasis:
            return _nothing
        self._emphasis.add(mark_up)
        mark = self._inline.open()

        def leave() -> None:
            self._emphasis.discard(mark_up)
            self._inline.close(mark, mark_up, mark_up)

        return leave

    def _code(self, node: Node) -> Callable[[], None]:
        self._inline.code("".join(node.pieces()))
        return _DONE

    def _formula(self, node: Node) -> Callable[[], None]:
        """A formula's own alternative text, or what is shown of it; not the source that is kept beside."""
        if alternative := node.get("alttext"):
            self._inline.text(alternative, self._limit)
            return _DONE
        return _nothing

    def _link(self, node: Node) -> Callable[[], None]:
        url = self._absolute(node.get("href"))
        if not url or self._in_link:
            return _nothing
        self._in_link = True
        if self._break is None and node.holds & BLOCKS:
            self.flush()
            self._card_link = url
            self._card_mark = self._inline.open()
            return self._leave_card
        mark = self._inline.open()

        def leave() -> None:
            self._in_link = False
            self._inline.close(mark, "[", f"]({destination(url)})")

        return leave

    def _leave_card(self) -> None:
        self.flush()
        self._in_link = False
        self._card_link = ""

    def _absolute(self, reference: str) -> str:
        if not reference or len(reference) > MAX_LINK_LENGTH or reference.startswith(("javascript:", "data:")):
            return ""
        url = resolve(self._base_url, reference) or ""
        return url if url.startswith(("http://", "https://", "mailto:", "tel:")) and len(url) <= MAX_LINK_LENGTH else ""

    def _line_break(self, _node: Node) -> Callable[[], None]:
        if self._break is not None:
            self._inline.break_line(self._break)
        elif self._inline.ends_with(HARD_BREAK):
            self.flush()
        else:
            self._inline.break_line(HARD_BREAK)
        return _DONE

    def _image(self, node: Node) -> Callable[[], None]:
        alternative = " ".join(clean(node.get("alt")).split())
        if alternative and not _FILE_NAME.fullmatch(alternative):
            sources = (self._absolute(node.get(name)) for name in ("src", "data-src", "data-lazy-src", "data-original"))
            if url := next(filter(None, sources), ""):
                label = escape(alternative.replace("[", "(").replace("]", ")"))
                self._inline.syntax(f"![{label}]({destination(url)})")
        return _DONE

    def _anchor_of(self, heading: Node) -> str | None:
        return self._anchors.of(heading, None if self._inline.has_text() else self.blocks.count)


def _nothing() -> None:
    """Leave an element whose end means nothing."""


def _DONE() -> None:  # noqa: N802 - a marker, compared by identity
    """Stands for "nothing of this element is left to walk"."""


def clean_code(code: str) -> str:
    """Code without characters that no source file holds; tabs and line breaks stay."""
    return code if code.isascii() else code.replace("\u200b", "").replace("\ufeff", "").replace("\u00a0", " ")


def _bold(text: str) -> str:
    return text if "**" in text else f"**{text}**"
