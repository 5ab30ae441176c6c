"""A site whose texts a test writes itself, so that the stages after extraction are tested without a crawl."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kb_pipeline.core.fingerprints import fingerprint, page_id
from kb_pipeline.model import Discovered, PageSource, RefreshKind
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.embed import embed_chunks
from kb_pipeline.stages.publish import publish
from kb_pipeline.store.frontier import Frontier
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import TEXTS_TABLE
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder

if TYPE_CHECKING:
    from kb_pipeline.model import Page
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.publish import PublishReport
    from kb_pipeline.store.stores import Stores

ROOT = "https://docs.example.org/"


def prose(topic: str, sentences: int = 12) -> str:
    return " ".join(f"Sentence {n} explains the {topic} by way of step {n * 3}." for n in range(sentences))


class WrittenSite:
    """One registered site; `write` and `erase` stand in for fetching and extraction."""

    def __init__(self, stores: Stores, settings: Settings, site_id: str = "docs") -> None:
        self.stores = stores
        self.settings = settings
        self.site_id = site_id
        self.store = stores.site(site_id)
        self.embedder = HashEmbedder()
        stores.sites.add(site_id, ROOT)
        self.store.ensure(TEXTS_TABLE)

    def write(self, path: str, markdown: str, **fields: Any) -> str:
        url = ROOT + path
        key = page_id(url)
        row = {
            "page_id": key,
            "mark": "m",
            "url": url,
            "title": fields.pop("title", path.title()),
            "description": "",
            "markdown": markdown,
            "anchors": [],
            "characters": len(markdown),
            "page_state": "ok",
            "quality": 1.0,
            "degraded": False,
            "truncated": False,
            "noindex": False,
            **fields,
        }
        row["output"] = fingerprint(*(str(value) for value in row.values()))
        self._replace(key, pa.Table.from_pylist([row], schema=TEXTS_TABLE.schema))
        self.stores.pages.record_discovered(
            self.site_id, 1, [Discovered(key, url, PageSource.SITEMAP)], self.stores.now()
        )
        return key

    def erase(self, path: str) -> None:
        self._replace(page_id(ROOT + path), TEXTS_TABLE.schema.empty_table())

    def _replace(self, key: str, rows: pa.Table) -> None:
        replace_pages(self.store.table(TEXTS_TABLE.name), TEXTS_TABLE, [key], rows)

    def fetched(self, kind: RefreshKind = RefreshKind.FULL) -> int:
        """Open a refresh and say that all its pages have an outcome; its generation."""
        now = self.stores.now()
        refresh = self.stores.refreshes.start_or_resume(self.site_id, kind, "run", now)
        self.stores.refreshes.mark_fetched(self.site_id, refresh.generation, now)
        return refresh.generation

    def derive(self) -> dict[str, float]:
        make_chunks(self.stores, self.settings, self.site_id)
        return embed_chunks(self.stores, self.settings, self.site_id, embedder=self.embedder).counts

    def publish(self) -> PublishReport:
        return publish(self.stores, self.settings, self.site_id, embedder=self.embedder)

    def refresh(self) -> PublishReport:
        self.fetched()
        self.derive()
        return self.publish()

    def remove_in_ledger(self, key: str) -> None:
        """As a removal that was let through leaves it."""
        Frontier(self.stores.database, self.site_id, 1).remove([key])

    def rows(self, table: str) -> list[dict[str, Any]]:
        order = ("page_id", "ordinal") if table != TEXTS_TABLE.name else ("page_id",)
        rows: list[dict[str, Any]] = read_rows(self.store.table(table), order=order).to_pylist()
        return rows

    def vectors(self) -> list[dict[str, Any]]:
        return self.rows("vectors-hash-64-pieces")

    def page(self, path: str) -> Page:
        page = self.stores.pages.get(self.site_id, page_id(ROOT + path))
        assert page is not None
        return page

    def hours_to_next_refresh(self) -> float:
        site = self.stores.sites.get(self.site_id)
        assert site.next_refresh_at is not None
        return (site.next_refresh_at - self.stores.now()) / timedelta(hours=1)
