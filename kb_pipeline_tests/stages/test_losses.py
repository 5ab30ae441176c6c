"""Tables of a site that were deleted while the ledger says that its pages are held: they are made again."""

import itertools

import pytest

from kb_pipeline.core import extract as extraction
from kb_pipeline.core.sync import Mark
from kb_pipeline.errors import StoreError
from kb_pipeline.model import PageStatus
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.losses import accounted, lacking
from kb_pipeline.stages.publish import rollback
from kb_pipeline.store.frontier import Frontier
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.sites.replies import Reply, prose
from kb_pipeline_tests.sites.server import Fault
from kb_pipeline_tests.stages.whole_site import NAMES, SITE, TABLES

COMBINATIONS = [TABLES, *itertools.combinations(TABLES, 1), ("snapshots", "texts"), ("texts", "chunks")]


@pytest.mark.parametrize("lost", COMBINATIONS, ids="+".join)
def test_what_was_lost_is_made_again_although_the_site_has_not_changed(whole, lost):
    whole.refresh()
    before = whole.held()
    whole.lose(lost)
    whole.refresh()
    assert whole.held() == before
    assert before == (dict.fromkeys(TABLES, before[1]), before[1])


def test_a_page_whose_body_was_lost_is_asked_without_comparison_and_the_others_with(whole):
    whole.refresh()
    identity = next(p.page_id for p in whole.stores.pages.stream(SITE) if p.url.endswith("/birds"))
    whole.stores.site(SITE).table("snapshots").delete(f"page_id = '{identity}'")
    whole.server.forget()
    whole.refresh()
    statuses = {request.path: request.status for request in whole.server.requests if request.path[1:] in NAMES}
    assert statuses == {"/apples": 304, "/birds": 200, "/clouds": 304}
    whole.server.forget()
    whole.refresh()
    assert [request.status for request in whole.server.requests if request.path == "/birds"][-1] == 304


def test_a_body_that_is_older_than_the_ledger_is_asked_for_again(whole):
    whole.refresh()
    table = whole.stores.site(SITE).table("snapshots")
    version = table.version
    whole.say("birds", "birds and eggs")
    whole.refresh()
    table.checkout(version)
    table.restore()
    whole.refresh()
    rows = read_rows(whole.stores.site(SITE).table("snapshots")).to_pylist()
    assert b"birds and eggs" in next(row["body"] for row in rows if row["url"].endswith("/birds"))


class KilledBeforeTheLedger(BaseException):
    pass


@pytest.mark.parametrize("then", ["birds", "birds and eggs"])
def test_a_reindex_between_the_two_halves_of_a_commit_leaves_nothing_wrong(whole, monkeypatch, then):
    whole.refresh()

    def killed(*_args):
        raise KilledBeforeTheLedger

    whole.say("birds", "birds and eggs")
    with monkeypatch.context() as patched:
        patched.setattr(Frontier, "commit", killed)
        with pytest.raises(KilledBeforeTheLedger):
            whole.refresh()
    monkeypatch.setattr(extraction, "EXTRACTOR_VERSION", "improved")
    extract_texts(whole.stores, whole.settings, SITE)
    whole.say("birds", then)
    whole.refresh()
    texts = read_rows(whole.stores.site(SITE).table("texts")).to_pylist()
    text = next(row["markdown"] for row in texts if row["url"].endswith("/birds"))
    assert prose(then) in text
    assert whole.stores.failures.count(SITE) == 0


@pytest.mark.parametrize("lost", [("snapshots", "texts"), ("snapshots", "texts", "chunks")], ids="+".join)
def test_what_cannot_be_made_again_while_the_site_is_down_takes_nothing_from_the_index(whole, lost):
    whole.refresh()
    before = whole.held()
    whole.lose(lost)
    for name in NAMES[1:]:
        whole.server.pages[f"/{name}"] = Reply(status=403)
    whole.refresh()
    assert whole.held()[1] == before[1]
    assert whole.held()[0]["texts"] == ["", "apples"]
    for name in NAMES:
        whole.say(name, name)
    whole.refresh()
    assert whole.held() == before


def test_a_refresh_that_stopped_at_the_loss_goes_on_by_being_run_again(whole):
    whole.refresh()
    before = whole.held()
    whole.lose(("snapshots", "texts"))
    fault = Fault(Reply(status=403), everything=False)
    whole.server.faults.append(fault)
    with pytest.raises(StoreError, match="no table 'snapshots'"):
        whole.refresh()
    assert whole.stores.refreshes.open(SITE) is not None
    whole.server.faults.clear()
    whole.finish()
    assert whole.held() == before
    assert whole.stores.pages.count_by_state(SITE)[PageStatus.UNREACHABLE] == 0


def test_versions_of_a_table_that_was_deleted_are_no_versions_to_go_back_to(whole):
    whole.refresh()
    for words in ("birds and eggs", "birds and nests"):
        whole.say("birds", words)
        whole.refresh()
    assert len(whole.stores.publications.recent(SITE)) == 3
    whole.lose(TABLES[-1:])
    whole.refresh()
    only = whole.stores.publications.recent(SITE)
    assert [row.live for row in only] == [True]
    whole.say("birds", "birds and feathers")
    whole.refresh()
    assert rollback(whole.stores, whole.settings, SITE).rows == only[0].rows
    assert whole.held()[1] == ["", *NAMES]


def test_what_is_lacking_is_told_by_key_and_if_asked_by_content():
    expected = [Mark(key, key) for key in "abcd"]
    held = [Mark("0", "0"), Mark("a", "a"), Mark("c", "other"), Mark("e", "e")]
    assert [mark.key for mark in lacking(iter(expected), iter(held))] == ["b", "d"]
    assert [mark.key for mark in lacking(iter(expected), iter(held), by_content=True)] == ["b", "c", "d"]
    assert list(lacking(iter(expected), iter(()))) == expected


def test_only_what_is_expected_and_has_no_source_is_kept_out_of_sight():
    stored = [Mark(key, key) for key in "abcd"]
    expected = [Mark(key, "") for key in "bcz"]
    source = [Mark("a", "x"), Mark("c", "x")]
    assert [mark.key for mark in accounted(iter(stored), iter(expected), iter(source))] == ["a", "c", "d"]
