"""kill -9 in the middle of fetching: running again gives the tables that an undisturbed run gives."""

import os
import signal
import subprocess
import sys
import time

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.errors import SiteBusy
from kb_pipeline.model import Discovered, PageSource, RefreshKind
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.sites.replies import Reply, page, prose, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

PAGES = {f"/{number}": page(f"Page {number}", prose(f"subject {number}"), delay=0.02) for number in range(60)}
PAGES |= {"/gone": Reply(status=404), "/old": redirect("/1"), "/busy": [Reply(status=503), page("Busy", prose("busy"))]}

RUN = """
import sys
from kb_pipeline.settings import Settings
from kb_pipeline.stages import crawl
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.store.stores import Stores

crawl.COMMIT_PAGES = 8
settings = Settings.model_validate_json(sys.argv[1])
with Stores.open(settings) as stores:
    print("begins", flush=True)
    fetch_pages(stores, settings, "docs")
"""


def prepare(stores, server):
    stores.sites.add("docs", server.url("/"))
    refresh = stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, stores.now())
    urls = [server.url(path) for path in PAGES]
    found = [Discovered(page_id(url_key(url)), url, PageSource.SITEMAP) for url in urls]
    stores.pages.record_discovered("docs", refresh.generation, found, stores.now())
    stores.refreshes.approve("docs", refresh.generation, by="test", now=stores.now())


def tables(stores):
    ledger = {
        found.url: (found.state, found.reason, found.content_hash, found.duplicate_of, found.removed_generation)
        for found in stores.pages.stream("docs")
    }
    snapshots = read_rows(stores.site("docs").table("snapshots")).to_pylist()
    bodies = {row["url"]: (row["page_id"], row["content_hash"], row["body"]) for row in snapshots}
    assert len(bodies) == len(snapshots)
    return ledger, bodies


def fetch_when_free(stores, settings, *, until):
    """A server that is busy takes a moment to see that the killed run's session is gone, and its lock with it."""
    while True:
        try:
            return fetch_pages(stores, settings, "docs")
        except SiteBusy:
            assert time.monotonic() < until
            time.sleep(0.1)


@pytest.mark.parametrize("moment", [0.05, 0.25, 0.5])
def test_a_killed_run_goes_on_where_it_was(stores, settings, moment):
    with LoopbackSite(PAGES) as server:
        prepare(stores, server)
        killed = subprocess.Popen([sys.executable, "-c", RUN, settings.model_dump_json()], stdout=subprocess.PIPE)
        assert killed.stdout.readline() == b"begins\n"
        deadline = time.monotonic() + 20
        while len(server.requests) < 1 + 60 * moment and time.monotonic() < deadline:
            time.sleep(0.005)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        killed.stdout.close()
        asked_before = len(server.requests)
        fetch_when_free(stores, settings, until=deadline + 30)
        again = [request.path for request in server.requests[asked_before:]]
        ledger, bodies = tables(stores)
    assert asked_before < 1 + len(PAGES)
    assert len(again) < 2 * len(PAGES)
    assert sum(state == "fresh" for state, *_ in ledger.values()) == 61
    assert len(bodies) == 61
    assert all(bodies[url][1] == row[2] for url, row in ledger.items() if row[0] == "fresh")
    assert {row[0] for url, row in ledger.items() if url.endswith("/gone")} == {"gone"}
    assert {row[0] for url, row in ledger.items() if url.endswith("/old")} == {"duplicate"}
