"""Reports of one column: running heads, page numbers, pages of several sizes and on their side."""

from __future__ import annotations

from reportlab.lib.pagesizes import A4, A5, landscape

from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet, prose

PARTS = ("one", "two", "three", "four", "five")


def report() -> Sample:
    sheet = Sheet()
    for number in range(1, 6):
        sheet.line("Harbour board, yearly report", 72, 800, size=9)
        sheet.line(f"Page {number} of 5", 280, 30, size=9)
        if number == 1:
            sheet.heading("Yearly report of the harbour", size=22)
        sheet.heading(f"Part {PARTS[number - 1]} of the year")
        for part in range(5):
            sheet.paragraph(prose(f"report {number} {part}", 3))
        sheet.page()
    return sheet.sample(running=["Harbour board", "Page 3", "of 5"])


def facing_pages() -> Sample:
    """The title of the book on left pages, that of the chapter on right ones; preface in Roman numbers."""
    sheet = Sheet()
    for number, name in enumerate(["ii", "iii", "iv", "1", "2", "3", "4", "5"]):
        left = number % 2 == 0
        chapter = "Of moorings" if number > 4 else "Of weirs"
        sheet.line("The pilot's handbook" if left else chapter, 72 if left else 430, 802, "Times-Italic", 9)
        sheet.line(name, 72 if left else 510, 40, size=9)
        for part in range(5):
            sheet.paragraph(prose(f"facing {number} {part}", 3))
        sheet.page()
    return sheet.sample(running=["handbook", "Of weirs", "Of moorings"])


def mixed_sizes() -> Sample:
    sheet = Sheet()
    for number, size in enumerate([A4, landscape(A4), A5, A4, landscape(A5)]):
        if number:
            sheet.page(size)
        sheet.heading(f"Sheet {PARTS[number]}")
        sheet.paragraph(prose(f"mixed {number}", 3), width=size[0] - 150)
        sheet.paragraph(prose(f"mixed more {number}", 2), width=size[0] - 150)
        sheet.line(f"- {number + 1} -", size[0] / 2, 25, size=9)
    return sheet.sample(running=["- 3 -"])


def on_its_side() -> Sample:
    """Drawn upright on a tall page, shown turned: scanners and slides do so."""
    sheet = Sheet()
    sheet.canvas.setPageRotation(90)
    sheet.heading("A page that is shown turned")
    for part in range(4):
        sheet.paragraph(prose(f"shown {part}", 3))
    return sheet.sample()


def turned_text() -> Sample:
    """A wide table or text set sideways on an upright page, with a stamp in the margin."""
    sheet = Sheet(landscape(A4))
    sheet.canvas.setPageSize(A4)
    sheet.canvas.saveState()
    sheet.canvas.translate(A4[0], 0)
    sheet.canvas.rotate(90)
    sheet.heading("Text that is set sideways")
    for part in range(4):
        sheet.paragraph(prose(f"sideways {part}", 3), width=600)
    sheet.canvas.restoreState()
    sheet.line("Stamped copy", 20, 20)
    sheet.texts.append("Stamped copy")
    return sheet.sample()
