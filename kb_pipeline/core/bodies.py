"""What a body is, by its first bytes before its declared type, and its text."""

from __future__ import annotations

import codecs
import re
from enum import StrEnum
from typing import Final

from kb_pipeline.core import charsets

SNIFFED_BYTES: Final = 2_048
_MAX_CONTROL_SHARE: Final = 0.05
"""Of bytes that are even in their kind, as what is packed or encrypted has them, a tenth are control characters."""


class BodyKind(StrEnum):
    """Kinds of body that are handled differently."""

    HTML = "html"
    PDF = "pdf"
    TEXT = "text"
    JSON = "json"
    XML = "xml"
    FEED = "feed"
    SITEMAP = "sitemap"
    IMAGE = "image"
    OFFICE = "office"
    ARCHIVE = "archive"
    MEDIA = "media"
    BINARY = "binary"
    OTHER = "other"
    EMPTY = "empty"


_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", BodyKind.IMAGE),
    (b"\xff\xd8\xff", BodyKind.IMAGE),
    (b"GIF87a", BodyKind.IMAGE),
    (b"GIF89a", BodyKind.IMAGE),
    (b"BM", BodyKind.IMAGE),
    (b"II*\0", BodyKind.IMAGE),
    (b"MM\0*", BodyKind.IMAGE),
    (b"\0\0\1\0", BodyKind.IMAGE),
    (b"\0\0\0\x0cJXL ", BodyKind.IMAGE),
    (b"8BPS\0", BodyKind.IMAGE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", BodyKind.OFFICE),
    (b"{\\rtf", BodyKind.OFFICE),
    (b"\x1f\x8b", BodyKind.ARCHIVE),
    (b"BZh", BodyKind.ARCHIVE),
    (b"\xfd7zXZ\0", BodyKind.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", BodyKind.ARCHIVE),
    (b"Rar!\x1a\x07", BodyKind.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", BodyKind.ARCHIVE),
    (b"ID3", BodyKind.MEDIA),
    (b"OggS", BodyKind.MEDIA),
    (b"fLaC", BodyKind.MEDIA),
    (b"\x1a\x45\xdf\xa3", BodyKind.MEDIA),
    (b"FLV\x01", BodyKind.MEDIA),
    (b"MThd\0", BodyKind.MEDIA),
    (b"#!AMR", BodyKind.MEDIA),
    (b"\0\0\1\xba", BodyKind.MEDIA),
    (b"\0\0\1\xb3", BodyKind.MEDIA),
    (b"wOFF", BodyKind.OTHER),
    (b"wOF2", BodyKind.OTHER),
    (b"\x7fELF", BodyKind.BINARY),
    (b"\0asm", BodyKind.BINARY),
    (b"SQLite format 3\0", BodyKind.BINARY),
    (b"MZ", BodyKind.BINARY),
)
# Two or three printable letters could begin a text as well; these count only when the rest is not text.
_WEAK_SIGNATURES: Final = frozenset({b"BM", b"MZ", b"ID3", b"BZh"})
_IMAGE_BRANDS: Final = frozenset({b"avif", b"avis", b"heic", b"heix", b"heim", b"mif1", b"msf1"})
_OFFICE_PARTS: Final = (b"[Content_Types].xml", b"word/", b"xl/", b"ppt/", b"mimetypeapplication/vnd.oasis")
_XML_ROOT: Final = re.compile(
    r"^(?>(?><!--.*?-->)|<\?[^>]*>|<!DOCTYPE[^>\[]*>|\s)*+<(?:[\w.-]+:)?([\w.-]+)", re.DOTALL | re.IGNORECASE
)
_HTML_START: Final = re.compile(
    r"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype html|(?:html|head|body|title|meta|script|style|link|div|p|h[1-6]|table"
    r"|article|main|section|center|br|a|font|iframe|b)(?=[\s/>]))",
    re.DOTALL | re.IGNORECASE,
)
_ROOTS: Final = {
    "rss": BodyKind.FEED,
    "feed": BodyKind.FEED,
    "rdf": BodyKind.FEED,
    "urlset": BodyKind.SITEMAP,
    "sitemapindex": BodyKind.SITEMAP,
    "html": BodyKind.HTML,
    "svg": BodyKind.IMAGE,
}
_DECLARED: Final = {
    "text/html": BodyKind.HTML,
    "html": BodyKind.HTML,
    "application/xhtml+xml": BodyKind.HTML,
    "application/pdf": BodyKind.BINARY,
    "application/x-pdf": BodyKind.BINARY,
    "text/plain": BodyKind.TEXT,
    "text/markdown": BodyKind.TEXT,
    "text/x-markdown": BodyKind.TEXT,
    "text/x-rst": BodyKind.TEXT,
    "text/csv": BodyKind.TEXT,
    "application/json": BodyKind.JSON,
    "text/json": BodyKind.JSON,
    "application/feed+json": BodyKind.FEED,
    "application/rss+xml": BodyKind.FEED,
    "application/atom+xml": BodyKind.FEED,
    "application/rdf+xml": BodyKind.FEED,
    "application/xml": BodyKind.XML,
    "text/xml": BodyKind.XML,
    "application/zip": BodyKind.ARCHIVE,
    "application/gzip": BodyKind.ARCHIVE,
    "application/x-gzip": BodyKind.ARCHIVE,
    "application/x-tar": BodyKind.ARCHIVE,
    "application/msword": BodyKind.OFFICE,
    "application/rtf": BodyKind.OFFICE,
}
_FAMILIES: Final = {"image": BodyKind.IMAGE, "audio": BodyKind.MEDIA, "video": BodyKind.MEDIA}
_NAMES: Final = (
    (re.compile(r"\+json$"), BodyKind.JSON),
    (re.compile(r"\+xml$"), BodyKind.XML),
    (re.compile(r"officedocument|opendocument|^vnd\.ms-"), BodyKind.OFFICE),
)
_UNDECLARED: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "unknown/unknown", "*/*"})


