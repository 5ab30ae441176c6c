"""Pages of several columns."""

from __future__ import annotations

import random
from itertools import zip_longest

from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet, prose

LEFT, RIGHT, WIDTH = 60, 310, 230


def two(sheet: Sheet, seed: str, paragraphs: int = 5, top: float | None = None) -> None:
    """Two columns; the second is a little lower, so that base lines do not meet."""
    top = sheet.y if top is None else top
    for x, side, low in ((LEFT, "left", 0), (RIGHT, "right", 4)):
        sheet.y = top - low
        for part in range(paragraphs):
            sheet.paragraph(prose(f"{seed} {side} {part}", 3), x=x, width=WIDTH)


def columns() -> Sample:
    sheet = Sheet()
    sheet.heading("On the tides of small harbours, and a title over both columns", x=60, size=16)
    sheet.paragraph(prose("abstract", 3), x=60, width=480)
    for number in range(3):
        sheet.line("Journal of Tides 12", 60, 810, size=8)
        sheet.line(str(number + 101), 290, 30, size=8)
        two(sheet, f"columns {number}")
        if number < 2:
            sheet.page()
    return sheet.sample(running=["Journal of Tides", "101", "102", "103"])


def columns_by_rows() -> Sample:
    """Columns whose lines are drawn across the page, first left, then right, on base lines in common."""
    sheet = Sheet()
    texts = [[prose(f"by rows {side} {part}", 3) for part in range(5)] for side in ("left", "right")]
    lines = [[line for text in side for line in sheet.wrapped(text, WIDTH)] for side in texts]
    for left, right in zip_longest(*lines, fillvalue=""):
        sheet.line(left, LEFT, sheet.y)
        sheet.line(right, RIGHT, sheet.y)
        sheet.y -= 12
    sheet.texts += [text for side in texts for text in side]
    return sheet.sample()


def columns_with_figures() -> Sample:
    sheet = Sheet()
    sheet.heading("Dredging by night", x=60, size=16)
    top = sheet.y
    for x, side in ((LEFT, "left"), (RIGHT, "right")):
        sheet.y = top
        sheet.heading(f"Of the {side} bank", x=x, size=12)
        sheet.paragraph(prose(f"figures {side}", 4), x=x, width=WIDTH)
        sheet.canvas.rect(x, sheet.y - 100, WIDTH, 100, fill=0)
        sheet.y -= 114
        sheet.paragraph(f"Figure {1 if side == 'left' else 2}: the {side} bank at low water.", x=x, width=WIDTH, size=9)
        sheet.paragraph(prose(f"figures after {side}", 4), x=x, width=WIDTH)
    sheet.canvas.rect(LEFT, sheet.y - 80, 480, 80, fill=0)
    sheet.y -= 94
    sheet.paragraph(
        "Figure 3: the whole estuary, drawn over both of the columns of this page.", x=60, width=480, size=9
    )
    two(sheet, "below", 1)
    return sheet.sample()


def three_columns() -> Sample:
    sheet = Sheet()
    sheet.heading("Notices to mariners", x=50, size=16)
    top = sheet.y
    for place in range(3):
        sheet.y = top
        for part in range(5):
            sheet.paragraph(prose(f"three {place} {part}", 2), x=50 + 175 * place, width=155, size=9, leading=11)
    return sheet.sample()


def newsletter() -> Sample:
    """A narrow side column beside the text, and base lines in common."""
    sheet = Sheet()
    sheet.heading("Letter from the lock", x=60, size=18)
    top = sheet.y
    for part in range(7):
        sheet.paragraph(prose(f"main {part}", 3), x=60, width=310)
    sheet.y = top
    for part in range(5):
        sheet.paragraph(prose(f"side {part}", 1), x=400, width=140)
    return sheet.sample()


def odd_order() -> Sample:
    """Lines that are drawn in an order of chance, word by word."""
    sheet = Sheet()
    lines = []
    for part in range(6):
        text = prose(f"odd {part}", 3)
        sheet.texts.append(text)
        for line in sheet.wrapped(text, 450):
            lines.append((line, sheet.y))
            sheet.y -= 12
        sheet.y -= 8
    random.Random(4).shuffle(lines)
    for line, y in lines:
        sheet.line(line, 72, y)
    return sheet.sample()
