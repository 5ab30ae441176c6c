"""A PDF page's content streams → runs of text and ruled lines with their places (ISO 32000-2 §8, §9). No layout."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.pdf_fonts import Fonts, PdfFont

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Final[Matrix] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_OPERATIONS_BETWEEN_CLOCK_READINGS: Final = 256
_MOST_RUNS: Final = 100_000
"""Runs of one page; with a glyph each they are far more than a page has."""
_MOST_CHARACTERS: Final = 400_000
"""Characters of one page; one code may stand for many, and a stream may have millions."""
_MOST_CODES: Final = 2**16
"""Bytes of one string that are read."""
_MOST_RULES: Final = 2_000
_DEEPEST: Final = 12
"""Forms within forms that are read."""
_MOST_STATES: Final = 500
_THIN: Final = 2.5
"""Points: a filled rectangle no thicker than this is a ruled line."""
_SPLIT: Final = 0.9
"""Ems: a move within one operation that wide begins another run."""
_SPACES: Final = 3
"""As many spaces in a row set columns apart, except in a typewriter face."""


class OutOfTimeError(Exception):
    """The time for one PDF is used up."""


@dataclass(frozen=True, slots=True)
class Run:
    """Text that was drawn in one go, in points, in a frame that is turned so that the text is upright; `base` grows
    upwards. `quarter` counts the quarter turns of the frame."""

    text: str
    left: float
    right: float
    base: float
    size: float
    space: float
    is_code: bool = False
    is_bold: bool = False
    quarter: int = 0
    is_artifact: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A line that is drawn across or down the page, in points."""

    left: float
    right: float
    low: float
    high: float

    @property
    def is_vertical(self) -> bool:
        """Whether it runs down the page."""
        return self.high - self.low > self.right - self.left


@dataclass(slots=True)
class _State:
    matrix: Matrix = _IDENTITY
    font: PdfFont | None = None
    size: float = 0.0
    character_space: float = 0.0
    word_space: float = 0.0
    stretch: float = 1.0
    leading: float = 0.0
    rise: float = 0.0


@dataclass(slots=True)
class PageRuns:
    """What one page draws. Raises OutOfTimeError when `deadline` (monotonic seconds) passes."""

    fonts: Fonts
    deadline: float
    runs: list[Run] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    characters: int = 0
    _operations: int = 0

    def read(self, content: Any, resources: Any, matrix: Matrix = _IDENTITY, depth: int = 0) -> None:
        """Read a content stream with its resources."""
        stream = _Stream(self, resources, self.fonts.of(resources), _State(matrix), depth)
        for operands, operator in content.operations:
            self._operations += 1
            if self._operations % _OPERATIONS_BETWEEN_CLOCK_READINGS == 0 and time.monotonic() > self.deadline:
                raise OutOfTimeError
            if len(self.runs) > _MOST_RUNS or self.characters > _MOST_CHARACTERS:
                return
            handler = _HANDLERS.get(operator)
            if handler is not None:
                try:
                    handler(stream, operands)
                except (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError):
                    # An operation with wrong operands is left out (as viewers do); the others count.
                    continue


