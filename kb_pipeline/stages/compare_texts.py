"""What deriving a site's texts anew would change, before anything is written: the stored bodies are read with the
present code and settings, and held against the stored texts. Takes no lock."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kb_pipeline.core import extract as extraction
from kb_pipeline.core.chunking import ChunkOptions
from kb_pipeline.core.sync import Mark, sync
from kb_pipeline.core.text_changes import unified_diff
from kb_pipeline.embed import open_embedder
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState
from kb_pipeline.stages.chunk import cut, token_counter_of
from kb_pipeline.stages.embed import earlier_versions, vectors_spec
from kb_pipeline.stages.estimate import EMBEDDED_TOKENS_A_SECOND
from kb_pipeline.stages.extract import BATCH_PAGES, SnapshotSource, derive_texts, text_recipe
from kb_pipeline.stages.page_comparison import (
    CONTENT,
    FACTS,
    NO_TEXT,
    SHORT,
    Change,
    PageComparison,
    compared,
    is_indexable,
    not_read,
    rank,
)
from kb_pipeline.stages.report import Progress, quiet
from kb_pipeline.stages.text_limits import any_fetched_in, share_of, too_many
from kb_pipeline.store.lance import at_version, read_pages, read_rows
from kb_pipeline.store.lance_marks import page_marks
from kb_pipeline.store.reports import Reports
from kb_pipeline.store.schemas import TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kb_pipeline.core.sync import Batch, Failure
    from kb_pipeline.embed import Embedder
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.page_comparison import Row
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.stores import Stores

LISTED_PAGES: Final = 20
_LEAVES: Final = {NO_TEXT: "no_text", SHORT: "short"}


@dataclass(slots=True)
class TextsComparison:
    """A site's texts as they are and as they would be. Nothing of it was written."""

    site_id: str
    extractor: str
    """The version whose texts these would be."""
    counts: dict[str, int] = field(default_factory=dict)
    """Pages by `Change`; `gone`, texts of pages that are no longer kept; `no_text` and `short`, pages that would leave
    the index for it, `other_kind`, those taken for an error page or a gate, and `joins_index`; characters before and
    after; words before, lost and gained."""
    chunks: int = 0
    """Of all pages that could be read."""
    chunks_to_embed: int = 0
    """Those whose hash no vector has: in the newest version, or in the live one."""
    tokens_to_embed: int = 0
    embedding_seconds: float = 0.0
    """Estimated, for a small model on two cores."""
    stopped_by: list[str] = field(default_factory=list)
    """Checks that would keep it from going live, and why."""
    pages: list[PageComparison] = field(default_factory=list)
    """Those that leave the index or cannot be read, then those that lose the largest share of their words."""


@dataclass(frozen=True, slots=True)
class PageDiff:
    """One page, and its two texts line by line."""

    page: PageComparison
    diff: tuple[str, ...]
    """A unified diff of the Markdown; empty when it is the same."""


def compare_site(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    most: int | None = LISTED_PAGES,
    progress: Progress = quiet,
    embedder: Embedder | None = None,
) -> TextsComparison:
    """Derive every page's text anew and compare it with the stored one, in batches and key order. `most` pages that
    changed are listed; None lists all pages, unchanged ones too.

    Reads the tables as they are now, whatever a run writes meanwhile. Raises SiteNotFound, StoreError, and ModelMissing
    or ConfigError for a model that cannot be used.
    """
    site = stores.sites.get(site_id)
    found = _Found(stores, settings, site, embedder or open_embedder(settings), most)
    total = stores.pages.count_with_copy(site_id)
    sync(
        SnapshotSource(stores, site_id),
        found,
        lambda marks, snapshots: derive_texts(marks, snapshots, settings.bot_token),
        recipe=text_recipe(settings),
        now=stores.now,
        retry_after=lambda _attempts: timedelta(0),
        batch_keys=BATCH_PAGES,
        on_batch=lambda tally: progress("comparing texts", tally.added + tally.changed + tally.failed, total),
    )
    return found.report()


