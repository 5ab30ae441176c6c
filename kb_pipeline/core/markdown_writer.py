"""Writes finished blocks as Markdown lines inside lists, quotes and definitions, up to a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kb_pipeline.core.markdown_inline import escape_line_start

MAX_NESTING: Final = 12
"""Containers inside containers that are drawn; deeper ones add no further indent."""
_ITEM_KINDS: Final = frozenset({"item", "definition"})
_PLAIN_KINDS: Final = frozenset({"paragraph", "term"})


@dataclass(slots=True)
class Container:
    """A list item, quote or definition: what its first line begins with, and what the others do."""

    kind: str
    first: str
    rest: str
    used: bool = False


@dataclass(slots=True)
class Blocks:
    """The Markdown so far. `limit` is in characters of Markdown; what does not fit sets `full`."""

    limit: int
    characters: int = 0
    """Visible characters written."""
    full: bool = False
    count: int = 0
    """Blocks written."""
    anchors: list[tuple[int, str]] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _size: int = 0
    _headings: int = 0
    _open: list[Container] = field(default_factory=list)
    _before: list[Container] = field(default_factory=list)
    _kind_before: str = ""

    def open(self, container: Container) -> None:
        """Enter a container: blocks written from here on stand inside it."""
        self._open.append(container)

    def close(self) -> None:
        """Leave the innermost container."""
        self._open.pop()

    @property
    def nested(self) -> bool:
        """Whether a list item, quote or definition is open."""
        return bool(self._open)

    def heading(self, level: int, text: str, visible: int, anchor: str | None) -> None:
        """Write an ATX heading, and note its anchor under the heading's ordinal."""
        if self._write("heading", [f"{'#' * level} {text}"], visible):
            if anchor:
                self.anchors.append((self._headings, anchor))
            self._headings += 1

    def paragraph(self, text: str, visible: int, kind: str = "paragraph") -> None:
        """Write a paragraph; hard line breaks are lines of their own."""
        self._write(kind, [escape_line_start(line) for line in text.split("\n")], visible)

    def table(self, rows: list[str], visible: int) -> None:
        """Write a table whose rows are lines already."""
        self._write("table", rows, visible)

    def fence(self, code: str, language: str) -> None:
        """Write a fenced code block (CommonMark 0.31 §4.5) that no line of the code can close."""
        ticks = "```"
        while ticks in code:
            ticks += "`"
        self._write("fence", [f"{ticks}{language}", *code.split("\n"), ticks], len(code))

    def markdown(self) -> str:
        """All of it, ending in a line break when there is any."""
        return "\n".join(self._lines) + "\n" if self._lines else ""

    def _write(self, kind: str, lines: list[str], visible: int) -> bool:
        if self.full or not lines:
            return False
        if self._open:
            written = self._indented(kind, lines)
        else:
            written = ["", *lines] if self._lines and (kind != "term" or self._kind_before != "term") else lines
        written, fits = self._fitting(written, kind)
        self._lines += written
        self.characters += visible if fits else min(visible, sum(map(len, written)))
        self.full = not fits
        self.count += 1
        for container in self._open:
            container.used = True
        self._before, self._kind_before = self._open[:], kind
        return bool(written)

    def _indented(self, kind: str, lines: list[str]) -> list[str]:
        """The lines as they stand in what is open, after a blank line where one is needed."""
        drawn = self._open[:MAX_NESTING]
        first = "".join([box.rest if box.used or self._unmarked(box, kind) else box.first for box in drawn])
        rest = "".join([box.rest for box in drawn])
        written = [f"{first}{lines[0]}" if lines[0] else first.rstrip()]
        written += [f"{rest}{line}" if line else rest.rstrip() for line in lines[1:]]
        if self._lines and self._needs_blank_line(kind):
            shared = "".join([box.rest for box in drawn if box.used and box in self._before])
            written.insert(0, shared.rstrip())
        return written

    def _unmarked(self, box: Container, kind: str) -> bool:
        """Whether a definition begins without its colon: after one, CommonMark reads a fence or list as text."""
        return box.kind == "definition" and not box.used and (kind not in _PLAIN_KINDS or box is not self._open[-1])

    def _needs_blank_line(self, kind: str) -> bool:
        if kind == "term":
            return self._kind_before != "term"
        depth = next((place for place, box in enumerate(self._open) if not box.used and box.kind in _ITEM_KINDS), -1)
        if depth < 0 or any(self._unmarked(box, kind) for box in self._open):
            return True
        if len(self._before) > depth and self._before[depth].kind != self._open[depth].kind:
            return True
        return not (self._kind_before == "term" or any(box.kind in _ITEM_KINDS for box in self._before))

    def _fitting(self, lines: list[str], kind: str) -> tuple[list[str], bool]:
        """As many lines as fit; the last of a paragraph is cut, a fence is closed."""
        size = sum(map(len, lines)) + len(lines)
        if self._size + size <= self.limit:
            self._size += size
            return lines, True
        kept: list[str] = []
        for line in lines:
            room = self.limit - self._size
            if len(line) + 1 > room:
                if kind in {"paragraph", "heading", "fence"} and room > 1:
                    kept.append(line[: room - 1])
                break
            kept.append(line)
            self._size += len(line) + 1
        if kind == "fence" and len(kept) > 1:
            kept.append(lines[-1])
        return kept, False
