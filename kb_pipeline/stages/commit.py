"""Commits a batch of visits: bodies to Lance first, then the ledger in one transaction, so that a crash between the
two only asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kb_pipeline.model import Outcome, PageStatus, Snapshot, SourceType
from kb_pipeline.stages.discover import add_links
from kb_pipeline.stages.extract import STEP as EXTRACT
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.frontier import Ending, Retry
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import SNAPSHOTS_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_pipeline.model import Page, Site
    from kb_pipeline.stages.visit import Visit
    from kb_pipeline.store.frontier import Frontier
    from kb_pipeline.store.stores import Stores

_LEFT_OUT: Final = frozenset({PageStatus.EXCLUDED, PageStatus.FORBIDDEN})


class Committer:
    """Writes visits of one refresh of one site. `assert_held` raises when the site's lock was lost."""

    def __init__(
        self, stores: Stores, site: Site, frontier: Frontier, generation: int, assert_held: Callable[[], None]
    ) -> None:
        self._stores = stores
        self._site = site
        self._frontier = frontier
        self._generation = generation
        self._assert_held = assert_held

    def joins_links(self) -> bool:
        """Whether links of fetched pages join the list: when the site asks for it, or when nothing else lists it."""
        if self._site.source_type is not SourceType.AUTO:
            return self._site.options.follow_links
        return self._site.options.follow_links or not self._frontier.has_list()

    def commit(self, visits: Sequence[Visit]) -> list[Visit]:
        """Store the visits, and return them as they were stored. Raises StoreError."""
        self._assert_held()
        self._store_bodies([visit.snapshot for visit in visits if visit.snapshot])
        with self._stores.database.transaction():
            self._add_pages(visits)
            checked = self._check_redirects(visits)
            endings = [visit.end for visit in checked if isinstance(visit.end, Ending)]
            retries = [visit.end for visit in checked if isinstance(visit.end, Retry)]
            self._frontier.commit(endings, retries, self._stores.now())
            self._record_aliases(checked)
            self._forget_failures(visits)
            self._spend(visits)
        return checked

    def _store_bodies(self, snapshots: Sequence[Snapshot]) -> None:
        if not snapshots:
            return
        columns = {name: [getattr(snapshot, name) for snapshot in snapshots] for name in SNAPSHOTS_TABLE.schema.names}
        rows = pa.table(columns, schema=SNAPSHOTS_TABLE.schema)
        # Opened anew each time: a refresh without a fresh page needs no table, and Lance no stale handle.
        table = self._stores.site(self._site.site_id).ensure(SNAPSHOTS_TABLE)
        replace_pages(table, SNAPSHOTS_TABLE, [snapshot.page_id for snapshot in snapshots], rows)

    def _add_pages(self, visits: Sequence[Visit]) -> None:
        """Put what pages link and redirect to on the list, before the pages themselves are done."""
        found = [link for visit in visits for link in visit.links]
        found += [visit.leads_to for visit in visits if visit.leads_to]
        if found:
            unique = list({page.page_id: page for page in found}.values())
            add_links(self._stores, self._site, self._generation, unique)

    def _check_redirects(self, visits: Sequence[Visit]) -> list[Visit]:
        """A page is a duplicate only of a page that is kept: one that leads to a page left out keeps its copy."""
        targets = {visit.leads_to.page_id for visit in visits if visit.leads_to}
        known = {page.page_id: page for page in self._stores.pages.of_ids(self._site.site_id, sorted(targets))}
        kept = [identity for identity, page in known.items() if page.state not in _LEFT_OUT]
        self._frontier.want(kept)
        return [self._checked(visit, known) for visit in visits]

    @staticmethod
    def _checked(visit: Visit, known: dict[str, Page]) -> Visit:
        if visit.leads_to is None or not isinstance(visit.end, Ending):
            return visit
        target = known.get(visit.leads_to.page_id)
        if target is not None and target.state not in _LEFT_OUT:
            return visit
        why = target.reason if target is not None else "it is not on the site's list"
        reason = f"The page redirects to {visit.leads_to.url}, which is left out: {why}"
        attempt = replace(visit.end.attempt, reason=reason, error=reason)
        end = replace(visit.end, outcome=Outcome.UNREACHABLE, attempt=attempt, duplicate_of=None)
        return replace(visit, end=end, leads_to=None)

    def _forget_failures(self, visits: Sequence[Visit]) -> None:
        """A body that was stored just now is read at once, also where reading the one before it failed."""
        read = [visit.snapshot.page_id for visit in visits if visit.snapshot]
        now = self._stores.now()
        self._stores.failures.settle(self._site.site_id, EXTRACT, failed=(), settled=read, now=now)

    def _spend(self, visits: Sequence[Visit]) -> None:
        spent = {
            "requests": sum(visit.requests for visit in visits),
            "bytes": sum(visit.wire_bytes for visit in visits),
            "retries": sum(isinstance(visit.end, Retry) for visit in visits),
        }
        self._stores.refreshes.spend(self._site.site_id, self._generation, spent)

    def _record_aliases(self, visits: Sequence[Visit]) -> None:
        read = [visit.due.page_id for visit in visits if visit.snapshot]
        aliases = [
            Alias(visit.due.page_id, visit.due.url, visit.leads_to.page_id, "redirect")
            for visit in visits
            if visit.leads_to
        ]
        aliases += [
            Alias(visit.due.page_id, visit.due.url, visit.canonical, "canonical") for visit in visits if visit.canonical
        ]
        self._frontier.forget_leads(read)
        self._stores.aliases.add(self._site.site_id, aliases, self._stores.now())
