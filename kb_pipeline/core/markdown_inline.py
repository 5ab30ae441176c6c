"""The run of inline text that becomes one paragraph, heading or cell: white space, escapes, emphasis, links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

# Invisible characters that split words: soft hyphen, zero-width space, word joiner, BOM, and C0/C1 controls.
_INVISIBLE: Final = re.compile("[\u00ad\u200b\u2060\ufeff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]+")
# Only what Markdown would read as syntax: an underscore within a word, say, stays as it is.
_SYNTAX: Final = re.compile(
    r"[*`]|\\(?=[!-/:-@\[-`{-~])|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w{1,32};)|\[(?=[^\[\]]{0,200}\]\()|~(?=~)"
)
_SYNTAX_SIGNS: Final = "*`\\_<&[~"
"""What every syntax begins with: to look for each of these takes a fraction of looking for syntax."""
# The last one defines what a link refers to, and would show nothing.
_LINE_START: Final = re.compile(
    r"^(?:#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+$|-{2,}$|~{3,}|:(?=\s)|\[(?:[^\[\]\\]|\\.)*+(?:\]:|$))"
)
_MAY_BE_LINE_START: Final = frozenset("#-+>=~:[")
_NUMBER_START: Final = re.compile(r"(\d{1,9})[.)](?=\s|$)")
# A line break in the source between two letters of a script without spaces is none (CSS Text 3, 4.1.3).
_WIDE: Final = "[\u2e80-\u303f\u3041-\u30ff\u3400-\u9fff\uff00-\uff60]"
_WIDE_BREAK: Final = re.compile(rf"(?<={_WIDE})[ \t]*[\r\n]\s*(?={_WIDE})")
HARD_BREAK: Final = "  \n"


def clean(text: str) -> str:
    """Drop invisible characters; white space is the caller's."""
    return text if text.isprintable() else _INVISIBLE.sub("", text)


def escape(text: str) -> str:
    """Escape what Markdown would take for inline syntax."""
    for sign in _SYNTAX_SIGNS:
        if sign in text:
            return _SYNTAX.sub(r"\\\g<0>", text)
    return text


def escape_line_start(line: str) -> str:
    """Escape what Markdown would take for the start of a block."""
    first = line[:1]
    if first in _MAY_BE_LINE_START and _LINE_START.match(line):
        return f"\\{line}"
    number = _NUMBER_START.match(line) if first.isdigit() else None
    return line if number is None else f"{number[1]}\\{line[number.end(1) :]}"


def code_span(text: str) -> str:
    """A code span (CommonMark 0.31 §6.1) around one line of text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def destination(url: str) -> str:
    """A link destination (CommonMark 0.31 §6.3) that parentheses cannot end early."""
    return f"<{url}>" if "(" in url or ")" in url else url


@dataclass(slots=True)
class InlineText:
    """Collects inline pieces. `visible` counts what a reader sees: no syntax, white space collapsed."""

    visible: int = 0
    generation: int = 0
    """Raised by each `take`: a mark of an earlier generation no longer points anywhere."""
    parts: list[str] = field(default_factory=list)
    """What was collected,"""
    space: bool = False
    """and whether a blank follows it."""
    _begun: bool = False

    def text(self, raw: str, most: int) -> None:
        """Add text as the page has it; after `most` visible characters no more is taken."""
        if self.visible > most:
            return
        if raw.isspace():
            self.space = True
            return
        if len(raw) > 2 * most:
            raw = raw[: 2 * most]
        collapsed = " ".join(raw.split())
        if not collapsed.isascii() and ("\n" in raw or "\r" in raw):
            raw = _WIDE_BREAK.sub("", raw)
            collapsed = " ".join(raw.split())
        if not collapsed.isprintable():
            raw = clean(raw)
            collapsed = " ".join(raw.split())
        if not collapsed:
            self.space = self.space or bool(raw)
            return
        if self.space or raw[0].isspace():
            self.space = True
            self._make_space()
        self.parts.append(escape(collapsed))
        self._begun = True
        self.visible += len(collapsed)
        self.space = raw[-1].isspace()

    def code(self, text: str, *, exact: bool = False) -> None:
        """Add a code span, its white space collapsed unless it is to stay `exact`."""
        collapsed = clean(text).rstrip() if exact else " ".join(clean(text).split())
        if collapsed:
            self._make_space()
            self.parts.append(code_span(collapsed))
            self._begun = True
            self.visible += len(collapsed)

    def syntax(self, written: str) -> None:
        """Add something that is seen but not counted, such as an image."""
        self._make_space()
        self.parts.append(written)
        self._begun = True

    def break_line(self, written: str) -> None:
        """Add a line or cell break, unless nothing stands before it."""
        if self._begun and self.parts[-1] != written:
            self.parts.append(written)
        self.space = False

    def open(self) -> tuple[int, int]:
        """Remember this place, to put a mark-up's beginning here once its end is known."""
        self._make_space()
        self.parts.append("")
        return self.generation, len(self.parts) - 1

    def close(self, mark: tuple[int, int], before: str, after: str) -> None:
        """Put mark-up around all that came since `mark`, blanks left outside; nothing came, nothing is put."""
        generation, start = mark
        if generation != self.generation or not "".join(self.parts[start + 1 :]).strip():
            return
        first = next(place for place in range(start + 1, len(self.parts)) if self.parts[place].strip())
        blank = any(self.parts[start + 1 : first])
        if blank and start and self.parts[start - 1].endswith((" ", "\n")):
            blank = False
            self.visible -= 1
        self.parts[start:first] = [*[""] * (first - start - 1), f" {before}" if blank else before]
        self.parts.append(after)

    def has_text(self) -> bool:
        """Whether anything was collected."""
        return self._begun

    def is_only(self, texts: AbstractSet[str]) -> bool:
        """Whether all that was collected is one of `texts`; if so, it is dropped."""
        if not self._begun or "".join(self.parts).strip().lower() not in texts:
            return False
        self.take()
        return True

    def ends_with(self, written: str) -> bool:
        """Whether `written` is the last thing that was added."""
        return bool(self.parts) and self.parts[-1] == written

    def take(self) -> tuple[str, int]:
        """Return what was collected and its visible length, and begin anew."""
        if not self.parts:
            self.space = False
            return "", 0
        joined = "".join(self.parts)
        # A blank before a link without text was counted, and nobody sees it.
        visible = self.visible - (len(joined) - len(joined.rstrip(" ")))
        written = joined.strip()
        self.parts = []
        self.visible = 0
        self.space = self._begun = False
        self.generation += 1
        return written, visible

    def _make_space(self) -> None:
        if self.space and self._begun and not self.parts[-1].endswith((" ", "\n")):
            self.parts.append(" ")
            self.visible += 1
        self.space = False
