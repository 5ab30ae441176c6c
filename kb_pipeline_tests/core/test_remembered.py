from __future__ import annotations

import pytest

from kb_pipeline.core import chrome, main_content, page_blocks, remembered
from kb_pipeline.core.extract import extract_html
from kb_pipeline.core.remembered import LONGEST_REMEMBERED, Remembered


def test_what_was_asked_is_worked_out_once():
    asked = []
    known = Remembered(lambda written: asked.append(written) or len(written))
    assert [known["menu"], known["menu"], known["nav"]] == [4, 4, 3]
    assert asked == ["menu", "nav"]


def test_what_is_long_is_answered_and_not_remembered():
    known = Remembered(len)
    assert known["x" * (LONGEST_REMEMBERED + 1)] == LONGEST_REMEMBERED + 1
    assert not known


def test_no_more_is_remembered_than_its_limit(monkeypatch):
    monkeypatch.setattr(remembered, "MOST_REMEMBERED", 3)
    known = Remembered(len)
    for number in range(10):
        assert known[str(number)] == 1
        assert len(known) <= 3


@pytest.mark.parametrize("element", ["<main><p>x</p><pre>y</pre></main>", "<p>x</p>"])
def test_a_page_does_not_fill_the_memory_with_its_class_names(element):
    text = "A sentence that is long enough to count. " * 20
    name = "menu " * LONGEST_REMEMBERED
    extract_html(f"<body><div class='{name}' id='{name}'><div>{text}</div>{element}</div>", "https://docs.example/")
    for known in (chrome._FRAME, chrome._CLASS_OF_CONSENT, main_content._NAMES_CONTENT, page_blocks._CLASS_WORDS):
        assert all(len(written) <= LONGEST_REMEMBERED for written in known)
