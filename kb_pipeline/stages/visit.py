"""One page of a refresh: asked for, judged, and written down as what the ledger and the snapshots are to hold.
Pure but for the chain it asks; committing is stages.fetch's business."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.fingerprints import content_hash, page_id
from kb_pipeline.core.links import harvest
from kb_pipeline.core.urls import same_site, url_key
from kb_pipeline.fetch.answers import Answer, PageResult, TierResult
from kb_pipeline.fetch.asking import ask_page
from kb_pipeline.fetch.outcome import Judgement, judge, retry_delay
from kb_pipeline.model import Discovered, Outcome, PageSource, PageStatus, Snapshot
from kb_pipeline.stages.asking import judged_by, rejected_before, request_for, to_look_for
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Rejected, Retry

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.fetch.chain import Chain
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.fetch.robots_gate import RobotsGate
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.asking import Rules
    from kb_pipeline.store.frontier import DuePage

_LONGEST_VALIDATOR: Final = 512
"""Characters."""
_LONGEST_RETRY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Visit:
    """What came of one page: an ending, or a retry within the refresh."""

    due: DuePage
    result: PageResult
    end: Ending | Retry
    snapshot: Snapshot | None = None
    """The body to store, for a fresh page."""
    leads_to: Discovered | None = None
    """The page that a redirect led to, when it is another one of the site."""
    canonical: str | None = None
    """Page id of the address that the page calls its own, when it is another one of the site."""
    links: tuple[Discovered, ...] = ()

    @property
    def weight(self) -> int:
        """Bytes held until the visit is committed."""
        response = self.result.best.response
        return len(response.body) if response else 0

    @property
    def requests(self) -> int:
        """Of all tiers."""
        return sum(attempt.requests for attempt in self.result.attempts)

    @property
    def wire_bytes(self) -> int:
        """Body bytes as they were transferred, of all tiers."""
        return sum(attempt.wire_bytes for attempt in self.result.attempts)


async def ask(due: DuePage, chain: Chain, gate: RobotsGate, rules: Rules) -> PageResult:
    """Ask robots.txt, then the tiers. Raises only for bugs and a lost store."""
    return await ask_page(request_for(due, rules), chain, gate)


def conclude(due: DuePage, result: PageResult, rules: Rules, now: datetime) -> Visit:
    """Turn what was learnt about a page into what is stored."""
    judgement = judge(result)
    failed = due.attempts + 1 if judgement.retry else due.attempts
    delay = retry_delay(judgement, failed, rules.settings.retry_delays_seconds)
    attempt = _attempt(result, judgement)
    if delay is not None:
        # A little apart, so that pages which failed together do not come back together.
        wait = timedelta(seconds=delay * random.uniform(1.0, 1.1))  # noqa: S311 - jitter
        return Visit(due, result, Retry(due.page_id, attempt, failed, now + wait))
    ending = Ending(
        due.page_id,
        judgement.outcome,
        attempt,
        failed,
        tier=result.best.tier if judgement.outcome is Outcome.FRESH else None,
        duplicate_of=due.duplicate_of if judgement.outcome is Outcome.DUPLICATE else None,
        retry_at=_retry_at(due, judgement, rules.settings, now),
    )
    if judgement.outcome is Outcome.UNCHANGED and (rejected := rejected_before(due, rules)):
        return Visit(due, result, _still_rejected(ending, rejected))
    if judgement.outcome in {Outcome.FRESH, Outcome.UNCHANGED}:
        return _keep(due, result, ending, rules, now)
    if judgement.outcome is Outcome.THIN:
        ending = replace(ending, rejected=_rejected(due, result, judgement.reason, rules))
    return Visit(due, result, ending)


def _keep(due: DuePage, result: PageResult, ending: Ending, rules: Rules, now: datetime) -> Visit:
    best, response = result.best, result.best.response
    assert response is not None
    onward = _other_page(due, response)
    if onward is not None:
        reason = f"The page redirects to {onward.url}"
        ending = replace(
            ending,
            outcome=Outcome.DUPLICATE,
            attempt=replace(ending.attempt, reason=reason),
            duplicate_of=onward.page_id,
            final_url=onward.url,
            tier=None,
        )
        return Visit(due, result, ending, leads_to=onward)
    if best.answer is Answer.NOT_MODIFIED:
        return Visit(due, result, _still_duplicate(due, ending))
    copy = _copy(response)
    if best.answer is Answer.SAME_BODY:
        return Visit(due, result, replace(_still_duplicate(due, ending), copy=copy))
    looked_for = sorted(to_look_for(rules, due.depth))
    ending = replace(ending, final_url=response.final_url, copy=copy, looked_for=looked_for)
    return Visit(
        due,
        result,
        ending,
        snapshot=_snapshot(due, best, response, copy, now),
        canonical=_canonical(due, best, rules),
        links=_links(due, best, response, rules),
    )


def _still_duplicate(due: DuePage, ending: Ending) -> Ending:
    """A page that was folded into another and has not changed stays folded. One that redirected does not: it gave an
    answer of its own."""
    if due.state is not PageStatus.DUPLICATE or due.redirected:
        return ending
    attempt = replace(ending.attempt, reason=due.reason)
    return replace(ending, outcome=Outcome.DUPLICATE, duplicate_of=due.duplicate_of, attempt=attempt)


def _still_rejected(ending: Ending, rejected: Rejected) -> Ending:
    """A page that said too little, and says the same."""
    attempt = replace(ending.attempt, reason=rejected.reason)
    return replace(ending, outcome=Outcome.THIN, attempt=attempt, rejected=rejected)


def _rejected(due: DuePage, result: PageResult, reason: str, rules: Rules) -> Rejected | None:
    """The body that is known to say too little. Not one that was rendered as well: the page that comes with scripts
    stays the same while what they write changes."""
    response = result.best.response
    if response is None or not response.body or len(result.attempts) > 1:
        return None
    copy = _copy(response)
    return Rejected(copy.content_hash, copy.etag, copy.last_modified, judged_by(rules, due.depth), reason)


def _other_page(due: DuePage, response: Response) -> Discovered | None:
    if not response.redirects:
        return None
    identity = page_id(url_key(response.final_url))
    if identity == due.page_id:
        return None
    return Discovered(identity, response.final_url, PageSource.REDIRECT, depth=due.depth)


def _canonical(due: DuePage, best: TierResult, rules: Rules) -> str | None:
    address = best.text.canonical if best.text else None
    if not address or not same_site(address, rules.site.url, subdomains=rules.site.options.subdomains):
        return None
    identity = page_id(url_key(address))
    return identity if identity != due.page_id else None


def _links(due: DuePage, best: TierResult, response: Response, rules: Rules) -> tuple[Discovered, ...]:
    options = rules.site.options
    if not rules.harvest_links or due.depth >= options.max_depth:
        return ()
    if best.nofollow and not options.ignore_nofollow:
        return ()
    if kind_of(response.content_type, response.body, response.final_url) is not BodyKind.HTML:
        return ()
    found = harvest(
        decode_html(response.body, response.content_type),
        response.final_url,
        token=rules.settings.bot_token,
        include_nofollow=options.ignore_nofollow,
    )
    if found.nofollow and not options.ignore_nofollow:
        return ()
    inside = (url for url in found.pages if same_site(url, rules.site.url, subdomains=options.subdomains))
    return tuple(Discovered(page_id(url_key(url)), url, PageSource.LINK, depth=due.depth + 1) for url in inside)


def _copy(response: Response) -> Copy:
    return Copy(
        content_hash=content_hash(response.body),
        body_bytes=len(response.body),
        etag=_validator(response.headers.get("etag")),
        last_modified=_validator(response.headers.get("last-modified")),
    )


def _validator(value: str | None) -> str | None:
    """What can be sent back. A server may refuse a request with a header so long, and then the page would stay as it
    is for ever; what PostgreSQL cannot store as it is would never compare equal."""
    return value if value and len(value) <= _LONGEST_VALIDATOR and "\0" not in value else None


def _snapshot(due: DuePage, best: TierResult, response: Response, copy: Copy, now: datetime) -> Snapshot:
    return Snapshot(
        page_id=due.page_id,
        url=response.final_url,
        content_type=response.content_type,
        body=response.body,
        content_hash=copy.content_hash,
        tier=best.tier,
        status_code=response.status,
        fetched_at=now,
        degraded=bool(best.degraded),
    )


def _attempt(result: PageResult, judgement: Judgement) -> Attempt:
    answered = judgement.outcome.is_answer
    return Attempt(
        reason=judgement.reason or None,
        error=None if answered else result.errors,
        status_code=result.best.response.status if result.best.response else None,
        tiers=[attempt.record() for attempt in result.attempts],
    )


def _retry_at(due: DuePage, judgement: Judgement, settings: Settings, now: datetime) -> datetime | None:
    """When a later refresh may try again: what only time can cure, each time after twice the wait."""
    if not judgement.retry and judgement.outcome is not Outcome.DEFERRED:
        return None
    doublings: int = 2 ** min(due.failed_refreshes, 16)
    wait = min(timedelta(minutes=settings.retry_after_refresh_minutes) * doublings, _LONGEST_RETRY)
    return now + max(wait, timedelta(seconds=judgement.retry_after or 0.0))
