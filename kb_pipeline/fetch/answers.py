"""What one tier learnt about a page, and what all of them together give: the nouns between tiers, chain and outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy

if TYPE_CHECKING:
    from kb_pipeline.core.not_found import Look
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.model import Text


class Answer(StrEnum):
    """How a tier's attempt ended. What follows from it for the page is fetch.outcome's business."""

    DOCUMENT = "document"
    """Text that clears the threshold."""
    NOT_MODIFIED = "not modified"
    SAME_BODY = "same body"
    THIN = "thin"
    EMPTY = "empty"
    NOT_FOUND = "not found"
    SOFT_NOT_FOUND = "soft not found"
    NOINDEX = "noindex"
    ROBOTS_FORBIDS = "robots.txt forbids"
    """The page's own address. Only this is the owner's word about the page."""
    HOP_FORBIDDEN = "leads to what robots.txt forbids"
    """The page may be asked for; the address that it leads to tonight, often a login, may not."""
    ROBOTS_UNAVAILABLE = "robots.txt unavailable"
    LOGIN_WALL = "login wall"
    PAYWALL = "paywall"
    COOKIE_WALL = "cookie wall"
    AGE_GATE = "age gate"
    JS_SHELL = "JavaScript only"
    CHALLENGE = "bot challenge"
    PARKED = "parked domain"
    CLIENT_REDIRECT = "redirect in the page"
    OFF_SITE = "off the site"
    SAME_REDIRECT = "same redirect"
    """Still leads to the page that it is a duplicate of."""
    REFUSED = "refused"
    RATE_LIMITED = "rate limited"
    SERVER_ERROR = "server error"
    TIMED_OUT = "timed out"
    BROKEN = "connection broken"
    BROKE_OFF = "page broke off"
    """The site began to serve the page, and the connection broke. No shield does that."""
    NO_ADDRESS = "no such host"
    NO_CONNECTION = "no connection"
    BAD_CERTIFICATE = "bad certificate"
    NOT_PUBLIC = "not a public address"
    REDIRECT_LOOP = "redirect loop"
    TOO_LARGE = "too large"
    UNDECODABLE = "undecodable"
    UNREADABLE = "unreadable"
    NOT_A_DOCUMENT = "not a document"
    ON_HOLD = "host on hold"
    STEPPED_ASIDE = "daily limit reached"
    """The tier did not ask: the day's calls are used up."""
    PASSED_OVER = "not for this tier"
    """A PDF is nothing for a browser, say."""
    TIER_FAILED = "tier out of order"
    """The tier's own machinery failed, which says nothing about the page."""
    FAULT = "fault"
    """This program failed on the page."""


CLEARS: Final = frozenset({Answer.DOCUMENT, Answer.NOT_MODIFIED, Answer.SAME_BODY})
"""The tier's answer is what the page says: no other tier is asked."""

EMPTY_HANDED: Final = frozenset(
    {
        Answer.THIN,
        Answer.EMPTY,
        Answer.UNREADABLE,
        Answer.COOKIE_WALL,
        Answer.AGE_GATE,
        Answer.JS_SHELL,
        Answer.CLIENT_REDIRECT,
    }
)
"""The site answered, and gave no text that could be read: rendering, or looking at the page, may show it."""

BLOCKED: Final = frozenset({Answer.CHALLENGE, Answer.REFUSED, Answer.SERVER_ERROR, Answer.BROKEN})
"""The site did not serve this request. Bot shields often refuse plain requests only."""

RENDERING_CURES_NOT: Final = frozenset({Answer.LOGIN_WALL, Answer.PAYWALL, Answer.RATE_LIMITED})
"""Goes on to another tier only where the page's policy says so."""

WALLED: Final = frozenset({Answer.COOKIE_WALL, Answer.AGE_GATE, Answer.CHALLENGE})
"""What stands before a page is told by what can be pressed or by who wrote it, and words alone do not show either."""

NOT_ASKED: Final = frozenset({Answer.STEPPED_ASIDE, Answer.PASSED_OVER, Answer.TIER_FAILED})
"""The tier says nothing about the page: the next one is asked, and another's answer speaks for the page."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page to ask for. Validators and the hash are given only while the copy they belong to is held."""

    url: str
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    ignore_noindex: bool = False
    original: str | None = None
    """Page id of the kept page that this one was found to redirect to: there is no need to follow it again."""
    policy: FetchPolicy = ANY_PAGE
    """How this address is fetched, where the operator said so."""
    answered: Response | None = None
    """What the site answered the first tier, for those after it."""
    before: tuple[Answer, ...] = ()
    """What the tiers before this one came to, in this chain."""
    not_found: Look | None = None
    """What the site shows for addresses that do not exist, where that is known."""


@dataclass(frozen=True, slots=True)
class TierResult:
    """One tier's attempt."""

    tier: str
    answer: Answer
    why: str = ""
    """Detail for a person: the status, the error, the address a redirect led to."""
    response: Response | None = None
    text: Text | None = None
    nofollow: bool = False
    requests: int = 0
    seconds: float = 0.0
    wire_bytes: int = 0
    retry_after: float | None = None
    """Seconds the site asked us to wait."""
    calls: int = 0
    """Calls of a paid service."""
    degraded: str = ""
    """What the text lacks of the page: a frame of which only the visible words could be had, say."""
    apex_url: str | None = None
    """The page's address without `www.`, when the host's certificate covers that name and not this one."""

    def record(self) -> dict[str, object]:
        """What the ledger keeps of the attempt (`pages.tiers`)."""
        record: dict[str, object] = {
            "tier": self.tier,
            "answer": self.answer.value,
            "why": self.why,
            "requests": self.requests,
            "seconds": round(self.seconds, 3),
            "bytes": self.wire_bytes,
        }
        optional: dict[str, object] = {"calls": self.calls, "degraded": self.degraded}
        return record | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, slots=True)
class PageResult:
    """All attempts at one page, in order, and the one that speaks for it."""

    best: TierResult
    attempts: tuple[TierResult, ...] = field(default=())
    age: float | None = None
    """Seconds since the page was asked for, when the answer was remembered (fetch.winner_cache)."""

    @property
    def errors(self) -> str:
        """Each tier and why it failed, one a line."""
        return "\n".join(f"{attempt.tier}: {attempt.why or attempt.answer.value}" for attempt in self.attempts)
