"""What a run of the fetch stage did, counted as its visits are committed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.model import Outcome
from kb_pipeline.stages.report import ChangeRow, StageReport
from kb_pipeline.stages.tier_costs import TierCosts
from kb_pipeline.store.frontier import DuePage, Ending

if TYPE_CHECKING:
    from kb_pipeline.stages.visit import Visit

LISTED_CHANGES: Final = 50
"""Of each kind of change."""


@dataclass(slots=True)
class FetchReport(StageReport):
    """What a run of this stage did. `counts` has it all flat; outcomes are those of the whole refresh."""

    generation: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    ladder: Counter[str] = field(default_factory=Counter)
    """How far each page had to go: not modified, same body, fresh."""
    tiers: Counter[str] = field(default_factory=Counter)
    """Fresh pages by the tier that won."""
    costs: TierCosts = field(default_factory=TierCosts)
    degraded: int = 0
    """Fresh pages of which only a part could be had."""
    requests: int = 0
    bytes: int = 0
    """Body bytes on the wire."""
    retries: int = 0
    seconds: float = 0.0
    removed: int = 0
    removals_held: int = 0
    folded: int = 0
    """Duplicates by canonical link."""
    stopped_early: bool = False
    """`keep_going` said stop: pages are still due, and nothing was settled."""

    def note(self, visit: Visit) -> None:
        """Count one committed visit."""
        self.requests += visit.requests
        self.bytes += visit.wire_bytes
        self.costs.add(visit.result)
        end = visit.end
        if not isinstance(end, Ending):
            self.retries += 1
            return
        if end.outcome in {Outcome.FRESH, Outcome.UNCHANGED}:
            self.ladder[_RUNGS.get(visit.result.best.answer.value, _LAST_RUNG)] += 1
        if end.outcome is Outcome.FRESH:
            self.tiers[visit.result.best.tier] += 1
            self.degraded += bool(visit.result.best.degraded)
        self._list(visit.due, end)

    def _list(self, due: DuePage, end: Ending) -> None:
        if end.outcome is Outcome.UNCHANGED or end.outcome.value == due.state.value != Outcome.FRESH.value:
            return
        if due.has_copy and end.copy is not None and end.copy.content_hash == due.content_hash:
            return  # read again in full, and the same
        change = end.outcome.value
        if end.outcome is Outcome.FRESH:
            change = "changed" if due.has_copy else "added"
        if sum(row.change == change for row in self.changes) < LISTED_CHANGES:
            self.changes.append(ChangeRow(change, due.page_id, due.url, end.attempt.reason or ""))

    def flatten(self) -> None:
        """Fill `counts` and `tables`."""
        self.counts = {
            **{outcome.value: self.outcomes[outcome] for outcome in Outcome},
            # With those that nobody came to: a line of history has no gaps.
            **{f"ladder_{rung}": self.ladder[rung] for rung in (*_RUNGS.values(), _LAST_RUNG)},
            **{f"tier_{tier}": amount for tier, amount in self.tiers.items()},
            **self.costs.counts(),
            "degraded": self.degraded,
            "requests": self.requests,
            "bytes": self.bytes,
            "retries": self.retries,
            "removed": self.removed,
            "removals_held": self.removals_held,
            "folded": self.folded,
            "seconds": round(self.seconds, 3),
        }
        self.tables = {"tiers": self.costs.table()} if self.costs.tiers else {}


_RUNGS: Final = {"not modified": "not_modified", "same body": "same_body"}
_LAST_RUNG: Final = "fresh"
