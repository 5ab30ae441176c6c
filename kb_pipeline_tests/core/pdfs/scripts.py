"""Scripts that are read from right to left, and those without spaces."""

from __future__ import annotations

import random

from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import registerFont

from kb_pipeline_tests.core.pdfs.sheet import Sample, Sheet

HEBREW = [chr(code) for code in range(0x05D0, 0x05EB)]


def hebrew() -> Sample:
    """Two columns in the order in which glyphs stand, from left to right, as programs draw them: a font that has
    Hebrew letters by its `ToUnicode` alone, so that none need be installed."""
    choice = random.Random(7)
    columns = [[_hebrew_line(choice, number) for number in range(8)] for _ in range(2)]
    drawn = []
    for x, lines in zip((320, 60), columns, strict=True):
        for number, line in enumerate(lines):
            codes = "".join(chr(ord(c) - 0x05D0 + 0x61) if c in HEBREW else c for c in _as_it_stands(line))
            drawn.append(f"1 0 0 1 {x} {700 - 14 * number} Tm <{codes.encode('latin-1').hex()}> Tj")
    stream = f"BT /F1 11 Tf {' '.join(drawn)} ET"
    return Sample(mapped_pdf(stream.encode(), 0x61, HEBREW), "\n".join(line for lines in columns for line in lines))


def _hebrew_line(choice: random.Random, number: int) -> str:
    words = ["".join(choice.sample(HEBREW, choice.randrange(3, 7))) for _ in range(6)]
    return " ".join([*words[:3], str(1948 + number), *words[3:]])


def _as_it_stands(line: str) -> str:
    return " ".join(word if word.isdigit() else word[::-1] for word in reversed(line.split()))


def mapped_pdf(stream: bytes, first: int, letters: list[str]) -> bytes:
    """A PDF whose font shows these letters for the codes from `first` on."""
    mapped = b"".join(b"<%02x> <%04x>\n" % (first + place, ord(c)) for place, c in enumerate(letters))
    cmap = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n1 begincodespacerange\n<00> <ff>\n"
        b"endcodespacerange\n%d beginbfchar\n%sendbfchar\nendcmap end end" % (len(letters), mapped)
    )
    widths = b" ".join([b"500"] * 224)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/TrueType/BaseFont/Letters/FirstChar 32/LastChar 255/Widths[%s]/ToUnicode 6 0 R>>"
        % widths,
        b"<</Length %d>>stream\n%s\nendstream" % (len(cmap), cmap),
    ]
    body, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + b"xref\n0 7\n0000000000 65535 f \n%strailer\n<</Size 7/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(body),
    )


def _ideographs(font: str, seed: int, code: int) -> Sample:
    registerFont(UnicodeCIDFont(font))
    choice = random.Random(seed)
    sheet = Sheet()
    for _ in range(4):
        text = "".join(chr(code + choice.randrange(400)) for _ in range(90)) + "\u3002"
        for start in range(0, len(text), 40):
            sheet.line(text[start : start + 40], 72, sheet.y, font, 11)
            sheet.y -= 16
        sheet.y -= 14
        sheet.texts.append(text)
    return sheet.sample(verbatim=list(sheet.texts))


def chinese() -> Sample:
    return _ideographs("STSong-Light", 1, 0x5200)


def japanese() -> Sample:
    return _ideographs("HeiseiMin-W3", 2, 0x6C00)
