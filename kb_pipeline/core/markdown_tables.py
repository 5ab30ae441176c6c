"""A data table as a grid, spans resolved (HTML Living Standard §4.9.12, in outline), and as lines of Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import BIT_OF, HEADING_BITS, HEADING_TAGS, Node, bits
from kb_pipeline.core.markdown_code import is_gutter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_COLUMNS: Final = 200
MAX_CELLS: Final = 50_000
_SECTIONS: Final = frozenset({"thead", "tbody", "tfoot"})
_NOT_IN_CELLS: Final = bits(HEADING_TAGS | {"table", "pre", "article", "section", "dl"})
_BOLD: Final = HEADING_TAGS | {"b", "strong"}
_CELL_ROLES: Final = frozenset({"cell", "gridcell", "columnheader", "rowheader"})
_SHORT_CELL: Final = 200
_NEAR_TOP: Final = 5
_FILLED: Final = "\0"
"""Marks the columns of a body cell's span after the first: the text stands once."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a `<tr>`, and whether it heads the table."""

    cells: tuple[Node, ...]
    heads: bool


def read_rows(table: Node) -> list[Row]:
    """The rows of the table itself, those of nested tables left out. `table` may be one by its role only."""
    rows: list[Row] = []
    for section, row in _row_nodes(table) if table.tag == "table" else _role_rows(table):
        cells = tuple(cell for cell in row.children if isinstance(cell, Node) and _is_cell(cell))
        if cells:
            all_headers = all(cell.tag == "th" or cell.get("role") == "columnheader" for cell in cells)
            rows.append(Row(cells, section == "thead" or (all_headers and all(before.heads for before in rows))))
    if len(rows) > 1 and not rows[0].heads and _is_bold(rows[0]) and not _is_bold(rows[1]):
        rows[0] = Row(rows[0].cells, heads=True)
    return rows


def _is_cell(node: Node) -> bool:
    return node.tag in {"td", "th"} or node.attributes.get("role") in _CELL_ROLES


def _is_bold(row: Row) -> bool:
    """Whether all that a row says stands in bold: that is how an editor without header cells marks one."""
    return len(row.cells) > 1 and all(map(_is_bold_cell, row.cells))


def _is_bold_cell(cell: Node) -> bool:
    inner = next((node for node in cell.iter() if node.tag in _BOLD), None)
    return inner is not None and 0 < inner.letters == cell.letters


def _row_nodes(table: Node) -> Iterator[tuple[str, Node]]:
    for child in table.children:
        if not isinstance(child, Node):
            continue
        if child.tag == "tr":
            yield "", child
        elif child.tag in _SECTIONS:
            yield from ((child.tag, row) for row in child.children if isinstance(row, Node) and row.tag == "tr")


def _role_rows(table: Node) -> Iterator[tuple[str, Node]]:
    for child in table.children:
        if not isinstance(child, Node):
            continue
        if child.get("role") == "row":
            yield "", child
        elif child.get("role") == "rowgroup":
            yield from (("", row) for row in child.children if isinstance(row, Node) and row.get("role") == "row")


def is_data_table(table: Node, rows: Sequence[Row]) -> bool:
    """Whether the table holds data. Otherwise it only places blocks on the page."""
    if not rows or (table.get("role") in {"presentation", "none"} and not _is_even(rows)):
        return False
    if max(len(row.cells) for row in rows) < 2 and not rows[0].heads:  # noqa: PLR2004 - one column is a stack of blocks
        return False
    headed = rows[0].heads and not any(is_gutter(row.cells[0].get("class").lower()) for row in rows)
    return not any(_holds_blocks(cell, row, headed=headed) for row in rows for cell in row.cells)


def is_listing(table: Node, rows: Sequence[Row]) -> bool:
    """Whether a table is code: each line of it a row, beside its number."""
    if table.holds & BIT_OF["pre"] or not rows:
        return False
    return all(len(row.cells) == 2 and is_gutter(row.cells[0].get("class").lower()) for row in rows)  # noqa: PLR2004


