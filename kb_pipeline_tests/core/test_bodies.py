"""What a body is, and which characters its bytes are."""

# ruff: noqa: RUF001 - words of other alphabets

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.charsets import sniff_encoding

GREETING = "Grüße – “Straße” €"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"\xef\xbb\xbf" + GREETING.encode(), "text/html; charset=iso-8859-1"),
        (b"\xff\xfe" + GREETING.encode("utf-16-le"), "text/html; charset=utf-8"),
        (GREETING.encode("cp1252"), "text/html; charset=latin1"),
        (GREETING.encode(), "text/html; charset='UTF-8'"),
        (b"<meta charset=windows-1252>" + GREETING.encode("cp1252"), "text/html"),
        (b"<meta charset=windows-1252>" + GREETING.encode(), "text/html; charset=utf-8"),
        (b"<!-- <meta charset=koi8-r> -->" + GREETING.encode(), "text/html"),
        (b"<meta content='text/html; charset=cp1252' http-equiv=Content-Type>" + GREETING.encode("cp1252"), ""),
        (b"<meta charset=utf-16>" + GREETING.encode(), "text/html"),
        (b"<?xml version='1.0' encoding='windows-1252'?>" + GREETING.encode("cp1252"), "application/xhtml+xml"),
        (GREETING.encode(), "text/html"),
        (GREETING.encode(), "text/html; charset=nonsense"),
        (GREETING.encode("cp1252"), "text/html; charset=utf-8"),
    ],
)
def test_bom_then_header_then_meta_then_detection_decide(body, content_type):
    assert decode_html(body, content_type).endswith(GREETING)


def test_undeclared_text_of_another_alphabet_is_detected():
    text = "Насос перекачивает воду из колодца в бак, а клапан не даёт ей течь обратно. " * 5
    assert decode_html(text.encode("cp1251"), "text/html") == text


def test_a_declared_utf_8_with_one_broken_character_loses_that_character_alone():
    assert decode_html("Grüße".encode() + b"\xff!", "text/html; charset=utf-8") == "Grüße\ufffd!"


def test_plain_text_is_not_searched_for_a_meta_tag():
    assert sniff_encoding(b"<meta charset=koi8-r> is how", "text/plain") == "utf-8"


@given(st.binary(max_size=300), st.text(max_size=40))
def test_any_bytes_decode_under_any_declaration(body, declaration):
    decode_html(body, f"text/html; charset={declaration}")


@pytest.mark.parametrize(
    ("content_type", "body", "url", "kind"),
    [
        ("text/html", b"<!doctype html><p>x", "", BodyKind.HTML),
        ("text/html", b"just words", "", BodyKind.HTML),
        ("application/pdf", b"<html><body>Error</body></html>", "/a.pdf", BodyKind.HTML),
        ("text/html", b"%PDF-1.7\n", "", BodyKind.PDF),
        ("text/plain", b"\n%PDF-1.4\n", "", BodyKind.PDF),
        ("text/html", b"<p>A file begins with %PDF-1.7</p>", "", BodyKind.HTML),
        (None, b"words", "https://x.example/a.txt", BodyKind.TEXT),
        (None, b"<section>x</section>", "", BodyKind.HTML),
        ("", b'{"a": 1}', "", BodyKind.JSON),
        ("application/problem+json", b"{}", "", BodyKind.JSON),
        ("text/html", b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'/>", "", BodyKind.FEED),
        ("text/xml", b"<!-- made by hand --><urlset/>", "", BodyKind.SITEMAP),
        ("application/xml", b"<?xml version='1.0'?><note/>", "", BodyKind.XML),
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "", BodyKind.IMAGE),
        ("text/html", b"BMW builds cars and motorcycles", "", BodyKind.HTML),
        ("text/html", b"GIF89a\x01\x00\x01\x00", "", BodyKind.IMAGE),
        ("application/octet-stream", b"PK\x03\x04....[Content_Types].xml", "", BodyKind.OFFICE),
        ("application/octet-stream", b"PK\x03\x04....a.txt", "", BodyKind.ARCHIVE),
        ("text/html", bytes(range(32)) * 10, "", BodyKind.BINARY),
        ("font/woff2", b"wOF2\0\1\0\0", "", BodyKind.OTHER),
        ("text/html", b" \r\n", "", BodyKind.EMPTY),
        ("text/html", b"\xef\xbb\xbf\n", "", BodyKind.EMPTY),
        ("text/plain", b"A PDF begins with %PDF-1.4.", "", BodyKind.TEXT),
        ("text/html", b"\xef\xbb\xbf%PDF-1.4", "", BodyKind.PDF),
        ("application/octet-stream", bytes(range(8)) * 20, "", BodyKind.BINARY),
        ("", b"\0\0\0\x20ftypheix\0\0\0\0", "", BodyKind.IMAGE),
        ("", b"MThd\0\0\0\6\0\1", "", BodyKind.MEDIA),
    ],
)
def test_the_first_bytes_outrank_the_declared_type(content_type, body, url, kind):
    assert kind_of(content_type, body, url) is kind


@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_every_body_has_a_kind(body, content_type, url):
    assert kind_of(content_type, body, url) in BodyKind


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", ""])
def test_noise_is_no_text(content_type):
    noise = random.Random(0)
    kinds = {kind_of(content_type, b"_" + noise.randbytes(3000), "/page.html") for _ in range(200)}
    assert kinds == {BodyKind.BINARY}
