"""Cuts a page's Markdown into chunks: passages small enough to embed, each with its place on the page."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.chunk_packing import Limits, Packed, pack, render
from kb_pipeline.core.chunk_pieces import PieceSizes, cut_into_pieces, open_entries
from kb_pipeline.core.chunk_units import Sizes, Unit, cut_into_units, cut_words
from kb_pipeline.core.fingerprints import fingerprint
from kb_pipeline.core.markdown_blocks import BlockKind, Heading, parse_blocks, parse_heading
from kb_pipeline.core.passage_kinds import page_kind, passage_kind
from kb_pipeline.core.plain import plain_text
from kb_pipeline.errors import ConfigError
from kb_pipeline.model import Chunk, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_pipeline.model import Text

CHUNKER_VERSION: Final = "2"
"""Raised with every change that gives other chunks for the same text."""

MAX_HEADING_CHARACTERS: Final = 300
"""Of a heading, in the paths of what stands under it. Its own text is in a chunk in full."""
MAX_ANCHOR_CHARACTERS: Final = 500
"""Of a fragment id: a longer one is none, and the section is linked to by that of the section above."""

_ASCII_LETTERS_PER_TOKEN: Final = 4.5
_MARKS_PER_TOKEN: Final = 0.7
_LETTERS = re.compile(r"[A-Za-z]+")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")


@dataclass(frozen=True, slots=True)
class ChunkOptions:
    """Sizes in tokens. `target + title + description + headings` and the model's two special tokens fit in
    `input_limit`, with a few to spare for tokenizers that count a joint differently from its sides."""

    target: int = 350
    overlap: int = 40
    section: int = 80
    """A heading starts a new chunk once the current one holds this much."""
    title: int = 40
    description: int = 80
    headings: int = 36
    piece: int = 110
    """A piece of a chunk, which is embedded by itself, holds at most this much,"""
    paragraph: int = 40
    """and from this much on ends with a paragraph, row or entry."""
    input_limit: int = 512

    def __post_init__(self) -> None:
        if self.target + self.title + self.description + self.headings + 2 > self.input_limit:
            message = f"chunk sizes add up to more than the model reads: {self}"
            raise ConfigError(message)
        if not 0 <= self.overlap * 3 < self.target or not 0 < self.section <= self.target:
            message = f"chunk overlap must be under a third of the target, and section within it: {self}"
            raise ConfigError(message)

    def as_recipe(self) -> dict[str, object]:
        """For a Recipe: whatever changes the chunks of a text."""
        return dict(asdict(self))


def estimate_tokens(text: str) -> int:
    """Tokens of `text` without a tokenizer: 4.5 ASCII letters, 0.7 punctuation marks or 1 other character each."""
    letters = sum(len(run) for run in _LETTERS.findall(text))
    marks = sum(len(run) for run in _MARKS.findall(text))
    blanks = sum(map(str.isspace, text))
    others = len(text) - letters - marks - blanks
    return math.ceil(letters / _ASCII_LETTERS_PER_TOKEN + marks / _MARKS_PER_TOKEN + others)


def embedding_input(context: str, text: str) -> str:
    """What the model reads for a chunk: its context, then its text without Markdown syntax."""
    return f"{context}\n{plain_text(text)}".strip()


def chunk(text: Text, count_tokens: Callable[[str], int], options: ChunkOptions | None = None) -> list[Chunk]:
    """Cut `text.markdown` into chunks of about `options.target` tokens, in reading order; none for an empty text.

    `count_tokens` counts without special tokens. Every word of the text is in a chunk, no sentence, fence, table row
    or line is divided unless it is larger than a chunk, and no embedding input is longer than `options.input_limit`.
    How far an edit reaches is said in `chunk_packing.pack`; a heading is part of the context of what stands under
    it, the title and the description of all.
    """
    page = _Page(text, count_tokens, options or ChunkOptions())
    return [page.chunk(ordinal, made) for ordinal, made in enumerate(_fitting(page))]


@dataclass(frozen=True, slots=True)
class _Made:
    packed: Packed
    text: str
    places: Sequence[tuple[int, int]]
    """Where in the text each unit stands."""
    tokens: int


def _fitting(page: _Page) -> list[_Made]:
    """Pack the page, and again with less in a chunk while one is over the limit: only a tokenizer that counts a
    joined text higher than its parts makes that necessary."""
    most, least = page.options.target, page.options.section
    target = most
    while True:
        made = page.packed(target)
        over = max((chunk.tokens for chunk in made), default=0) - most
        if over <= 0 or target <= least:
            return made
        target = max(least, target - max(over, target // 10))


class _Page:
    """One page while it is cut: its headings, and the contexts they give."""

    def __init__(self, text: Text, count_tokens: Callable[[str], int], options: ChunkOptions) -> None:
        self._count_tokens = count_tokens
        self.options = options
        self._blocks = parse_blocks(text.markdown)
        self._entries = open_entries(self._blocks)
        self._kind = page_kind(text.title, self._blocks)
        self._paths, self._anchors = _outline(text, self._blocks_headings())
        self._title = self._trimmed(text.title, options.title)
        self._about = "\n".join(filter(None, (self._title, self._trimmed(text.description, options.description))))

    def _blocks_headings(self) -> list[Heading]:
        lines = (block.lines[0] for block in self._blocks if block.kind is BlockKind.HEADING)
        return [heading for line in lines if (heading := parse_heading(line))]

    def packed(self, target: int) -> list[_Made]:
        """The page's chunks of at most `target` tokens by the sum of their units."""
        options = self.options
        units = cut_into_units(self._blocks, Sizes(self._count_tokens, target, target - options.overlap))
        headings = ["\n".join(path) for path in self._paths[1:]]
        made = []
        for chunk in pack(units, headings, Limits(target, options.overlap, options.section)):
            text, places = chunk.render()
            made.append(_Made(chunk, text, places, self._count_tokens(text)))
        return made

    def chunk(self, ordinal: int, made: _Made) -> Chunk:
        """The finished chunk. It stands where its first words do that are its own and no heading."""
        own = made.packed.own
        content = _content(own)
        path = self._paths[content.heading]
        pieces = self._pieces(made)
        return Chunk(
            ordinal=ordinal,
            text=made.text,
            heading_path=path,
            anchor=self._anchors[content.heading],
            tokens=made.tokens,
            context=self._context(own[0], self._about),
            kind=passage_kind(self._kind, path, made.text),
            pieces=pieces,
            hash=fingerprint(*(piece.reads for piece in pieces)),
        )

    def _pieces(self, made: _Made) -> tuple[Piece, ...]:
        """What is embedded of a chunk. The description goes before the first piece alone: before each it would make
        all of a page alike."""
        places = made.places
        at = len(made.packed.carried)
        pieces = []
        about = self._about
        for units in cut_into_pieces(made.packed.own, PieceSizes(self.options.piece, self.options.paragraph)):
            content = _content(units)
            pieces.append(
                Piece(
                    start=places[at][0],
                    end=places[at + len(units) - 1][1],
                    tokens=units[0].frame_tokens + sum(unit.tokens for unit in units),
                    heading_path=self._paths[content.heading],
                    anchor=self._anchors[content.heading],
                    reads=embedding_input(self._context(units[0], about), render(units)[0]),
                )
            )
            at += len(units)
            about = self._title
        return tuple(pieces)

    def _context(self, first: Unit, about: str) -> str:
        """What goes before a text: `about` the page, and the headings and terms it stands under but does not show."""
        path = self._paths[first.heading]
        if first.kind is BlockKind.HEADING:
            path = path[:-1]
        if path and path[0] == self._title:
            path = path[1:]
        return "\n".join(filter(None, (about, self._shortened((*path, *self._entries[first.block])))))

    def _shortened(self, path: Sequence[str]) -> str:
        """The path in as many tokens as it may have; the outer headings go first."""
        # Each takes a token at least: entries nested by the hundred would be counted again and again.
        path = path[-self.options.headings :]
        while len(path) > 1 and self._count_tokens(" > ".join(path)) > self.options.headings:
            path = path[1:]
        return self._trimmed(" > ".join(path), self.options.headings)

    def _trimmed(self, text: str, most: int) -> str:
        text = " ".join(text.split())
        sizes = Sizes(self._count_tokens, most, most)
        if sizes.of(text) <= most:
            return text
        return next(cut_words(text, most, sizes))[1]


