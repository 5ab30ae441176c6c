"""A site whose pages were fetched, for the stages that read stored bodies: written by the test, without a crawl."""

from __future__ import annotations

import pyarrow as pa

from kb_pipeline.core.fingerprints import content_hash, page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.model import Discovered, Outcome, PageSource, RefreshKind
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.embed import embed_chunks
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.publish import publish
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Frontier
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import SNAPSHOTS_TABLE, TEXTS_TABLE

SITE = "docs"
PROSE = "A pump moves water from the well to the tank, and a valve keeps it from running back. " * 4


class StoredSite:
    """A site whose pages were fetched: bodies in Lance, outcomes in the ledger."""

    def __init__(self, stores, settings):
        self.stores, self.settings = stores, settings
        stores.sites.add(SITE, "https://docs.example/")
        self.generation = stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, stores.now()).generation
        self.frontier = Frontier(stores.database, SITE, self.generation)

    def id(self, path):
        return page_id(url_key(f"https://docs.example{path}"))

    def fetched(self, path, body, content_type="text/html; charset=utf-8"):
        body = body.encode() if isinstance(body, str) else body
        self.body_stored(path, body, content_type)
        self.in_ledger(path, body)

    def body_stored(self, path, body, content_type="text/html; charset=utf-8"):
        """The first half of a fetch's commit."""
        row = {
            "page_id": self.id(path),
            "url": f"https://docs.example{path}",
            "content_type": content_type,
            "body": body,
            "content_hash": content_hash(body),
            "tier": "plain_http",
            "status_code": 200,
            "fetched_at": self.stores.now(),
        }
        table = self.stores.site(SITE).ensure(SNAPSHOTS_TABLE)
        replace_pages(table, SNAPSHOTS_TABLE, [row["page_id"]], pa.Table.from_pylist([row], SNAPSHOTS_TABLE.schema))

    def in_ledger(self, path, body):
        """The second half."""
        found = Discovered(self.id(path), f"https://docs.example{path}", PageSource.SITEMAP)
        self.stores.pages.record_discovered(SITE, self.generation, [found], self.stores.now())
        self._ended(found.page_id, Outcome.FRESH, Copy(content_hash(body), len(body), None, None))

    def gone(self, path, *, removed):
        self._ended(self.id(path), Outcome.GONE, None)
        if removed:
            self.frontier.remove([self.id(path)])

    def thin(self, path):
        """Fetched for the first time, and it says too little: no body is stored."""
        found = Discovered(self.id(path), f"https://docs.example{path}", PageSource.SITEMAP)
        self.stores.pages.record_discovered(SITE, self.generation, [found], self.stores.now())
        self._ended(found.page_id, Outcome.THIN, None)

    def _ended(self, page, outcome, copy):
        ending = Ending(page, outcome, Attempt(None, None, 200), 1, tier="plain_http", copy=copy)
        self.frontier.commit([ending], [], self.stores.now())

    def extract(self, **options):
        return extract_texts(self.stores, self.settings, SITE, **options)

    def texts(self):
        rows = read_rows(self.stores.site(SITE).table("texts")).to_pylist()
        return {row["url"].removeprefix("https://docs.example"): row for row in rows}

    def had_text(self, path, **fields):
        """Make the stored text of a page what an earlier version of the program left."""
        row = {**self.texts()[path], "mark": "earlier", "output": "earlier", **fields}
        table = self.stores.site(SITE).table("texts")
        replace_pages(table, TEXTS_TABLE, [row["page_id"]], pa.Table.from_pylist([row], TEXTS_TABLE.schema))

    def index(self, embedder):
        """Chunks and vectors of the texts, made live; what embedding counted."""
        make_chunks(self.stores, self.settings, SITE)
        counts = embed_chunks(self.stores, self.settings, SITE, embedder=embedder).counts
        publish(self.stores, self.settings, SITE, embedder=embedder)
        return counts

    def snapshots(self):
        rows = read_rows(self.stores.site(SITE).table("snapshots"), columns=["page_id"]).to_pylist()
        return {row["page_id"] for row in rows}

    def ledger(self, path):
        return self.stores.pages.get(SITE, self.id(path))


def html(title, body=PROSE, head=""):
    return f"<head><title>{title}</title>{head}</head><main><h1 id=top-{title}>{title}</h1><p>{body}</p></main>"
