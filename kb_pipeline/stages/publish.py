"""Makes the newest vectors live, or an earlier version live again.

The tag `live` of a vectors table names the version that search reads; `publications` says which table, since when
and why. The tag moves first, the row follows: a run killed between the two is completed by running again, since
only the row says what was published.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kb_pipeline.embed import open_embedder
from kb_pipeline.errors import NothingToPublish
from kb_pipeline.model import RefreshKind, RefreshOutcome
from kb_pipeline.stages.embed import vectors_spec
from kb_pipeline.stages.report import ChangeRow, Progress, StageReport, quiet
from kb_pipeline.stages.troubles import history
from kb_pipeline.store.damage import usable
from kb_pipeline.store.indexing import Indexing
from kb_pipeline.store.lance import at_version, count_rows, tags
from kb_pipeline.store.lance_indexes import tidy, update_indexes
from kb_pipeline.store.layouts import searchable
from kb_pipeline.store.vectors import LIVE_TAG, count_pages, page_changes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from kb_pipeline.embed import Embedder
    from kb_pipeline.model import Publication, Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.lance import SiteStore, Table
    from kb_pipeline.store.stores import Stores

STEP: Final = "publish"
JITTER: Final = 0.1
"""Share of the interval by which the next refresh is moved, so that sites registered together drift apart."""
MOST_LISTED: Final = 50
MOST_REFRESHES: Final = 14
_LEDGER_PAGES: Final = 1000
_HISTORY: Final = 1000
_VERSION_TAG: Final = "v-"
_VECTORS: Final = "vectors-"


@dataclass(slots=True)
class PublishReport(StageReport):
    """`counts`: rows and pages that are live, and pages that differ from what was live before."""

    publication: Publication | None = None
    is_new: bool = False
    """False when nothing had changed, and the version that was live stays."""


def publish(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
    embedder: Embedder | None = None,
) -> PublishReport:
    """Index the newest vectors, make them live, and end the open refresh as published.

    Where no page differs from what is live, nothing is published and only the refresh ends. A site whose last page
    was removed becomes empty; one that never had a vector raises NothingToPublish. Raises SiteBusy, SiteNotFound,
    StoreError too.
    """
    site = stores.sites.get(site_id)
    table_name = vectors_spec(embedder or open_embedder(settings)).name
    with stores.site_lock(site_id, f"{STEP} {run_id or ''}".strip()) as lock:
        store = stores.site(site_id)
        live, lost = _what_stands(stores, store)
        table = _newest(stores, store, table_name, live)
        report = PublishReport(publication=live)
        if not keep_going():
            return report
        if _differs(stores, store, live, table, report):
            progress("indexing vectors", 0, None)
            update_indexes(table)
            lock.assert_held()
            report.publication = _go_live(stores, site_id, table)
            stores.publications.forget(site_id, lost)
            report.is_new = True
        assert report.publication is not None
        _settle(stores, store, report.publication, settings.keep_versions)
        if report.is_new:
            progress("tidying tables", 0, None)
            _drop_other_models(stores, store)
            tidy(store, [name for name in store.table_names() if name == table_name or not name.startswith(_VECTORS)])
        _end_refresh(stores, site)
        report.tables["history"] = history(stores.refreshes.recent(site_id, MOST_REFRESHES))
        report.counts |= {"rows": report.publication.rows, "pages": report.publication.pages, "new": int(report.is_new)}
        return report


def rollback(
    stores: Stores, settings: Settings, site_id: str, *, publication_id: int | None = None, run_id: str | None = None
) -> Publication:
    """Make an earlier version live: that of `publication_id`, else the one before what is live. Each call goes one
    step further back; the next refresh goes forward again.

    Raises SiteNotFound, SiteBusy, NothingToPublish when there is no such version, StoreError when it cannot be read.
    """
    stores.sites.get(site_id)
    with stores.site_lock(site_id, f"rollback {run_id or ''}".strip()) as lock:
        store = stores.site(site_id)
        live, lost = _what_stands(stores, store)
        target = _earlier(stores, site_id, live, publication_id)
        _check_searchable(at_version(store.table(target.table_name), target.lance_version), target)
        lock.assert_held()
        if live is None or _version(target) != _version(live):
            _point(store.table(target.table_name), LIVE_TAG, target.lance_version)
            live = stores.publications.publish(
                site_id,
                table_name=target.table_name,
                lance_version=target.lance_version,
                generation=target.generation,
                rows=target.rows,
                pages=target.pages,
                reason=f"rolled back to version {target.publication_id}",
                now=stores.now(),
            )
            stores.publications.forget(site_id, lost)
        _settle(stores, store, live, settings.keep_versions)
        return live


def _check_searchable(table: Table, target: Publication) -> None:
    if searchable(table) is None:
        message = (
            f"version {target.publication_id} was made by another version of this program, and this one could not"
            " search it: what is live stays"
        )
        raise NothingToPublish(message)


def _what_stands(stores: Stores, store: SiteStore) -> tuple[Publication | None, list[int]]:
    """The live publication, and the ids of those whose version no tag holds: their table was deleted. What was made
    in its place counts its versions from one again, so that a number alone would name the wrong rows."""
    history = stores.publications.recent(store.site_id, _HISTORY)
    tables = {row.table_name for row in history} & set(store.table_names())
    held = {(name, tag, version) for name in tables for tag, version in tags(store.table(name)).items()}
    lost = [
        row.publication_id
        for row in history
        if not held & {(row.table_name, tag, row.lance_version) for tag in (_version_tag(row), LIVE_TAG)}
    ]
    stores.publications.forget(store.site_id, lost)
    return next((row for row in history if row.live and row.publication_id not in lost), None), lost


def _newest(stores: Stores, store: SiteStore, name: str, live: Publication | None) -> Table:
    """The vectors table at its newest version. Empty is only what has been full and live before."""
    table = store.table(name) if store.exists(name) else None
    if table is None or (live is None and count_rows(table) == 0):
        refresh = stores.refreshes.latest(store.site_id)
        trouble = f" ({refresh.trouble})" if refresh is not None and refresh.trouble else ""
        message = f"no page of site {store.site_id!r} has a vector yet: nothing can be made live{trouble}"
        raise NothingToPublish(message)
    return table


def _differs(stores: Stores, store: SiteStore, live: Publication | None, table: Table, report: PublishReport) -> bool:
    """Whether a page differs from what is live. Notes each in the report, and in the ledger that it is indexed."""
    if live is not None and _version(live) == (table.name, table.version):
        return False
    indexing = Indexing(stores.database)
    now = stores.now()
    counts = Counter[str](pages_changed=0, pages_gone=0)
    waiting: list[str] = []
    for change in page_changes(_as_published(store, live), table):
        counts["pages_gone" if change.gone else "pages_changed"] += 1
        if len(report.changes) < MOST_LISTED:
            report.changes.append(ChangeRow("gone" if change.gone else "indexed", change.page_id, ""))
        if not change.gone:
            waiting.append(change.page_id)
        if len(waiting) == _LEDGER_PAGES:
            indexing.mark_live(store.site_id, waiting, now)
            waiting.clear()
    indexing.mark_live(store.site_id, waiting, now)
    report.counts |= counts
    _add_urls(stores, store.site_id, report)
    return counts.total() > 0 or live is None or live.table_name != table.name


def _as_published(store: SiteStore, publication: Publication | None) -> Table | None:
    """The version that is live. One whose table was deleted stands no more (`_what_stands`); one that cannot be read
    raises."""
    if publication is None:
        return None
    return at_version(store.table(publication.table_name), publication.lance_version)


def _add_urls(stores: Stores, site_id: str, report: PublishReport) -> None:
    pages = stores.pages.of_ids(site_id, [row.page_id for row in report.changes])
    urls = {page.page_id: page.url for page in pages}
    report.changes = [replace(row, url=urls.get(row.page_id, "")) for row in report.changes]


def _go_live(stores: Stores, site_id: str, table: Table) -> Publication:
    _point(table, LIVE_TAG, table.version)
    indexing = Indexing(stores.database)
    generation = indexing.generation(site_id)
    again = indexing.refresh_to_end(site_id) is None
    return stores.publications.publish(
        site_id,
        table_name=table.name,
        lance_version=table.version,
        generation=generation,
        rows=count_rows(table),
        pages=count_pages(table),
        reason=f"derived again from refresh {generation}" if again else f"refresh {generation}",
        now=stores.now(),
    )


def _settle(stores: Stores, store: SiteStore, live: Publication, keep_versions: int) -> None:
    """Make tags and tables what `publications` says: the live version and the last few others are held by tags, and
    whatever is older is forgotten. Repeatable, so it completes a run that was killed in the middle."""
    history = stores.publications.recent(store.site_id, _HISTORY)
    versions = list(dict.fromkeys([_version(live), *map(_version, history)]))
    kept = [row for row in history if _version(row) in versions[:keep_versions]]
    stores.publications.forget(store.site_id, [row.publication_id for row in history if row not in kept])
    wanted: dict[str, dict[str, int]] = {}
    for row in kept:
        wanted.setdefault(row.table_name, {})[_version_tag(row)] = row.lance_version
    wanted[live.table_name][LIVE_TAG] = live.lance_version
    for name, named in wanted.items():
        _set_tags(store.table(name), named)


def _drop_other_models(stores: Stores, store: SiteStore) -> None:
    """Vectors of a model that is no longer used, once no kept version is theirs."""
    used = {row.table_name for row in stores.publications.recent(store.site_id, _HISTORY)}
    for name in store.table_names():
        if name.startswith(_VECTORS) and name not in used:
            store.drop_table(name)


def _set_tags(table: Table, wanted: Mapping[str, int]) -> None:
    present = tags(table)
    with usable(table.uri):
        for tag in present.keys() - wanted.keys():
            if tag.startswith(_VERSION_TAG):
                table.tags.delete(tag)
        for tag, version in wanted.items():
            if present.get(tag) != version:
                _point(table, tag, version)


def _point(table: Table, tag: str, version: int) -> None:
    with usable(table.uri):
        move = table.tags.update if tag in tags(table) else table.tags.create
        move(tag, version)


def _end_refresh(stores: Stores, site: Site) -> None:
    """Set when the next refresh is due, and end this one, in that order: a refresh that stays open is resumed."""
    refresh = Indexing(stores.database).refresh_to_end(site.site_id)
    if refresh is None:
        return
    now = stores.now()
    if refresh.kind is RefreshKind.FULL:
        stores.sites.schedule(site.site_id, next_refresh(now, site.options.refresh_interval_hours))
    stores.sites.note_error(site.site_id, None, now)
    stores.refreshes.finish(site.site_id, refresh.generation, RefreshOutcome.PUBLISHED, None, now)


def next_refresh(now: datetime, interval_hours: float) -> datetime:
    """`interval_hours` from now, moved by up to JITTER of it either way."""
    return now + timedelta(hours=interval_hours * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret


def _version_tag(publication: Publication) -> str:
    return f"{_VERSION_TAG}{publication.publication_id}"


def _version(publication: Publication) -> tuple[str, int]:
    return publication.table_name, publication.lance_version


def _earlier(stores: Stores, site_id: str, live: Publication | None, publication_id: int | None) -> Publication:
    """The publication to go back to. Of a version that was published more than once, its first publication counts:
    so a second step back goes further, not forward."""
    history = stores.publications.recent(site_id, _HISTORY)
    if publication_id is not None:
        found = next((row for row in history if row.publication_id == publication_id), None)
    else:
        first = {_version(row): row for row in history}
        before = first[_version(live)].publication_id if live is not None and _version(live) in first else 0
        found = next((row for row in first.values() if row.publication_id < before), None)
    if found is None:
        kept = ", ".join(str(row.publication_id) for row in history) or "none"
        wanted = "earlier version" if publication_id is None else f"version {publication_id}"
        message = f"site {site_id!r} has no {wanted} to go back to; versions that are kept: {kept}"
        raise NothingToPublish(message)
    return found
