"""Parts within the text: divided words, footnotes, headings told by weight, lists, code, bookmarks."""

from __future__ import annotations

from reportlab.pdfbase.pdfmetrics import stringWidth

from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet, prose


def letter() -> Sample:
    """Words divided by soft and by hard hyphens; compounds keep theirs."""
    sheet = Sheet()
    sheet.paragraph("To the harbour master", told=True)
    for lines, text in (
        (
            [
                "We write about the instal-",
                "lation of the pumps, which the well-",
                "known firm of Abel and Sons began.",
            ],
            "We write about the installation of the pumps, which the well-known firm of Abel and Sons began.",
        ),
        (
            ["The agree\u00ad", "ment says that the long-", "term lease ends, and the self-", "closing gates stay."],
            "The agreement says that the long-term lease ends, and the self-closing gates stay.",
        ),
        (
            ["A tide-gauge stands at the pier. The other tide-", "gauge was lost, says the commis-", "sion of 1954."],
            "A tide-gauge stands at the pier. The other tide-gauge was lost, says the commission of 1954.",
        ),
    ):
        for line in lines:
            sheet.line(line, 72, sheet.y)
            sheet.y -= 12
        sheet.y -= 10
        sheet.texts.append(text)
    return sheet.sample(
        verbatim=[
            "installation",
            "well-known",
            "agreement",
            "long-term",
            "self-closing",
            "other tide-gauge",
            "commission",
        ]
    )


def footnotes() -> Sample:
    sheet = Sheet()
    for page in range(2):
        sheet.heading(f"Chapter {('one', 'two')[page]}")
        text = prose(f"noted {page}", 1)
        sheet.line(text[:60], 72, sheet.y)
        sheet.line("1", 72 + stringWidth(text[:60], "Times-Roman", 10), sheet.y + 4, size=6)
        sheet.y -= 20
        sheet.texts.append(text[:60])
        for part in range(4):
            sheet.paragraph(prose(f"notes {page} {part}", 3))
        sheet.canvas.line(72, 110, 200, 110)
        sheet.line("1", 72, 101, size=5)
        note = f"See the {('first', 'second')[page]} ledger of the customs office."
        sheet.line(note, 77, 98, size=8)
        sheet.texts.append(note)
        sheet.page()
    return sheet.sample(verbatim=["¹ See the first ledger", "¹ See the second ledger"])


def bold_headings() -> Sample:
    """Headings of the same size as the text, with numbers; bold words within the text are none."""
    sheet = Sheet()
    for number, name in (
        ("1", "Scope"),
        ("1.1", "Vessels"),
        ("1.2", "Cargo"),
        ("2", "Duties"),
        ("2.1", "Of the pilot"),
    ):
        sheet.line(f"{number} {name}", 72, sheet.y, "Times-Bold")
        sheet.headings.append(f"{number} {name}")
        sheet.texts.append(f"{number} {name}")
        sheet.y -= 16
        sheet.line("Note well:", 72, sheet.y, "Times-Bold")
        sheet.line("the gates are shut at dusk, whatever else is written here.", 125, sheet.y)
        sheet.texts.append("Note well: the gates are shut at dusk, whatever else is written here.")
        sheet.y -= 18
        sheet.paragraph(prose(f"bold {number}", 3))
    return sheet.sample(verbatim=["\n## 1.1 Vessels", "\n# 2 Duties", "Note well: the gates"])


ROPE = (
    "a rope of forty metres, kept dry, which is looked at by the warden before each season begins, and is not lent to "
    "any other crew"
)
ENGINE = "Start the engine, and wait until the gauge shows that the water in it is as warm as it is meant to be by day."
ITEMS = (
    ("•", 80, ROPE),
    ("\u2013", 100, "one of hemp"),
    ("\u2013", 100, "one of steel"),
    ("•", 80, "two lanterns"),
    ("1.", 80, "Cast off the stern line."),
    ("2.", 80, ENGINE),
    ("3.", 80, "Signal twice."),
)


def lists() -> Sample:
    """Bullets, bullets within them, and numbers; items of several lines."""
    sheet = Sheet()
    sheet.paragraph("What is needed on board, by weight and by use, is listed here for the crew of every barge.")
    for label, x, text in ITEMS:
        sheet.line(label, x, sheet.y)
        for line in sheet.wrapped(text, 400):
            sheet.line(line, x + 16, sheet.y)
            sheet.y -= 13
        sheet.texts.append(f"{label} {text}" if label[0].isdigit() else text)
    sheet.y -= 10
    sheet.paragraph(prose("after the list", 3))
    bullets = f"- {ROPE}\n  - one of hemp\n  - one of steel\n- two lanterns\n"
    return sheet.sample(verbatim=[bullets, f"1. Cast off the stern line.\n2. {ENGINE}\n3. Signal twice.\n"])


CODE = """def depth(gauge, tide):
    if tide is None:
        return gauge.read()

    for level in tide.levels:
        gauge  +=  level    # kept apart
    return gauge"""


def code() -> Sample:
    sheet = Sheet()
    sheet.paragraph(prose("before code", 3))
    for line in CODE.split("\n"):
        indent = len(line) - len(line.lstrip())
        # As typesetters do: the indentation is a move, not blanks.
        sheet.line(line.strip(), 90 + indent * 5.4, sheet.y, "Courier", 9)
        sheet.y -= 11
    sheet.texts.append(CODE)
    sheet.y -= 10
    sheet.paragraph(prose("after code", 3))
    return sheet.sample(verbatim=[f"```\n{CODE}\n```"])


def outlined() -> Sample:
    """Headings that only the bookmarks tell from the text."""
    sheet = Sheet()
    for number, (name, depth) in enumerate([("Arrivals", 0), ("By sea", 1), ("By rail", 1), ("Departures", 0)]):
        sheet.canvas.bookmarkPage(f"place{number}")
        sheet.canvas.addOutlineEntry(name, f"place{number}", depth)
        sheet.line(name, 72, sheet.y)
        sheet.y -= 20
        sheet.headings.append(name)
        sheet.texts.append(name)
        sheet.paragraph(prose(f"outlined {number}", 3))
        if number == 1:
            sheet.page()
    return sheet.sample(verbatim=["# Arrivals", "## By sea", "## By rail", "# Departures"])
