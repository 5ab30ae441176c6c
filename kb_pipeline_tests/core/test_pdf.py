"""PDFs made on the spot, whole and broken."""

from __future__ import annotations

import contextlib
import io
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pypdf import PdfReader, PdfWriter
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, Preformatted, SimpleDocTemplate, Spacer

from kb_pipeline.core.extract import extract
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.core.pdf_markdown import write_pdf
from kb_pipeline.errors import BodyUnreadable, PdfProblem, PdfUnreadable

STYLES = getSampleStyleSheet()
URL = "https://docs.example/manual.pdf"


def document(*flow, title=None):
    file = io.BytesIO()
    SimpleDocTemplate(file, title=title).build(list(flow))
    return file.getvalue()


def line(text, style="Normal"):
    return Paragraph(text, STYLES[style])


def drawn(*pages, encrypt=None):
    file = io.BytesIO()
    canvas = Canvas(file, encrypt=encrypt)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def bare(stream, filters="/FlateDecode"):
    """A PDF of one page whose content stream is this."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<<>>>>/Contents 4 0 R>>",
        b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(stream), filters.encode(), stream),
    ]
    body = b"%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + b"xref\n0 5\n0000000000 65535 f \n%strailer\n<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(body),
    )


def problem_of(body):
    with pytest.raises(PdfUnreadable) as unreadable:
        read_pdf(body)
    return unreadable.value.problem


@pytest.mark.parametrize("lost", [b"%%EOF", b"startxref"])
def test_a_file_that_lost_its_last_line_is_read(lost):
    document = read_pdf(drawn("The pump moves water.").replace(lost, b""))
    assert document.pages[0][0].text == "The pump moves water."


def test_a_file_that_lost_more_than_that_is_broken():
    whole = drawn("one", "two", "three")
    assert problem_of(whole[: whole.index(b"trailer")]) is PdfProblem.BROKEN
    assert problem_of(whole[: len(whole) // 2]) is PdfProblem.BROKEN


def pictured(*, in_form, inline):
    file = io.BytesIO()
    canvas = Canvas(file)
    picture = Image.new("RGB", (20, 20), "red")
    draw = canvas.drawInlineImage if inline else canvas.drawImage
    if in_form:
        canvas.beginForm("form")
    draw(picture if inline else ImageReader(picture), 0, 0, 90, 90)
    if in_form:
        canvas.endForm()
        canvas.doForm("form")
    canvas.showPage()
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize("in_form", [False, True])
@pytest.mark.parametrize("inline", [False, True])
def test_a_picture_is_seen_wherever_it_is(in_form, inline):
    assert problem_of(pictured(in_form=in_form, inline=inline)) is PdfProblem.SCANNED


def test_headings_paragraphs_items_and_code_come_out_as_such():
    body = document(
        line("Pump manual", "Title"),
        line("The pump moves water. " * 12),
        Spacer(1, 20),
        line("It is oiled once a year. " * 8),
        line("• first thing"),
        line("• second thing"),
        Preformatted("valve open\nvalve shut", STYLES["Code"]),
        title="Pump manual",
    )
    text = extract(body, "application/pdf", URL)
    assert text.title == "Pump manual"
    assert text.markdown.startswith("# Pump manual\n\nThe pump moves water. The pump")
    assert "\n\nIt is oiled once" in text.markdown
    assert "- first thing\n- second thing\n" in text.markdown
    assert "```\n" in text.markdown


def test_each_page_can_be_pointed_at():
    body = document(line("First page. " * 30), PageBreak(), line("Chapter", "Heading1"), line("Second page. " * 30))
    text = extract(body, "application/pdf", URL)
    assert text.markdown.startswith("###### Page 1\n\nFirst page.")
    assert "\n# Chapter\n" in text.markdown
    assert text.anchors == ((0, "page=1"), (1, "page=2"))


def test_a_divided_word_is_put_together():
    file = io.BytesIO()
    canvas = Canvas(file)
    for height, text in ((700, "The instal-"), (686, "lation takes an hour")):
        canvas.drawString(72, height, text)
    canvas.save()
    assert "The installation takes an hour" in extract(file.getvalue(), "application/pdf", URL).markdown


def test_running_heads_and_page_numbers_are_dropped_and_short_pages_are_not():
    def numbered(canvas, _template):
        canvas.drawString(72, 800, "Pump manual")
        canvas.drawString(300, 20, f"Page {canvas.getPageNumber()} of 5")

    file = io.BytesIO()
    flow = [part for number in range(5) for part in (line(f"Part {number}. " + "Words to read. " * 40), PageBreak())]
    SimpleDocTemplate(file).build(flow, onFirstPage=numbered, onLaterPages=numbered)
    written = write_pdf(read_pdf(file.getvalue())).text
    assert "of 5" not in written
    assert written.count("Part ") == 5
    assert "One line" in write_pdf(read_pdf(drawn(*["One line"] * 5))).text


def test_a_pdf_without_a_title_is_called_by_its_largest_line():
    body = document(line("Words first. " * 5), line("The big one", "Title"))
    assert extract(body, "application/pdf", URL).title == "The big one"


def problem(body):
    with pytest.raises(PdfUnreadable) as caught:
        read_pdf(body)
    assert str(caught.value)
    return caught.value.problem


def test_why_a_pdf_gives_no_text_is_said():
    assert problem(drawn("secret", encrypt="password")) is PdfProblem.ENCRYPTED
    assert problem(drawn("")) is PdfProblem.EMPTY
    assert problem(b"%PDF-1.7 and then nothing") is PdfProblem.BROKEN
    assert problem(b"") is PdfProblem.BROKEN


def test_a_scanned_pdf_is_said_to_be_one():
    from PIL import Image  # noqa: PLC0415 - for this test alone

    file = io.BytesIO()
    Image.new("RGB", (60, 60), "white").save(file, "PDF")
    assert problem(file.getvalue()) is PdfProblem.SCANNED


def test_a_pdf_that_only_restricts_printing_is_read():
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(drawn("Open to all"))))
    writer.encrypt("", "owner", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    assert "Open to all" in extract(file.getvalue(), "application/pdf", URL).markdown


def test_a_bomb_is_refused_in_little_memory_and_time():
    bomb = zlib.compress(zlib.compress(b"0 0 m " * 20_000_000, 9), 9)
    began = time.process_time()
    assert problem(bare(bomb, "/FlateDecode/FlateDecode")) is PdfProblem.TOO_BIG
    assert time.process_time() - began < 10


def test_reading_ends_with_enough_text_and_says_that_it_was_cut():
    body = document(*[line("Many words on this page. " * 150) for _ in range(200)])
    text = extract(body, "application/pdf", URL)
    assert text.truncated
    assert len(text.markdown) <= 200_000


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_pdf_gives_a_text_or_a_typed_error(data):
    body = bytearray(drawn("Some words", "More words"))
    for _ in range(data.draw(st.integers(1, 12))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(len(body) // 2, len(body)))
    with contextlib.suppress(BodyUnreadable):
        extract(bytes(body[:cut]), "application/pdf", URL)