def decode_html(body: bytes, content_type: str) -> str:
    """The text of an HTML or plain body, decoded as browsers do (core.charsets). Never raises."""
    return charsets.decode(body, content_type)


def kind_of(content_type: str | None, body: bytes, url: str = "") -> BodyKind:
    """What a body is. Its first bytes outrank the declared type, for servers say text/html of anything."""
    if not body.removeprefix(codecs.BOM_UTF8).strip(b"\0\t\n\r "):
        return BodyKind.EMPTY
    declared = (content_type or "").partition(";")[0].strip().lower()
    if (by_signature := _by_signature(body, declared)) is not None:
        return by_signature
    head = _head_text(body, content_type or "")
    if head is None:
        kind = _by_declaration(declared) if declared not in _UNDECLARED else BodyKind.BINARY
        return (
            kind
            if kind in {BodyKind.IMAGE, BodyKind.MEDIA, BodyKind.OFFICE, BodyKind.ARCHIVE, BodyKind.OTHER}
            else BodyKind.BINARY
        )
    if (by_markup := _by_markup(head, declared)) is not None:
        return by_markup
    if declared in _UNDECLARED:
        return _by_guess(head, url)
    return _by_declaration(declared)


def _by_signature(body: bytes, declared: str) -> BodyKind | None:
    if _begins_pdf(body, declared):
        return BodyKind.PDF
    if body.startswith(b"PK\x03\x04"):
        office = "officedocument" in declared or "opendocument" in declared
        return (
            BodyKind.OFFICE
            if office or any(part in body[:SNIFFED_BYTES] for part in _OFFICE_PARTS)
            else BodyKind.ARCHIVE
        )
    if body[:4] == b"RIFF":
        return BodyKind.IMAGE if body[8:12] == b"WEBP" else BodyKind.MEDIA
    if body[4:8] == b"ftyp":
        return BodyKind.IMAGE if body[8:12] in _IMAGE_BRANDS else BodyKind.MEDIA
    for signature, kind in _SIGNATURES:
        if body.startswith(signature):
            return None if signature in _WEAK_SIGNATURES and not _is_binary(body) else kind
    return None


def _begins_pdf(body: bytes, declared: str) -> bool:
    """Whether a PDF begins within the first kilobyte, as its readers take it; a text may name the mark."""
    before, mark, _ = body[:1024].partition(b"%PDF-")
    before = before.removeprefix(codecs.BOM_UTF8).strip(b"\0\t\n\f\r ")
    return bool(mark) and (not before or not (before.startswith(b"<") or _DECLARED.get(declared) is BodyKind.TEXT))


def _is_binary(body: bytes) -> bool:
    head = body[:SNIFFED_BYTES]
    controls = sum(1 for byte in head if byte < 9 or (13 < byte < 32 and byte != 27))  # noqa: PLR2004 - C0 but for white space and ISO-2022's escape
    return controls > len(head) * _MAX_CONTROL_SHARE


def _head_text(body: bytes, content_type: str) -> str | None:
    """The first characters of a text body; None for binary noise."""
    head = body[:SNIFFED_BYTES]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or "utf-16" in content_type.lower():
        return charsets.decode(head, content_type)
    if _is_binary(head):
        return None
    return head.decode("latin-1").removeprefix("\xef\xbb\xbf")


def _by_markup(head: str, declared: str) -> BodyKind | None:
    start = head.lstrip()
    if not start.startswith("<"):
        return None
    if (match := _XML_ROOT.match(start)) and (kind := _ROOTS.get(match[1].lower())) is not None:
        return kind
    if _HTML_START.match(start):
        return BodyKind.HTML
    if start.startswith("<?xml") and declared not in {"text/html", "application/xhtml+xml"}:
        return BodyKind.XML
    return None


def _by_guess(head: str, url: str) -> BodyKind:
    start = head.lstrip()
    if start.startswith(('{"', "{}", "[{", '["', "[]")) or re.match(r"\{\s*\"", start):
        return BodyKind.JSON
    path = url.partition("?")[0].partition("#")[0].lower()
    if path.endswith((".txt", ".md", ".rst", ".csv")) or not re.search(r"<[a-z!/]", start, re.IGNORECASE):
        return BodyKind.TEXT
    return BodyKind.HTML


def _by_declaration(declared: str) -> BodyKind:
    kind = _DECLARED.get(declared) or _FAMILIES.get(declared.partition("/")[0])
    if kind is not None:
        return kind
    name = declared.partition("/")[2]
    return next((kind for pattern, kind in _NAMES if pattern.search(name)), BodyKind.OTHER)
