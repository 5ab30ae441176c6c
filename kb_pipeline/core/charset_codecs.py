"""Decoders of the WHATWG Encoding Standard, where Python's codec of the same name reads less or otherwise: browsers
read the C1 controls in every Windows code page, the vendors' characters in Japanese and Chinese, the euro in GBK."""

from __future__ import annotations

import codecs
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

_CODECS: Final = {
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso-8859-8",
    "x-mac-cyrillic": "mac-cyrillic",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "x-user-defined": "cp1252",
    "replacement": "ascii",
}
_MULTIBYTE: Final = frozenset(
    {"utf-8", "utf-16le", "utf-16be", "gbk", "gb18030", "shift_jis", "euc-kr", "euc-jp", "big5", "iso-2022-jp"}
)
_OTHERWISE: Final = {"koi8-u": {0xAE: "\u045e", 0xBE: "\u040e"}, "windows-1255": {0xCA: "\u05ba"}}
_JIS_AS_WINDOWS: Final = str.maketrans(
    {"\u301c": "\uff5e", "\u2016": "\u2225", "\u2212": "\uff0d", "\xa2": "\uffe0", "\xa3": "\uffe1", "\xac": "\uffe2"}
)
"""Six characters of JIS X 0208 that Windows, and so the standard, maps to others."""
_EXTENDED: Final = frozenset({"gb18030", "euc-jp", "iso-2022-jp"})
"""Codecs that the standard's characters are added to, one error at a time."""
_MOST_ERRORS: Final = 10_000
"""What has more is no text in that encoding."""
_ERRORS: Final = "kb_pipeline.whatwg"
_errors_left: ContextVar[list[int]] = ContextVar("_errors_left")


class _TooManyErrorsError(Exception):
    """Ends a decoding that asks for help too often: each time costs a microsecond."""


def decode(octets: bytes, encoding: str) -> str:
    """The text of `octets` in an encoding by the standard's name. What is no character becomes U+FFFD."""
    if encoding not in _MULTIBYTE:
        return codecs.charmap_decode(octets, "strict", _table(encoding))[0]
    codec = _CODECS.get(encoding, encoding)
    text = _extended(octets, codec) if codec in _EXTENDED else octets.decode(codec, "replace")
    return text.translate(_JIS_AS_WINDOWS) if encoding in {"euc-jp", "iso-2022-jp"} else text


def _extended(octets: bytes, codec: str) -> str:
    before = _errors_left.set([_MOST_ERRORS])
    try:
        return octets.decode(codec, _ERRORS)
    except _TooManyErrorsError:
        return octets.decode(codec, "replace")
    finally:
        _errors_left.reset(before)


@lru_cache(maxsize=64)
def _table(encoding: str) -> str:
    """The character of each octet of a single-byte encoding."""
    codec = _CODECS.get(encoding, encoding)
    table = [bytes([octet]).decode(codec, "replace") for octet in range(256)]
    if encoding.startswith("windows-"):
        for octet in range(0x80, 0xA0):
            table[octet] = chr(octet) if table[octet] == "\ufffd" else table[octet]
    for octet, character in _OTHERWISE.get(encoding, {}).items():
        table[octet] = character
    return "".join(table)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Handler of what a codec does not know: a character that the standard has, or U+FFFD."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    left = _errors_left.get()
    left[0] -= 1
    if left[0] < 0:
        raise _TooManyErrorsError
    octets = error.object[error.start : error.start + 2]
    if error.encoding == "gb18030" and octets[:1] == b"\x80":
        return "\u20ac", error.start + 1
    if error.encoding in {"euc_jp", "iso2022_jp"} and (character := _windows_extension(octets)):
        return character, error.start + 2
    return "\ufffd", max(error.end, error.start + 1)


def _windows_extension(pair: bytes) -> str:
    """The character at a place of JIS X 0208 that only Windows fills: circled numbers, units, rare names."""
    if len(pair) < 2 or not all(0x21 <= octet & 0x7F <= 0x7E for octet in pair):  # noqa: PLR2004 - 94 rows and cells
        return ""
    row, cell = (pair[0] & 0x7F) - 0x21, (pair[1] & 0x7F) - 0x21
    trail = cell + (0x9F if row % 2 else 0x40)
    trail += not row % 2 and trail >= 0x7F  # noqa: PLR2004 - Shift_JIS leaves this octet out
    lead = row // 2 + (0x81 if row < 62 else 0xC1)  # noqa: PLR2004 - and the half-width letters between its two halves
    return bytes([lead, trail]).decode("cp932", "ignore")


codecs.register_error(_ERRORS, _replace)
