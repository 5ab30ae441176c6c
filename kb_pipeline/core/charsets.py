"""Which character encoding a body is in: byte order mark, header, `<meta>` or XML declaration, then detection.

Follows the WHATWG Encoding and HTML standards (§13.2.3.2), except that a body without any declaration which is
valid UTF-8 is UTF-8: browsers must not guess so, for fear of half-read documents; a crawler has the whole.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

import webencodings

from kb_pipeline.core import charset_codecs

_HIGH: Final = re.compile(rb"[\x80-\xff]+")
_KOI8_LOWER: Final = range(0xC0, 0xE0)
_KOI8_UPPER: Final = range(0xE0, 0x100)
_JIS_ESCAPE: Final = re.compile(rb"\x1b\$[@B]")
PRESCAN_BYTES: Final = 1024
DETECTION_BYTES: Final = 32_768
DEFAULT: Final = "windows-1252"

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))
_CHARSET_PARAMETER: Final = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)
_XML_DECLARATION: Final = re.compile(rb"""<\?xml[^>]*?\bencoding[\t\n\r ]*=[\t\n\r ]*["']([A-Za-z0-9._:-]+)["']""")
_SPACES: Final = b"\t\n\x0c\r "
_TAG: Final = re.compile(rb"<(/?)([A-Za-z][^\t\n\x0c\r />]*)")
_META_START: Final = re.compile(rb"<meta[\t\n\x0c\r /]", re.IGNORECASE)


def encoding_of_label(label: str) -> str | None:
    """The standard's name for an encoding label, or None (Encoding Standard §4.2)."""
    found = webencodings.lookup(label)
    return str(found.name) if found is not None else None


def sniff_encoding(body: bytes, content_type: str) -> str:
    """The encoding of an HTML or text body, by the standard's name in lower case."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    if declared := _declared_in_header(content_type):
        return declared
    if "text/plain" not in content_type.lower() and (declared := _declared_in_body(body[:PRESCAN_BYTES])):
        return declared
    return _detect(body)


def decode(body: bytes, content_type: str) -> str:
    """The text of a body, without its byte order mark; what cannot be decoded becomes U+FFFD. Never raises."""
    name = sniff_encoding(body, content_type)
    for mark, of in _BOMS:
        if of == name and body.startswith(mark):
            body = body[len(mark) :]
            break
    if name == "utf-8" and is_mislabelled(body):
        name = DEFAULT
    return charset_codecs.decode(body, name)


def is_mislabelled(body: bytes) -> bool:
    """Whether a body declared as UTF-8 has bytes above ASCII and not one of them makes a UTF-8 sequence."""
    if body.isascii():
        return False
    return not re.search(rb"[\xc2-\xf4][\x80-\xbf]", body)


def _declared_in_header(content_type: str) -> str | None:
    match = _CHARSET_PARAMETER.search(content_type)
    return encoding_of_label(next(filter(None, match.groups()), "")) if match else None


def _declared_in_body(head: bytes) -> str | None:
    declared = _prescan(head)
    if declared is None and (match := _XML_DECLARATION.match(head.lstrip())):
        declared = encoding_of_label(match[1].decode("ascii"))
    if declared in {"utf-16le", "utf-16be"}:
        return "utf-8"
    return DEFAULT if declared == "x-user-defined" else declared


def _detect(body: bytes) -> str:
    if _JIS_ESCAPE.search(body[:DETECTION_BYTES]):
        return "iso-2022-jp"
    if _is_utf8(body):
        return "utf-8"
    if body[1:8:2] == b"\0\0\0\0":
        return "utf-16le"
    if body[0:8:2] == b"\0\0\0\0":
        return "utf-16be"
    return _guess(body[:DETECTION_BYTES])


def _is_utf8(body: bytes) -> bool:
    """Whether a body is UTF-8, its last character perhaps cut in two; ASCII with NULs at every other place is not."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    is_cut = len(text.encode()) < len(body)
    return b"\0\0\0\0" not in {body[1:8:2], body[0:8:2]} and not (is_cut and text.isascii())


def _guess(sample: bytes) -> str:
    """By statistics of letters; tags say nothing about the language."""
    words = re.sub(rb"<[^>]{0,500}>", b" ", sample)
    sample = words if _HIGH.search(words) else sample
    if found := _japanese(sample) or _koi8(sample):
        return found
    from charset_normalizer import from_bytes  # noqa: PLC0415 - slow to import, and most pages declare their encoding

    best = from_bytes(sample, steps=5, chunk_size=512).best()
    name = encoding_of_label(best.encoding.replace("_", "-")) if best is not None else None
    if name is None or charset_codecs.decode(sample, name) == charset_codecs.decode(sample, DEFAULT):
        return DEFAULT
    return name


def _japanese(sample: bytes) -> str | None:
    """The Japanese encoding that reads a sample without error, and in which it has kana as only Japanese has."""
    for name in ("euc-jp", "shift_jis"):
        text = charset_codecs.decode(sample, name)
        foreign = [character for character in text if character > "\x7f"]
        kana = sum("\u3041" <= character <= "\u30fe" for character in foreign)
        if kana * 5 > len(foreign) and foreign.count("\ufffd") <= 1 + len(foreign) // 100:
            return name
    return None


def _koi8(sample: bytes) -> str | None:
    """Russian in KOI8-R: whole words of letters above ASCII, mostly of the half in which its lower case is."""
    high = [run for run in _HIGH.findall(sample) if len(run) > 1]
    lower = sum(octet in _KOI8_LOWER for run in high for octet in run)
    upper = sum(octet in _KOI8_UPPER for run in high for octet in run)
    length = sum(map(len, high))
    in_words = length > 3 * len(high)
    return "koi8-r" if in_words and lower > 3 * upper and lower + upper > length * 9 // 10 else None


def _prescan(head: bytes) -> str | None:
    """HTML standard §13.2.3.2, "prescan a byte stream to determine its encoding"."""
    at = 0
    while at < len(head):
        if head.startswith(b"<!--", at):
            # The two dashes of the opening may be those of the end: <!-->.
            end = head.find(b"-->", at + 2)
            at = end + 3 if end >= 0 else len(head)
        elif _META_START.match(head, at):
            attributes, at = _read_attributes(head, at + 5)
            if (found := _encoding_in_meta(attributes)) is not None:
                return found
            at += 1
        elif tag := _TAG.match(head, at):
            _, at = _read_attributes(head, tag.end())
            at += 1
        elif head.startswith((b"<!", b"</", b"<?"), at):
            end = head.find(b">", at)
            at = end + 1 if end >= 0 else len(head)
        else:
            at += 1
    return None


def _encoding_in_meta(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv") == b"content-type":
        label = _label_in_content(attributes.get(b"content", b""))
    if label is None:
        return None
    return encoding_of_label(label.decode("ascii", "replace"))


def _label_in_content(content: bytes) -> bytes | None:
    """§2.5.4, "extracting a character encoding from a meta element"."""
    match = re.search(
        rb"charset[\t\n\x0c\r ]*=[\t\n\x0c\r ]*(?:\"([^\"]*)\"|'([^']*)'|([^\t\n\x0c\r ;\"'][^\t\n\x0c\r ;]*))", content
    )
    return next((group for group in match.groups() if group is not None), None) if match else None


def _read_attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag, names and values in lower case, the first of a name counting; and where it ends."""
    attributes: dict[bytes, bytes] = {}
    while True:
        while at < len(head) and head[at] in b"\t\n\x0c\r /":
            at += 1
        if at >= len(head):
            return {}, at
        if head[at] in b">":
            return attributes, at
        name, value, at = _read_attribute(head, at)
        if at >= len(head):
            # The prescan ends in the middle of this tag: what was read of it does not count.
            return {}, at
        attributes.setdefault(name, value)


def _read_attribute(head: bytes, at: int) -> tuple[bytes, bytes, int]:
    """§13.2.3.2, "get an attribute"."""
    start = at
    while at < len(head) and head[at] not in b"\t\n\x0c\r />" and (head[at] not in b"=" or at == start):
        at += 1
    name = head[start:at].lower()
    while at < len(head) and head[at] in _SPACES:
        at += 1
    if at >= len(head) or head[at] not in b"=":
        return name, b"", at
    at += 1
    while at < len(head) and head[at] in _SPACES:
        at += 1
    if at < len(head) and head[at] in b"\"'":
        end = head.find(head[at : at + 1], at + 1)
        if end < 0:
            return name, b"", len(head)
        return name, head[at + 1 : end].lower(), end + 1
    start = at
    while at < len(head) and head[at] not in b"\t\n\x0c\r >":
        at += 1
    return name, head[start:at].lower(), at
