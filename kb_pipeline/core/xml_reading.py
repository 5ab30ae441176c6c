"""Reading XML that other people wrote: bounded, streaming, forgiving, and without ever expanding an entity.
Knows nothing of what the elements mean."""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from lxml import etree

from kb_pipeline.core import charsets

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_INFLATED: Final = 50 * 2**20
"""Most bytes of one list, decompressed (sitemaps.org)."""
MAX_GZIP_LAYERS: Final = 2
MAX_ELEMENTS: Final = 2_000_000
"""Forty for each of the 50,000 pages of the largest list."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_FEED_BYTES: Final = 64 * 1024
_DECLARATION: Final = re.compile(r"<\?xml\s[^>]*?\?>", re.DOTALL)
_DECLARED_ENCODING: Final = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)""")
# All of these are legal only as part of a reference that XML itself defines.
_BARE_AMPERSAND: Final = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)")
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMERIC_REFERENCE: Final = re.compile(r"&#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));")
_WIDE: Final = (b"utf-16", b"utf-32", b"utf16", b"utf32", b"ucs-2", b"ucs-4", b"iso-10646")
# Markup never holds "<" before its ">"; what would begin an element and does is text, as in <loc>/a<b</loc>.
_BARE_LESS_THAN: Final = re.compile(r"<(?:(?![A-Za-z_:/!?])|(?=[^<>/!?][^<>]*<))")
_SECTION: Final = re.compile(r"<!--|<!\[CDATA\[")
_UNCLOSED_LOC: Final = re.compile(
    r"<((?:[A-Za-z][\w.-]{0,30}:)?loc)>(\s*+[^<\s][^<]*+)(?=<(?!/\1\s*>|[!?]))", re.IGNORECASE
)
_DOCTYPE: Final = re.compile(r"<!DOCTYPE\s[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)
_ENTITY: Final = re.compile(r"<!ENTITY\s+(?:%\s+)?([^\s>]+)")


@dataclass(slots=True)
class XmlText:
    """A list as text, made ready for the parser."""

    text: str
    problems: list[str] = field(default_factory=list)
    entities: frozenset[str] = frozenset()
    """Names of the entities that the document declares. What refers to one is not to be trusted."""
    octets: int = 0
    """Bytes that were read, decompressed."""


def read_text(body: bytes, max_bytes: int = MAX_INFLATED) -> XmlText:
    """Undo gzip (by content, whatever the name or type says) and the character encoding.

    At most `max_bytes` octets are decompressed; what could not be read is said in `problems`.
    """
    problems: list[str] = []
    for _ in range(MAX_GZIP_LAYERS):
        if not body.startswith(_GZIP_MAGIC):
            break
        body = _inflate(body, max_bytes, problems)
    if body.startswith(_GZIP_MAGIC):
        problems.append("compressed more than twice: not read")
        body = b""
    if len(body) > max_bytes:
        problems.append(f"longer than {max_bytes:,} bytes: the rest was not read")
        body = body[:max_bytes]
    return XmlText(_decode(body), problems, octets=len(body))


def _inflate(body: bytes, room: int, problems: list[str]) -> bytes:
    limit = room
    parts: list[bytes] = []
    while body.startswith(_GZIP_MAGIC) and room > 0:
        piece, ended, body = _inflate_member(body, room)
        parts.append(piece)
        room -= len(piece)
        if not ended:
            cut = f"inflates to more than {limit:,} bytes: the rest was not read"
            problems.append("damaged gzip: what could be inflated was read" if room else cut)
            break
        # What follows the last member is padding or junk, and is ignored as gzip itself does.
    return b"".join(parts)


def _inflate_member(body: bytes, room: int) -> tuple[bytes, bool, bytes]:
    """One gzip member: at most `room` bytes of it, whether its end was reached, and what follows it. Of one that is
    damaged, all that comes before the damage; its checksum is at the very end."""
    member = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    for start in range(0, len(body), _FEED_BYTES):
        before = member.copy()
        piece = body[start : start + _FEED_BYTES]
        try:
            parts.append(member.decompress(piece, room))
        except zlib.error:
            parts.append(_inflate_bytewise(before, piece, room))
            return b"".join(parts), False, b""
        room -= len(parts[-1])
        if member.eof:
            return b"".join(parts), True, member.unused_data + body[start + _FEED_BYTES :]
        if not room:
            break
    return b"".join(parts), False, b""


def _inflate_bytewise(member: zlib._Decompress, piece: bytes, room: int) -> bytes:
    parts: list[bytes] = []
    for place in range(len(piece)):
        try:
            parts.append(member.decompress(piece[place : place + 1], room))
        except zlib.error:
            break
        room -= len(parts[-1])
        if not room:
            break
    return b"".join(parts)


def _decode(body: bytes) -> str:
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            return body.decode(encoding, "replace").lstrip("\ufeff")
    for start, encoding in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):
        if body.startswith(start):
            return body.decode(encoding, "replace")
    declared = _DECLARED_ENCODING.search(body[:512])
    # Who can be read so far is not in UTF-16, whatever it says: .NET writes that of every string.
    encoding = "utf-8" if declared is None or declared[1].lower().startswith(_WIDE) else declared[1].decode("ascii")
    if encoding.lower() in {"utf-8", "utf8"} and charsets.is_mislabelled(body):
        encoding = charsets.DEFAULT
    try:
        return body.decode(encoding, "replace").lstrip("\ufeff")
    except (LookupError, ValueError):
        return body.decode("utf-8", "replace").lstrip("\ufeff")


