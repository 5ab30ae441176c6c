"""The half of discovery that decides: which listed addresses are pages of the site, which are other addresses of the
same page, and why each of the rest is left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.scope import Scope, TrapWatch
from kb_pipeline.core.urls import origin_of, resolve, url_key, without_fragment
from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.robots_gate import Access
from kb_pipeline.model import Discovered, PageSource, SourceType
from kb_pipeline.store.aliases import Alias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kb_pipeline.fetch.robots_gate import RobotsGate
    from kb_pipeline.model import Site
    from kb_pipeline.stages.listing import Listed

OVER_APPROVED: Final = "is beyond the number of pages that was approved (the highest priority comes first)"
OVER_LIMIT: Final = "is beyond the site's limit max_pages (the highest priority comes first)"
MAX_EXCLUDED_ROWS: Final = 5_000
"""Pages left out whose rows one refresh writes; the others are only counted."""
MAX_ORIGINS: Final = 20
"""Origins whose robots.txt discovery reads. Pages of further ones are checked when they are fetched."""

_DEFAULT_PRIORITY: Final = 0.5
_INDEX_PAGES: Final = ("index.html", "index.htm", "index.php")


@dataclass(slots=True)
class Selection:
    """What of a listing becomes rows of the ledger."""

    kept: list[Discovered] = field(default_factory=list)
    forbidden: list[Discovered] = field(default_factory=list)
    excluded: list[Discovered] = field(default_factory=list)
    """At most MAX_EXCLUDED_ROWS and those that must be; `reasons` counts all."""
    reasons: Counter[str] = field(default_factory=Counter)
    aliases: list[Alias] = field(default_factory=list)

    @property
    def rows(self) -> list[Discovered]:
        """Everything that is written down."""
        return [*self.kept, *self.forbidden, *self.excluded]

    def leave_out(self, page: Discovered, reason: str, *, must_be_written: bool = False) -> None:
        """Record why a page is not kept."""
        self.reasons[reason] += 1
        if must_be_written or len(self.excluded) < MAX_EXCLUDED_ROWS:
            self.excluded.append(replace(page, excluded_because=reason))


class Selector:
    """Sorts the addresses of one site."""

    def __init__(self, site: Site, gate: RobotsGate) -> None:
        self._site = site
        self._gate = gate
        self._scope = Scope(site.url, site.options)
        self._origins: set[str] = set()

    async def select(self, listed: Iterable[Listed], with_copy: Collection[str]) -> Selection:
        """Sort `listed`; `with_copy` are the page ids that are indexed, which come first where a limit cuts."""
        selection = Selection()
        for page in self._distinct(listed, selection):
            reason = self._why_not(page)
            if reason is not None:
                selection.leave_out(page, reason)
            elif (forbidden := await self._why_forbidden(page)) is not None:
                selection.reasons[forbidden] += 1
                selection.forbidden.append(replace(page, excluded_because=forbidden, forbidden=True))
            else:
                selection.kept.append(page)
        self._cut(selection, with_copy)
        return selection

    def _distinct(self, listed: Iterable[Listed], selection: Selection) -> list[Discovered]:
        """One entry a page, the first address that names it; the others become aliases."""
        pages: dict[str, Discovered] = {}
        watch = TrapWatch()
        for entry in listed:
            href = resolve(None, entry.url)
            if href is None:
                selection.reasons["is not a valid address"] += 1
                continue
            url = without_fragment(href)
            identity = page_id(url_key(url))
            known = pages.get(identity)
            if known is None:
                if not self._is_index_of_known(entry, url, pages):
                    pages[identity] = _discovered(identity, url, entry)
                continue
            pages[identity] = _merged(known, entry)
            if url != known.url and (trap := watch.why_not(url)) is not None:
                selection.reasons[trap] += 1
            elif url != known.url:
                selection.aliases.append(Alias(identity, url, identity, "same_identity"))
        return list(pages.values())

    @staticmethod
    def _is_index_of_known(entry: Listed, url: str, pages: dict[str, Discovered]) -> bool:
        """Whether this is the start page and a list names it as `index.html`: it would only be fetched twice."""
        if entry.source is not PageSource.GIVEN or not pages:
            return False
        folder = url.partition("?")[0].rpartition("/")[0]
        return any(page_id(url_key(f"{folder}/{name}")) in pages for name in _INDEX_PAGES)

    def _why_not(self, page: Discovered) -> str | None:
        if page.source is PageSource.GIVEN and self._site.source_type is SourceType.URL:
            return None
        return self._scope.why_not(page.url, depth=page.depth)

    async def _why_forbidden(self, page: Discovered) -> str | None:
        origin = origin_of(page.url)
        if origin not in self._origins and len(self._origins) >= MAX_ORIGINS:
            return None
        self._origins.add(origin)
        try:
            verdict = await self._gate.verdict(page.url)
        except FetchError:
            return None  # fetching finds the same, and says so of the page
        # A robots.txt that could not be read forbids nothing: the page is asked for when it can be.
        return verdict.reason if verdict.access is Access.FORBIDDEN else None

    def _cut(self, selection: Selection, with_copy: Collection[str]) -> None:
        selection.kept.sort(key=lambda page: (page.page_id not in with_copy, *rank(page)))
        most, reason = cap(self._site)
        for page in selection.kept[most:]:
            # A copy whose row is not written would be asked for again, as one that the list no longer names.
            selection.leave_out(page, reason, must_be_written=page.page_id in with_copy)
        del selection.kept[most:]


def cap(site: Site) -> tuple[int, str]:
    """Most pages of a refresh of the site, and why there are no more."""
    approved, limit = site.approved_pages, site.options.max_pages
    return (approved, OVER_APPROVED) if approved is not None and approved <= limit else (limit, OVER_LIMIT)


def rank(page: Discovered) -> tuple[float, int, int, str]:
    """Sort key, the most important page first. The ledger's trim uses the same order."""
    priority = _DEFAULT_PRIORITY if page.priority is None else page.priority
    return -priority, page.depth, len(page.url), page.url


def _discovered(identity: str, url: str, entry: Listed) -> Discovered:
    return Discovered(
        identity,
        url,
        entry.source,
        depth=entry.depth,
        priority=entry.priority,
        lastmod=entry.lastmod,
        alternates=entry.alternates,
    )


def _merged(page: Discovered, entry: Listed) -> Discovered:
    """What a second source adds to a page."""
    if entry.lastmod is None and entry.priority is None and not entry.alternates and entry.depth >= page.depth:
        return page
    return replace(
        page,
        depth=min(page.depth, entry.depth),
        priority=page.priority if page.priority is not None else entry.priority,
        lastmod=max(filter(None, (page.lastmod, entry.lastmod)), default=None),
        alternates=page.alternates or entry.alternates,
    )
