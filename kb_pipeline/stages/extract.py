"""Stored bodies to texts: reads each page that has a copy, and tells the ledger its title and length.

Bodies of pages that were removed from the index are deleted first, once their removal was let through.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kb_pipeline.core import extract as extraction
from kb_pipeline.core.fingerprints import Recipe, fingerprint
from kb_pipeline.core.sync import Derived
from kb_pipeline.stages.derivation import ToldSink, change_rows, run_sync, tally_counts
from kb_pipeline.stages.page_reading import examined
from kb_pipeline.stages.report import ChangeRow, Progress, StageReport, quiet
from kb_pipeline.store.indexing import Indexing
from kb_pipeline.store.inspection import error_texts, short_texts
from kb_pipeline.store.lance import read_pages
from kb_pipeline.store.lance_sync import LanceSink, replace_pages
from kb_pipeline.store.ledger_texts import LedgerTexts, PageText
from kb_pipeline.store.schemas import SNAPSHOTS, SNAPSHOTS_TABLE, TEXTS_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kb_pipeline.core.extract import Extraction
    from kb_pipeline.core.sync import Batch, Mark
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.inspection import TextFindings
    from kb_pipeline.store.lance import SiteStore, Table
    from kb_pipeline.store.stores import Stores

STEP: Final = "extract"
BATCH_PAGES: Final = 64
_PURGED_AT_ONCE: Final = 500
_READ: Final = ("page_id", "url", "content_type", "body", "content_hash", "status_code", "degraded")
_WITHOUT_MARK: Final = TEXTS_TABLE.schema.remove(TEXTS_TABLE.schema.get_field_index("mark"))


@dataclass(slots=True)
class ExtractReport(StageReport):
    """`counts`: pages by change; bytes read, characters and truncated texts of those that were derived; snapshots
    deleted; and of all texts of the site, those under the threshold and those that are error pages."""

    thin: list[ChangeRow] = field(default_factory=list)
    """The first texts under the threshold, with why."""
    error_pages: list[ChangeRow] = field(default_factory=list)
    """The first texts that are no content, with what they are."""


def extract_texts(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
) -> ExtractReport:
    """Bring the site's `texts` in step with the pages that have a copy. Raises SiteBusy, SiteNotFound, StoreError.

    A page whose body cannot be read is recorded as failed and keeps its old text.
    """
    stores.sites.get(site_id)
    with stores.site_lock(site_id, f"{STEP} {run_id or ''}".strip()) as lock:
        store = stores.site(site_id)
        purged = purge_snapshots(store, Indexing(stores.database).removed(site_id))
        table = store.ensure(TEXTS_TABLE)
        sink = LanceSink(table, TEXTS_TABLE, stores.failures, site_id=site_id, step=STEP, assert_held=lock.assert_held)
        ledger = LedgerTexts(stores.database)
        tally = run_sync(
            stores,
            SnapshotSource(stores, site_id),
            ToldSink(sink, tell=lambda batch: ledger.record(site_id, titles_and_lengths(batch))),
            lambda marks, snapshots: derive_texts(marks, snapshots, settings.bot_token),
            recipe=text_recipe(settings),
            what="reading pages",
            progress=progress,
            keep_going=keep_going,
            batch_keys=BATCH_PAGES,
        )
        report = ExtractReport(tally_counts(tally), change_rows(stores, site_id, tally, STEP))
        report.counts["snapshots_deleted"] = purged
        _list_doubtful(store, report)
        return report


def text_recipe(settings: Settings) -> Recipe:
    """What decides a body's text beside the body."""
    return Recipe(STEP, extraction.EXTRACTOR_VERSION, {"bot_token": settings.bot_token})


def purge_snapshots(store: SiteStore, removed: Iterator[str]) -> int:
    """Delete the stored bodies of removed pages; how many there were."""
    if not store.exists(SNAPSHOTS):
        return 0
    table = store.table(SNAPSHOTS)
    purged = 0
    while page_ids := list(islice(removed, _PURGED_AT_ONCE)):
        found = read_pages(table, page_ids, columns=["page_id"])["page_id"].to_pylist()
        if found:
            replace_pages(table, SNAPSHOTS_TABLE, found, SNAPSHOTS_TABLE.schema.empty_table())
            purged += len(found)
    return purged


