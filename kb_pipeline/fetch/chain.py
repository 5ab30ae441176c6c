"""Tiers in order: the first whose extracted text clears the threshold wins; when none does, the richest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import structlog

from kb_pipeline.core.urls import host_of
from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.answers import (
    BLOCKED,
    CLEARS,
    EMPTY_HANDED,
    NOT_ASKED,
    RENDERING_CURES_NOT,
    Answer,
    PageRequest,
    PageResult,
    TierResult,
)
from kb_pipeline.fetch.hops import HopRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kb_pipeline.fetch.policy import FetchPolicy

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
    """Asks tiers in order. Which tiers there are is data. `on_redirect` decides about the step from `www` to the
    apex as about any hop of a redirect."""

    def __init__(
        self, tiers: Sequence[Tier], *, on_redirect: Callable[[str, str], Awaitable[None]] | None = None
    ) -> None:
        if not tiers:
            message = "a chain needs at least one tier"
            raise ValueError(message)
        self._tiers = tuple(tiers)
        self._on_redirect = on_redirect

    @property
    def names(self) -> tuple[str, ...]:
        """Of the tiers, in order."""
        return tuple(tier.name for tier in self._tiers)

    async def fetch(self, request: PageRequest) -> PageResult:
        """Go down the chain until a tier answers, or one says that no other could.

        A host whose certificate covers the apex and not `www` is asked there, once: the apex has no `www` to lose.
        """
        attempts = await self._ask(request)
        apex = attempts[0].apex_url
        if apex is not None and request.policy.fallback_enabled is not False:
            log.info("crawler.chain.www_apex_fallback", url=request.url, apex=apex)
            attempts += await self._ask_apex(replace(request, url=apex), request.url)
        return PageResult(_best(attempts), tuple(attempts))

    async def _ask(self, request: PageRequest) -> list[TierResult]:
        attempts: list[TierResult] = []
        for tier in self._tiers:
            attempts.append(await tier.fetch(request))
            request = replace(request, answered=request.answered or attempts[-1].response)
            if not _goes_on(attempts, request.policy):
                break
        return attempts

    async def _ask_apex(self, request: PageRequest, www: str) -> list[TierResult]:
        try:
            if self._on_redirect is not None:
                await self._on_redirect(www, request.url)
        except HopRefused as error:
            return [TierResult(self._tiers[0].name, error.answer, str(error))]
        except FetchError as error:
            return [TierResult(self._tiers[0].name, Answer.NOT_PUBLIC, f"{host_of(request.url)}: {error}")]
        return await self._ask(request)


def _goes_on(attempts: Sequence[TierResult], policy: FetchPolicy) -> bool:
    """Whether another tier may do better than the last one. What the site said to the first decides for good: a page
    that is not there, a dead host and a refusal of the guard are that for a browser too."""
    answer, first = attempts[-1].answer, len(attempts) == 1
    if policy.fallback_enabled is False or answer in CLEARS:
        return False
    if answer in EMPTY_HANDED:
        return policy.fallback_on_empty is not False
    if answer in BLOCKED:
        return policy.fallback_on_blocked is not False
    if answer in RENDERING_CURES_NOT:
        # A 429 that names no time to come back is how some shields refuse; one that does is a host's own word.
        is_shield = answer is Answer.RATE_LIMITED and attempts[-1].retry_after is None
        return policy.fallback_on_blocked is True or (is_shield and policy.fallback_on_blocked is None)
    # A later tier may fail in ways of its own, and the one after it be of use still.
    return answer in NOT_ASKED or (not first and answer is Answer.TIMED_OUT)


def _best(attempts: Sequence[TierResult]) -> TierResult:
    """The one that clears; else the richest text, unless a tier that might have cleared had no calls left for the day:
    then the page waits for it. Else what the site said at first, or what a page that it served turned out to be."""
    cleared = next((attempt for attempt in attempts if attempt.answer in CLEARS), None)
    if cleared is not None:
        return cleared
    aside = next((attempt for attempt in attempts if attempt.answer is Answer.STEPPED_ASIDE), None)
    if aside is not None:
        return aside
    with_text = [attempt for attempt in attempts if attempt.text is not None]
    if with_text:
        return max(with_text, key=lambda attempt: attempt.text.characters if attempt.text else 0)
    return _turned_out(attempts) or attempts[-1 if attempts[0].apex_url else 0]


def _turned_out(attempts: Sequence[TierResult]) -> TierResult | None:
    """What a shell proved to be once it was rendered: a login, a missing page. A site that refused the first request
    is not believed when it tells the next one that there is no such page."""
    if attempts[0].answer not in EMPTY_HANDED:
        return None
    conclusive = (a for a in attempts[1:] if a.response is not None and a.answer not in EMPTY_HANDED | BLOCKED)
    return next((attempt for attempt in conclusive if attempt.answer not in NOT_ASKED), None)
