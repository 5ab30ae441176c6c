"""RapidOCR on pictures with known text, and the order in which it is read."""

import asyncio
import importlib.util
import logging
import random
import socket
import subprocess
import sys
import textwrap

import pytest
from PIL import Image

from kb_pipeline.core.reading_order import PlacedLine, paragraphs, without_doubles
from kb_pipeline.errors import BodyUndecodable
from kb_pipeline.fetch import ocr
from kb_pipeline.fetch.ocr import RapidOcrReader
from kb_pipeline.fetch.pictures import bands, bands_between_lines, open_picture, written_stretches
from kb_pipeline_tests.fetch.drawn import drawn, drawn_page, png

needs_ocr = pytest.mark.skipif(bool(ocr.why_no_ocr()), reason=ocr.why_no_ocr())


def read(picture, seconds=120.0):
    return asyncio.run(RapidOcrReader(seconds).read(picture))


@needs_ocr
def test_text_on_a_picture_is_read_as_paragraphs():
    picture = drawn(["The ferry leaves at nine", "from the northern pier."], height=320)
    drawn(["Tickets are sold on board."], top=200, picture=picture)
    text = read(png(picture))
    assert text.paragraphs == ("The ferry leaves at nine from the northern pier.", "Tickets are sold on board.")
    assert (text.calls, text.degraded) == (0, "")


@needs_ocr
def test_two_columns_stay_apart():
    left = ["Left column opens here", "and goes on below", "until it ends."]
    right = ["Right column has another", "story to tell, which", "is about the tides."]
    picture = drawn(["One headline over both of the columns of this page"], height=300, width=900, size=28)
    drawn(left, top=120, picture=picture)
    drawn(right, top=120, left=500, picture=picture)
    assert read(png(picture)).paragraphs == (
        "One headline over both of the columns of this page",
        "Left column opens here and goes on below until it ends.",
        "Right column has another story to tell, which is about the tides.",
    )


@needs_ocr
def test_a_tall_page_loses_no_line_and_doubles_none():
    # Lines fall on the edges of the bands, and into what two of them share, in every way.
    text = read(drawn_page([f"Notice {number}" for number in range(100, 136)], width=240, pitch=79))
    read_back = " ".join(text.paragraphs).split()
    assert read_back == [word for number in range(100, 136) for word in ("Notice", str(number))]
    assert text.degraded == ""


@needs_ocr
@pytest.mark.parametrize("colour", ["white", "black", "#336699"])
def test_a_blank_picture_has_nothing_to_read(colour):
    assert read(png(Image.new("RGB", (1280, 2600), colour))).paragraphs == ()


@needs_ocr
@pytest.mark.parametrize("top", [0, 40, 640, 3900])
def test_a_single_line_on_a_large_empty_page_is_found(top):
    assert read(drawn_page(["On the first band."], height=4000, top=top)).paragraphs == ("On the first band.",)


@needs_ocr
def test_when_the_time_is_up_what_was_read_counts_and_the_rest_is_said():
    picture = drawn(["On top of the page."], height=4000)
    drawn(["Far below it."], top=3000, picture=picture)
    text = read(png(picture), seconds=0.0)
    assert text.paragraphs == ("On top of the page.",)
    assert text.degraded.startswith("only the upper ")
    assert text.degraded.endswith(" of 4,000 pixel rows were read in time")


@needs_ocr
def test_reading_logs_nothing_and_asks_no_network(caplog, capfd, monkeypatch):
    def no_network(*_):
        raise AssertionError

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    ocr._engine.cache_clear()
    assert read(drawn_page(["Words."])).paragraphs == ("Words.",)
    assert read(drawn_page([], height=300)).paragraphs == ()
    written = capfd.readouterr()
    assert "RapidOCR" not in caplog.text + written.out + written.err