class SnapshotSource:
    """The ledger says which pages have a copy, and of what; the bodies are in Lance."""

    def __init__(self, stores: Stores, site_id: str) -> None:
        self._stores = stores
        self._site_id = site_id
        self._table: Table | None = None

    def marks(self) -> Iterator[Mark]:
        """(page id, hash of the body), weighed by the body's bytes. Held removals still have their copy."""
        return self._stores.pages.snapshot_marks(self._site_id)

    def read(self, keys: Sequence[str]) -> pa.Table:
        """The stored bodies. Raises StoreError when there is no table of them."""
        if self._table is None:
            self._table = self._stores.site(self._site_id).table(SNAPSHOTS)
        # A table that an earlier version filled gets its new columns with the next fetch.
        columns = [column for column in _READ if column in self._table.schema.names]
        return read_pages(self._table, keys, columns=columns)


def titles_and_lengths(batch: Batch[pa.Table]) -> list[PageText]:
    """What the ledger is told of a batch of texts."""
    texts = [PageText(page_id, None, None) for page_id in batch.deleted]
    if batch.rows is not None:
        texts += [PageText(**row) for row in batch.rows.select(["page_id", "title", "characters"]).to_pylist()]
    return texts


def derive_texts(marks: Sequence[Mark], snapshots: pa.Table, bot_token: str) -> Derived[pa.Table]:
    """Text rows of the snapshots. A page whose body is missing, is another one than its mark names, or cannot be
    read is an error of its own."""
    rows: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    counts = {"bytes": 0, "characters": 0, "truncated": 0}
    stored = {snapshot["page_id"]: snapshot for snapshot in snapshots.to_pylist()}
    for mark in marks:
        found = _read_snapshot(mark, stored.get(mark.key), bot_token)
        if isinstance(found, str):
            errors[mark.key] = found
            continue
        snapshot = stored[mark.key]
        rows.append(text_row(mark.key, snapshot["url"], found))
        counts["bytes"] += len(snapshot["body"])
        counts["characters"] += found.text.characters
        counts["truncated"] += found.text.truncated
    return Derived(pa.Table.from_pylist(rows, schema=_WITHOUT_MARK), errors, counts)


def _read_snapshot(mark: Mark, snapshot: Mapping[str, Any] | None, bot_token: str) -> Extraction | str:
    """What the page says, or why it could not be read.

    Bodies are committed before the ledger. A fetch that was killed between the two, or a backup, leaves another body
    than the mark names; read under that mark, it would pass for the right one from then on. The next fetch asks for
    the page anew, after which the two agree.
    """
    if snapshot is None:
        return "the ledger has a copy of this page, the data store has none; the next refresh asks for it again"
    if snapshot["content_hash"] != mark.fingerprint:
        return "the stored body is not the one that the ledger has; the next refresh asks for the page again"
    found = examined(
        snapshot["body"],
        snapshot["content_type"],
        snapshot["url"],
        status=snapshot["status_code"],
        bot_token=bot_token,
    )
    if isinstance(found, str) or not snapshot.get("degraded"):
        return found
    return replace(found, text=replace(found.text, degraded=True))


def text_row(page_id: str, url: str, found: Extraction) -> dict[str, Any]:
    """A row of the texts table without its mark. `output` covers what chunks are made from, and nothing else: a new
    date alone re-embeds nothing."""
    text = found.text
    anchors = [{"heading": heading, "fragment": fragment} for heading, fragment in text.anchors]
    return {
        "page_id": page_id,
        "output": fingerprint(url, text.title, text.description, text.markdown, repr(text.anchors), found.state),
        "url": url,
        "title": text.title,
        "description": text.description,
        "language": text.language,
        "canonical": text.canonical,
        "author": text.author or None,
        "published": text.published,
        "modified": text.modified,
        "markdown": text.markdown,
        "anchors": anchors,
        "characters": text.characters,
        "page_state": found.state.value,
        "quality": text.quality,
        "degraded": text.degraded,
        "truncated": text.truncated,
        "noindex": text.noindex,
    }


def _list_doubtful(store: SiteStore, report: ExtractReport) -> None:
    """Count and list the texts that are not indexed: error pages, and those under the threshold."""
    errors, short = error_texts(store), short_texts(store)
    report.counts["texts"] = errors.texts
    report.counts["error_pages"] = errors.found
    report.counts["thin"] = short.found
    report.error_pages = _listed(errors, "error page")
    report.thin = _listed(short, "thin")


def _listed(findings: TextFindings, change: str) -> list[ChangeRow]:
    return [
        ChangeRow(change, text.page_id, text.url, f"{text.page_state}, {text.characters} characters")
        for text in findings.listed
    ]
