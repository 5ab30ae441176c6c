"""What readers find in PDFs of each kind that is drawn in `pdfs`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.pdf_text import score
from kb_pipeline.core.extract import extract
from kb_pipeline.core.pdf_segments import logical
from kb_pipeline.core.pdf_words import Words
from kb_pipeline_tests.core.pdfs import KINDS
from kb_pipeline_tests.core.pdfs.scripts import mapped_pdf
from kb_pipeline_tests.core.pdfs.sheet import WORDS, Sheet, prose


def markdown_of(sample):
    return extract(sample.body, "application/pdf", "https://docs.example/file.pdf").markdown


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_read_in_order_with_its_headings_and_tables(kind):
    sample = KINDS[kind]()
    scores = score(markdown_of(sample), sample)
    assert scores.words > 0.97
    assert {scores.headings, scores.running, scores.cells, scores.exact} <= {1.0, None}


@pytest.mark.parametrize(
    ("stands", "read"),
    [
        ("\u05dd\u05dc\u05d5\u05e2 \u05dd\u05d5\u05dc\u05e9", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"),
        ("42% \u05e8\u05e2\u05e9", "\u05e9\u05e2\u05e8 42%"),
        ("(1948) \u05e8\u05e2\u05e9", "\u05e9\u05e2\u05e8 (1948)"),
        ("\u05e8\u05e2\u05e9 Windows 10 \u05e8\u05e2\u05e9", "\u05e9\u05e2\u05e8 Windows 10 \u05e9\u05e2\u05e8"),
        ("\ufee2\ufedf\ufe8e\ufecb", "\u0639\u0627\u0644\u0645"),
        ("o\ufb03ce (all)", "office (all)"),
    ],
)
def test_a_row_as_it_stands_is_given_as_it_is_read(stands, read):
    assert logical(stands) == read


@pytest.mark.parametrize(
    ("before", "line", "joined"),
    [
        ("the instal-", "lation of", "the installation of"),
        ("the well-", "known firm", "the well-known firm"),
        ("a tide-", "gauge", "a tide-gauge"),
        ("the Baden-", "Baden line", "the Baden-Baden line"),
        ("soft\u00ad", "ened", "softened"),
        ("pages 3-", "4 say", "pages 3- 4 say"),
        ("it was \u2013", "so they say", "it was \u2013 so they say"),
        ("\u6f22", "\u5b57", "\u6f22\u5b57"),
    ],
)
def test_a_hyphen_goes_where_it_only_divides(before, line, joined):
    assert Words(["the tide-gauge of the harbour"]).joined(before, line) == joined


def pages(count, draw):
    sheet = Sheet()
    for number in range(count):
        draw(sheet, number)
        sheet.page()
    return markdown_of(sheet.sample())


def test_a_notice_on_every_page_is_kept_once():
    def draw(sheet, number):
        sheet.paragraph("Day of the week, and what the tide gauge of the harbour showed at noon of it. " * 3)
        sheet.paragraph(prose(f"day {number}"))

    assert pages(5, draw).count("Day of the week") == 3


def test_rows_that_differ_in_a_number_alone_are_kept_where_they_are_long():
    def draw(sheet, number):
        sheet.line(f"On day {number} the tide gauge of the harbour showed {number + 3} metres at noon of it.", 72, 780)
        sheet.paragraph(prose(f"day {number}"))

    assert pages(5, draw).count("On day") == 5


def test_running_heads_that_the_file_marks_as_such_go_from_a_single_page():
    def draw(sheet, number):
        sheet.canvas.setPageCompression(0)
        sheet.canvas._code.append("/Artifact <</Type /Pagination>> BDC")
        sheet.line("Marked head", 72, 780)
        sheet.canvas._code.append("EMC")
        sheet.paragraph(prose(f"marked {number}"))

    assert pages(1, draw).startswith(prose("marked 0")[:20])


def test_what_stands_beside_page_numbers_goes_with_them():
    def draw(sheet, number):
        sheet.line(f"Chapter of the {WORDS[number]}", 72, 790)
        sheet.line(str(number + 12), 500, 790)
        sheet.paragraph(prose(f"beside {number}"))

    assert "Chapter of" not in pages(4, draw)


def test_a_wide_move_within_one_operation_parts_cells():
    rows = [f"1 0 0 1 72 {700 - 14 * row} Tm [(abc) -4000 (def)] TJ" for row in range(3)]
    body = mapped_pdf(f"BT /F1 10 Tf {' '.join(rows)} ET".encode(), 0x61, [chr(0x61 + place) for place in range(26)])
    assert extract(body, "application/pdf", "https://docs.example/a.pdf").markdown.count("| abc | def |") == 3


def test_a_line_of_text_over_two_cells_is_no_row_of_theirs():
    sheet = Sheet()
    for row in (("The left half of a row", "and the right one"), ("one", "two", "three"), ("1", "2", "3")):
        for text, x in zip(row, (72, 150, 220) if len(row) > 2 else (72, 240), strict=True):
            sheet.line(text, x, sheet.y)
        sheet.y -= 14
    written = markdown_of(sheet.sample())
    assert "| one | two | three |" in written
    assert "| The left" not in written


def test_names_with_what_belongs_to_them_are_not_read_as_two_columns():
    sheet = Sheet()
    for number in range(8):
        sheet.line(f"Name {number}", 72, sheet.y)
        sheet.line(f"which {prose(str(number), 1)[:60]}", 150, sheet.y)
        sheet.y -= 14
    written = markdown_of(sheet.sample())
    assert written.index("Name 1") < written.index(prose("1", 1)[:20]) < written.index("Name 2")


def test_a_chapter_of_a_long_page_keeps_the_page_it_stands_on():
    written = extract(KINDS["outlined"]().body, "application/pdf", "https://docs.example/file.pdf")
    assert [anchor for _, anchor in written.anchors] == ["page=1", "page=1", "page=2", "page=2"]


@given(st.permutations(range(12)))
@settings(max_examples=15, deadline=None)
def test_the_order_of_drawing_does_not_matter(order):
    lines = [f"line {number} of the {word}, as it was written down before" for number, word in enumerate(WORDS[:12])]
    sheet = Sheet()
    for place in order:
        sheet.line(lines[place], 72 if place < 6 else 320, 700 - 12 * (place % 6))
    assert " ".join(markdown_of(sheet.sample()).split()) == " ".join(lines)
