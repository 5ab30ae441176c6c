"""Reads the structures back out of a page's Markdown, by a CommonMark parser: what was a table or code still is one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt

_READER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
_FORMULA = re.compile(r"\$\ue000(.*?)\ue001\$")
_UNMARKED = {0xE000: None, 0xE001: None}
"""Code is marked while a paragraph is read: a formula is code between dollar signs."""
_DEFINITION = "\n: "


@dataclass
class Structures:
    """What a reader of the Markdown finds, each kind in order."""

    headings: list = field(default_factory=list)
    """[level, text]"""
    code: list = field(default_factory=list)
    """[language, text]"""
    tables: list = field(default_factory=list)
    """rows of cells; a line break in a cell is one"""
    terms: list = field(default_factory=list)
    """[term, first paragraph of its definition]"""
    notes: list = field(default_factory=list)
    """all text of an outermost quote"""
    labels: list = field(default_factory=list)
    """paragraphs in bold outside of quotes: labels of tabs, summaries of what folds"""
    items: list = field(default_factory=list)
    """[depth, first paragraph]"""
    links: list = field(default_factory=list)
    """[text, address]"""
    images: list = field(default_factory=list)
    """[alternative text, address]"""
    math: list = field(default_factory=list)
    text: str = ""
    """All that is shown."""


def read_structures(markdown):
    found = Structures()
    reading = _Reading(found)
    for token in _READER.parse(markdown):
        reading.see(token)
    found.text = "\n".join(reading.shown)
    return found


class _Reading:
    def __init__(self, found):
        self.found = found
        self.shown = []
        self._quotes = self._lists = 0
        self._block = ""
        self._item_begins = False

    def see(self, token):
        handler = getattr(self, f"_{token.type}", None)
        if handler is not None:
            handler(token)

    def _blockquote_open(self, _token):
        self._quotes += 1
        if self._quotes == 1:
            self.found.notes.append("")

    def _blockquote_close(self, _token):
        self._quotes -= 1

    def _bullet_list_open(self, _token):
        self._lists += 1

    _ordered_list_open = _bullet_list_open

    def _bullet_list_close(self, _token):
        self._lists -= 1

    _ordered_list_close = _bullet_list_close

    def _list_item_open(self, _token):
        self._item_begins = True

    def _heading_open(self, token):
        self._block = token.tag

    def _paragraph_open(self, token):
        self._block = token.tag

    def _table_open(self, _token):
        self.found.tables.append([])

    def _tr_open(self, _token):
        self.found.tables[-1].append([])

    def _th_open(self, token):
        self._block = token.tag

    _td_open = _th_open

    def _fence(self, token):
        if token.info == "math":
            self.found.math.append(token.content.rstrip("\n"))
        else:
            self.found.code.append([token.info, token.content])
        self._show(token.content)

    def _inline(self, token):
        text = self._text_of(token.children or [])
        self.found.math += _FORMULA.findall(text)
        text = _FORMULA.sub(r"\1", text).translate(_UNMARKED)
        self._show(text)
        if self._block in {"th", "td"}:
            self.found.tables[-1][-1].append(text)
        elif self._block.startswith("h"):
            self.found.headings.append([int(self._block[1]), text])
        else:
            self._paragraph(token, text)

    def _paragraph(self, token, text):
        if self._item_begins and not self._quotes:
            self.found.items.append([self._lists, text])
        self._item_begins = False
        if _DEFINITION in text:
            term, _, definition = text.partition(_DEFINITION)
            self.found.terms.append([term, definition])
        elif not self._quotes and _is_bold(token.children or []):
            self.found.labels.append(text)

    def _text_of(self, tokens):
        pieces = []
        links = []
        for token in tokens:
            if token.type == "image":
                self.found.images.append([token.content, token.attrs["src"]])
            elif token.type == "link_open":
                links.append((len(pieces), token.attrs["href"]))
            elif token.type == "link_close":
                start, address = links.pop()
                self.found.links.append(["".join(pieces[start:]).translate(_UNMARKED), address])
            else:
                pieces.append(_piece(token))
        return "".join(pieces).strip()

    def _show(self, text):
        self.shown.append(text)
        if self._quotes and text:
            self.found.notes[-1] = f"{self.found.notes[-1]}\n{text}".strip("\n")


def _piece(token):
    if token.type in {"softbreak", "hardbreak"} or token.content == "<br>":
        return "\n"
    if token.type == "code_inline":
        return f"\ue000{token.content}\ue001"
    return token.content


def _is_bold(tokens):
    inside = 0
    for token in tokens:
        inside += {"strong_open": 1, "strong_close": -1}.get(token.type, 0)
        if not inside and token.type != "strong_close" and token.content.strip():
            return False
    return any(token.type == "strong_open" for token in tokens)