def compare_page(stores: Stores, settings: Settings, site_id: str, page_id: str) -> PageDiff | None:
    """One page's comparison with the whole difference; None where no body of it is stored. Raises StoreError."""
    page = stores.pages.get(site_id, page_id)
    if page is None or page.content_hash is None or page.removed_generation is not None:
        return None
    snapshots = SnapshotSource(stores, site_id).read([page_id])
    derived = derive_texts([Mark(page_id, page.content_hash)], snapshots, settings.bot_token)
    old = _stored(_newest(stores, site_id, TEXTS), [page_id]).get(page_id)
    if page_id in derived.errors:
        return PageDiff(not_read(page_id, page.url, old, derived.errors[page_id]), ())
    new = derived.rows.to_pylist()[0]
    return PageDiff(compared(old, new), tuple(unified_diff(old["markdown"] if old else "", new["markdown"])))


def _newest(stores: Stores, site_id: str, name: str) -> Table | None:
    """The table, fixed at its newest version; None where it was never made."""
    store = stores.site(site_id)
    return at_version(store.table(name)) if store.exists(name) else None


class _Found:
    """Where the derived texts go (implements core.sync.Sink): into counts, and nowhere else."""

    def __init__(self, stores: Stores, settings: Settings, site: Site, embedder: Embedder, most: int | None) -> None:
        self._stores = stores
        self._site = site
        self._texts = _newest(stores, site.site_id, TEXTS)
        vectors = _newest(stores, site.site_id, vectors_spec(embedder).name)
        self._vectors = earlier_versions(vectors) if vectors is not None else []
        self._count_tokens = token_counter_of(settings).count
        refresh = stores.refreshes.latest(site.site_id)
        self._generation = refresh.generation if refresh else 0
        self._worst = _Worst(most)
        self._counts = Counter[str]()
        self._after = Counter[str]()
        self._error_fetched_now = False
        self._comparison = TextsComparison(site.site_id, extraction.EXTRACTOR_VERSION)

    def marks(self) -> Iterator[Mark]:
        """Every page that has a text, under a mark that no target is equal to: each is derived, whatever made it."""
        return page_marks(self._texts, "page_id") if self._texts is not None else iter(())

    def failures(self) -> Iterator[Failure]:
        """None: a page that waits for another attempt is tried now."""
        return iter(())

    def commit(self, batch: Batch[pa.Table]) -> None:
        """Compare the batch."""
        self._counts["gone"] += len(batch.deleted)
        rows: list[Row] = batch.rows.to_pylist() if batch.rows is not None else []
        failed = {failure.key: failure.error for failure in batch.failures}
        stored = _stored(self._texts, [*(row["page_id"] for row in rows), *failed])
        for row in rows:
            self._note(compared(stored.get(row["page_id"]), row))
        self._note_failed(failed, stored)
        self._judge([*rows, *(stored[page_id] for page_id in failed if page_id in stored)])
        if batch.rows is not None:
            indexable = pa.array([is_indexable(row) for row in rows], pa.bool_())
            self._count_chunks(batch.rows.filter(indexable))

    def report(self) -> TextsComparison:
        """All that was found."""
        found = self._comparison
        found.counts = {change.value: 0 for change in Change} | dict(self._counts)
        found.embedding_seconds = round(found.tokens_to_embed / EMBEDDED_TOKENS_A_SECOND, 1)
        found.stopped_by = list(self._stops())
        found.pages = self._worst.pages()
        return found

    def _note_failed(self, failed: Mapping[str, str], stored: Mapping[str, Row]) -> None:
        without = [page_id for page_id in failed if page_id not in stored]
        urls = {page.page_id: page.url for page in self._stores.pages.of_ids(self._site.site_id, without)}
        for page_id, error in failed.items():
            self._note(not_read(page_id, urls.get(page_id, ""), stored.get(page_id), error))

    def _note(self, page: PageComparison) -> None:
        self._worst.add(page)
        self._counts[page.change.value] += 1
        self._counts["joins_index"] += page.joins_index
        if page.leaves_index_because:
            self._counts[_LEAVES.get(page.leaves_index_because, "other_kind")] += 1
        self._counts["characters_before"] += page.characters_before or 0
        self._counts["characters_after"] += page.characters_after or 0
        for name in ("words_before", "words_lost", "words_gained"):
            self._counts[name] += getattr(page, name)

    def _judge(self, rows: Sequence[Row]) -> None:
        """Count what the checks would count, of the texts that would be there."""
        errors = [row["page_id"] for row in rows if row["page_state"] != PageState.OK]
        self._after["texts"] += len(rows)
        self._after["errors"] += len(errors)
        self._after["short"] += sum(
            row["page_state"] == PageState.OK and row["characters"] < MIN_TEXT_CHARACTERS for row in rows
        )
        if errors and any_fetched_in(self._stores, self._site.site_id, errors, self._generation):
            self._error_fetched_now = True

    def _count_chunks(self, texts: pa.Table) -> None:
        made = cut(texts, self._count_tokens, ChunkOptions())
        tokens = dict(zip(made.rows["hash"].to_pylist(), made.rows["tokens"].to_pylist(), strict=True))
        unknown = tokens.keys() - _known(self._vectors, tokens)
        self._comparison.chunks += made.rows.num_rows
        self._comparison.chunks_to_embed += len(unknown)
        self._comparison.tokens_to_embed += sum(tokens[value] for value in unknown)

    def _stops(self) -> Iterator[str]:
        unkept = Reports(self._stores.database).thin_pages_count(self._site.site_id)
        short, texts = unkept + self._after["short"], unkept + self._after["texts"]
        tolerated = f"the site tolerates {self._site.options.tolerated_thin_share:.0%}"
        if too_many(self._site, short, texts):
            share = f"{share_of(short, texts):.0%}"
            yield f"text_clears_threshold: {short:,} of {texts:,} pages are short ({share}), and {tolerated}"
        errors, texts = self._after["errors"], self._after["texts"]
        if too_many(self._site, errors, texts):
            share = f"{share_of(errors, texts):.0%}"
            yield f"no_error_pages: {errors:,} of {texts:,} texts are error pages or gates ({share}), and {tolerated}"
        elif self._error_fetched_now:
            yield "no_error_pages: a page that the last refresh fetched as content is an error page or a gate"


