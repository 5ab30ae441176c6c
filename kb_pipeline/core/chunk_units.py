"""Cuts the blocks of a page into units: the smallest parts that chunking never divides. A unit is a sentence, a
heading, a table row or a whole fence; only what is larger than a chunk may hold is cut further."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown_blocks import Block, BlockKind
from kb_pipeline.core.sentences import sentence_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHARACTERS_PER_TOKEN_AT_MOST: Final = 12
"""A tokenizer may read a long run without blanks as one unknown word; its bulk counts all the same."""

_WORD = re.compile(r"\S+")
_FENCE = re.compile("[`~]{3,}+")
_PLAIN_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a page that goes into a chunk whole. `tokens` is its size without `lead` and `tail`."""

    text: str
    glue: str
    """White space between it and the unit before, where both are in one chunk."""
    kind: BlockKind
    block: int
    """Index of its block on the page."""
    heading: int
    """How many headings of the page stand before it, itself included."""
    tokens: int = 0
    whole: bool = True
    """False for a part of a sentence, row or line that was too long."""
    lead: str = ""
    """What its block opens with in every chunk: the fence's first line, the table's header."""
    again: str = ""
    tail: str = ""
    frame_tokens: int = 0
    """Size of lead and tail together."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Measures texts, and says how large a unit may be."""

    count_tokens: Callable[[str], int]
    most: int
    """Tokens a chunk holds; a unit of more is cut."""
    part: int
    """Tokens of the parts it is cut into: less, so that an overlap fits beside."""

    def of(self, text: str) -> int:
        """Tokens of `text`, and no less than its bulk."""
        return max(self.count_tokens(text), len(text) // CHARACTERS_PER_TOKEN_AT_MOST)


def cut_into_units(blocks: Sequence[Block], sizes: Sizes) -> list[Unit]:
    """The units of a page in order. Each is at most `sizes.most` tokens with its frame; together they hold all text."""
    units: list[Unit] = []
    headings = 0
    for index, block in enumerate(blocks):
        headings += block.kind is BlockKind.HEADING
        for unit in _whole(block, index, headings, sizes):
            if unit.tokens + unit.frame_tokens <= sizes.most:
                units.append(unit)
            else:
                units.extend(_parts(unit, sizes))
    return units


def _whole(block: Block, index: int, headings: int, sizes: Sizes) -> Iterator[Unit]:
    """The block's units, however large they are."""

    def unit(text: str, glue: str, kind: BlockKind = block.kind) -> Unit:
        return Unit(text, glue, kind, index, headings, sizes.of(text))

    if block.kind is BlockKind.HEADING:
        yield unit(block.lines[0].strip(), block.gap)
    elif block.kind is BlockKind.TEXT:
        text, before = "\n".join(block.lines), 0
        for start, end in sentence_spans(text):
            yield unit(text[start:end], ("" if before else block.gap) + text[before:start])
            before = end
    elif block.kind is BlockKind.FENCE:
        framed = _with_small_frame(block, sizes)
        yield _in_frame(unit("\n".join(framed.lines), framed.gap), framed, sizes)
    elif not block.lines or sizes.of(block.lead) > sizes.most // 2:
        # A header too large to be repeated is a row like the others.
        for number, row in enumerate((block.lead, *block.lines)):
            yield unit(row, "\n" if number else block.gap)
    else:
        for number, row in enumerate(block.lines):
            yield _in_frame(unit(row, "\n" if number else block.gap), block, sizes)


def _in_frame(unit: Unit, block: Block, sizes: Sizes) -> Unit:
    frame_tokens = sizes.of(block.lead) + sizes.of(block.tail)
    return replace(unit, lead=block.lead, again=block.again, tail=block.tail, frame_tokens=frame_tokens)


def _with_small_frame(fence: Block, sizes: Sizes) -> Block:
    """The fence itself, or where its opening line is too large to be repeated, one that has it as its first line."""
    if sizes.of(fence.lead) + sizes.of(fence.tail) <= sizes.most // 2:
        return fence
    lines = (_FENCE.sub("", fence.lead), *fence.lines)
    return replace(fence, lines=lines, lead=_PLAIN_FENCE, again=_PLAIN_FENCE, tail=_PLAIN_FENCE)


def _parts(unit: Unit, sizes: Sizes) -> Iterator[Unit]:
    """Cut a unit that is too large: a fence at line ends, anything else between words, a word between characters."""
    room = sizes.part - unit.frame_tokens
    if unit.kind is BlockKind.FENCE:
        pieces = _pack_lines(unit.text.split("\n"), room, sizes)
    else:
        pieces = ((glue, text, False) for glue, text in cut_words(unit.text, room, sizes))
    for number, (glue, text, whole) in enumerate(pieces):
        first = unit.glue if number == 0 else glue
        yield replace(
            unit, text=text, glue=first, tokens=sizes.of(text), whole=whole, lead=unit.again if number else unit.lead
        )


def _pack_lines(lines: Sequence[str], room: int, sizes: Sizes) -> Iterator[tuple[str, str, bool]]:
    """Yield (glue, text, whole) of runs of lines of at most `room` tokens, divided at blank lines where that wastes
    less than half of it."""
    counted = [(line, sizes.of(line)) for line in lines]
    start = 0
    while start < len(counted):
        end, held = start, 0
        while end < len(counted) and held + counted[end][1] <= room:
            held += counted[end][1]
            end += 1
        if end == start:
            for number, (glue, text) in enumerate(cut_words(counted[start][0], room, sizes)):
                yield "\n" if number == 0 else glue, text, False
            start += 1
            continue
        if end < len(counted):
            end = _blank_line_before(counted, start, end, held)
        yield "\n", "\n".join(line for line, _ in counted[start:end]), True
        start = end


def _blank_line_before(counted: Sequence[tuple[str, int]], start: int, end: int, held: int) -> int:
    left = held
    for at in range(end - 1, start, -1):
        if not counted[at][0].strip():
            return at + 1
        left -= counted[at][1]
        if left < held // 2:
            break
    return end


def cut_words(text: str, room: int, sizes: Sizes) -> Iterator[tuple[str, str]]:
    """Yield (white space before, piece) of `text` in pieces of at most `room` tokens; nothing but the white space at
    either end is left out. A piece ends between words, or within one where the word alone is too large."""
    start, end, held, before = 0, 0, 0, 0
    for word in _WORD.finditer(text):
        size = sizes.of(word.group())
        if end > start and held + size > room:
            yield text[before:start], text[start:end]
            before, start, held = end, word.start(), 0
        if end <= start:
            start = word.start()
        if size > room:
            *whole, rest = _cut_characters(word.group(), room, sizes)
            for piece in whole:
                yield text[before:start], piece
                start += len(piece)
                before = start
            size = sizes.of(rest)
        end, held = word.end(), held + size
    if end > start:
        yield text[before:start], text[start:end]


def _cut_characters(word: str, room: int, sizes: Sizes) -> list[str]:
    pieces = []
    window = (room + 1) * CHARACTERS_PER_TOKEN_AT_MOST
    start = 0
    while start < len(word):
        ahead = word[start : start + window]
        length = len(ahead)
        while length > 1 and (size := sizes.of(ahead[:length])) > room:
            length = max(1, min(length - 1, length * room // size))
        length = _between_characters(ahead, length)
        pieces.append(ahead[:length])
        start += length
    return pieces


def _between_characters(word: str, length: int) -> int:
    """Move a cut to the left of combining marks and joiners, so that no visible character is torn."""
    at = length
    while 0 < at < len(word) and (
        unicodedata.combining(word[at]) or word[at] in "\u200d\ufe0f" or word[at - 1] == "\u200d"
    ):
        at -= 1
    return at or length
