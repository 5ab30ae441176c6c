"""A site whose pages each answer in a way of their own from the second night on, and what is to come of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb_pipeline.cli.why import explain
from kb_pipeline.model import SiteOptions
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.sites.replies import Reply, page, prose, sitemap, text
from kb_pipeline_tests.stages.whole_site import SITE, Whole

if TYPE_CHECKING:
    from kb_pipeline.model import Outcome


def walled(title, body, **options):
    return Reply(f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>", **options)


@dataclass(frozen=True)
class Row:
    """What a page that was indexed answers tonight, and what comes of it."""

    name: str
    answer: object
    outcome: Outcome
    says: str
    stays: bool


class Harbour(Whole):
    """A site whose pages each answer in a way of their own from the second night on."""

    def __init__(self, stores, settings, server, names, **options):
        self.stores, self.settings, self.server = stores, settings, server
        for name in names:
            self.say(name, name)
        server.pages["/sitemap.xml"] = sitemap(*[server.url(f"/{name}") for name in names])
        server.pages["/robots.txt"] = text("User-agent: *\nDisallow: /private-things\n")
        stores.sites.add(SITE, server.url("/"), options=SiteOptions(auto_approve_pages=100, **options))

    def say(self, name, words):
        self.server.pages[f"/{name}"] = page(name.title(), prose(f"lamp{name}"), etag=f'"{words}"')

    def told(self, name):
        url = self.server.url(f"/{name}")
        return next(told for told in explain(self.stores, url, SITE) if told.page.url == url)

    def is_found(self, name):
        hits = search(self.stores, self.settings, SITE, f"lamp{name}", mode=SearchMode.TEXT)
        return any(hit.url == self.server.url(f"/{name}") for hit in hits)

    def vectors(self, name):
        """The page's rows of what search reads, to the last bit of each vector."""
        table = self.stores.site(SITE).table(self.stores.publications.live(SITE).table_name)
        table.checkout("live")
        url = self.server.url(f"/{name}")
        rows = read_rows(table).to_pylist()
        return sorted(json.dumps(row, default=str) for row in rows if row["url"].partition("#")[0] == url)
