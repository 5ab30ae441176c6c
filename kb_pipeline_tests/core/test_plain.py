from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.plain import plain_text


@pytest.mark.parametrize(
    ("markdown", "plain"),
    [
        ("## The `pg_restore` tool ##", "The pg_restore tool"),
        ("A **bold** and *slanted* and ~~old~~ word", "A bold and slanted and old word"),
        ("a __strong__ _word_ in snake_case_name and 2 * 3", "a strong word in snake_case_name and 2 * 3"),
        ("my__init__name and ***both*** of **it *all***", "my__init__name and both of it all"),
        ("See [the `VACUUM` page](https://x.org/a_(b)) now", "See the VACUUM page now"),
        ("![a picture](p.png) and [![badge](b.svg)](https://x.org)", "a picture and badge"),
        ("<https://x.org/a?b=c>", "https://x.org/a?b=c"),
        (r"pg\_restore \<n\> \* \[x\]", "pg_restore <n> * [x]"),
        ("`a_b*c*` stays, `` ` `` too", "a_b*c* stays, ` too"),
        ("- one\n- [x] two\n1. three", "one\ntwo\n1. three"),
        ("> quoted\n> words", "quoted\nwords"),
        ("| a | `b\\|c` |\n| --- | --- |\n| 1 | **2** |", "a\tb|c\n1\t2"),
        ("```python\nx = a_b * c  # **kept**\n```", "x = a_b * c  # **kept**"),
        ("one  \ntwo\\\nthree<br>four", "one\ntwo\nthree\nfour"),
        ("above\n\n---\n\nbelow", "above\n\nbelow"),
        ("", ""),
    ],
)
def test_markdown_syntax_goes_and_words_and_code_stay(markdown, plain):
    assert plain_text(markdown) == plain


@given(st.text())
def test_any_text_has_a_plain_form(text):
    assert isinstance(plain_text(text), str)
