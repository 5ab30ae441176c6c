"""From the result of a chain to what a scrape gives back. Pure."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.outcome import judge
from kb_pipeline.model import Outcome, Text
from kb_pipeline.web_scraper.content import ScrapeAttempt, ScrapedContent

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.fetch.answers import PageResult, TierResult

_NO_TEXT: Final = Text("", "", 0)


def content_of(url: str, result: PageResult, now: datetime) -> ScrapedContent:
    """What is known of the page at `url`."""
    best, judgement = result.best, judge(result)
    response, text = best.response, best.text or _NO_TEXT
    return ScrapedContent(
        url=url,
        final_url=response.final_url if response else url,
        outcome=judgement.outcome,
        answer=best.answer,
        reason=judgement.reason,
        transient=judgement.retry or judgement.outcome is Outcome.DEFERRED,
        retry_after=judgement.retry_after,
        title=text.title,
        markdown=text.markdown,
        characters=text.characters,
        description=text.description,
        language=text.language,
        canonical=text.canonical,
        author=text.author,
        published=text.published,
        modified=text.modified,
        quality=text.quality,
        truncated=text.truncated,
        degraded=best.degraded,
        status=response.status if response else None,
        content_type=response.content_type if response else "",
        body=response.body if response else b"",
        tier=best.tier,
        fetched_at=now.astimezone(UTC) - timedelta(seconds=result.age or 0.0),
        from_cache=result.age is not None,
        attempts=tuple(_attempt(attempt) for attempt in result.attempts),
    )


def _attempt(attempt: TierResult) -> ScrapeAttempt:
    return ScrapeAttempt(
        tier=attempt.tier,
        answer=attempt.answer,
        why=attempt.why,
        requests=attempt.requests,
        seconds=round(attempt.seconds, 3),
        wire_bytes=attempt.wire_bytes,
        calls=attempt.calls,
        degraded=attempt.degraded,
    )
