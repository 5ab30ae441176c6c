"""Between tiers: whether another one is asked, and which attempt speaks for the page. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.answers import (
    BLOCKED,
    CLEARS,
    EMPTY_HANDED,
    NOT_ASKED,
    RENDERING_CURES_NOT,
    WALLED,
    Answer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.answers import TierResult

TURNED_OUT: Final = frozenset(
    {
        Answer.NOINDEX,
        Answer.NOT_FOUND,
        Answer.SOFT_NOT_FOUND,
        Answer.HOP_FORBIDDEN,
        Answer.LOGIN_WALL,
        Answer.PAYWALL,
        Answer.PARKED,
        Answer.OFF_SITE,
        Answer.SAME_REDIRECT,
        Answer.NOT_A_DOCUMENT,
    }
)
"""What a page that showed nothing at first may prove to be once it is rendered."""

_TIME_CURES: Final = frozenset(
    {
        Answer.EMPTY,
        Answer.TIMED_OUT,
        Answer.BROKEN,
        Answer.BROKE_OFF,
        Answer.SERVER_ERROR,
        Answer.RATE_LIMITED,
    }
)
"""A rendering that the site failed so says nothing about the page: it is tried again later. A tier out of order is not
among them: asking the site again mends no browser and no account."""


def goes_on(attempts: Sequence[TierResult], policy: FetchPolicy) -> bool:
    """Whether another tier may do better than the last one. What the site said to the first that asked it decides
    for good: a page that is not there, a dead host and a refusal of the guard are that for a browser too. So is a page
    that broke off: a browser shows the half that it got as if it were the page, and a service does not say so."""
    answer = attempts[-1].answer
    if policy.fallback_enabled is False or answer in CLEARS:
        return False
    if answer in NOT_ASKED:
        return True
    if answer in EMPTY_HANDED:
        return policy.fallback_on_empty is not False
    if answer in BLOCKED:
        return policy.fallback_on_blocked is not False
    if answer in RENDERING_CURES_NOT:
        # A 429 that names no time to come back is how some shields refuse; one that does is a host's own word.
        is_shield = answer is Answer.RATE_LIMITED and attempts[-1].retry_after is None
        return policy.fallback_on_blocked is True or (is_shield and policy.fallback_on_blocked is None)
    # A later tier may run out of time in a way of its own, and the one after it be of use still.
    return answer is Answer.TIMED_OUT and len(_said(attempts)) > 1


def best_of(attempts: Sequence[TierResult], policy: FetchPolicy) -> TierResult:
    """The attempt that clears; else the richest text; else what the site said to the first that asked it.

    Three things come before a text that is too short. `noindex`, which the rendered page may say alone. A tier that
    had no calls left for the day, unless another has settled the matter: the page waits for it. And where there was
    no text at first, what the page proved to be when it was rendered: of a login or a wall, a tier that keeps words
    alone brings a few.
    """
    cleared = next((attempt for attempt in attempts if attempt.answer in CLEARS), None)
    if cleared is not None:
        return cleared
    said = _said(attempts)
    turned_out = _proved(said, TURNED_OUT)
    if turned_out is not None and turned_out.answer is Answer.NOINDEX:
        return turned_out
    settled = turned_out is not None or (len(said) == 1 and not goes_on(said, policy))
    aside = next((attempt for attempt in attempts if attempt.answer is Answer.STEPPED_ASIDE), None)
    if aside is not None and not settled:
        return aside
    proved = turned_out or _proved(said, WALLED)
    if proved is not None and said[0].text is None:
        return proved
    worded = _without_blanks(attempts)
    return _richest(worded) or _rendered(worded) or (said or attempts)[0]


def _said(attempts: Sequence[TierResult]) -> list[TierResult]:
    """Those that asked the site."""
    return [attempt for attempt in attempts if attempt.answer not in NOT_ASKED]


def _richest(attempts: Sequence[TierResult]) -> TierResult | None:
    """The attempt with most text, the earliest of equals."""
    with_text = [(attempt.text.characters, attempt) for attempt in attempts if attempt.text is not None]
    return max(with_text, key=lambda pair: pair[0])[1] if with_text else None


def _proved(said: Sequence[TierResult], answers: frozenset[Answer]) -> TierResult | None:
    """The first of these answers behind what showed nothing: a login, a missing page, a wall. A site that refused the
    first request is not believed when it tells the next one that there is no such page."""
    if not said or said[0].answer not in EMPTY_HANDED:
        return None
    return next((attempt for attempt in said[1:] if attempt.answer in answers), None)


def _without_blanks(attempts: Sequence[TierResult]) -> Sequence[TierResult]:
    """After an empty answer, a browser shows a page without a word: the same emptiness, in an element or two."""
    said = _said(attempts)
    if not said or said[0].answer is not Answer.EMPTY:
        return attempts
    return [attempt for attempt in attempts if attempt.text is None or attempt.text.characters]


def _rendered(attempts: Sequence[TierResult]) -> TierResult | None:
    """What speaks for a page that gave nothing at first when rendering it gave nothing either: what the rendered page
    is, say a cookie wall; or that rendering failed. A file that nobody could read stays that."""
    said = _said(attempts)
    if not said or said[0].answer not in EMPTY_HANDED - {Answer.UNREADABLE}:
        return None
    later = attempts[attempts.index(said[0]) + 1 :]
    shown = next((attempt for attempt in later if attempt.answer in EMPTY_HANDED - {Answer.EMPTY}), None)
    return shown or next((attempt for attempt in reversed(later) if attempt.answer in _TIME_CURES), None)