def _holds_blocks(cell: Node, row: Row, *, headed: bool) -> bool:
    """Whether a cell holds what no cell of a Markdown table can. A heading may be all that a cell says, and code
    stand in a table whose columns are named: without names it places code beside its line numbers."""
    blocks = _NOT_IN_CELLS & cell.holds
    if headed:
        blocks &= ~BIT_OF["pre"]
    if blocks and not blocks & ~HEADING_BITS:
        heading = cell.find(*HEADING_TAGS)
        return heading is None or heading.letters != cell.letters or len(row.cells) == 1
    return bool(blocks)


def _is_even(rows: Sequence[Row]) -> bool:
    """Whether a table that calls itself lay-out is as even as only data are: short texts in every place."""
    widths = {len(row.cells) for row in rows}
    short = all(0 < cell.letters <= _SHORT_CELL for row in rows for cell in row.cells)
    return len(rows) > 1 and len(widths) == 1 and min(widths) > 1 and short


def is_title_row(rows: Sequence[Row]) -> bool:
    """Whether the first row is one header cell over more than one column: a title, where others have a caption."""
    first = rows[0]
    spanned = first.cells[0].get("colspan") not in {"", "1"}
    wide = len(rows[1].cells) > 1 or (spanned and any(len(row.cells) > 1 for row in rows[:_NEAR_TOP]))
    return first.heads and len(first.cells) == 1 and wide


def write_table(rows: Sequence[Row], cell_text: Callable[[Node], tuple[str, int]]) -> tuple[list[str], int]:
    """Lines of a GitHub-flavoured Markdown table, and the visible characters in it.

    `cell_text` gives the Markdown of a cell on one line, and its visible length. A spanned column header is
    repeated over its columns and a spanned row label down its rows, so that each row can be read by itself. A
    table without header cells gets an empty header row: to promote a row of data would make it a label.
    """
    grid, visible = _grid(rows, cell_text)
    width = max((len(line) for line in grid), default=0)
    heads = _heading_rows(rows, grid)
    header = [_stacked(grid[row][column] for row in range(heads) if column < len(grid[row])) for column in range(width)]
    body = [[*line, *[""] * (width - len(line))] for line in grid[heads:]]
    used = [column for column in range(width) if header[column] or any(line[column].strip(_FILLED) for line in body)]
    if not used:
        return [], 0
    lines = [[header[column] for column in used], ["---"] * len(used)]
    lines += [cells for line in body if any(cells := [line[column].strip(_FILLED) for column in used])]
    return [f"| {' | '.join(cells)} |" for cells in lines], visible


def _heading_rows(rows: Sequence[Row], grid: Sequence[Sequence[str]]) -> int:
    """How many leading rows head the table."""
    leading = next((place for place, row in enumerate(rows) if not row.heads), len(rows))
    return min(leading, len(grid))


def _stacked(cells: Iterator[str]) -> str:
    """Header rows one above the other, as one."""
    distinct = list(dict.fromkeys(text for cell in cells if (text := cell.strip(_FILLED))))
    return " ".join(distinct)


def _grid(rows: Sequence[Row], cell_text: Callable[[Node], tuple[str, int]]) -> tuple[list[list[str]], int]:
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    visible = 0
    cells_made = 0
    for row in rows:
        if cells_made > MAX_CELLS:
            break
        line: list[str] = []
        cells = iter(row.cells)
        cell = next(cells, None)
        next_hanging: dict[int, tuple[int, str]] = {}
        while len(line) < MAX_COLUMNS and (cell is not None or any(column >= len(line) for column in hanging)):
            column = len(line)
            if column in hanging:
                left, text = hanging[column]
                line.append(text)
                if left > 1:
                    next_hanging[column] = (left - 1, text)
                continue
            if cell is None:
                line.append("")
                continue
            text, seen = cell_text(cell)
            visible += seen
            across, down = _span(cell, "colspan"), _span(cell, "rowspan")
            for place in range(min(across, MAX_COLUMNS - column)):
                shown = text if place == 0 or row.heads else _FILLED
                line.append(shown)
                if down > 1:
                    next_hanging[column + place] = (down - 1, shown)
            cell = next(cells, None)
        cells_made += len(line)
        grid.append(line)
        hanging = next_hanging
    return grid, visible


def _span(cell: Node, name: str) -> int:
    value = cell.get(name)
    return min(max(int(value), 1), 1_000) if value.isascii() and value.isdigit() and len(value) < 6 else 1  # noqa: PLR2004
