"""PDF text beside pypdf's own `extract_text()`, on PDFs with known text, by kind of document."""

from __future__ import annotations

import argparse
import io
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypdf import PdfReader

from kb_pipeline.core.extract import extract
from kb_pipeline_tests.core.pdfs import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline_tests.core.pdfs import Sample

# A letter of a script without spaces is a word.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:[-.][^\W_]+)*")
PAGE_MARK = re.compile(r"^###### Page \d+$", re.MULTILINE)
HEADING = re.compile(r"^#{1,5} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Score:
    """Shares, 0 to 1; None where a kind has nothing of the sort."""

    words: float
    headings: float | None
    running: float | None
    cells: float | None
    exact: float | None
    """Stretches of Markdown: list items, code as it is indented, words with their own hyphens."""


def score(text: str, sample: Sample) -> Score:
    text = PAGE_MARK.sub("", text).replace("\\", "")
    found, wanted = WORD.findall(text), WORD.findall(sample.text)
    in_order = longest_common(wanted, found)
    return Score(
        2 * in_order / max(1, len(wanted) + len(found)),
        heading_score(HEADING.findall(text), sample.headings) if sample.headings else None,
        sum(line not in text for line in sample.running) / len(sample.running) if sample.running else None,
        cells_kept(text.splitlines(), sample) if sample.tables else None,
        sum(part in text for part in sample.verbatim) / len(sample.verbatim) if sample.verbatim else None,
    )


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence, by bit vectors (Hyyrö, 2004)."""
    places: defaultdict[str, int] = defaultdict(int)
    for place, word in enumerate(first):
        places[word] |= 1 << place
    whole = (1 << len(first)) - 1
    row = whole
    for word in second:
        met = row & places[word]
        row = ((row + met) | (row - met)) & whole
    return len(first) - row.bit_count()


def heading_score(found: Sequence[str], wanted: Sequence[str]) -> float:
    """F1: a line that is taken for a heading and is none counts against it."""
    met = sum((Counter(found) & Counter(wanted)).values())
    return 2 * met / (len(found) + len(wanted))


def cells_kept(lines: Sequence[str], sample: Sample) -> float:
    """Cells of rows that stand on a line of their own, in order."""
    found = [WORD.findall(line) for line in lines]
    rows = [row for table in sample.tables for row in table]
    kept = sum(len(row) for row in rows if WORD.findall(" ".join(row)) in found)
    return kept / sum(map(len, rows))


def ours(body: bytes) -> str:
    return extract(body, "application/pdf", "https://docs.example/file.pdf").markdown


def plain(body: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(body)).pages)


def shown(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="kinds of document; all of them by default")
    chosen = parser.parse_args().kinds or list(KINDS)
    measures = ("words", "headings", "running", "cells", "exact")
    print("Each pair: kb_pipeline, then pypdf's extract_text().")
    print("| kind | words in order | headings | running heads dropped | cells of whole rows | exact stretches |")
    print("|---|---|---|---|---|---|")
    totals: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for kind in chosen:
        sample = KINDS[kind]()
        scores = score(ours(sample.body), sample), score(plain(sample.body), sample)
        cells = []
        for measure in measures:
            own, other = (getattr(one, measure) for one in scores)
            if own is not None:
                totals[measure].append((own, other))
            cells.append(f"{shown(own)} {shown(other)}".strip())
        print(f"| {kind} | {' | '.join(cells)} |")
    means = (
        " ".join(f"{sum(values) / len(values):.2f}" for values in zip(*totals[measure], strict=True))
        if totals[measure]
        else ""
        for measure in measures
    )
    print(f"| mean | {' | '.join(means)} |")


if __name__ == "__main__":
    main()
