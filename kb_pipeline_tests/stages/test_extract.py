"""The extraction stage: snapshots of the ledger's copies to texts, again and again, with nothing done twice."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kb_pipeline.core import extract as extraction
from kb_pipeline.errors import SiteBusy, SiteNotFound, StoreError
from kb_pipeline.stages.extract import SnapshotSource, extract_texts
from kb_pipeline.store.inspection import error_texts, short_texts
from kb_pipeline.store.schemas import SNAPSHOTS, TEXTS_TABLE, TableSpec
from kb_pipeline_tests.stages.stored_site import SITE, StoredSite, html


@pytest.fixture
def site(stores, settings):
    return StoredSite(stores, settings)


def test_each_page_with_a_copy_becomes_a_text_and_the_ledger_learns_its_title_and_length(site):
    site.fetched("/pumps", html("Pumps", head="<meta name=description content='All about pumps'>"))
    site.fetched("/valves", html("Valves"))
    report = site.extract()
    assert report.counts["added"] == 2
    assert report.counts["texts"] == 2
    text = site.texts()["/pumps"]
    assert (text["title"], text["description"], text["page_state"]) == ("Pumps", "All about pumps", "ok")
    assert text["markdown"].startswith("# Pumps\n\nA pump moves water")
    assert text["anchors"] == [{"heading": 0, "fragment": "top-Pumps"}]
    assert site.ledger("/pumps").title == "Pumps"
    assert site.ledger("/pumps").characters == text["characters"] > 200


def test_a_second_run_does_nothing(site):
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    version = site.stores.site(SITE).table("texts").version
    report = site.extract()
    assert (report.counts["unchanged"], report.counts["added"], report.counts["changed"]) == (1, 0, 0)
    assert site.stores.site(SITE).table("texts").version == version


def test_only_a_changed_body_is_read_again(site):
    for name in ("pumps", "valves"):
        site.fetched(f"/{name}", html(name))
    site.extract()
    site.fetched("/pumps", html("Better pumps"))
    report = site.extract()
    assert (report.counts["changed"], report.counts["unchanged"]) == (1, 1)
    assert [(row.change, row.url) for row in report.changes] == [("changed", "https://docs.example/pumps")]
    assert site.texts()["/pumps"]["title"] == "Better pumps"


def test_an_improved_extractor_reads_all_stored_bodies_again(site, monkeypatch):
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    monkeypatch.setattr(extraction, "EXTRACTOR_VERSION", "improved")
    assert site.extract().counts["changed"] == 1


def test_texts_that_an_earlier_version_made_are_gone_on_with_and_get_what_it_did_not_know(site, monkeypatch):
    columns = [field for field in TEXTS_TABLE.schema if field.name != "author"]
    columns.insert(4, pa.field("reading_time", pa.int32(), nullable=False))
    old = TableSpec(TEXTS_TABLE.name, pa.schema(columns), TEXTS_TABLE.row_key)
    site.fetched("/pumps", html("Pumps", head="<meta name=author content='Ada Lovelace'>"))
    site.fetched("/manual", html("Manual", head="<meta name=author content='Ada Lovelace'>"))
    site.extract()
    before = site.texts()
    table = site.stores.site(SITE)
    table.drop_table(old.name)
    table.ensure(old).add(pa.Table.from_pylist([{**row, "reading_time": 3} for row in before.values()], old.schema))
    site.fetched("/manual", b"%PDF-1.7 and then nothing", "application/pdf")
    monkeypatch.setattr(extraction, "EXTRACTOR_VERSION", "improved")
    report = site.extract()
    assert (report.counts["changed"], report.counts["failed"]) == (1, 1)
    after = site.texts()
    assert after["/pumps"] == {**before["/pumps"], "mark": after["/pumps"]["mark"]}
    assert after["/manual"] == {**before["/manual"], "author": None}


def test_bodies_that_an_earlier_version_stored_are_read_without_what_it_did_not_store(site):
    site.fetched("/pumps", html("Pumps"))
    site.stores.site(SITE).table(SNAPSHOTS).drop_columns(["degraded"])
    assert site.extract().counts["added"] == 1
    assert site.texts()["/pumps"]["degraded"] is False


def test_the_author_is_whom_the_page_names_and_nobody_where_it_names_nobody(site):
    site.fetched("/pumps", html("Pumps", head="<meta name=author content='Ada Lovelace'>"))
    site.fetched("/valves", html("Valves"))
    site.extract()
    assert {path: row["author"] for path, row in site.texts().items()} == {"/pumps": "Ada Lovelace", "/valves": None}
    output = site.texts()["/pumps"]["output"]
    site.fetched("/pumps", html("Pumps", head="<meta name=author content='Grace Hopper'>"))
    site.extract()
    assert (site.texts()["/pumps"]["author"], site.texts()["/pumps"]["output"]) == ("Grace Hopper", output)


def test_a_new_date_alone_leaves_the_output_as_it_was(site):
    site.fetched("/pumps", html("Pumps", head="<meta property=article:modified_time content=2026-01-01>"))
    site.extract()
    before = site.texts()["/pumps"]
    site.fetched("/pumps", html("Pumps", head="<meta property=article:modified_time content=2026-02-02>"))
    site.extract()
    after = site.texts()["/pumps"]
    assert (before["modified"], after["modified"]) == ("2026-01-01", "2026-02-02")
    assert before["output"] == after["output"]
    assert before["mark"] != after["mark"]


def test_a_removed_page_loses_its_text_and_its_stored_body(site):
    site.fetched("/pumps", html("Pumps"))
    site.fetched("/valves", html("Valves"))
    site.extract()
    site.gone("/pumps", removed=True)
    report = site.extract()
    assert (report.counts["deleted"], report.counts["snapshots_deleted"]) == (1, 1)
    assert set(site.texts()) == {"/valves"}
    assert site.snapshots() == {site.id("/valves")}
    assert site.ledger("/pumps").characters is None


def test_a_removal_that_is_held_costs_no_text(site):
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    site.gone("/pumps", removed=False)
    report = site.extract()
    assert (report.counts["unchanged"], report.counts["snapshots_deleted"]) == (1, 0)
    assert set(site.texts()) == {"/pumps"}


def test_a_page_that_comes_back_after_its_removal_is_read_again(site):
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    site.gone("/pumps", removed=True)
    site.extract()
    site.fetched("/pumps", html("Pumps"))
    assert site.extract().counts["added"] == 1
    assert set(site.texts()) == {"/pumps"}


def test_a_body_that_cannot_be_read_fails_alone_and_keeps_its_old_text(site):
    site.fetched("/manual", html("Manual"))
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    site.fetched("/manual", b"%PDF-1.7 and then nothing", "application/pdf")
    report = site.extract()
    assert (report.counts["failed"], report.counts["unchanged"]) == (1, 1)
    assert "PDF is broken" in report.changes[0].detail
    assert site.texts()["/manual"]["title"] == "Manual"
    assert site.stores.failures.count(SITE, "extract") == 1


def test_a_copy_that_the_data_store_lost_is_an_error_of_that_page(site):
    site.fetched("/pumps", html("Pumps"))
    site.fetched("/valves", html("Valves"))
    site.stores.site(SITE).table("snapshots").delete(f"page_id = '{site.id('/pumps')}'")
    report = site.extract()
    assert (report.counts["failed"], report.counts["added"]) == (1, 1)
    assert "has none" in report.changes[0].detail or "has none" in report.changes[1].detail


OLD, NEW = html("Pumps").encode(), html("Better pumps").encode()


@pytest.mark.parametrize(
    ("stored", "in_ledger"), [(NEW, OLD), (OLD, NEW)], ids=["killed before the ledger", "body of an older backup"]
)
@pytest.mark.parametrize("then", [OLD, NEW], ids=["old", "new"])
def test_a_text_is_of_the_body_that_its_mark_names_whatever_came_between(site, monkeypatch, stored, in_ledger, then):
    site.fetched("/pumps", OLD)
    site.extract()
    before = site.texts()["/pumps"]
    site.body_stored("/pumps", stored)
    site.in_ledger("/pumps", in_ledger)
    monkeypatch.setattr(extraction, "EXTRACTOR_VERSION", "improved")
    between = site.extract()
    assert (between.counts["failed"], between.counts["changed"]) == (1, 0)
    assert "is not the one that the ledger has" in between.changes[0].detail
    assert site.texts()["/pumps"] == before
    site.fetched("/pumps", then)
    site.stores.failures.settle(SITE, "extract", failed=(), settled=[site.id("/pumps")], now=site.stores.now())
    site.extract()
    assert site.texts()["/pumps"]["title"] == ("Pumps" if then == OLD else "Better pumps")
    assert site.extract().counts["unchanged"] == 1


def test_a_missing_table_of_bodies_is_not_an_empty_one(site):
    site.fetched("/pumps", html("Pumps"))
    site.extract()
    site.stores.site(SITE).drop_table("snapshots")
    site.fetched("/valves", html("Valves"))
    site.stores.site(SITE).drop_table("snapshots")
    with pytest.raises(StoreError, match="has no table 'snapshots'"):
        site.extract()
    assert set(site.texts()) == {"/pumps"}


def test_thin_and_error_pages_are_texts_and_listed_with_why(site):
    site.fetched("/short", html("Short", "Not much."))
    site.fetched("/gone", html("Page not found", "Sorry, the page does not exist."))
    site.fetched("/pumps", html("Pumps"))
    report = site.extract()
    assert (report.counts["thin"], report.counts["error_pages"], report.counts["texts"]) == (1, 1, 3)
    assert [(row.url, row.detail) for row in report.thin] == [("https://docs.example/short", "ok, 14 characters")]
    assert report.error_pages[0].detail.startswith("soft_404, ")
    store = site.stores.site(SITE)
    counted = [(findings.found, findings.texts) for findings in (short_texts(store), error_texts(store))]
    assert counted == [(1, 3), (1, 3)], "an error page with little text is objected to once"


def test_a_site_without_any_copy_has_no_texts_and_no_error(site):
    report = site.extract()
    assert report.counts["texts"] == 0
    assert site.texts() == {}


def test_a_run_that_is_told_to_stop_goes_on_where_it_stopped(site, monkeypatch):
    monkeypatch.setattr("kb_pipeline.stages.extract.BATCH_PAGES", 1)
    for number in range(4):
        site.fetched(f"/{number}", html(f"Page {number}"))
    turns = iter([True, True, False])
    first = site.extract(keep_going=lambda: next(turns))
    assert (first.counts["added"], first.counts["stopped_early"]) == (2, 1)
    second = site.extract()
    assert (second.counts["added"], second.counts["unchanged"]) == (2, 2)


def test_two_writers_cannot_both_extract_one_site(site):
    with site.stores.site_lock(SITE, "another"), pytest.raises(SiteBusy):
        site.extract()


def test_an_unknown_site_is_said_to_be_unknown(stores, settings):
    with pytest.raises(SiteNotFound):
        extract_texts(stores, settings, "nobody")


def test_progress_is_told_after_each_batch(site):
    site.fetched("/pumps", html("Pumps"))
    told = []
    site.extract(progress=lambda what, done, total: told.append((what, done, total)))
    assert told == [("reading pages", 1, None)]


def test_the_source_weighs_pages_by_their_bytes(site):
    site.fetched("/pumps", html("Pumps"))
    [mark] = SnapshotSource(site.stores, SITE).marks()
    assert mark.weight == len(html("Pumps").encode())