def prepare(document: XmlText) -> XmlText:
    """Make the text well-formed where that loses nothing: bare ampersands and less-than signs escaped, addresses
    closed that were left open, characters dropped that XML forbids; declaration and DOCTYPE are taken away, so that
    no entity exists that could be expanded."""
    text = document.text.lstrip(" \t\r\n\ufeff\xa0\x00")
    if declaration := _DECLARATION.match(text):
        text = text[declaration.end() :]
    entities: frozenset[str] = frozenset()
    start = text[:4096].upper().find("<!DOCTYPE")
    if start >= 0 and (doctype := _DOCTYPE.match(text, start)):
        entities = frozenset(_ENTITY.findall(doctype[0]))
        text = text[:start] + text[doctype.end() :]
    if entities:
        document.problems.append("declares entities: they were not expanded")
    # References last: what is left when one is taken out must not be read as another.
    text = _NUMERIC_REFERENCE.sub(_legal_reference, _repaired(_NOT_XML.sub("", text)))
    return XmlText(_UNCLOSED_LOC.sub(r"<\1>\2</\1>", text), document.problems, entities)


def _legal_reference(match: re.Match[str]) -> str:
    """A reference as it is, and nothing in place of one to a character that XML forbids, such as half a pair."""
    code = int(match[1]) if match[1] else int(match[2], 16)
    return "" if code > sys.maxunicode or _NOT_XML.match(chr(code)) else match[0]


def _repaired(text: str) -> str:
    """Characters escaped that stand for themselves; within CDATA and comments they are right as they are."""
    parts: list[str] = []
    at = 0
    while section := _SECTION.search(text, at):
        end = text.find("-->" if section[0] == "<!--" else "]]>", section.end())
        if end < 0:
            break
        parts += [_escaped(text[at : section.start()]), text[section.start() : end + 3]]
        at = end + 3
    rest = section.start() if section else len(text)
    return "".join([*parts, _escaped(text[at:rest]), text[rest:]])


def _escaped(text: str) -> str:
    return _BARE_LESS_THAN.sub("&lt;", _BARE_AMPERSAND.sub("&amp;", text))


@dataclass(slots=True)
class Elements:
    """The elements of a document, one at a time, with their children. Iterate once.

    Of an element that a truncated document leaves open, the children that are complete are handed out: half an
    address must not pass for a whole one. `ended` is true afterwards when the root element's end was read.
    """

    text: str
    names: frozenset[str]
    """Local names that are handed out; such an element is emptied as soon as the next one is asked for."""
    root: str = ""
    ended: bool = False
    _open: list[etree._Element] = field(default_factory=list)
    _count: int = 0

    def __iter__(self) -> Iterator[etree._Element]:
        parser = etree.XMLPullParser(
            events=("start", "end"),
            recover=True,
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
        )
        body = self.text.encode("utf-8", "replace")
        for start in range(0, len(body), _FEED_BYTES):
            if self._count > MAX_ELEMENTS:
                break
            try:
                parser.feed(body[start : start + _FEED_BYTES])
            except etree.XMLSyntaxError:
                break
            yield from self._complete(parser)
        yield from self._complete(parser)
        yield from self._unfinished()

    def _complete(self, parser: etree.XMLPullParser) -> Iterator[etree._Element]:
        # Of the kinds of events that were asked for, all are of elements.
        events: Iterator[tuple[str, etree._Element]] = cast("Any", parser.read_events())
        for event, element in events:
            if event == "start":
                self.root = self.root or local_name(element)
                self._open.append(element)
                self._count += 1
                continue
            while self._open and self._open.pop() is not element:
                pass
            if local_name(element) in self.names:
                yield element
                _forget(element)
            self.ended = self.ended or element.getparent() is None

    def _unfinished(self) -> Iterator[etree._Element]:
        # Closing the parser would pretend that these had ended, so it is left as it is.
        for element in self._open:
            for child in element:
                if any(child is other for other in self._open):
                    element.remove(child)
                    break
            if local_name(element) in self.names:
                yield element


def _forget(element: etree._Element) -> None:
    """Free what has been read: memory must not grow with the document."""
    element.clear()
    parent = element.getparent()
    if parent is not None:
        while (previous := element.getprevious()) is not None:
            parent.remove(previous)


def local_name(element: etree._Element) -> str:
    """Name without namespace or prefix, lower case; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def namespace(element: etree._Element) -> str:
    """Namespace name; an undeclared prefix counts as one of its own; "" when there is none."""
    tag = str(element.tag)
    if tag.startswith("{"):
        return tag[1:].partition("}")[0]
    return tag.rpartition(":")[0]


def text_of(element: etree._Element) -> str:
    """All text inside, without white space around it."""
    if not len(element):
        return (element.text or "").strip()
    return "".join(str(part) for part in element.itertext()).strip()