def _content(units: Sequence[Unit]) -> Unit:
    """The first unit that is no heading, or the last heading."""
    return next((unit for unit in units if unit.kind is not BlockKind.HEADING), units[-1])


def _outline(text: Text, headings: Sequence[Heading]) -> tuple[list[tuple[str, ...]], list[str | None]]:
    """For each number of headings passed (0: none yet), the path of headings in force and the anchor nearest to it."""
    anchor_of = {number: anchor for number, anchor in text.anchors if len(anchor) <= MAX_ANCHOR_CHARACTERS}
    paths: list[tuple[str, ...]] = [()]
    anchors: list[str | None] = [None]
    open_headings: list[tuple[int, str, str | None]] = []
    for number, heading in enumerate(headings):
        while open_headings and open_headings[-1][0] >= heading.level:
            open_headings.pop()
        inherited = open_headings[-1][2] if open_headings else None
        open_headings.append((heading.level, _named(heading), anchor_of.get(number, inherited)))
        paths.append(tuple(shown for _, shown, _ in open_headings if shown))
        anchors.append(open_headings[-1][2])
    return paths, anchors


def _named(heading: Heading) -> str:
    """What a heading is called in paths. Each chunk and piece under it repeats that: a heading as large as its page
    would make hundreds of pages of it."""
    name = plain_text(heading.text)
    return name if len(name) <= MAX_HEADING_CHARACTERS else name[:MAX_HEADING_CHARACTERS].rstrip()