@needs_ocr
def test_what_is_no_picture_or_would_fill_the_memory_is_refused_before_it_is_unpacked():
    whole = drawn_page(["Words."])
    bomb = png(Image.new("1", (9000, 9000)))
    assert len(bomb) < 100_000
    for picture in (b"", b"<svg/>", whole[:60], whole[: len(whole) // 2], bomb):
        with pytest.raises(BodyUndecodable):
            read(picture)


def test_a_missing_extra_is_said_in_words(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "rapidocr" else real(name))
    assert ocr.why_no_ocr() == "rapidocr not installed (the extra `ocr`)"


def test_a_picture_is_looked_at_where_something_is_written_and_nowhere_else():
    picture = drawn(["above"], height=3000, left=100, top=50)
    drawn(["below", "and below that"], left=700, top=2000, picture=picture)
    (left, top, right, bottom), second = written_stretches(picture, 64, 24)
    assert (70 < left < 80, 20 < top < 60, right < 300, bottom < 130) == (True, True, True, True)
    assert second[1] > 1950
    assert written_stretches(drawn([], height=500), 64, 24) == []


def test_bands_cover_a_stretch_and_the_calm_ones_cut_no_line():
    assert list(bands((5, 100, 50, 1300), 500, 100)) == [(5, 100, 50, 600), (5, 500, 50, 1000), (5, 900, 50, 1300)]
    picture = open_picture(drawn_page([f"Line {number}" for number in range(60)], width=300))
    calm = list(bands_between_lines(picture, 500, 150))
    assert sum(band.height for band in calm) == picture.height
    assert all(len(band.crop((0, 0, 300, 1)).getcolors()) == 1 for band in calm), "the first row is between lines"


def line(text, left, top, width=200, height=20):
    return PlacedLine(text, left, top, left + width, top + height)


def test_lines_that_two_bands_found_are_one():
    found = [line("Both saw this", 10, 100), line("Both saw this line", 11, 101), line("below", 10, 130)]
    assert [found.text for found in without_doubles(found)] == ["Both saw this line", "below"]


def test_a_word_that_was_broken_at_the_end_of_a_line_is_whole_again():
    assert paragraphs([line("The warran-", 0, 0), line("ty ends", 0, 25)]) == ("The warranty ends",)
    assert paragraphs([line("North-", 0, 0), line("South", 0, 25)]) == ("North- South",)
    assert paragraphs([line("\u6d77\u306e", 0, 0), line("\u6ce2", 0, 25)]) == ("\u6d77\u306e\u6ce2",)


def test_pieces_of_one_row_are_put_together_and_a_gap_parts_columns():
    pieces = [line("second", 215, 2), line("first", 0, 0), line("other column", 500, 1)]
    assert paragraphs(pieces) == ("first second", "other column")


def test_each_item_of_a_list_is_a_paragraph():
    lines = [line("\u2022 first of them", 0, 0), line("goes on", 15, 24), line("\u2022second", 0, 48)]
    assert paragraphs(lines) == ("\u2022 first of them goes on", "\u2022second")


def test_a_heading_is_a_paragraph_of_its_own():
    lines = [line("Heading", 0, 0, height=40), line("text below it", 0, 45), line("goes on", 0, 70)]
    assert paragraphs(lines) == ("Heading", "text below it goes on")


def test_three_columns_under_a_headline_and_a_footer_are_read_one_after_the_other():
    columns = [
        line(f"{name}{row}", left, 100 + 25 * row)
        for row in range(4)
        for left, name in ((0, "a"), (300, "b"), (600, "c"))
    ]
    whole = [line("head", 0, 0, 800, 40), *columns, line("foot", 0, 400, 800)]
    random.Random(1).shuffle(whole)
    assert paragraphs(whole) == ("head", "a0 a1 a2 a3", "b0 b1 b2 b3", "c0 c1 c2 c3", "foot")


def test_every_line_is_read_once_however_they_lie():
    chance = random.Random(7)
    for count in (0, 1, 50, 700):
        lines = [
            line(
                f"<{number}>",
                chance.randrange(1000),
                chance.randrange(3000),
                chance.randrange(1, 400),
                chance.randrange(1, 60),
            )
            for number in range(count)
        ]
        joined = " ".join(paragraphs(lines))
        assert all(joined.count(f"<{number}>") == 1 for number in range(count))


READS_IN_A_CHILD = """
    import asyncio, os, signal, sys
    from kb_pipeline.fetch.ocr import RapidOcrReader

    picture = sys.stdin.buffer.read()
    read = lambda: asyncio.run(RapidOcrReader(60).read(picture)).paragraphs
    before = read()
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if read() == before == ("On the first band.",) else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_ocr
def test_a_child_of_fork_reads_as_its_parent_does():
    picture = drawn_page(["On the first band."], height=200)
    program = [sys.executable, "-c", textwrap.dedent(READS_IN_A_CHILD)]
    assert subprocess.run(program, input=picture, check=False).returncode == 0
