"""The fetch frontier over the ledger: which pages are due, how they ended, and which copies leave the index.
What an answer of a site means is decided above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.model import Outcome, PageStatus
from kb_pipeline.store.named_queries import named
from kb_pipeline.store.pages import Amount
from kb_pipeline.store.rows import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kb_pipeline.store.database import Database

_DUE: Final = named("frontier_due")
_LEFT: Final = named("frontier_left")
_END: Final = named("frontier_end")
_RETRY: Final = named("frontier_retry")
_DEFER_REST: Final = named("frontier_defer_rest")
_OUTCOMES: Final = named("frontier_outcomes")
_FORGET_LEADS: Final = named("frontier_forget_leads")
_CANONICAL_PAIRS: Final = named("frontier_canonical_pairs")
_HAS_LIST: Final = named("frontier_has_list")
_WANT: Final = named("frontier_want")
_ASK_ANEW: Final = named("frontier_ask_anew")
_FOLD: Final = named("frontier_fold")
_REMOVABLE: Final = named("frontier_removable")
_REMOVE: Final = named("frontier_remove")
_HOLD: Final = named("frontier_hold")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A body with too little text, of which no copy is stored."""

    content_hash: str
    etag: str | None
    last_modified: str | None
    judged_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DuePage:
    """A page to ask for, with what is held of it."""

    page_id: str
    url: str
    state: PageStatus
    reason: str | None = None
    depth: int = 0
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    duplicate_of: str | None = None
    attempts: int = 0
    failed_refreshes: int = 0
    looked_for: list[str] | None = None
    """What its last full reading looked for; None when nobody wrote it down."""
    rejected: Rejected | None = None
    """What it answered last, if that had too little text."""
    has_copy: bool = False
    """A body is stored that an answer can be compared with."""
    original_is_kept: bool = False
    """It was a duplicate, and the page it is a duplicate of is in the index."""
    redirected: bool = False
    """It was a duplicate because it redirected: what is known of its own body is from before that."""


@dataclass(frozen=True, slots=True)
class Left:
    """What of a refresh is still due."""

    pages: int
    next_retry_at: datetime | None


@dataclass(frozen=True, slots=True)
class Copy:
    """Validators and hash of the copy that is held from now on."""

    content_hash: str
    body_bytes: int
    etag: str | None
    last_modified: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is recorded of the attempts at a page, whatever came of them."""

    reason: str | None
    error: str | None
    status_code: int | None
    tiers: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome of a page in this refresh."""

    page_id: str
    outcome: Outcome
    attempt: Attempt
    attempts: int
    """How often in a row the page failed in this refresh."""
    tier: str | None = None
    final_url: str | None = None
    duplicate_of: str | None = None
    retry_at: datetime | None = None
    copy: Copy | None = None
    """None: what is known of the copy stays as it is."""
    looked_for: Sequence[str] | None = None
    """What this reading looked for; None when the page was not read in full."""
    rejected: Rejected | None = None
    """None: what is known of such a body stays as it is, unless the page has enough text now."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A failure that is tried again within this refresh."""

    page_id: str
    attempt: Attempt
    attempts: int
    retry_at: datetime


@dataclass(frozen=True, slots=True)
class CanonicalPair:
    """A page, and the kept page that it calls its canonical address."""

    page_id: str
    url: str
    original_id: str
    original_url: str


@dataclass(frozen=True, slots=True)
class Removable:
    """A copy that would leave the index."""

    page_id: str
    url: str
    state: PageStatus
    reason: str | None
    was_held: bool
    """An earlier refresh found the same, and was held."""
    suspicious: bool
    """Counts against the site's limit for removals at once."""
    answers: list[str]
    """Of each tier that was asked when the page ended so (fetch.answers.Answer)."""


