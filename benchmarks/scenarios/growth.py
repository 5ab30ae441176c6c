"""Peak memory does not grow with the site: generated sites of a thousand and of ten thousand pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.report import Line, count, expect, megabytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.installation import Bench

SIZES: Final = (1_000, 10_000)
MOST_GROWTH: Final = 0.20


def growth(bench: Bench) -> Iterator[Line]:
    """Import both, in processes of their own. The small model: a large one's own memory would hide what grows."""
    peaks, vectors, took = [], [], []
    for pages in SIZES:
        with bench.generated_site(pages) as served, served.well():
            installation = bench.installation(served.root.base, f"growth-{pages}")
            installation.register()
            refreshed = installation.refresh()
            indexed = len(set(installation.state().vectors["page_id"].to_pylist()))
            installation.drop()
        peaks.append(refreshed.cost.peak_bytes)
        vectors.append(indexed)
        took.append(refreshed.cost.seconds)
    change = peaks[1] / peaks[0] - 1
    yield Line(
        "growth",
        f"{megabytes(peaks[0])} for {count(SIZES[0], 'page')}, {megabytes(peaks[1])} for {count(SIZES[1], 'page')}"
        f" ({change:+.1%}); {took[0]:.0f} s and {took[1]:.0f} s",
        {"peak_bytes": peaks, "indexed_pages": vectors, "seconds": took},
        expect(
            (abs(change) <= MOST_GROWTH, f"peak memory grew by {change:.0%}"),
            (tuple(vectors) == SIZES, f"pages indexed: {vectors}"),
        ),
    )
