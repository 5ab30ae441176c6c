"""What an import will cost, before it is paid for: from the site's own history, else from a small sample."""

from __future__ import annotations

import asyncio
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.chunking import estimate_tokens
from kb_pipeline.errors import FetchError
from kb_pipeline.model import Estimate
from kb_pipeline.stages.page_reading import examined
from kb_pipeline.store.discovery import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.fetch.client import HttpClient, Response
    from kb_pipeline.fetch.hops import Hops
    from kb_pipeline.model import Discovered
    from kb_pipeline.store.discovery import History

SAMPLE_PAGES: Final = 5
ENOUGH_HISTORY: Final = 5
SAMPLE_SECONDS: Final = 10.0
"""After this long the estimate is made from what has arrived."""
EMBEDDED_TOKENS_A_SECOND: Final = 2_500
"""A small sentence-embedding model on two cores."""
OVERLAP: Final = 40 / 350
"""Share of the tokens that chunks repeat."""

# Where nothing is known: tokens of a page of documentation, few and many.
_TYPICAL: Final = (900, 200, 3_000)
_TYPICAL_SECONDS: Final = 0.3
_OK: Final = 200
_DEVIATIONS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens and seconds of pages that were fetched, or of the site's history."""

    pages: int
    mean: float
    spread: float
    """Standard deviation."""
    seconds: float | None = None
    """Mean time of a request."""

    @classmethod
    def of_history(cls, history: History) -> Sample | None:
        """What the ledger knows, when it knows enough."""
        if history.pages < ENOUGH_HISTORY:
            return None
        return cls(history.pages, history.mean / CHARACTERS_A_TOKEN, history.spread / CHARACTERS_A_TOKEN)


def choose(pages: Sequence[Discovered]) -> list[Discovered]:
    """A few pages spread over the list."""
    number = min(SAMPLE_PAGES, len(pages))
    return [pages[place * len(pages) // number] for place in range(number)]


async def take_sample(
    client: HttpClient, hops: Hops, pages: Sequence[Discovered], *, max_bytes: int, most: int
) -> Sample | None:
    """Fetch at most `most` of the pages and count their tokens; None when none of them gave a text."""
    tasks = [asyncio.create_task(_tokens(client, hops, page, max_bytes)) for page in choose(pages)[:most]]
    if not tasks:
        return None
    done, late = await asyncio.wait(tasks, timeout=SAMPLE_SECONDS)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    measured = [counted for task in done if (counted := task.result()) is not None]
    if not measured:
        return None
    tokens = [float(count) for count, _ in measured]
    spread = statistics.stdev(tokens) if len(tokens) > 1 else tokens[0]
    return Sample(len(tokens), statistics.fmean(tokens), spread, statistics.fmean(seconds for _, seconds in measured))


async def _tokens(client: HttpClient, hops: Hops, page: Discovered, max_bytes: int) -> tuple[int, float] | None:
    try:
        response = await client.get(page.url, max_bytes=max_bytes, on_redirect=hops, truncate=True)
    except FetchError:
        return None  # a page that cannot be read says nothing of the others
    if response.status != _OK:
        return None
    tokens = await asyncio.to_thread(_count, response)
    return None if tokens is None else (tokens, response.elapsed)


def _count(response: Response) -> int | None:
    found = examined(response.body, response.content_type, response.final_url)
    return None if isinstance(found, str) else estimate_tokens(found.text.markdown)


def make_estimate(pages: int, sample: Sample | None, *, gap_seconds: float, connections: int) -> Estimate:
    """Expected cost of importing `pages` pages.

    The range is two standard errors of the sample around its mean, and never narrower than a tenth. Politeness
    takes `gap_seconds` a page; without a gap, `connections` requests go on at once.
    """
    if sample is None:
        mean, low, high = (float(pages * tokens) for tokens in _TYPICAL)
    else:
        mean = pages * sample.mean
        error = pages * max(_DEVIATIONS * sample.spread / math.sqrt(sample.pages), sample.mean / 10)
        low, high = max(0.0, mean - error), mean + error
    request = (sample.seconds if sample else None) or _TYPICAL_SECONDS
    return Estimate(
        pages=pages,
        tokens=round(mean),
        tokens_low=round(low),
        tokens_high=round(high),
        embedding_seconds=round(mean * (1 + OVERLAP) / EMBEDDED_TOKENS_A_SECOND, 1),
        fetching_seconds=round(pages * max(gap_seconds, request / connections), 1),
        # The chain has no tier that renders or reads pictures, so none can be called.
        browser_calls_at_worst=0,
        vision_calls_at_worst=0,
        sampled_pages=sample.pages if sample is not None and sample.seconds is not None else 0,
    )


def trimmed(estimate: Estimate, pages: int) -> Estimate:
    """The same estimate for fewer, or more, of the site's pages."""
    share = pages / estimate.pages if estimate.pages else 0.0
    return Estimate(
        pages=pages,
        tokens=round(estimate.tokens * share),
        tokens_low=round(estimate.tokens_low * share),
        tokens_high=round(estimate.tokens_high * share),
        embedding_seconds=round(estimate.embedding_seconds * share, 1),
        fetching_seconds=round(estimate.fetching_seconds * share, 1),
        browser_calls_at_worst=round(estimate.browser_calls_at_worst * share),
        vision_calls_at_worst=round(estimate.vision_calls_at_worst * share),
        sampled_pages=estimate.sampled_pages,
    )
