"""The nouns of the project: frozen dataclasses and enums that every floor shares. No behaviour that
needs a socket, a file, SQL or a clock belongs here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import InvalidSiteId

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

MIN_TEXT_CHARACTERS: Final = 200
"""A page with less extracted text than this is thin, and never indexed."""

_SITE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def check_site_id(site_id: str) -> str:
    """Return `site_id` unchanged, or raise InvalidSiteId.

    Dagster mishandles commas, slashes and brackets in partition keys, and the id is a folder name too.
    """
    if not _SITE_ID.fullmatch(site_id):
        message = f"site id {site_id!r} is not a slug: use 1 to 63 of a-z, 0-9 and '-', starting with a letter or digit"
        raise InvalidSiteId(message)
    return site_id


class SourceType(StrEnum):
    """Where a site's list of pages comes from."""

    AUTO = "auto"
    SITEMAP = "sitemap"
    FEED = "feed"
    URL = "url"


class SiteState(StrEnum):
    """Where a site stands between registration and removal."""

    REGISTERED = "registered"
    AWAITING_APPROVAL = "awaiting_approval"
    ACTIVE = "active"
    REMOVING = "removing"


class Outcome(StrEnum):
    """How one page of one refresh ended. Exactly one each; `removes_copy` says what it does to the indexed copy."""

    FRESH = "fresh"
    UNCHANGED = "unchanged"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    DUPLICATE = "duplicate"
    GATE = "gate"
    THIN = "thin"
    UNREACHABLE = "unreachable"
    DEFERRED = "deferred"

    @property
    def removes_copy(self) -> bool:
        """Whether the indexed copy leaves the index. A duplicate's text stays, under its other address."""
        return self in {Outcome.GONE, Outcome.FORBIDDEN, Outcome.DUPLICATE}

    @property
    def is_answer(self) -> bool:
        """Whether the site said something about the page, as opposed to a bad night or an early stop."""
        return self not in {Outcome.UNREACHABLE, Outcome.DEFERRED}


class PageStatus(StrEnum):
    """The ledger's `state`: an outcome, or one of the two states before there is one."""

    PENDING = "pending"
    EXCLUDED = "excluded"
    FRESH = "fresh"
    UNCHANGED = "unchanged"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    DUPLICATE = "duplicate"
    GATE = "gate"
    THIN = "thin"
    UNREACHABLE = "unreachable"
    DEFERRED = "deferred"


class PageState(StrEnum):
    """What a response *is*, judged from status, headers and HTML (core.page_state)."""

    OK = "ok"
    NOT_FOUND = "not_found"
    SOFT_404 = "soft_404"
    LOGIN_WALL = "login_wall"
    PAYWALL = "paywall"
    COOKIE_WALL = "cookie_wall"
    AGE_GATE = "age_gate"
    JS_SHELL = "js_shell"
    REDIRECT = "redirect"
    EMPTY = "empty"
    CHALLENGE = "challenge"
    BLOCKED = "blocked"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    PARKED = "parked"


class PageSource(StrEnum):
    """How a URL became known."""

    GIVEN = "given"
    SITEMAP = "sitemap"
    FEED = "feed"
    LLMS_TXT = "llms_txt"
    LINK = "link"
    REDIRECT = "redirect"


class RefreshKind(StrEnum):
    """What a refresh asks for: the whole site, or only the pages whose retry time has come."""

    FULL = "full"
    RETRY = "retry"


class RefreshOutcome(StrEnum):
    """How a refresh ended. A refresh without one is still open and is resumed by the next run."""

    PUBLISHED = "published"
    HELD = "held"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """What a site's owner may set. Stored as JSON in `sites.options`; every field has a safe default."""

    include: tuple[str, ...] = ()
    """Path patterns (`*` and `?`); when given, only matching pages are kept."""
    exclude: tuple[str, ...] = ()
    subdomains: bool = False
    follow_links: bool = False
    """Join links of fetched pages to the list even though a sitemap exists."""
    max_pages: int = 50_000
    max_depth: int = 5
    request_gap_seconds: float | None = None
    """Gap between two requests to the host; None takes the setting KB_REQUEST_GAP_SECONDS."""
    refresh_interval_hours: float = 24.0
    time_limit_minutes: float | None = None
    """Wall clock for one refresh's fetching; pages left over end as deferred."""
    removal_limit_pages: int = 20
    removal_limit_share: float = 1 / 3
    """Removals are held when both limits are passed at once."""
    tolerated_thin_share: float = 0.2
    """Share of kept texts under the threshold that `text_clears_threshold` lets through."""
    ignore_noindex: bool = False
    ignore_nofollow: bool = False
    auto_approve_pages: int | None = None
    """Approve an import of at most this many pages unasked; None takes the setting KB_AUTO_APPROVE_PAGES."""
    golden_questions: tuple[tuple[str, str], ...] = ()
    """(question, path of the page that answers it)."""
    golden_blocks: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """One row of `sites`."""

    site_id: str
    url: str
    source_type: SourceType
    state: SiteState
    options: SiteOptions
    tenant: str
    created_at: datetime
    approved_at: datetime | None = None
    approved_pages: int | None = None
    """The page cap that was approved; None before approval."""
    next_refresh_at: datetime | None = None
    last_error: str | None = None
    last_error_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One row of `pages`, the ledger: one URL of one site, and all that is known of it."""

    site_id: str
    page_id: str
    url: str
    state: PageStatus
    source: PageSource
    reason: str | None = None
    depth: int = 0
    priority: float | None = None
    sitemap_lastmod: datetime | None = None
    tier: str | None = None
    status_code: int | None = None
    final_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    """Hash of the stored snapshot's body; None when there is no snapshot."""
    duplicate_of: str | None = None
    attempts: int = 0
    retry_at: datetime | None = None
    first_seen_at: datetime | None = None
    last_seen_at: datetime | None = None
    last_fetched_at: datetime | None = None
    last_indexed_at: datetime | None = None
    title: str | None = None
    characters: int | None = None
    chunk_count: int | None = None
    error: str | None = None
    seen_generation: int = 0
    wanted_generation: int = 0
    done_generation: int = 0
    removed_generation: int | None = None
    """The refresh whose removal of the copy was let through; None while a copy is (or may be) indexed."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """One URL that discovery found, kept or left out (`excluded_because`)."""

    page_id: str
    url: str
    source: PageSource
    depth: int = 0
    priority: float | None = None
    lastmod: datetime | None = None
    excluded_because: str | None = None
    forbidden: bool = False
    """Left out because a robots.txt that was read forbids it."""
    alternates: tuple[tuple[str, str], ...] = ()
    """hreflang alternates, (language, url)."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an import will cost, at the end of discovery. Seconds and tokens are expectations."""

    pages: int
    tokens: int
    tokens_low: int
    tokens_high: int
    embedding_seconds: float
    fetching_seconds: float
    browser_calls_at_worst: int
    vision_calls_at_worst: int
    sampled_pages: int


