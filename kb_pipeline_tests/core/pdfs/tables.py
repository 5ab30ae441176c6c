"""Tables: ruled, set by blanks, with three lines, with cells of several lines."""

from __future__ import annotations

from kb_pipeline_tests.core.pdfs.columns import two
from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet, prose

FARES = [
    ["Route", "Hours", "Adults", "Children"],
    ["North pier", "2", "14.50", "7.00"],
    ["Old quay", "3", "21.00", "10.50"],
    ["Lighthouse", "1", "9.00", "4.50"],
    ["Mill island", "6", "44.00", "22.00"],
]


def told(sheet: Sheet, rows: list[list[str]]) -> None:
    sheet.tables.append(rows)
    sheet.texts += [" ".join(filter(None, row)) for row in rows]


def drawn_rows(sheet: Sheet, rows: list[list[str]], edges: list[float], high: float = 18) -> None:
    for row in rows:
        for text, x in zip(row, edges, strict=False):
            sheet.line(text, x + 4, sheet.y)
        sheet.y -= high
    sheet.y -= 10
    told(sheet, rows)


def ruled_table() -> Sample:
    """With lines around every cell, which are narrow, and one that is empty."""
    sheet = Sheet()
    sheet.heading("Fares")
    sheet.paragraph(prose("before ruled", 2))
    rows = [*FARES, ["Ferry, by night", "4", "", "30.00"]]
    edges = [72.0, 140, 170, 205, 250]
    top = sheet.y + 13
    for number in range(len(rows) + 1):
        sheet.canvas.line(edges[0], top - 18 * number, edges[-1], top - 18 * number)
    for x in edges:
        sheet.canvas.line(x, top, x, top - 18 * len(rows))
    drawn_rows(sheet, rows, edges)
    sheet.paragraph(prose("after ruled", 2))
    return sheet.sample(verbatim=["| Ferry, by night | 4 |  | 30.00 |"])


def blank_table() -> Sample:
    sheet = Sheet()
    sheet.paragraph(prose("before blank", 2))
    drawn_rows(sheet, FARES, [72, 180, 260, 340], 14)
    sheet.paragraph(prose("between blank", 2))
    drawn_rows(sheet, [["Tide", "Height"], ["Spring", "5.1 m"], ["Neap", "3.2 m"]], [72, 200], 14)
    sheet.paragraph(prose("after blank", 2))
    return sheet.sample(verbatim=["| Old quay | 3 | 21.00 | 10.50 |", "| Neap | 3.2 m |"])


def booktabs() -> Sample:
    """Three lines across, figures flush right."""
    sheet = Sheet()
    sheet.paragraph(prose("before booktabs", 2))
    for y in (sheet.y + 11, sheet.y - 5, sheet.y - 4 * 16 - 5):
        sheet.canvas.line(72, y, 400, y)
    for row in FARES:
        sheet.line(row[0], 76, sheet.y)
        for text, x in zip(row[1:], (230, 310, 390), strict=True):
            sheet.canvas.drawRightString(x, sheet.y, text)
        sheet.y -= 16
    told(sheet, FARES)
    sheet.y -= 10
    sheet.paragraph(prose("after booktabs", 2))
    return sheet.sample()


def wrapped_cells() -> Sample:
    """A ruled table whose cells have several lines."""
    sheet = Sheet()
    sheet.paragraph(prose("before wrapped", 2))
    rows = [["Setting", "Meaning"], ["depth", prose("cell 1", 1)], ["beacon", prose("cell 2", 2)]]
    for name, meaning in rows:
        lines = sheet.wrapped(meaning, 240)
        high = 12 * len(lines) + 6
        sheet.canvas.rect(72, sheet.y - high + 12, 80, high)
        sheet.canvas.rect(152, sheet.y - high + 12, 250, high)
        sheet.line(name, 76, sheet.y)
        for number, line in enumerate(lines):
            sheet.line(line, 156, sheet.y - 12 * number)
        sheet.y -= high
    sheet.y -= 14
    told(sheet, rows)
    sheet.paragraph(prose("after wrapped", 2))
    return sheet.sample()


def centred_cells() -> Sample:
    """Without lines; names stand at half the height of what belongs to them."""
    sheet = Sheet()
    sheet.paragraph(prose("before centred", 2))
    meanings = ["who may use it by day", "for one person, with what the office calls a long note, and then some"]
    rows = [
        ["Plan", "Price", "Note"],
        ["Free", "$0", meanings[1]],
        ["Day", "$3", meanings[0]],
        ["Team", "$20", meanings[1]],
    ]
    for name, price, note in rows:
        lines = sheet.wrapped(note, 110)
        for text, x in ((name, 72), (price, 130)):
            sheet.line(text, x, sheet.y - 12 * (len(lines) // 2))
        for line in lines:
            sheet.line(line, 190, sheet.y)
            sheet.y -= 12
        sheet.y -= 8
    told(sheet, rows)
    sheet.y -= 6
    sheet.paragraph(prose("after centred", 2))
    return sheet.sample()


def table_in_columns() -> Sample:
    """A table over both columns of a page, between them."""
    sheet = Sheet()
    two(sheet, "above table", 2)
    sheet.y -= 10
    drawn_rows(sheet, FARES, [60, 200, 320, 440], 14)
    two(sheet, "below table", 2)
    return sheet.sample()
