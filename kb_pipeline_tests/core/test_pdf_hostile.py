"""PDFs made to take time or memory, and content streams of chance: each ends in a text or a typed error."""

from __future__ import annotations

import contextlib
import io
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject
from reportlab.pdfgen.canvas import Canvas

from kb_pipeline.core.extract import extract
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.errors import BodyUnreadable
from kb_pipeline_tests.core.pdfs.scripts import mapped_pdf

LETTERS = [chr(code) for code in range(0x61, 0x7B)]
SECONDS = 20
"""Ten times what the slowest of these takes; without their limits they take minutes, or all the memory."""


def markdown_of(body):
    return extract(body, "application/pdf", "https://docs.example/file.pdf").markdown


def of_stream(*operations):
    return mapped_pdf("\n".join(operations).encode("latin-1"), 0x61, LETTERS)


def circle():
    """A form that draws itself twice."""
    file = io.BytesIO()
    canvas = Canvas(file, pageCompression=0)
    canvas.beginForm("f")
    canvas.drawString(72, 700, "words")
    canvas.endForm()
    canvas.drawString(72, 720, "before")
    canvas.doForm("f")
    canvas.save()
    writer = PdfWriter(clone_from=PdfReader(file))
    resources = writer.pages[0]["/Resources"]
    (name, form), *_ = resources["/XObject"].items()
    drawn = form.get_object()
    drawn[NameObject("/Resources")] = resources
    drawn.set_data(drawn.get_data() + b"\n" + f"{name} Do {name} Do".encode())
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def looped_outline():
    file = io.BytesIO()
    canvas = Canvas(file)
    for name in ("one", "two"):
        canvas.bookmarkPage(name)
        canvas.addOutlineEntry(name, name)
        canvas.drawString(72, 700, name)
        canvas.showPage()
    canvas.save()
    writer = PdfWriter(clone_from=PdfReader(file))
    first = writer.root_object["/Outlines"]["/First"]
    last = first["/Next"]
    last[NameObject("/Next")] = last[NameObject("/First")] = writer.root_object["/Outlines"].raw_get("/First")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


HOSTILE = {
    "a million letters in one string": lambda: of_stream("BT /F1 9 Tf 9 700 Td", f"({'a b' * 700_000}) Tj ET"),
    "a run for each of many letters": lambda: of_stream(
        "BT /F1 9 Tf", *(f"1 0 0 1 {n % 500} {n * 7 % 800} Tm (ab) Tj" for n in range(15_000)), "ET"
    ),
    "rows of two cells without end": lambda: of_stream(
        "BT /F1 1 Tf", *(f"1 0 0 1 {9 + n % 2 * 50} {n // 2} Tm (ab) Tj" for n in range(8_000)), "ET"
    ),
    "a net of ruled lines": lambda: of_stream(
        *(f"{n} 0 m {n} 800 l S 0 {n} m 800 {n} l S" for n in range(1, 800)), "BT /F1 9 Tf 9 9 Td (ab) Tj ET"
    ),
    "states without end": lambda: of_stream("q " * 100_000, "BT /F1 9 Tf 9 9 Td (ab) Tj ET"),
    "numbers beyond all": lambda: of_stream("BT /F1 1e300 Tf 1e300 0 0 1e300 1e300 1e300 Tm (ab) Tj (ab) Tj ET BT "
                                            "/F1 9 Tf 9 9 Td (ab) Tj ET"),
    "a form that draws itself": circle,
    "bookmarks in a circle": looped_outline,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pdf_is_read_in_little_time_and_cut(name):
    body = HOSTILE[name]()
    began = time.process_time()
    written = markdown_of(body)
    assert time.process_time() - began < SECONDS
    assert 0 < len(written) <= 200_000


def test_a_code_that_stands_for_many_characters_does_not_fill_the_memory():
    body = mapped_pdf(b"BT /F1 9 Tf 9 700 Td (%s) Tj ET" % (b"a" * 60_000), 0x61, LETTERS)
    long = b"<61> <" + b"0061" * 120 + b">\n"
    document = read_pdf(body.replace(b"<61> <0061>\n", long))
    assert sum(len(line.text) for line in document.pages[0]) < 1_000_000


NUMBERS = st.one_of(
    st.integers(-1_000, 1_000), st.floats(-1e9, 1e9), st.sampled_from(["/F1", "(ab cd)", "[(ab) -900 (c)]", "<</A 1>>"])
)
OPERATORS = (
    "q Q cm BT ET Tf Td TD Tm T* Tj TJ ' \" Tc Tw Tz TL Ts Do BMC BDC EMC re m l n S f B".split()  # noqa: SIM905 - as written
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(NUMBERS, max_size=6), st.sampled_from(OPERATORS)), max_size=40))
def test_any_operations_with_any_operands_give_a_text_or_a_typed_error(operations):
    lines = [f"{' '.join(map(str, operands))} {operator}" for operands, operator in operations]
    with contextlib.suppress(BodyUnreadable):
        markdown_of(of_stream("BT /F1 9 Tf 9 700 Td (ab) Tj ET", *lines))


def test_a_wrong_operation_does_not_take_the_text_after_it_along():
    body = of_stream("BT /F1 9 Tf 9 700 Td (one) Tj /F1 cm (a) Td /F1 Tf 0 -40 Td (two) Tj ET")
    assert markdown_of(body).split() == ["one", "two"]
