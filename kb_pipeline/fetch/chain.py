"""Tiers in order: the first whose extracted text clears the threshold wins; when none does, the richest.

Which tier is asked next and which attempt speaks for the page are fetch.precedence's business.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import structlog

from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.answers import Answer, PageRequest, PageResult, TierResult
from kb_pipeline.fetch.failures import failed
from kb_pipeline.fetch.precedence import best_of, goes_on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.futility import Futility
    from kb_pipeline.fetch.winner_cache import WinnerCache

log = structlog.get_logger(__name__)


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
    """Asks tiers in order. Which tiers there are is data.

    `on_redirect` decides about the step from `www` to the apex as about any hop of a redirect, and `policy_for` says
    how the apex is fetched. `cache` answers for pages that were won within its time: for programs that ask on
    somebody's behalf. A refresh has none: it asks the site itself, and conditionally, since what it finds decides what
    stays in an index. `futility` remembers, for as long as the chain lives, which tiers a host refuses like the first.
    """

    def __init__(
        self,
        tiers: Sequence[Tier],
        *,
        on_redirect: Callable[[str, str], Awaitable[None]] | None = None,
        policy_for: Callable[[str], FetchPolicy] | None = None,
        cache: WinnerCache | None = None,
        futility: Futility | None = None,
    ) -> None:
        if not tiers:
            message = "a chain needs at least one tier"
            raise ValueError(message)
        self._tiers = tuple(tiers)
        self._on_redirect = on_redirect
        self._policy_for = policy_for
        self._cache = cache
        self._futility = futility

    @property
    def names(self) -> tuple[str, ...]:
        """Of the tiers, in order."""
        return tuple(tier.name for tier in self._tiers)

    async def fetch(self, request: PageRequest) -> PageResult:
        """Go down the chain until a tier answers, or one says that no other could.

        A host whose certificate covers the apex and not `www` is asked there, once: the apex has no `www` to lose.
        """
        if self._cache is None:
            return await self._fetch(request)
        return await self._cache.fetch(request, self._fetch)

    async def _fetch(self, request: PageRequest) -> PageResult:
        attempts = await self._ask(request)
        apex = next((attempt.apex_url for attempt in attempts if attempt.apex_url), None)
        if apex is None or request.policy.fallback_enabled is False:
            return PageResult(best_of(attempts, request.policy), tuple(attempts))
        log.info("crawler.chain.www_apex_fallback", url=request.url, apex=apex)
        onward = replace(request, url=apex, policy=self._policy_at(apex, request.policy))
        there = await self._ask_apex(onward, request.url)
        return PageResult(best_of(there, onward.policy), (*attempts, *there))

    async def _ask(self, request: PageRequest) -> list[TierResult]:
        attempts: list[TierResult] = []
        for tier in self._tiers:
            attempts.append(await self._attempt(tier, request, attempts))
            said = tuple(attempt.answer for attempt in attempts)
            request = replace(request, answered=request.answered or attempts[-1].response, before=said)
            if not goes_on(attempts, request.policy):
                break
        return attempts

    async def _attempt(self, tier: Tier, request: PageRequest, before: Sequence[TierResult]) -> TierResult:
        if self._futility is None or not before:
            return await tier.fetch(request)
        why = self._futility.instead(tier.name, request.url, before[0])
        if why:
            return TierResult(tier.name, Answer.PASSED_OVER, why)
        result = await tier.fetch(request)
        self._futility.note(request.url, before[0], result)
        return result

    async def _ask_apex(self, request: PageRequest, www: str) -> list[TierResult]:
        try:
            if self._on_redirect is not None:
                await self._on_redirect(www, request.url)
        except FetchError as error:
            return [replace(failed(self._tiers[0].name, error, 0.0), requests=0)]
        return await self._ask(request)

    def _policy_at(self, apex: str, policy: FetchPolicy) -> FetchPolicy:
        """The apex's own policy, or else that of `www` without what its origin alone may see."""
        if self._policy_for is not None:
            return self._policy_for(apex)
        return policy.for_another_origin()
