"""Writes a part of an HTML tree as Markdown (CommonMark with GitHub's tables and Pandoc's definition lists).

What is main content and what is page chrome has been decided before; here everything visible is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import H1, HEADING_BITS, HEADING_TAGS, Node
from kb_pipeline.core.markdown_anchors import HEADINGS, without_permalinks
from kb_pipeline.core.markdown_code import code_text
from kb_pipeline.core.markdown_notes import KIND_OF_CLASS, ClassKind, icon_cell, icon_name, is_code, is_note, is_numbers
from kb_pipeline.core.markdown_phrases import DONE, PhraseWalk, bold, pass_over
from kb_pipeline.core.markdown_tables import is_data_table, is_listing, is_title_row, read_rows, write_table
from kb_pipeline.core.markdown_tabs import TabNames
from kb_pipeline.core.markdown_writer import Container

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_pipeline.core.markdown_tables import Row

MAX_CHARACTERS: Final = 200_000
MAX_HEADER_LINE: Final = 120
"""A post's or card's `<header>` is one line up to this many characters."""

_CELL_BREAK: Final = "<br>"


@dataclass(frozen=True, slots=True)
class Markdown:
    """A page as Markdown. `characters` counts the visible text; `anchors` are (heading ordinal from 0, fragment id)."""

    text: str
    characters: int
    anchors: tuple[tuple[int, str], ...]
    truncated: bool


def write_markdown(nodes: Sequence[Node], base_url: str, limit: int = MAX_CHARACTERS) -> Markdown:
    """Write measured nodes one after the other, links made absolute against `base_url`, at most `limit` characters."""
    walk = _Walk(base_url, limit)
    walk.run(nodes)
    walk.flush()
    blocks = walk.blocks
    return Markdown(blocks.markdown(), blocks.characters, tuple(blocks.anchors), blocks.full)


class _Walk(PhraseWalk):
    """The blocks: headings, lists, tables, code, notes, tabs."""

    def __init__(self, base_url: str, limit: int) -> None:
        super().__init__(base_url, limit)
        self._tabs = TabNames()
        self._numbers: list[int | None] = []
        self._notes = 0
        self._icons: set[int] = set()
        self._heading_before = (-1, "")
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
        self._by_role: dict[str, Callable[[Node], Callable[[], None]]] = {
            "tablist": self._tab_list,
            "tabpanel": self._tab_panel,
            "table": self._table,
        }

    def _enter_block(self, node: Node) -> Callable[[], None]:
        if self._break is None:
            if self._tabs.waiting and (name := self._tabs.name_of_part(node)):
                self._bold_line(name)
            special = self._special_by_attribute(node) if node.attributes else None
            special = special or self._special.get(node.tag)
            if special is not None:
                return special(node)
        elif node.tag == "pre":
            self._code_in_line(node)
            return DONE
        self.flush()
        return self.flush

    def _special_by_attribute(self, node: Node) -> Callable[[Node], Callable[[], None]] | None:
        attributes = node.attributes
        kind = KIND_OF_CLASS[attributes.get("class", "")]
        role = attributes.get("role")
        if kind is ClassKind.PLAIN and not role and not self._icons:
            return None
        if role in self._by_role:
            return self._by_role[role]
        if id(node) in self._icons or (kind is ClassKind.GUTTER and is_numbers(node)):
            return pass_over
        if not self._notes and is_note(node, kind):
            return self._note
        return None if kind is ClassKind.PLAIN or node.tag in HEADING_TAGS else self._special_by_kind(node, kind)

    def _special_by_kind(self, node: Node, kind: ClassKind) -> Callable[[Node], Callable[[], None]] | None:
        if kind is ClassKind.TITLE:
            return self._summary if self.blocks.nested and (self._notes or node.tag == "p") else None
        if kind is ClassKind.TABS:
            return self._tab_row
        return self._preformatted if is_code(node, kind) else None

    def _heading(self, node: Node) -> Callable[[], None]:
        anchor = self._anchor_of(node)
        self.flush()
        text, visible = self._inline_of(without_permalinks(node))
        self._write_heading(HEADINGS[node.tag], text, visible, anchor)
        return DONE

    def _write_heading(self, level: int, text: str, visible: int, anchor: str | None) -> None:
        shown = text.partition("](")[0].lstrip("[")
        if not text or self._heading_before == (self.blocks.count, shown):
            # Some themes write a title twice, once as a link, and show one of them.
            return
        if self.blocks.nested:
            # A heading within a list item or quote heads no section of the page.
            self.blocks.paragraph(bold(text), visible)
        else:
            self.blocks.heading(level, text, visible, anchor)
        self._heading_before = (self.blocks.count, shown)

    def _header(self, node: Node) -> Callable[[], None]:
        """The header of a card or post as one line; not that of the page, whose title stands for itself."""
        found = HEADING_BITS & node.holds
        heading = node.find(*HEADINGS) if found and not found & H1 and node.letters <= MAX_HEADER_LINE else None
        text, visible = self._inline_of(without_permalinks(node)) if heading else ("", 0)
        if heading is None or not text:
            self.flush()
            return self.flush
        anchor = self._anchor_of(heading)
        self.flush()
        self._write_heading(HEADINGS[heading.tag], text, visible, anchor)
        return DONE

    def _preformatted(self, node: Node) -> Callable[[], None]:
        self._fence(node)
        return DONE

    def _code_in_line(self, node: Node) -> None:
        """Code in a cell or heading: a span for each of its lines."""
        self.flush()
        for line in code_text(node)[: 2 * self._limit].split("\n"):
            self._inline.code(line, exact=True)
            self.flush()

    def _table(self, node: Node) -> Callable[[], None]:
        self.flush()
        rows = read_rows(node)
        if self._notes and rows and (icon := icon_cell(rows)) is not None:
            return self._beside_icon(icon, rows)
        if is_listing(node, rows):
            return self._preformatted(node)
        if not is_data_table(node, rows):
            return self.flush
        captions = [child for child in node.children if isinstance(child, Node) and child.tag == "caption"]
        while len(rows) > 1 and is_title_row(rows):
            captions += rows.pop(0).cells
        for caption in captions:
            self.blocks.paragraph(*self._inline_of(without_permalinks(caption)))
        self.blocks.table(*write_table(rows, self._cell))
        return DONE

    def _beside_icon(self, icon: Node, rows: Sequence[Row]) -> Callable[[], None]:
        """A note whose icon a table places beside it: the icon's name is its title, unless it has one."""
        self._icons.add(id(icon))
        title = rows[0].cells[1]
        if title.tag == "th":
            self._icons.add(id(title))
        self._bold_line(title.text() if title.tag == "th" else icon_name(icon))
        return self.flush

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
        if HEADING_BITS & node.holds:
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
        return DONE

    def _definition(self, _node: Node) -> Callable[[], None]:
        return self._enter_container(Container("definition", ": ", "  "))

    def _quote(self, _node: Node) -> Callable[[], None]:
        return self._enter_container(Container("quote", "> ", "> "))

    def _note(self, node: Node) -> Callable[[], None]:
        self._notes += 1
        leave_quote = self._quote(node)

        def leave() -> None:
            leave_quote()
            self._notes -= 1

        return leave

    def _summary(self, node: Node) -> Callable[[], None]:
        if HEADING_BITS & node.holds:
            self.flush()
            return self.flush
        self.flush()
        text, visible = self._inline_of(node.children)
        if text:
            self.blocks.paragraph(bold(text), visible)
        return DONE

    def _enter_container(self, container: Container) -> Callable[[], None]:
        self.flush()
        self.blocks.open(container)
        return self._leave_container

    def _leave_container(self) -> None:
        self.flush()
        self.blocks.close()

    def _tab_list(self, node: Node) -> Callable[[], None]:
        if self._tabs.read(node):
            self.flush()
            return DONE
        return self._block_by_tag(node)

    def _tab_row(self, node: Node) -> Callable[[], None]:
        if self._tabs.read_row(node):
            self.flush()
            return DONE
        return self._block_by_tag(node)

    def _block_by_tag(self, node: Node) -> Callable[[], None]:
        special = self._special.get(node.tag)
        if special is not None:
            return special(node)
        self.flush()
        return self.flush

    def _tab_panel(self, node: Node) -> Callable[[], None]:
        self._bold_line(self._tabs.name_of(node))
        return self._block_by_tag(node)

    def _anchor_of(self, heading: Node) -> str | None:
        return self._anchors.of(heading, None if self._inline.has_text() else self.blocks.count)
