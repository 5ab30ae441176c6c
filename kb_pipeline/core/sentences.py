"""Where sentences end, in prose of any script. Knows nothing of Markdown blocks; inline code and link targets
are kept whole, since a stop inside them ends nothing."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Arabic, Urdu, Hindi, Armenian and Ethiopic stops are named by code point: several look like Latin punctuation.
_STOPS: Final = "[.!?\u2026\u061f\u06d4\u0964\u0965\u0589\u1362\u1367]"
_CLOSERS: Final = "[\"'\u201d\u2019\u00bb\u203a)\\]*_`]"
_OPENERS: Final = "\"'\u201c\u2018\u00ab\u2039([*_`"
_WIDE_STOPS: Final = "[\u3002\uff01\uff1f\uff61\uff0e]"
_WIDE_CLOSERS: Final = "[\u201d\u2019\u300d\u300f\uff09\u3011\u3009\u300b\"')\\]*_]"

# A stop of the spaced scripts counts when white space follows, one of the unspaced scripts always does. Possessive
# quantifiers and look-behinds keep a hostile run of stops or blanks from costing its square.
_SPACED_STOP = re.compile(rf"(?<!{_STOPS}){_STOPS}++{_CLOSERS}*+(?=\s)")
_UNSPACED_STOP = re.compile(rf"{_WIDE_STOPS}++{_WIDE_CLOSERS}*+")
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}+|\\)(?=\n)")

# Thai, Lao, Khmer and Burmese put a space where other scripts put a stop, and none between words.
_PHRASE_SPACE = re.compile(
    r"(?<=[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF])(?=[ \t]+[\u0E00-\u0EFF\u1000-\u109F\u1780-\u17FF])"
)
_PHRASE_END = re.compile(r"[။៕។]+")

_NEXT = re.compile(rf"\s++[{re.escape(_OPENERS)}]*+(.)?", re.DOTALL)
_LAST_WORD = re.compile(r"(?P<indent>(?:^|\n)[ \t>]*+)?(?P<word>\S++)$")
_LONGEST_WORD_READ: Final = 40

_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGET = re.compile(r"\]\((?:[^()\n]|\([^()\n]*+\))*+\)|<[a-z][a-z0-9+.-]*:[^<>\s]*+>", re.IGNORECASE)

_ABBREVIATIONS: Final = frozenset(
    (
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "sr",
        "jr",
        "vs",
        "cf",
        "fig",
        "figs",
        "eq",
        "sec",
        "ch",
        "vol",
        "pp",
        "ed",
        "eds",
        "ca",
        "approx",
        "dept",
        "est",
        "al",
        "e.g",
        "i.e",
        "a.k.a",
        "viz",
        "nr",
        "bzw",
        "z.b",
        "d.h",
        "u.a",
        "p.ex",
        "art",
        "resp",
        "incl",
        "excl",
    )
)


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence, in order; what lies between two spans is white space only.

    Follows the spirit of UAX #29 sentence boundaries, with the exceptions that documentation needs: initials,
    abbreviations, list numbers, dotted names, and a stop that a lower-case word follows end no sentence.
    """
    start = 0
    for end in _ends(text):
        span = _trimmed(text, start, end)
        if span:
            yield span
        start = end
    span = _trimmed(text, start, len(text))
    if span:
        yield span


def _ends(text: str) -> list[int]:
    ends = {match.end() for match in _SPACED_STOP.finditer(text) if _ends_sentence(text, match)}
    ends.update(match.end() for match in _HARD_BREAK.finditer(text))
    if not text.isascii():
        for pattern in (_UNSPACED_STOP, _PHRASE_SPACE, _PHRASE_END):
            ends.update(match.end() for match in pattern.finditer(text))
    if not ends:
        return []
    for sign, pattern in (("`", _CODE_SPAN), ("](", _LINK_TARGET), ("<", _LINK_TARGET)):
        if sign in text:
            for guarded in pattern.finditer(text):
                ends.difference_update(range(guarded.start() + 1, guarded.end()))
    return sorted(ends)


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    following = _NEXT.match(text, stop.end())
    first = following.group(1) if following else None
    if first is not None and unicodedata.category(first) == "Ll":
        return False
    if not stop.group().startswith(".") or stop.group().startswith(".."):
        return True
    last = _LAST_WORD.search(text[max(0, stop.start() - _LONGEST_WORD_READ) : stop.start()])
    if last is None:
        return True
    word = last.group("word")
    if word.lstrip(_OPENERS).casefold() in _ABBREVIATIONS:
        return False
    if word.isdigit() and last.group("indent") is not None:
        return False
    return not (len(word) == 1 and word.isalpha() and word.isupper())


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(stripped)