@dataclass(slots=True)
class _Stream:
    page: PageRuns
    resources: Any
    fonts: dict[str, PdfFont]
    state: _State
    depth: int
    text: Matrix = _IDENTITY
    line: Matrix = _IDENTITY
    saved: list[_State] = field(default_factory=list)
    marks: list[bool] = field(default_factory=list)
    path: list[tuple[float, float, float, float]] = field(default_factory=list)
    point: tuple[float, float] = (0.0, 0.0)

    def save(self, _: Sequence[Any]) -> None:
        if len(self.saved) < _MOST_STATES:
            self.saved.append(replace(self.state))

    def restore(self, _: Sequence[Any]) -> None:
        if self.saved:
            self.state = self.saved.pop()

    def transform(self, operands: Sequence[Any]) -> None:
        self.state.matrix = times(_matrix(operands), self.state.matrix)

    def begin(self, _: Sequence[Any]) -> None:
        self.text = self.line = _IDENTITY

    def set_font(self, operands: Sequence[Any]) -> None:
        self.state.font = self.fonts.get(operands[0])
        self.state.size = float(operands[1])

    def move(self, operands: Sequence[Any]) -> None:
        self.text = self.line = times((1, 0, 0, 1, float(operands[0]), float(operands[1])), self.line)

    def move_and_lead(self, operands: Sequence[Any]) -> None:
        self.state.leading = -float(operands[1])
        self.move(operands)

    def place(self, operands: Sequence[Any]) -> None:
        self.text = self.line = _matrix(operands)

    def next_line(self, _: Sequence[Any]) -> None:
        self.move((0, -self.state.leading))

    def show(self, operands: Sequence[Any]) -> None:
        self.show_all(([operands[0]],))

    def show_next(self, operands: Sequence[Any]) -> None:
        self.next_line(())
        self.show(operands)

    def show_spaced(self, operands: Sequence[Any]) -> None:
        self.state.word_space, self.state.character_space = float(operands[0]), float(operands[1])
        self.show_next(operands[2:])

    def show_all(self, operands: Sequence[Any]) -> None:
        """The strings and moves of one operation: one run, except where it leaves wide gaps."""
        state = self.state
        if state.font is None or not state.size:
            return
        pen = _Pen(state, state.font)
        for item in operands[0]:
            if isinstance(item, str | bytes):
                if self.page.characters > _MOST_CHARACTERS:
                    break
                self.page.characters += pen.write(item[:_MOST_CODES], _MOST_CHARACTERS - self.page.characters)
            else:
                pen.skip(-float(item) / 1000 * state.size * state.stretch)
        pen.end()
        for text, start, end in pen.pieces:
            self._add(text, start, end)
        self.text = times((1, 0, 0, 1, pen.at, 0), self.text)

    def _add(self, text: str, start: float, end: float) -> None:
        state = self.state
        matrix = times((1, 0, 0, 1, 0, state.rise), times(self.text, state.matrix))
        assert state.font is not None
        quarter = round(math.atan2(matrix[1], matrix[0]) / (math.pi / 2)) % 4
        first, last = _at(matrix, start), _at(matrix, end)
        left, base = turned(*first, quarter)
        right, _ = turned(*last, quarter)
        size = round(abs(state.size) * math.hypot(matrix[2], matrix[3]) * 2) / 2
        if not all(map(math.isfinite, (left, right, base, size))):
            return
        font = state.font
        self.page.runs.append(
            Run(text, min(left, right), max(left, right), base, size, font.space * size, font.is_code, font.is_bold,
                quarter, any(self.marks))
        )  # fmt: skip

    def draw(self, operands: Sequence[Any]) -> None:
        """A form is a content stream of its own; one that draws itself ends at a depth."""
        form = self.resources["/XObject"].get_object()[operands[0]].get_object()
        if form.get("/Subtype") != "/Form" or self.depth >= _DEEPEST:
            return
        from pypdf.errors import PyPdfError  # noqa: PLC0415 - slow to import
        from pypdf.generic import ContentStream  # noqa: PLC0415

        if time.monotonic() > self.page.deadline:
            raise OutOfTimeError
        matrix = times(_matrix(form.get("/Matrix", _IDENTITY)), self.state.matrix)
        resources = form["/Resources"].get_object() if "/Resources" in form else self.resources
        # A broken picture does not take the page's own text with it.
        with contextlib.suppress(PyPdfError):
            self.page.read(ContentStream(form, None, "bytes"), resources, matrix, self.depth + 1)

    def mark(self, operands: Sequence[Any]) -> None:
        """Running heads are marked as such in tagged files (ISO 32000-2 §14.8.2.2)."""
        if len(self.marks) < _MOST_STATES:
            about = operands[1] if len(operands) > 1 else {}
            is_running = isinstance(about, dict) and about.get("/Type") == "/Pagination"
            self.marks.append(operands[0] == "/Artifact" and is_running)

    def unmark(self, _: Sequence[Any]) -> None:
        if self.marks:
            self.marks.pop()

    def rectangle(self, operands: Sequence[Any]) -> None:
        x, y, width, height = map(float, operands[:4])
        self.path += [(x, y, x + width, y), (x, y + height, x + width, y + height)]
        self.path += [(x, y, x, y + height), (x + width, y, x + width, y + height)]

    def go_to(self, operands: Sequence[Any]) -> None:
        self.point = (float(operands[0]), float(operands[1]))

    def line_to(self, operands: Sequence[Any]) -> None:
        end = (float(operands[0]), float(operands[1]))
        self.path.append((*self.point, *end))
        self.point = end

    def stroke(self, _: Sequence[Any]) -> None:
        self._rule(self.path)

    def fill(self, _: Sequence[Any]) -> None:
        """Many programs draw a ruled line as a thin rectangle."""
        for start in range(0, len(self.path) - 3, 4):
            sides = self.path[start : start + 4]
            low, high = sides[0], sides[1]
            thin = min(abs(high[1] - low[1]), abs(low[2] - low[0]))
            if thin <= _THIN:
                self._rule(sides)
        self.path = []

    def forget(self, _: Sequence[Any]) -> None:
        self.path = []

    def _rule(self, lines: Sequence[tuple[float, float, float, float]]) -> None:
        for x0, y0, x1, y1 in lines[: _MOST_RULES - len(self.page.rules)]:
            (a, b), (c, d) = _at(self.state.matrix, x0, y0), _at(self.state.matrix, x1, y1)
            rule = Rule(min(a, c), max(a, c), min(b, d), max(b, d))
            if min(rule.right - rule.left, rule.high - rule.low) <= _THIN:
                self.page.rules.append(rule)
        self.path = []


