from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Use e.g. Postgres, see Dr. Smith or J. Doe. Done.", ["Use e.g. Postgres, see Dr. Smith or J. Doe.", "Done."]),
        ("Version 1.2 of max_wal.size is out. New!", ["Version 1.2 of max_wal.size is out.", "New!"]),
        ("It ends... and goes on. Next.", ["It ends... and goes on.", "Next."]),
        (
            "Run `a. B` now. Then [this](https://x.org/a. B) go.",
            ["Run `a. B` now.", "Then [this](https://x.org/a. B) go."],
        ),
        ("1. Install it. Then run it.", ["1. Install it.", "Then run it."]),
        ("The year was 2024. Rain fell.", ["The year was 2024.", "Rain fell."]),
        ("一つ目。二つ目\uff01三つ目", ["一つ目。", "二つ目\uff01", "三つ目"]),
        ("「はい。」と言った。終わり", ["「はい。」", "と言った。", "終わり"]),
        ("ภาษาไทย ไม่มีจุด จบ", ["ภาษาไทย", "ไม่มีจุด", "จบ"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("هل هذا سؤال؟ نعم.", ["هل هذا سؤال؟", "نعم."]),
        ("Line one  \nLine two\\\nLine three\nstill three", ["Line one", "Line two\\", "Line three\nstill three"]),
        ("", []),
        ("   ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, expected):
    assert sentences(text) == expected


@given(st.text())
def test_only_white_space_lies_between_sentences(text):
    at = 0
    for start, end in sentence_spans(text):
        assert at <= start < end
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()
