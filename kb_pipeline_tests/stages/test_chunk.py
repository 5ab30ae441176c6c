from __future__ import annotations

import pytest

from kb_pipeline.core.chunking import estimate_tokens
from kb_pipeline.errors import SiteBusy, SiteNotFound, StoreError
from kb_pipeline.settings import Settings
from kb_pipeline.stages.chunk import make_chunks, section_url, token_counter_of
from kb_pipeline.store.schemas import CHUNKS
from kb_pipeline_tests.stages.written_site import ROOT, prose


def chunked(written):
    return make_chunks(written.stores, written.settings, written.site_id)


def test_each_page_worth_indexing_is_cut_and_the_ledger_knows_into_how_many(written):
    written.write("guide", f"## Install\n\n{prose('harbour')}\n\n## Use\n\n{prose('lighthouse')}", title="The guide")
    report = chunked(written)
    assert [row["heading_path"] for row in written.rows(CHUNKS)] == [["Install"], ["Use"]]
    assert [row["chunk_id"].split("-")[1] for row in written.rows(CHUNKS)] == ["0", "1"]
    assert report.counts["added"] == 1
    assert report.counts["chunks"] == 2
    assert report.counts["tokens"] == sum(row["tokens"] for row in written.rows(CHUNKS))
    assert written.page("guide").chunk_count == 2
    assert written.page("guide").title == "The guide"
    assert [(row.change, row.url) for row in report.changes] == [("added", ROOT + "guide")]


def test_a_thin_text_or_one_that_is_no_page_is_not_cut(written):
    written.write("thin", "Too short.")
    written.write("gone", prose("harbour"), page_state="soft_404")
    chunked(written)
    assert written.rows(CHUNKS) == []


def test_a_page_that_becomes_thin_leaves_the_chunks_and_the_count(written):
    written.write("guide", prose("harbour"))
    chunked(written)
    written.write("guide", "Nothing any more.")
    assert chunked(written).counts["deleted"] == 1
    assert written.rows(CHUNKS) == []
    assert written.page("guide").chunk_count == 0


def test_a_second_run_does_nothing(written):
    written.write("guide", prose("harbour"))
    chunked(written)
    version = written.store.table(CHUNKS).version
    counts = chunked(written).counts
    assert (counts["unchanged"], counts["added"], counts["changed"], counts["deleted"]) == (1, 0, 0, 0)
    assert written.store.table(CHUNKS).version == version


def test_a_page_with_fewer_chunks_leaves_none_behind(written):
    written.write("guide", "\n\n".join(f"## Part {n}\n\n{prose(f'harbour{n}')}" for n in range(5)))
    chunked(written)
    written.write("guide", f"## Part 0\n\n{prose('harbour0')}")
    chunked(written)
    assert len(written.rows(CHUNKS)) == 1


def test_a_chunk_links_to_its_section(written):
    anchors = [{"heading": 0, "fragment": "set up"}]
    written.write("guide", f"## Install\n\n{prose('harbour')}", anchors=anchors)
    chunked(written)
    assert written.rows(CHUNKS)[0]["url"] == ROOT + "guide#set%20up"


@pytest.mark.parametrize(
    ("url", "anchor", "linked"),
    [
        ("https://x.org/a", None, "https://x.org/a"),
        ("https://x.org/a#old", "new", "https://x.org/a#new"),
        ("https://x.org/a?b=c", "VACUUM-BASICS", "https://x.org/a?b=c#VACUUM-BASICS"),
        ("https://x.org/a", "größe", "https://x.org/a#gr%C3%B6%C3%9Fe"),
        ("https://x.org/a", "100%", "https://x.org/a#100%25"),
    ],
)
def test_fragments_are_written_as_urls_have_them(url, anchor, linked):
    assert section_url(url, anchor) == linked


def test_tokens_are_estimated_while_the_model_is_not_at_hand():
    counter = token_counter_of(Settings(embedding_model="/no/such/folder"))
    assert (counter.count, counter.identity) == (estimate_tokens, "estimate")


def test_missing_texts_are_an_error_and_not_an_empty_site(stores, settings):
    stores.sites.add("bare", ROOT)
    with pytest.raises(StoreError, match="no table 'texts'"):
        make_chunks(stores, settings, "bare")
    with pytest.raises(SiteNotFound):
        make_chunks(stores, settings, "nobody")


def test_a_second_writer_is_refused(written):
    with written.stores.site_lock(written.site_id, "test"), pytest.raises(SiteBusy, match="by test"):
        chunked(written)


def test_it_stops_when_told_and_goes_on_from_there(written):
    for n in range(3):
        written.write(f"page{n}", prose(f"harbour{n}"))
    stopped = make_chunks(written.stores, written.settings, written.site_id, keep_going=lambda: False)
    assert stopped.counts["stopped_early"] == 1
    assert written.rows(CHUNKS) == []
    assert chunked(written).counts["added"] == 3
