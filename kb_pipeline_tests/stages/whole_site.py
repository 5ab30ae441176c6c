"""A site of four pages that goes through all stages, from a server on loopback to the live index."""

from __future__ import annotations

import shutil
from pathlib import Path

from kb_pipeline.model import SiteOptions
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.embed import embed_chunks
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.publish import publish
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.sites.replies import page, prose, sitemap

SITE = "docs"
NAMES = ("apples", "birds", "clouds")
TABLES = ("snapshots", "texts", "chunks", "vectors-hash-64-pieces")


class Whole:
    """A site that goes through all stages."""

    def __init__(self, stores, settings, server):
        self.stores, self.settings, self.server = stores, settings, server
        for name in NAMES:
            self.say(name, name)
        server.pages["/sitemap.xml"] = sitemap(*[server.url(f"/{name}") for name in NAMES])
        stores.sites.add(SITE, server.url("/"), options=SiteOptions(auto_approve_pages=10))

    def say(self, name, words):
        self.server.pages[f"/{name}"] = page(name.title(), prose(words), etag=f'"{words}"')

    def refresh(self):
        discover(self.stores, self.settings, SITE)
        return self.finish()

    def finish(self):
        report = fetch_pages(self.stores, self.settings, SITE)
        extract_texts(self.stores, self.settings, SITE)
        make_chunks(self.stores, self.settings, SITE)
        embed_chunks(self.stores, self.settings, SITE, embedder=HashEmbedder())
        publish(self.stores, self.settings, SITE, embedder=HashEmbedder())
        return report

    def lose(self, tables):
        for table in tables:
            shutil.rmtree(Path(self.stores.site(SITE).uri) / f"{table}.lance")

    def held(self):
        """Pages in each table, and in the version that is live."""
        store = self.stores.site(SITE)
        pages = {name: self.pages(store.table(name)) for name in store.table_names()}
        live = self.stores.publications.live(SITE)
        table = store.table(live.table_name)
        table.checkout("live")
        return pages, self.pages(table)

    @staticmethod
    def pages(table):
        return sorted({row["url"].partition("#")[0].rpartition("/")[2] for row in read_rows(table).to_pylist()})