@dataclass(slots=True)
class _Pen:
    """Where text goes within one operation, in units of the text matrix."""

    state: _State
    font: PdfFont
    at: float = 0.0
    start: float = 0.0
    end_of_text: float = 0.0
    text: list[str] = field(default_factory=list)
    pieces: list[tuple[str, float, float]] = field(default_factory=list)

    def write(self, shown: bytes | str, most: int) -> int:
        """Show a string, cut after so many characters; gives their number."""
        state, spaces, written = self.state, 0, 0
        for text, width, is_space in self.font.characters(shown):
            written += len(text)
            if written > most:
                break
            spaces = spaces + 1 if text == " " else 0
            if not self.text:
                self.start = self.at
            extra = state.character_space + (state.word_space if is_space else 0.0)
            self.at += (width * state.size + extra) * state.stretch
            if text == " " and not self.text and not self.font.is_code:
                continue
            self.text.append(text)
            if text != " ":
                self.end_of_text = self.at
            elif spaces == _SPACES and not self.font.is_code:
                self.end()
        return written

    def skip(self, width: float) -> None:
        self.at += width
        size = abs(self.state.size * self.state.stretch)
        if width > _SPLIT * size and not self.font.is_code:
            self.end()
        elif width > self.font.space * size / 2 and self.text and self.text[-1] != " ":
            self.text.append(" ")

    def end(self) -> None:
        text = "".join(self.text)
        if text.strip():
            self.pieces.append((text, self.start, self.end_of_text))
        self.text = []


def times(first: Matrix, second: Matrix) -> Matrix:
    """The product of two matrices, the first applied first."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def turned(x: float, y: float, quarter: int) -> tuple[float, float]:
    """A place in the frame in which text turned by so many quarters is upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[quarter]


def turned_rule(rule: Rule, quarter: int) -> Rule:
    """A ruled line in that frame."""
    (a, b), (c, d) = turned(rule.left, rule.low, quarter), turned(rule.right, rule.high, quarter)
    return Rule(min(a, c), max(a, c), min(b, d), max(b, d))


def _at(matrix: Matrix, x: float, y: float = 0.0) -> tuple[float, float]:
    return matrix[0] * x + matrix[2] * y + matrix[4], matrix[1] * x + matrix[3] * y + matrix[5]


def _matrix(operands: Sequence[Any]) -> Matrix:
    a, b, c, d, e, f = map(float, operands)
    return a, b, c, d, e, f


def _number(name: str, scale: float = 1.0) -> Any:
    def set_number(stream: _Stream, operands: Sequence[Any]) -> None:
        setattr(stream.state, name, float(operands[0]) * scale)

    return set_number


_HANDLERS: Final[dict[bytes, Any]] = {
    b"q": _Stream.save, b"Q": _Stream.restore, b"cm": _Stream.transform, b"Do": _Stream.draw,
    b"BT": _Stream.begin, b"Tf": _Stream.set_font, b"Td": _Stream.move, b"TD": _Stream.move_and_lead,
    b"Tm": _Stream.place, b"T*": _Stream.next_line, b"Tj": _Stream.show, b"TJ": _Stream.show_all,
    b"'": _Stream.show_next, b'"': _Stream.show_spaced, b"Tc": _number("character_space"),
    b"Tw": _number("word_space"), b"Tz": _number("stretch", 0.01), b"TL": _number("leading"),
    b"Ts": _number("rise"), b"BMC": _Stream.mark, b"BDC": _Stream.mark, b"EMC": _Stream.unmark,
    b"re": _Stream.rectangle, b"m": _Stream.go_to, b"l": _Stream.line_to, b"n": _Stream.forget,
    b"S": _Stream.stroke, b"s": _Stream.stroke, b"B": _Stream.stroke, b"B*": _Stream.stroke,
    b"b": _Stream.stroke, b"b*": _Stream.stroke, b"f": _Stream.fill, b"F": _Stream.fill, b"f*": _Stream.fill,
}  # fmt: skip