class Frontier:
    """Repository of the open refresh's due pages. The caller holds the site's lock."""

    def __init__(self, database: Database, site_id: str, generation: int) -> None:
        self._database = database
        self._site_id = site_id
        self._generation = generation

    def due(self, now: datetime, *, in_hand: Sequence[str], most: int) -> list[DuePage]:
        """At most `most` pages that may be asked for now, retries first, without those in hand."""
        return self._database.all(_DUE, DuePage, site_id=self._site_id, now=now, in_hand=list(in_hand), most=most)

    def left(self, now: datetime) -> Left:
        """How many pages are due now or later, and when the next retry is."""
        return self._database.require(_LEFT, Left, site_id=self._site_id, now=now)

    def commit(self, endings: Sequence[Ending], retries: Sequence[Retry], now: datetime) -> None:
        """Record outcomes and retries, all or none."""
        with self._database.transaction():
            self._database.many(_END, [self._end_row(ending, now) for ending in endings])
            self._database.many(_RETRY, [self._retry_row(retry) for retry in retries])

    def defer_rest(self, reason: str, retry_at: datetime) -> int:
        """End every page that is still due as deferred; how many."""
        return self._database.execute(
            _DEFER_REST, site_id=self._site_id, generation=self._generation, reason=reason, retry_at=retry_at
        )

    def outcomes(self) -> dict[Outcome, int]:
        """How the refresh's pages have ended so far."""
        rows = self._database.all(_OUTCOMES, Amount, site_id=self._site_id, generation=self._generation)
        return {Outcome(row.name): row.amount for row in rows if row.name in _OUTCOME_NAMES}

    def has_list(self) -> bool:
        """Whether a sitemap, a feed or llms.txt lists the site."""
        return self._database.require(_HAS_LIST, bool, site_id=self._site_id)

    def want(self, page_ids: Sequence[str]) -> int:
        """Ask in this refresh for these kept pages too; how many were not asked for yet."""
        return self._database.execute(
            _WANT, site_id=self._site_id, generation=self._generation, page_ids=list(page_ids)
        )

    def ask_anew(self, page_ids: Sequence[str]) -> int:
        """Ask in this refresh, without comparison, for pages with a copy whose stored body was lost; how many."""
        return self._database.execute(
            _ASK_ANEW, site_id=self._site_id, generation=self._generation, page_ids=list(page_ids)
        )

    def forget_leads(self, page_ids: Sequence[str]) -> None:
        """Drop where these pages redirected to, and what they called their canonical address."""
        self._database.execute(_FORGET_LEADS, site_id=self._site_id, page_ids=list(page_ids))

    def canonical_pairs(self) -> list[CanonicalPair]:
        """Pages with a canonical link to another kept page, where one of the two is new; by original."""
        return self._database.all(_CANONICAL_PAIRS, CanonicalPair, site_id=self._site_id, generation=self._generation)

    def fold(self, pairs: Sequence[CanonicalPair]) -> None:
        """Make the pages of these pairs duplicates of their originals."""
        rows = [
            {
                "site_id": self._site_id,
                "page_id": pair.page_id,
                "original_id": pair.original_id,
                "reason": f"The page names {pair.original_url} as its canonical address",
            }
            for pair in pairs
        ]
        self._database.many(_FOLD, rows)

    def removable(self, *, same_target: int) -> list[Removable]:
        """Copies that this refresh found reason to remove. More than `same_target` redirects to one page are
        suspicious."""
        return self._database.all(
            _REMOVABLE, Removable, site_id=self._site_id, generation=self._generation, same_target=same_target
        )

    def remove(self, page_ids: Sequence[str]) -> int:
        """Let the removal of these copies through; how many."""
        return self._database.execute(
            _REMOVE, site_id=self._site_id, generation=self._generation, page_ids=list(page_ids)
        )

    def hold(self, page_ids: Sequence[str]) -> None:
        """Remember that the removal of these copies was held."""
        self._database.execute(_HOLD, site_id=self._site_id, generation=self._generation, page_ids=list(page_ids))

    def _end_row(self, ending: Ending, now: datetime) -> dict[str, object]:
        copy = ending.copy
        return self._attempt_row(ending.page_id, ending.attempt) | {
            "generation": self._generation,
            "now": now,
            "state": ending.outcome.value,
            "tier": ending.tier,
            "attempts": ending.attempts,
            "retry_at": ending.retry_at,
            "duplicate_of": ending.duplicate_of,
            "final_url": ending.final_url,
            "answered": ending.outcome.is_answer,
            "replaces": copy is not None,
            "etag": copy and copy.etag,
            "last_modified": copy and copy.last_modified,
            "content_hash": copy and copy.content_hash,
            "body_bytes": copy and copy.body_bytes,
            "rejected": ending.rejected and to_json(ending.rejected),
            "looked_for": None if ending.looked_for is None else list(ending.looked_for),
        }

    def _retry_row(self, retry: Retry) -> dict[str, object]:
        return self._attempt_row(retry.page_id, retry.attempt) | {
            "attempts": retry.attempts,
            "retry_at": retry.retry_at,
        }

    def _attempt_row(self, page_id: str, attempt: Attempt) -> dict[str, object]:
        return {
            "site_id": self._site_id,
            "page_id": page_id,
            "reason": attempt.reason,
            "error": attempt.error,
            "status_code": attempt.status_code,
            "tiers": to_json(list(attempt.tiers)),
        }


_OUTCOME_NAMES: Final = frozenset(outcome.value for outcome in Outcome)
