"""Splits Markdown, as core.extract writes it, into blocks: headings, fences, tables and running text.

Only what chunking must know is recognised; nesting (a fence in a list item, a table in a quote) is carried along as
a line prefix. This is no renderer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Possessive throughout: a hostile line of blanks must cost one pass, not its square.
_QUOTE: Final = r"[ \t]*+(?:>[ \t]?)*+[ \t]*+"
_MARKER: Final = r"(?:[-*+]|\d{1,9}[.)])"
_MARKERS = re.compile(rf"{_MARKER}(?=[ \t])")
_HASHES = re.compile(r"#{1,6}(?=[ \t]|$)")
_FENCE_OPEN = re.compile(
    rf"(?P<prefix>{_QUOTE}(?:{_MARKER}[ \t]++)*+)(?P<fence>`{{3,}}+(?=[^`]*+$)|~{{3,}}+)(?P<info>.*)"
)
_LIST_ITEM = re.compile(rf"{_QUOTE}{_MARKER}[ \t]++\S")
_DELIMITER_ROW = re.compile(r"\|?:?-++:?(?:\|:?-++:?)*+\|?")


class BlockKind(StrEnum):
    """What a block is, as far as cutting it is concerned."""

    HEADING = "heading"
    TEXT = "text"
    """A paragraph, one list item, or lines of a quote."""
    TABLE = "table"
    FENCE = "fence"


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines of one kind."""

    kind: BlockKind
    lines: tuple[str, ...]
    """As written. Of a fence, without its opening and closing line; of a table, without its header."""
    gap: str
    """What separates it from the block before: one line end, or two where a blank line stood."""
    lead: str = ""
    """The fence's opening line, or the table's header row and delimiter row."""
    again: str = ""
    """`lead` as it is repeated over a later part of the block: without the marker of a list item it opened."""
    tail: str = ""
    """The fence's closing line."""


@dataclass(frozen=True, slots=True)
class Heading:
    """An ATX heading."""

    level: int
    text: str


def parse_heading(line: str) -> Heading | None:
    """Read `line` as an ATX heading (CommonMark 4.2) at the start of the line, or return None."""
    hashes = _HASHES.match(line)
    if not hashes:
        return None
    text = line[hashes.end() :].strip()
    unclosed = text.rstrip("#")
    if not unclosed or unclosed[-1].isspace():
        text = unclosed.rstrip()
    return Heading(hashes.end(), text)


def parse_blocks(markdown: str) -> list[Block]:
    """Split `markdown` into blocks, in order; every line that is not blank is in exactly one of them."""
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return list(_scan(lines))


def _scan(lines: Sequence[str]) -> Iterator[Block]:
    at, gap = 0, ""
    while at < len(lines):
        if not lines[at].strip():
            gap = "\n\n" if gap else ""
            at += 1
            continue
        block, at = _block_at(lines, at, gap)
        yield block
        gap = "\n"


def _block_at(lines: Sequence[str], at: int, gap: str) -> tuple[Block, int]:
    """The block that starts at line `at`, which is not blank, and the line after it."""
    line = lines[at]
    if parse_heading(line):
        return Block(BlockKind.HEADING, (line,), gap), at + 1
    opening = _FENCE_OPEN.match(line)
    if opening:
        return _fence_at(lines, at, gap, opening)
    if _starts_table(lines, at):
        end = at + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        header = "\n".join(lines[at : at + 2])
        return Block(BlockKind.TABLE, tuple(lines[at + 2 : end]), gap, header, header), end
    end = at + 1
    while end < len(lines) and not _starts_block(lines, end):
        end += 1
    return Block(BlockKind.TEXT, tuple(lines[at:end]), gap), end


def _fence_at(lines: Sequence[str], at: int, gap: str, opening: re.Match[str]) -> tuple[Block, int]:
    """A fence ends at a closing line at least as long as the opening one, or with what it is in (CommonMark 4.5)."""
    fence, prefix = opening.group("fence"), opening.group("prefix")
    quoted = ">" in prefix
    closing = re.compile(rf"{_QUOTE}{re.escape(fence[0])}{{{len(fence)},}}+[ \t]*+$")
    end = at + 1
    while end < len(lines) and not closing.match(lines[end]) and (not quoted or lines[end].lstrip().startswith(">")):
        end += 1
    closed = end < len(lines) and closing.match(lines[end]) is not None
    prefix = _MARKERS.sub(lambda marker: " " * len(marker.group()), prefix)
    block = Block(
        BlockKind.FENCE,
        tuple(lines[at + 1 : end]),
        gap,
        lead=lines[at],
        again=prefix + fence + opening.group("info"),
        tail=lines[end] if closed else prefix + fence,
    )
    return block, end + 1 if closed else end


def _starts_table(lines: Sequence[str], at: int) -> bool:
    if "|" not in lines[at] or at + 1 == len(lines) or "|" not in lines[at + 1]:
        return False
    return _DELIMITER_ROW.fullmatch(lines[at + 1].lstrip("> \t").replace(" ", "").rstrip()) is not None


def _starts_block(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    return (
        not line.strip()
        or parse_heading(line) is not None
        or _FENCE_OPEN.match(line) is not None
        or _LIST_ITEM.match(line) is not None
        or _starts_table(lines, at)
    )
