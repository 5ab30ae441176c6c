"""Encodings as the WHATWG Encoding Standard reads them, and what is told of a body that declares none."""

# ruff: noqa: RUF001 - words of other alphabets

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.charset_codecs import decode
from kb_pipeline.core.charsets import encoding_of_label, sniff_encoding

STANDARD_NAMES = [
    "utf-8",
    "utf-16le",
    "utf-16be",
    "ibm866",
    "iso-8859-2",
    "iso-8859-3",
    "iso-8859-4",
    "iso-8859-5",
    "iso-8859-6",
    "iso-8859-7",
    "iso-8859-8",
    "iso-8859-8-i",
    "iso-8859-10",
    "iso-8859-13",
    "iso-8859-14",
    "iso-8859-15",
    "iso-8859-16",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "x-mac-cyrillic",
    "gbk",
    "gb18030",
    "big5",
    "euc-jp",
    "iso-2022-jp",
    "shift_jis",
    "euc-kr",
    "x-user-defined",
    "replacement",
]


@given(st.sampled_from(STANDARD_NAMES), st.binary(max_size=60))
def test_any_octets_are_text_in_every_encoding(name, octets):
    assert encoding_of_label(name) == name
    assert isinstance(decode(octets, name), str)


@pytest.mark.parametrize("name", [name for name in STANDARD_NAMES if name not in {"utf-16le", "utf-16be"}])
def test_a_damaged_character_swallows_no_markup(name):
    assert decode(b"\x81<p>text</p>", name).endswith("<p>text</p>")


@pytest.mark.parametrize(
    ("name", "octets", "text"),
    [
        ("windows-1252", b"\x80\x81\x8d", "\u20ac\x81\x8d"),
        ("windows-1253", b"\x81\xaa", "\x81\ufffd"),
        ("windows-1255", b"\xca", "\u05ba"),
        ("windows-874", b"\x85\x90\xdb", "\u2026\x90\ufffd"),
        ("iso-8859-6", b"\x80\xa1", "\x80\ufffd"),
        ("koi8-u", b"\xae\xbe", "\u045e\u040e"),
        ("x-mac-cyrillic", b"\xa2\xff", "\u0490\u20ac"),
        ("gbk", b"\x80\xe4\xf4", "\u20ac\u6f2a"),
        ("shift_jis", b"\x87\x40\x81\x60", "\u2460\uff5e"),
        ("euc-jp", b"\xad\xa1\xa1\xc1\xa1\xdd\x8e\xb1", "\u2460\uff5e\uff0d\uff71"),
        ("iso-2022-jp", b"\x1b$B-!0!\x1b(Ba", "\u2460\u4e9ca"),
        ("euc-kr", b"\x8c\x63", "\ub620"),
    ],
)
def test_what_browsers_read_is_read(name, octets, text):
    assert decode(octets, name) == text


RUSSIAN = "Привет, мир! Это русский текст."
JAPANESE = "これは日本語の文章です。文字コードの宣言がありません。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "koi8-r"),
        (RUSSIAN * 4, "windows-1251"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "iso-2022-jp"),
        ("Grüße aus München – schöne Ähren", "windows-1252"),
        ("plain text", "utf-8"),
        ("<html><p>text", "utf-16le"),
        ("<html><p>text", "utf-16be"),
    ],
)
def test_an_encoding_that_is_not_declared_is_told_by_the_text(text, encoding):
    assert sniff_encoding(f"<p>{text}</p>".encode(encoding), "text/html") == encoding


def test_a_body_that_ends_within_a_character_is_utf_8_all_the_same():
    body = "schöne Grüße €".encode()
    assert {sniff_encoding(body[:-cut], "text/html") for cut in (1, 2)} == {"utf-8"}
    assert sniff_encoding(b"caf\xe9", "text/html") == "windows-1252"


@pytest.mark.parametrize("name", ["euc-jp", "iso-2022-jp", "gbk"])
def test_a_body_of_nothing_but_errors_is_text_too(name):
    assert len(decode(b"\xad\xa1" * 200_000, name)) >= 200_000
    assert "\ufffd" in decode(b"\xff\xa1" * 200_000, name)
