"""What each tier was asked, won and cost, and why it lost, added up over the pages of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.answers import CLEARS, Answer
from kb_pipeline.fetch.asking import NO_TIERS
from kb_pipeline.stages.report import ReportTable

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageResult, TierResult

_DID_NOT_TRY: Final = frozenset({Answer.STEPPED_ASIDE, Answer.PASSED_OVER})
_HEADER: Final = ("tier", "pages asked", "pages won", "requests", "calls", "seconds", "bytes", "why it lost")
_MOST_REASONS: Final = 5


@dataclass(slots=True)
class TierCost:
    """Of one tier."""

    asked: int = 0
    """Attempts, tries of one page within the refresh each."""
    won: int = 0
    """Its answer was the page's: a text, or that nothing has changed."""
    requests: int = 0
    calls: int = 0
    """Of a paid service."""
    seconds: float = 0.0
    wire_bytes: int = 0
    lost: Counter[Answer] = field(default_factory=Counter)
    """What it answered where it did not win."""

    def add(self, attempt: TierResult) -> None:
        """Count one attempt."""
        self.asked += attempt.answer not in _DID_NOT_TRY
        if attempt.answer in CLEARS:
            self.won += 1
        else:
            self.lost[attempt.answer] += 1
        self.requests += attempt.requests
        self.calls += attempt.calls
        self.seconds += attempt.seconds
        self.wire_bytes += attempt.wire_bytes

    @property
    def why_lost(self) -> str:
        """`JavaScript only 12, refused 3`: the most frequent ones."""
        listed = [f"{answer.value} {pages:,}" for answer, pages in self.lost.most_common(_MOST_REASONS)]
        return ", ".join([*listed, "…"] if len(self.lost) > _MOST_REASONS else listed)


@dataclass(slots=True)
class TierCosts:
    """Of all tiers, in the order in which they were first asked."""

    tiers: dict[str, TierCost] = field(default_factory=dict)

    def add(self, result: PageResult) -> None:
        """Count the attempts at one page. A robots.txt that forbids it is no tier."""
        for attempt in result.attempts:
            if attempt.tier not in NO_TIERS:
                self.tiers.setdefault(attempt.tier, TierCost()).add(attempt)

    def counts(self) -> dict[str, int | float]:
        """Flat, under names that begin with what is counted."""
        found: dict[str, int | float] = {}
        for tier, cost in self.tiers.items():
            found |= {
                f"asked_of_{tier}": cost.asked,
                f"won_by_{tier}": cost.won,
                f"requests_of_{tier}": cost.requests,
                f"calls_of_{tier}": cost.calls,
                f"seconds_of_{tier}": round(cost.seconds, 3),
            }
        return found

    def table(self) -> ReportTable:
        """One row a tier."""
        rows = (
            (
                tier,
                f"{cost.asked:,}",
                f"{cost.won:,}",
                f"{cost.requests:,}",
                f"{cost.calls:,}",
                f"{cost.seconds:,.1f}",
                f"{cost.wire_bytes:,}",
                cost.why_lost,
            )
            for tier, cost in self.tiers.items()
        )
        return ReportTable(_HEADER, tuple(rows))
