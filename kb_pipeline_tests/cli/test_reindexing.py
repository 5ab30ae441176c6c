"""`kb sites reindex`: what a new version would change, looked at before it is done, and done."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.core import extract as extraction
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import TEXTS_TABLE
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite

ASIDE = "Subscribe [red]now[/red] to the letter that tells you of every new ferry."
NAMES = ("anchors", "buoys", "cranes", "docks")


@pytest.fixture
def site(kb):
    """Four pages that were imported, one of which an earlier version read with a line too many."""
    with LoopbackSite({f"/{name}": page(name.title(), prose(name)) for name in NAMES}) as served:
        served.pages["/sitemap.xml"] = sitemap(*(served.url(f"/{name}") for name in NAMES))
        options = ("--set", "request_gap_seconds=0", "--set", "auto_approve_pages=10")
        assert kb("sites", "add", "docs", served.url("/"), *options).code == ExitCode.OK
        assert kb("sites", "refresh", "docs").code == ExitCode.OK
        served.forget()
        yield served


def read_by_an_earlier_version(stores, **fields):
    table = stores.site("docs").table("texts")
    row = next(row for row in read_rows(table).to_pylist() if row["title"] == "Anchors")
    row |= {"mark": "earlier", "output": "earlier", "markdown": f"{row['markdown']}\n{ASIDE}\n"} | fields
    replace_pages(table, TEXTS_TABLE, [row["page_id"]], pa.Table.from_pylist([row], TEXTS_TABLE.schema))


def with_another_title(*args, examine=extraction.examine, **options):
    found = examine(*args, **options)
    return replace(found, text=replace(found.text, title=f"{found.text.title}, revised"))


def test_a_dry_run_says_what_would_change_and_a_reindex_does_it_without_a_request(kb, site, stores):
    read_by_an_earlier_version(stores)
    dry = kb("sites", "reindex", "docs", "--dry-run")
    assert dry.code == ExitCode.OK
    assert "3 unchanged, 1 changed" in dry.out
    assert f"  - {ASIDE}" in dry.out
    assert site.url("/anchors") in dry.out
    assert site.url("/buoys") not in dry.out
    found = kb("sites", "reindex", "docs", "--dry-run", "--json", "--all").json
    assert (found["counts"]["changed"], found["chunks_to_embed"], found["stopped_by"]) == (1, 0, [])
    assert [one["change"] for one in found["pages"]] == ["changed", "unchanged", "unchanged", "unchanged"]
    assert len(kb("sites", "reindex", "docs", "--dry-run", "--json").json["pages"]) == 1
    diff = kb("sites", "reindex", "docs", "--dry-run", "--diff", f"{site.url('/anchors')}#top")
    assert (diff.code, f"\n-{ASIDE}\n" in diff.out) == (ExitCode.OK, True)
    assert any(ASIDE in row["markdown"] for row in read_rows(stores.site("docs").table("texts")).to_pylist())

    before = stores.publications.live("docs")
    done = kb("sites", "reindex", "docs", "--json")
    assert done.code == ExitCode.OK, done.err
    assert [stage["asset"] for stage in done.json["stages"]] == ["extracted_text", "chunks", "embeddings", "live_index"]
    assert done.json["stages"][0]["report"]["counts"]["changed"] == 1
    assert done.json["live"]["pages"] == 4
    assert not any(ASIDE in row["markdown"] for row in read_rows(stores.site("docs").table("texts")).to_pylist())
    assert site.requests == []
    assert "4 unchanged" in kb("sites", "reindex", "docs", "--dry-run").out
    assert stores.publications.live("docs") == before  # no chunk had the line that went
    again = kb("sites", "reindex", "docs")
    assert "Nothing that search reads of docs has changed" in again.out
    assert "rollback" not in again.out


def test_a_reindex_that_makes_another_version_live_says_how_to_go_back(kb, site, stores, monkeypatch):
    before = stores.publications.live("docs")
    with monkeypatch.context() as version:
        version.setattr(extraction, "EXTRACTOR_VERSION", "another")
        version.setattr(extraction, "examine", with_another_title)
        done = kb("sites", "reindex", "docs")
    assert done.code == ExitCode.OK, done.err
    assert "docs is live as derived by this version: 4 pages, 4 chunks" in done.out
    assert "kb sites rollback docs" in done.out
    assert stores.publications.live("docs") != before
    assert kb("sites", "rollback", "docs").code == ExitCode.OK
    assert stores.publications.live("docs").lance_version == before.lance_version
    assert site.requests == []


def test_a_version_that_reads_badly_is_stopped_as_the_dry_run_says_and_costs_nothing(kb, site, stores, monkeypatch):
    examine = extraction.examine

    def worse(body, content_type, url, **options):
        found = examine(body, content_type, url, **options)
        if not url.endswith("/anchors"):
            return found
        return replace(found, text=replace(found.text, markdown="# Anchors\n", characters=7))

    with monkeypatch.context() as version:
        version.setattr(extraction, "examine", worse)
        version.setattr(extraction, "EXTRACTOR_VERSION", "worse")
        dry = kb("sites", "reindex", "docs", "--dry-run")
        assert dry.code == ExitCode.OK
        assert "leaves the index: under 200 characters" in dry.out
        assert "It would not go live: text_clears_threshold: 1 of 4 pages are short (25%)" in dry.out
        stopped = kb("sites", "reindex", "docs")
        assert stopped.code == ExitCode.REFUSED
        assert "docs was not published: text_clears_threshold" in stopped.err
        assert stores.publications.live("docs").pages == 4
    assert kb("sites", "reindex", "docs", "--json").json["live"]["pages"] == 4
    assert site.requests == []


@pytest.mark.usefixtures("site")
def test_a_reindex_beside_another_writer_is_busy_and_a_dry_run_is_not(kb, stores):
    with stores.site_lock("docs", "somebody else"):
        assert kb("sites", "reindex", "docs").code == ExitCode.BUSY
        assert kb("sites", "reindex", "docs", "--dry-run").code == ExitCode.OK


@pytest.mark.usefixtures("site")
def test_what_cannot_be_shown_says_why(kb):
    unknown = kb("sites", "reindex", "docs", "--dry-run", "--json", "--diff", "https://elsewhere.example/x")
    assert (unknown.code, unknown.json["page"]) == (ExitCode.NOT_FOUND, None)
    assert "No body of https://elsewhere.example/x is stored" in unknown.err
    assert kb("sites", "reindex", "docs", "--dry-run", "--diff", "anchors").code == ExitCode.USAGE
    assert "add --dry-run" in kb("sites", "reindex", "docs", "--all").err
    assert kb("sites", "reindex", "nobody", "--dry-run").code == ExitCode.NOT_FOUND
    assert kb("sites", "reindex", "nobody").code == ExitCode.NOT_FOUND


def test_a_site_that_was_never_fetched_has_nothing_to_derive(kb):
    with LoopbackSite({}) as served:
        assert kb("sites", "add", "docs", served.url("/")).code == ExitCode.OK
    assert "0 pages of docs" in kb("sites", "reindex", "docs", "--dry-run").out
    nothing = kb("sites", "reindex", "docs")
    assert nothing.code == ExitCode.REFUSED
    assert "no page of site 'docs' has a vector yet" in nothing.err
