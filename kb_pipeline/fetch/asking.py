"""A page, from the question whether it may be asked for to the result of the chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from kb_pipeline.errors import GuardRefused
from kb_pipeline.fetch.answers import Answer, PageResult, TierResult
from kb_pipeline.fetch.robots_gate import Access

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.chain import Chain
    from kb_pipeline.fetch.robots_gate import RobotsVerdict

ROBOTS: Final = "robots.txt"
PROGRAM: Final = "program"
NO_TIERS: Final = frozenset({ROBOTS, PROGRAM})
"""What stands in the place of a tier when none was asked."""


class Gate(Protocol):
    """Says what robots.txt allows (fetch.robots_gate)."""

    async def verdict(self, url: str) -> RobotsVerdict:
        """Whether `url` may be fetched. Raises GuardRefused for an address that may not be dialled at all."""
        ...


async def ask_page(request: PageRequest, chain: Chain, gate: Gate) -> PageResult:
    """Ask robots.txt, then the tiers. Raises only for bugs and a lost store."""
    try:
        verdict = await gate.verdict(request.url)
    except GuardRefused as error:
        return without_tiers(ROBOTS, Answer.NOT_PUBLIC, str(error))
    if verdict.access is Access.ALLOWED:
        return await chain.fetch(request)
    forbidden = verdict.access is Access.FORBIDDEN
    answer = Answer.ROBOTS_FORBIDS if forbidden else Answer.ROBOTS_UNAVAILABLE
    return without_tiers(ROBOTS, answer, verdict.reason)


def fault(error: Exception) -> PageResult:
    """The result of a page that this program failed on."""
    return without_tiers(PROGRAM, Answer.FAULT, f"{type(error).__name__}: {error}"[:500])


def without_tiers(name: str, answer: Answer, why: str) -> PageResult:
    """The result of a page that no tier was asked for."""
    attempt = TierResult(name, answer, why)
    return PageResult(attempt, (attempt,))
