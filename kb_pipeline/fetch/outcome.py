"""From what was learnt about a page to how it ends: one table. Pure; the ledger's part is in stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.answers import BLOCKED, EMPTY_HANDED, Answer
from kb_pipeline.model import Outcome

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageResult


LONGEST_WAIT: Final = 600.0
"""Seconds of Retry-After that a refresh waits out for one page."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How an answer ends a page. `retry`: it is asked again within the refresh before it ends so."""

    outcome: Outcome
    reason: str
    """For the site's owner; `{why}` is the detail."""
    retry: bool = False


_UNREACHABLE: Final = Outcome.UNREACHABLE

RULES: Final[dict[Answer, Rule]] = {
    Answer.DOCUMENT: Rule(Outcome.FRESH, ""),
    Answer.NOT_MODIFIED: Rule(Outcome.UNCHANGED, ""),
    Answer.SAME_BODY: Rule(Outcome.UNCHANGED, ""),
    Answer.THIN: Rule(Outcome.THIN, "The page has too little text ({why})"),
    Answer.UNREADABLE: Rule(Outcome.THIN, "No text could be read from the file ({why})"),
    Answer.NOT_A_DOCUMENT: Rule(Outcome.THIN, "This is not a page or a PDF ({why})"),
    Answer.NOT_FOUND: Rule(Outcome.GONE, "We couldn't find this page ({status})"),
    Answer.SOFT_NOT_FOUND: Rule(Outcome.GONE, "The page {why}"),
    Answer.NOINDEX: Rule(Outcome.FORBIDDEN, "The page asks not to be indexed (noindex)"),
    Answer.ROBOTS_FORBIDS: Rule(Outcome.FORBIDDEN, "robots.txt does not allow this page"),
    Answer.LOGIN_WALL: Rule(Outcome.GATE, "The page asks for a login"),
    Answer.PAYWALL: Rule(Outcome.GATE, "The page is behind a paywall"),
    Answer.COOKIE_WALL: Rule(Outcome.GATE, "The page shows nothing before cookies are accepted"),
    Answer.AGE_GATE: Rule(Outcome.GATE, "The page asks for the visitor's age"),
    Answer.JS_SHELL: Rule(Outcome.GATE, "The page shows nothing without JavaScript"),
    Answer.CHALLENGE: Rule(Outcome.GATE, "The site asked us to prove that we are not a robot"),
    Answer.PARKED: Rule(Outcome.GATE, "The domain is parked"),
    Answer.CLIENT_REDIRECT: Rule(Outcome.THIN, "The page only leads on to another one"),
    Answer.OFF_SITE: Rule(_UNREACHABLE, "The page {why}"),
    Answer.HOP_FORBIDDEN: Rule(_UNREACHABLE, "The page {why}"),
    Answer.SAME_REDIRECT: Rule(Outcome.DUPLICATE, "The page {why}"),
    Answer.REFUSED: Rule(_UNREACHABLE, "The site refused to give us this page ({why})"),
    Answer.NO_ADDRESS: Rule(_UNREACHABLE, "The site's name does not lead anywhere ({why})"),
    Answer.NO_CONNECTION: Rule(_UNREACHABLE, "The site could not be reached ({why})"),
    Answer.BAD_CERTIFICATE: Rule(_UNREACHABLE, "The site's certificate is not valid ({why})"),
    Answer.NOT_PUBLIC: Rule(_UNREACHABLE, "The page leads to an address that may not be opened ({why})"),
    Answer.REDIRECT_LOOP: Rule(_UNREACHABLE, "The page redirects without end ({why})"),
    Answer.TOO_LARGE: Rule(_UNREACHABLE, "The page is too large ({why})"),
    Answer.FAULT: Rule(_UNREACHABLE, "We failed to process this page ({why})"),
    Answer.ROBOTS_UNAVAILABLE: Rule(_UNREACHABLE, "We could not ask whether we may open this page ({why})", retry=True),
    Answer.RATE_LIMITED: Rule(_UNREACHABLE, "The site asked us to slow down ({why})", retry=True),
    Answer.SERVER_ERROR: Rule(_UNREACHABLE, "The site has a problem of its own ({why})", retry=True),
    Answer.TIMED_OUT: Rule(_UNREACHABLE, "The site took too long to answer ({why})", retry=True),
    Answer.BROKEN: Rule(_UNREACHABLE, "The connection to the site broke ({why})", retry=True),
    Answer.BROKE_OFF: Rule(_UNREACHABLE, "The page did not come to its end ({why})", retry=True),
    Answer.UNDECODABLE: Rule(_UNREACHABLE, "The page arrived damaged ({why})", retry=True),
    Answer.EMPTY: Rule(_UNREACHABLE, "The page came back empty", retry=True),
    Answer.PASSED_OVER: Rule(Outcome.THIN, "No text could be read from the file ({why})"),
    Answer.TIER_FAILED: Rule(_UNREACHABLE, "We could not open this page ({why})", retry=True),
    Answer.STEPPED_ASIDE: Rule(Outcome.DEFERRED, "The day's limit of calls is used up ({why})"),
    Answer.ON_HOLD: Rule(Outcome.DEFERRED, "The site asked us to come back later ({why})"),
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a page ends, if it is not asked again."""

    outcome: Outcome
    reason: str
    retry: bool = False
    retry_after: float | None = None
    """Seconds the site asked us to wait before the next request for the page."""
    rate_limited: bool = False


def judge(result: PageResult) -> Judgement:
    """Look up the rule for the attempt that speaks for the page."""
    best = result.best
    rule = RULES[best.answer]
    status = str(best.response.status) if best.response else ""
    return Judgement(
        outcome=rule.outcome,
        reason=rule.reason.format(why=best.why, status=status) + _out_of_order(result),
        retry=rule.retry,
        retry_after=best.retry_after,
        rate_limited=best.answer is Answer.RATE_LIMITED,
    )


def _out_of_order(result: PageResult) -> str:
    """What the site's answer does not tell: that a tier which might have read the page could not. Without that, whoever
    reads why a page gave nothing would look for the fault at the site."""
    if result.best.answer not in EMPTY_HANDED | BLOCKED or result.best not in result.attempts:
        return ""
    later = result.attempts[result.attempts.index(result.best) + 1 :]
    failed = next((attempt.why for attempt in later if attempt.answer is Answer.TIER_FAILED), None)
    return "" if failed is None else f"; what might have read it was out of order ({failed})"


def retry_delay(judgement: Judgement, attempts: int, delays: tuple[float, ...]) -> float | None:
    """Seconds until a page that has now failed `attempts` times is asked again; None: it ends.

    After a 429 twice the first delay at least. `Retry-After` lengthens a delay and never shortens it; when it
    asks for more than LONGEST_WAIT, the page is left to a later refresh.
    """
    if not judgement.retry or attempts > len(delays):
        return None
    delay = delays[attempts - 1]
    if judgement.rate_limited:
        delay = max(delay, 2 * delays[0])
    asked = judgement.retry_after or 0.0
    return None if asked > LONGEST_WAIT else max(delay, asked)
