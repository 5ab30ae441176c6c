"""The same text by other means: glyph by glyph, stretched lines, forms, letters that are drawn twice."""

from __future__ import annotations

from reportlab.pdfbase.pdfmetrics import stringWidth

from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet, prose


def glyphs() -> Sample:
    """Every glyph is placed for itself, and blanks are not drawn at all: browsers print so."""
    sheet = Sheet()
    for part in range(3):
        text = prose(f"glyphs {part}", 2)
        sheet.texts.append(text)
        for line in sheet.wrapped(text, 450):
            x = 72.0
            for letter in line:
                if letter != " ":
                    sheet.line(letter, x, sheet.y)
                x += stringWidth(letter, "Times-Roman", 10)
            sheet.y -= 12
        sheet.y -= 10
    return sheet.sample()


def justified() -> Sample:
    """Lines stretched by word spacing, a heading by letter spacing, text squeezed by horizontal scaling."""
    sheet = Sheet()
    title = sheet.canvas.beginText(72, sheet.y)
    title.setFont("Helvetica", 18)
    title.setCharSpace(3)
    title.textOut("Of stretched lines")
    sheet.canvas.drawText(title)
    sheet.texts.append("Of stretched lines")
    sheet.headings.append("Of stretched lines")
    sheet.y -= 30
    for part in range(4):
        text = prose(f"justified {part}", 3)
        sheet.texts.append(text)
        for line in sheet.wrapped(text, 220):
            blanks, room = line.count(" "), 236 - stringWidth(line, "Times-Roman", 10)
            drawn = sheet.canvas.beginText(72, sheet.y)
            drawn.setFont("Times-Roman", 10)
            drawn.setCharSpace(0)
            drawn.setWordSpace(room / max(1, blanks) if line[-1] != "." else 0)
            drawn.textOut(line)
            sheet.canvas.drawText(drawn)
            sheet.y -= 12
        sheet.y -= 8
    return sheet.sample()


def forms() -> Sample:
    """Text inside forms, moved and scaled as they are drawn, in another order than they stand."""
    sheet = Sheet()
    texts = [prose(f"forms {part}", 2) for part in range(3)]
    for number, text in enumerate(texts):
        sheet.canvas.beginForm(f"form{number}")
        sheet.y = 200
        sheet.paragraph(text, x=0, width=400)
        sheet.canvas.endForm()
    for number in (2, 0, 1):
        sheet.canvas.saveState()
        sheet.canvas.translate(72, 560 - 150 * number)
        sheet.canvas.scale(1.1, 1.1)
        sheet.canvas.doForm(f"form{number}")
        sheet.canvas.restoreState()
    return sheet.sample()


def drawn_twice() -> Sample:
    """Bold letters and shadows that are the same text, a little beside itself."""
    sheet = Sheet()
    for part in range(3):
        text = prose(f"twice {part}", 2)
        sheet.texts.append(text)
        for line in sheet.wrapped(text, 450):
            sheet.line(line, 72, sheet.y)
            sheet.line(line, 72.3, sheet.y)
            sheet.y -= 12
        sheet.y -= 10
    return sheet.sample()
