"""Runs of a PDF page → segments: stretches of one row of text that no gap, ruled line or column parts."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kb_pipeline.core.pdf_runs import Rule, Run

ASCENT: Final = 0.75
"""Ems above the base line that letters take, about."""
DESCENT: Final = 0.25
_SAME_ROW: Final = 0.5
_ROWS_BACK: Final = 3
_COLUMN_GAP: Final = 1.0
"""Ems: a gap this wide within a row may be one between columns. Justified lines hardly have such."""
_RAISED: Final = 0.15
_SMALLER: Final = 0.8
_SUPERSCRIPTS: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_FORMS: Final = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
"""Ligatures and presentation forms: glyphs of a font, not letters of the text."""
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LEFT_TO_RIGHT_RUN: Final = re.compile(
    r"[%$\u20ac\u00b0]?[0-9A-Za-z\u00c0-\u024f](?:[^\u0590-\u08ff()\[\]]*[0-9A-Za-z\u00c0-\u024f])?[%$\u20ac]?"
)
"""Latin words and numbers within such text, without the brackets around them (Unicode Annex 9, roughly)."""
_MIRRORED: Final = str.maketrans("()[]{}<>«»", ")(][}{><»«")
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60\u3000-\u303f\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text with its box in points; `base` grows upwards. `table` holds the cells of a table, by rows."""

    text: str
    left: float
    right: float
    base: float
    size: float
    is_code: bool = False
    is_bold: bool = False
    table: tuple[tuple[str, ...], ...] = ()
    height: float = 0.0
    """Of a table; of text it follows from its size."""

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.base + (self.height or ASCENT * self.size)

    @property
    def low(self) -> float:
        """Lower edge."""
        return self.base - (0.0 if self.table else DESCENT * self.size)

    @property
    def width(self) -> float:
        """Of the box."""
        return self.right - self.left


def segments_of(runs: Iterable[Run], rules: Sequence[Rule]) -> list[Segment]:
    """Segments, from top to bottom and from left to right."""
    bars = sorted(((rule.left, rule.low, rule.high) for rule in rules if rule.is_vertical), key=lambda bar: bar[0])
    found: list[Segment] = []
    for row in _rows(runs):
        piece: list[Run] = []
        for run in sorted(row, key=lambda run: run.left):
            if piece and _is_drawn_twice(piece[-1], run):
                continue
            if piece and (run.left - piece[-1].right > _gap(piece[-1], run) or _barred(bars, piece[-1], run)):
                found.append(_segment(piece))
                piece = []
            piece.append(run)
        if piece:
            found.append(_segment(piece))
    return found


def _rows(runs: Iterable[Run]) -> list[list[Run]]:
    rows: list[list[Run]] = []
    largest: list[Run] = []
    for run in sorted(runs, key=lambda run: (-run.base, run.left)):
        for place in range(len(rows) - 1, max(-1, len(rows) - 1 - _ROWS_BACK), -1):
            if _beside(largest[place], run):
                rows[place].append(run)
                if run.size > largest[place].size:
                    largest[place] = run
                break
        else:
            rows.append([run])
            largest.append(run)
    return rows


def _beside(first: Run, second: Run) -> bool:
    top = min(first.base + ASCENT * first.size, second.base + ASCENT * second.size)
    low = max(first.base - DESCENT * first.size, second.base - DESCENT * second.size)
    return top - low >= _SAME_ROW * min(first.size, second.size)


def _is_drawn_twice(first: Run, second: Run) -> bool:
    """Bold letters are made so, and shadows."""
    near = max(first.size, second.size) * _RAISED
    return first.text == second.text and abs(first.left - second.left) < near and abs(first.base - second.base) < near


def _gap(first: Run, second: Run) -> float:
    # Code keeps its columns as they stand.
    return max(first.size, second.size) * (_COLUMN_GAP if not (first.is_code and second.is_code) else 12)


def _barred(bars: Sequence[tuple[float, float, float]], first: Run, second: Run) -> bool:
    """Whether a ruled line stands between two runs."""
    start = bisect_left(bars, (first.right - 1, 0.0, 0.0))
    for left, low, high in bars[start : start + 50]:
        if left > second.left + 1:
            return False
        if low <= first.base + first.size / 2 and high >= first.base:
            return True
    return False


def _segment(runs: Sequence[Run]) -> Segment:
    sizes: Counter[float] = Counter()
    for run in runs:
        sizes[run.size] += len(run.text.strip())
    size = sizes.most_common(1)[0][0]
    main = next(run for run in runs if run.size == size)
    written = [run for run in runs if run.text.strip()]
    is_code = all(run.is_code for run in written)
    text = _joined(runs, main)
    if not is_code:
        text = " ".join(logical(text).split())
    return Segment(
        text.rstrip().replace("\0", ""),
        runs[0].left,
        max(run.right for run in runs),
        main.base,
        size,
        is_code,
        all(run.is_bold for run in written),
    )


def _joined(runs: Sequence[Run], main: Run) -> str:
    text, end = "", runs[0].left
    for run in runs:
        if run.is_code and main.is_code and text:
            # A glyph of a typewriter face is .6 em wide.
            text += " " * round((run.left - end) / (0.6 * main.size))
        elif text and run.left - end > run.space / 2 and text[-1] != " ":
            text += " "
        is_raised = run.size < _SMALLER * main.size and run.base > main.base + _RAISED * main.size
        text += run.text.translate(_SUPERSCRIPTS) if is_raised and run.text.strip().isdigit() else run.text
        end = run.right
    return text


def logical(text: str) -> str:
    """A row as it stands, from left to right, in the order in which it is read; ligatures as letters."""
    if _RIGHT_TO_LEFT.search(text):
        mirrored = text[::-1].translate(_MIRRORED)
        text = _LEFT_TO_RIGHT_RUN.sub(lambda run: run[0].translate(_MIRRORED)[::-1], mirrored)
    return _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)


def is_right_to_left(segments: Iterable[Segment]) -> bool:
    """Whether most letters of a page are of scripts that are read so."""
    letters = turned = 0
    for segment in segments:
        letters += len(segment.text)
        turned += len(_RIGHT_TO_LEFT.findall(segment.text))
    return turned * 3 > letters


def glued(first: str, second: str) -> str:
    """Two pieces of a line or paragraph, with a space where the script has any."""
    if not first or not second:
        return first or second
    return first + second if _WIDE.match(first[-1]) and _WIDE.match(second) else f"{first} {second}"
