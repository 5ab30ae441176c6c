"""Markdown, as core.extract writes it, to the text a reader sees: for full-text search, for embedding and for quoting.
Code is left exactly as it is, identifiers with their underscores included."""

from __future__ import annotations

import re
from typing import Final

from kb_pipeline.core.markdown_blocks import Block, BlockKind, parse_blocks, parse_heading

_MARKER = re.compile(
    r"^[ \t]*+(?:>[ \t]?)*+[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?(?:\[[ xX]\][ \t]++)?", re.MULTILINE
)
_NUMBER = re.compile(r"\d{1,9}[.)]")
_RULE = re.compile(r"^[ \t>]*+(?:(?:\*[ \t]*+){3,}|(?:-[ \t]*+){3,}|(?:_[ \t]*+){3,})$", re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]\\]|\\.|\[[^\[\]]*+\])*+)\]\((?:[^()\n]|\([^()\n]*+\))*+\)")
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]*+:[^<>\s]++)>", re.IGNORECASE)
_STRONG = re.compile(r"(?<!\\)(\*\*|~~)(?=\S)((?:(?!\1).)++)(?<=\S)(?<!\\)\1")
_STRONG_UNDERSCORES = re.compile(r"(?<![\w\\])__(?=\S)((?:(?!__).)++)(?<=\S)(?<!\\)__(?!\w)")
_STARS = re.compile(r"(?<![\\*])\*(?=[^\s*])([^*\n]*[^\s*\\])\*(?!\*)")
_UNDERSCORES = re.compile(r"(?<![\w\\])_(?=[^\s_])([^_\n]*[^\s_\\])_(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}+|\\)$", re.MULTILINE)
_LINE_BREAK_TAG = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ASIDE = re.compile("\ue000([0-9]+)\ue001")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_LINKS_DEEP: Final = 2
"""A linked image is a link in a link."""


def plain_text(markdown: str) -> str:
    """The words of `markdown`, a block a paragraph, table cells separated by tabs, code unchanged."""
    parts: list[str] = []
    for block in parse_blocks(markdown):
        shown = _block_text(block)
        if shown.strip():
            parts.extend((block.gap if parts else "", shown))
    return "".join(parts)


def _block_text(block: Block) -> str:
    if block.kind is BlockKind.FENCE:
        return "\n".join(block.lines)
    if block.kind is BlockKind.TABLE:
        return "\n".join(_row_text(row) for row in (block.lead.split("\n")[0], *block.lines))
    if block.kind is BlockKind.HEADING:
        heading = parse_heading(block.lines[0])
        return _inline(heading.text) if heading else ""
    text = _RULE.sub("", "\n".join(block.lines))
    return _inline(_MARKER.sub(_kept_number, text))


def _kept_number(marker: re.Match[str]) -> str:
    """The number of an ordered item stays: steps are told apart by it."""
    number = _NUMBER.search(marker.group())
    return f"{number.group()} " if number else ""


def _row_text(row: str) -> str:
    cells = _CELL_BORDER.split(row.strip().lstrip("> ").removeprefix("|").removesuffix("|"))
    return "\t".join(_inline(cell.strip().replace("\\|", "|")) for cell in cells)


def _inline(text: str) -> str:
    """Without inline syntax. Code spans are put aside meanwhile: a link may hold one, and nothing in it changes."""
    codes: list[str] = []

    def aside(code: re.Match[str]) -> str:
        codes.append(code.group(2).strip() or code.group(2))
        return f"\ue000{len(codes) - 1}\ue001"

    if "`" not in text:
        return _prose(text)
    prose = _prose(_CODE.sub(aside, text.replace("\ue000", "")))
    return _ASIDE.sub(lambda place: codes[int(place.group(1))], prose)


def _prose(text: str) -> str:
    """Most texts have little syntax: each pattern is tried only where its first character occurs."""
    if "](" in text:
        for _ in range(_LINKS_DEEP):
            text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _LINE_BREAK_TAG.sub("\n", _AUTOLINK.sub(r"\1", text))
    if "\n" in text:
        text = _HARD_BREAK.sub("", text)
    if "**" in text or "~~" in text:
        text = _STRONG.sub(r"\2", _STRONG.sub(r"\2", text))
    if "__" in text:
        text = _STRONG_UNDERSCORES.sub(r"\1", text)
    if "*" in text:
        text = _STARS.sub(r"\1", text)
    if "_" in text:
        text = _UNDERSCORES.sub(r"\1", text)
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text