@dataclass(frozen=True, slots=True)
class Refresh:
    """One row of `refreshes`."""

    site_id: str
    generation: int
    kind: RefreshKind
    started_at: datetime
    finished_at: datetime | None = None
    outcome: RefreshOutcome | None = None
    reason: str | None = None
    estimate: Estimate | None = None
    approved_at: datetime | None = None
    removals_confirmed_at: datetime | None = None
    held_removals: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    run_id: str | None = None
    trouble: str | None = None
    """Why pages of it gave nothing new, in one line; None when all did."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The winning body of one page, as it came (decompressed, never transcoded)."""

    page_id: str
    url: str
    """Final URL, after redirects: the base of relative links."""
    content_type: str
    body: bytes
    content_hash: str
    tier: str
    status_code: int
    fetched_at: datetime
    degraded: bool = False
    """Whether parts of the page were only to be had as plain text."""


@dataclass(frozen=True, slots=True)
class Text:
    """What a page says, as Markdown (core.extract)."""

    title: str
    markdown: str
    characters: int
    """Length of the text without Markdown syntax: what the 200-character threshold is held against."""
    description: str = ""
    language: str | None = None
    canonical: str | None = None
    author: str = ""
    """As the page names it, several joined by commas; empty where it names nobody."""
    published: str | None = None
    modified: str | None = None
    noindex: bool = False
    nofollow: bool = False
    degraded: bool = False
    quality: float = 0.0
    truncated: bool = False
    anchors: tuple[tuple[int, str], ...] = ()
    """(n-th heading of the Markdown from 0, fragment id of its section)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a chunk that is embedded by itself: a few sentences, a row, an entry of a definition list."""

    start: int
    end: int
    """`Chunk.text[start:end]` is the piece."""
    tokens: int
    """About, of that."""
    heading_path: tuple[str, ...]
    anchor: str | None
    reads: str
    """What the model reads: title (and before a chunk's first piece the description), the headings and terms it stands
    under, then its text without Markdown syntax."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a page (core.chunking)."""

    ordinal: int
    text: str
    """Markdown of the passage, overlap included."""
    heading_path: tuple[str, ...]
    anchor: str | None
    tokens: int
    """Tokens of `text` alone, in the embedding model's own tokenizer where it is at hand."""
    context: str
    """What stands before the text in full-text search: title, description, and the headings and terms above, each cut
    to its share."""
    kind: str
    """A `core.passage_kinds.PassageKind`."""
    pieces: tuple[Piece, ...]
    """In order, together all of the chunk but what it repeats of the chunk before."""
    hash: str
    """Of exactly what is embedded (what each piece reads): decides whether to embed again."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Text of a page in one piece, with the address that leads to it."""

    url: str
    """With the fragment of its section, where there is one."""
    heading_path: tuple[str, ...]
    text: str
    """Markdown."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that search returns, best first."""

    site_id: str
    page_id: str
    chunk_id: str
    url: str
    """Of the part that answers best, with the fragment of its section, where there is one."""
    title: str
    heading_path: tuple[str, ...]
    text: str
    """All that is quoted of the page, in its order: the passage, and what else on the page is about the question.
    Between parts that do not follow each other stands a line of its own, `[…]`."""
    score: float
    best: str
    """The part of the passage that answers best."""
    parts: tuple[Excerpt, ...]
    """What `text` is made of, for citations."""
    also_at: tuple[str, ...] = ()
    """Other pages that say the same word for word."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One row of `publications`: a version of a site's vectors that is or was live."""

    publication_id: int
    site_id: str
    table_name: str
    lance_version: int
    generation: int
    rows: int
    pages: int
    published_at: datetime
    reason: str
    live: bool
