"""What a scrape gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.fetch.answers import CLEARS, Answer
from kb_pipeline.model import Outcome

if TYPE_CHECKING:
    from datetime import datetime

_READ: Final = frozenset({Outcome.FRESH, Outcome.UNCHANGED})


@dataclass(frozen=True, slots=True)
class ScrapeAttempt:
    """What one tier made of the page."""

    tier: str
    """`plain_http`, `browser_content` …; `robots.txt` or `program` where no tier was asked."""
    answer: Answer
    why: str
    """The status, the error, the address that a redirect led to."""
    requests: int
    seconds: float
    wire_bytes: int
    calls: int
    """Calls of a paid service."""
    degraded: str

    @property
    def won(self) -> bool:
        """Whether this is where the text comes from."""
        return self.answer in CLEARS


@dataclass(frozen=True)
class ScrapedContent:
    """A page, or why there is none. `ok` tells which; nothing else has to be looked at first.

    Strings are empty where there is nothing to say.
    """

    url: str
    """As it was asked for."""
    final_url: str
    """Where redirects led; `url` when nothing was answered."""
    outcome: Outcome
    """`fresh` for a page that was read, else what an index would make of it: gone, forbidden, gate, thin, unreachable,
    deferred."""
    answer: Answer
    """What exactly the site, or the tier that speaks for the page, answered."""
    reason: str
    """One sentence for people that says why `ok` is false."""
    transient: bool
    """Whether the same call may succeed later."""
    retry_after: float | None
    """Seconds that the site asked to wait."""

    title: str
    markdown: str = field(repr=False)
    """The page's content. Of a page that is not `ok` it is what there was: the text that was too short, say."""
    characters: int
    """Of the text without Markdown syntax."""
    description: str = field(repr=False)
    language: str | None
    """BCP 47, as the page declares it."""
    canonical: str | None
    """The address that the page calls its own."""
    author: str
    """Whom the page names as its author, several joined by commas."""
    published: str | None
    modified: str | None
    """Dates as the page gives them."""
    quality: float
    """0 to 1: how much text there is, and how little of it is links."""
    truncated: bool
    """The text was cut at 200,000 characters."""
    degraded: str
    """What the text lacks of the page, in words."""

    status: int | None
    """Of the last response; None when there was none."""
    content_type: str
    body: bytes = field(repr=False)
    """What the text was read from, decompressed; empty when there was no response."""
    tier: str
    """Which tier this comes from."""
    fetched_at: datetime
    """UTC. Earlier than the call when the page was remembered."""
    from_cache: bool
    attempts: tuple[ScrapeAttempt, ...] = field(repr=False)
    """Each tier that was asked, in order, and why it lost."""

    @property
    def ok(self) -> bool:
        """Whether `markdown` is the page's text, 200 characters of it or more."""
        return self.outcome in _READ

    @cached_property
    def html(self) -> str | None:
        """The page's HTML as text, rendered where a browser won; None for a PDF, plain text, and no response."""
        from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of  # noqa: PLC0415 - not needed to import us

        if not self.body or kind_of(self.content_type, self.body, self.final_url) is not BodyKind.HTML:
            return None
        return decode_html(self.body, self.content_type)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Absolute http(s) addresses that the HTML links to, in order, each once, without fragments, and without its
        own; 5,000 at most."""
        from kb_pipeline.core.links import harvest  # noqa: PLC0415 - not needed to import us

        if self.html is None:
            return ()
        return tuple(harvest(self.html, self.final_url, include_nofollow=True).pages)

    @property
    def errors(self) -> str:
        """Each tier and why it failed, one a line; empty when `ok`."""
        if self.ok:
            return ""
        return "\n".join(f"{attempt.tier}: {attempt.why or attempt.answer.value}" for attempt in self.attempts)

    def to_dict(self) -> dict[str, Any]:
        """All but `body`, as JSON has it."""
        names = [name for name in self.__dataclass_fields__ if name not in {"body", "attempts", "fetched_at"}]
        own = {name: getattr(self, name) for name in names}
        attempts = [
            {name: getattr(attempt, name) for name in ScrapeAttempt.__slots__} | {"answer": attempt.answer.value}
            for attempt in self.attempts
        ]
        return own | {
            "ok": self.ok,
            "outcome": self.outcome.value,
            "answer": self.answer.value,
            "fetched_at": self.fetched_at.isoformat(),
            "links": list(self.links),
            "attempts": attempts,
        }
