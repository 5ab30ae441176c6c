"""Tiers in order: the first whose extracted text clears the threshold wins; when none does, the richest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kb_pipeline.fetch.answers import ANOTHER_TIER_MAY_HELP, CLEARS, PageRequest, PageResult, TierResult

if TYPE_CHECKING:
    from collections.abc import Sequence


class Tier(Protocol):
    """One way to get a page."""

    @property
    def name(self) -> str:
        """As the ledger records it."""
        ...

    async def fetch(self, request: PageRequest) -> TierResult:
        """Try once. Whatever the site does ends in a TierResult; only bugs and a lost store raise."""
        ...


class Chain:
    """Asks tiers in order. Which tiers there are is data."""

    def __init__(self, tiers: Sequence[Tier]) -> None:
        if not tiers:
            message = "a chain needs at least one tier"
            raise ValueError(message)
        self._tiers = tuple(tiers)

    async def fetch(self, request: PageRequest) -> PageResult:
        """Go down the chain until a tier answers, or one says that no other could."""
        attempts: list[TierResult] = []
        for tier in self._tiers:
            attempts.append(await tier.fetch(request))
            if attempts[-1].answer not in ANOTHER_TIER_MAY_HELP:
                break
        return PageResult(_best(attempts), tuple(attempts))


def _best(attempts: Sequence[TierResult]) -> TierResult:
    """The one that clears; else the richest text; else the first, since it met the site as it is."""
    cleared = next((attempt for attempt in attempts if attempt.answer in CLEARS), None)
    if cleared is not None:
        return cleared
    with_text = [attempt for attempt in attempts if attempt.text is not None]
    if with_text:
        return max(with_text, key=lambda attempt: attempt.text.characters if attempt.text else 0)
    return attempts[0]