class _Worst:
    """The pages that lose most, in memory for so many; without a number, all pages."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._pages: list[PageComparison] = []

    def add(self, page: PageComparison) -> None:
        """Keep the page if it is one of them."""
        if self._most is not None and page.change is Change.UNCHANGED:
            return
        self._pages.append(page)
        if self._most is not None and len(self._pages) > 2 * self._most:
            self._pages = self.pages()

    def pages(self) -> list[PageComparison]:
        """The worst first."""
        if self._most is None:
            return sorted(self._pages, key=rank)
        return heapq.nsmallest(self._most, self._pages, key=rank)


def _stored(texts: Table | None, page_ids: Sequence[str]) -> dict[str, Row]:
    """The stored texts of these pages, as far as there are any, in the columns that their table has."""
    if texts is None or not page_ids:
        return {}
    wanted = ("page_id", "characters", *CONTENT, *FACTS)
    columns = [name for name in wanted if name in texts.schema.names]
    return {row["page_id"]: row for row in read_pages(texts, page_ids, columns=columns).to_pylist()}


def _known(vectors: Sequence[Table], hashes: Mapping[str, int]) -> set[str]:
    """Those of the hashes that have a vector."""
    if not hashes:
        return set()
    where = f"hash IN ({', '.join(repr(value) for value in sorted(hashes))})"
    return {value for table in vectors for value in read_rows(table, where=where, columns=["hash"])["hash"].to_pylist()}
