from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest

from kb_pipeline.errors import NothingToPublish, SiteBusy, StoreError
from kb_pipeline.model import RefreshKind, RefreshOutcome
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.stages.embed import embed_chunks, vectors_spec
from kb_pipeline.stages.publish import _point, _version_tag, publish, rollback
from kb_pipeline.store.inspection import live_index_state
from kb_pipeline.store.lance_indexes import MOST_FRAGMENTS, fragments, tidy
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import TableSpec, vectors_table
from kb_pipeline.store.vectors import LIVE_TAG, inspect_vectors
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.earlier_layout import as_before_pieces
from kb_pipeline_tests.stages.written_site import prose

TABLE = "vectors-hash-64-pieces"


def live(written):
    return written.stores.publications.live(written.site_id)


def tags(written):
    return {tag: found["version"] for tag, found in written.store.table(TABLE).tags.list().items()}


def found(written, question, mode=SearchMode.TEXT):
    hits = search(written.stores, written.settings, written.site_id, question, mode=mode, embedder=written.embedder)
    return {hit.url.rsplit("/", 1)[1] for hit in hits}


def test_the_newest_vectors_become_live_and_the_refresh_ends(written):
    written.write("guide", prose("harbour"))
    generation = written.fetched()
    written.derive()
    report = written.publish()
    assert report.is_new
    assert report.publication == live(written)
    assert (live(written).rows, live(written).pages, live(written).generation) == (1, 1, generation)
    assert tags(written)[LIVE_TAG] == live(written).lance_version
    assert written.stores.refreshes.get("docs", generation).outcome is RefreshOutcome.PUBLISHED
    assert written.page("guide").last_indexed_at is not None
    assert 21.5 < written.hours_to_next_refresh() < 26.5
    assert [(row.change, row.url.rsplit("/", 1)[1]) for row in report.changes] == [("indexed", "guide")]


def test_nothing_is_published_where_there_is_no_vector(written):
    with pytest.raises(NothingToPublish, match="no page of site 'docs' has a vector"):
        written.publish()
    written.derive()
    with pytest.raises(NothingToPublish):
        written.publish()
    assert live(written) is None


def test_a_refresh_that_changed_nothing_publishes_nothing_and_ends(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    before = live(written)
    report = written.refresh()
    assert not report.is_new
    assert live(written) == before
    assert written.stores.refreshes.open("docs") is None
    assert len(written.stores.publications.recent("docs")) == 1


def test_only_pages_that_changed_are_marked_as_indexed_anew(written):
    written.write("guide", prose("harbour"))
    written.write("news", prose("ferry"))
    written.refresh()
    first = written.page("guide").last_indexed_at
    written.write("news", prose("lighthouse"))
    report = written.refresh()
    assert written.page("guide").last_indexed_at == first
    assert written.page("news").last_indexed_at > first
    assert (report.counts["pages_changed"], report.counts["pages_gone"]) == (1, 0)


def test_a_site_whose_last_page_was_removed_becomes_empty_and_fills_again(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    written.erase("guide")
    report = written.refresh()
    assert (report.publication.rows, report.counts["pages_gone"]) == (0, 1)
    assert found(written, "harbour") == found(written, "harbour", SearchMode.FUSED) == set()
    written.write("guide", prose("ferry"))
    written.refresh()
    assert found(written, "ferry") == {"guide"}


def test_new_rows_are_found_by_their_words_at_once(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    for n in range(4):
        written.write(f"page{n}", prose(f"word{n}"))
        written.refresh()
        assert found(written, f"word{n}") == {f"page{n}"}


def test_rows_that_are_not_published_are_not_found(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    written.write("guide", prose("ferry"))
    written.derive()
    assert found(written, "harbour") == {"guide"}
    assert found(written, "ferry") == set()


def test_a_retry_does_not_move_the_next_full_refresh(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    due = written.stores.sites.get("docs").next_refresh_at
    written.fetched(RefreshKind.RETRY)
    written.publish()
    assert written.stores.sites.get("docs").next_refresh_at == due
    assert written.stores.refreshes.open("docs") is None


def test_a_refresh_that_still_waits_for_approval_is_not_ended(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    waiting = written.stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, written.stores.now())
    written.write("guide", prose("ferry"))
    written.derive()
    written.publish()
    assert written.stores.refreshes.open("docs").generation == waiting.generation
    assert live(written).generation == waiting.generation - 1


def test_a_run_killed_between_tag_and_row_is_completed_by_running_again(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    written.write("guide", prose("ferry"))
    written.fetched()
    written.derive()
    table = written.store.table(TABLE)
    _point(table, LIVE_TAG, table.version)
    written.publish()
    assert tags(written)[LIVE_TAG] == live(written).lance_version
    assert found(written, "ferry") == {"guide"}


def test_a_roll_back_killed_between_tag_and_row_is_undone_by_the_next_publication(written):
    written.write("guide", prose("harbour"))
    old = written.refresh().publication
    written.write("guide", prose("ferry"))
    written.refresh()
    _point(written.store.table(TABLE), LIVE_TAG, old.lance_version)
    written.refresh()
    assert tags(written)[LIVE_TAG] == live(written).lance_version
    assert found(written, "ferry") == {"guide"}


def test_rolling_back_goes_one_step_each_time_and_a_refresh_goes_forward_again(written):
    for topic in ("harbour", "ferry", "lighthouse"):
        written.write("guide", prose(topic))
        written.refresh()
    for topic in ("ferry", "harbour"):
        publication = rollback(written.stores, written.settings, "docs")
        assert publication == live(written)
        assert found(written, topic) == {"guide"}
        assert found(written, "lighthouse") == set()
    with pytest.raises(NothingToPublish, match="no earlier version"):
        rollback(written.stores, written.settings, "docs")
    assert written.refresh().is_new
    assert found(written, "lighthouse") == {"guide"}


def test_rolling_back_to_a_publication_by_its_id(written):
    first = None
    for topic in ("harbour", "ferry", "lighthouse"):
        written.write("guide", prose(topic))
        first = first or written.refresh().publication
        written.refresh()
    again = rollback(written.stores, written.settings, "docs", publication_id=first.publication_id)
    assert (again.lance_version, again.live) == (first.lance_version, True)
    assert found(written, "harbour") == {"guide"}
    assert rollback(written.stores, written.settings, "docs", publication_id=again.publication_id) == again
    with pytest.raises(NothingToPublish, match="no version 999"):
        rollback(written.stores, written.settings, "docs", publication_id=999)


def test_a_site_that_is_not_live_cannot_be_rolled_back(written):
    with pytest.raises(NothingToPublish, match="versions that are kept: none"):
        rollback(written.stores, written.settings, "docs")


def test_only_the_last_versions_are_kept_and_those_can_be_read_to_the_end(written):
    written.settings = written.settings.model_copy(update={"keep_versions": 2})
    for n in range(5):
        written.write("guide", prose(f"topic{n}"))
        written.refresh()
    kept = written.stores.publications.recent("docs")
    assert len(kept) == 2
    assert tags(written) == {LIVE_TAG: kept[0].lance_version} | {f"v-{p.publication_id}": p.lance_version for p in kept}
    tidy(written.store, [TABLE], keep_untagged=timedelta(0))
    versions = {version["version"] for version in written.store.table(TABLE).list_versions()}
    assert versions == {p.lance_version for p in kept}
    rollback(written.stores, written.settings, "docs")
    assert found(written, "topic3") == {"guide"}


def test_nobody_goes_back_to_a_version_that_this_program_could_not_search(written):
    spec = vectors_spec(written.embedder)
    lacking = TableSpec("vectors-hash-64", spec.schema.remove(spec.schema.get_field_index("vectors")), "chunk_id")
    old = written.store.ensure(lacking)
    now = written.stores.now()
    earlier = written.stores.publications.publish(
        "docs", table_name=lacking.name, lance_version=old.version, generation=0, rows=0, pages=0, reason="", now=now
    )
    old.tags.create(_version_tag(earlier), old.version)
    written.write("guide", prose("harbour"))
    written.refresh()
    with pytest.raises(NothingToPublish, match="made by another version of this program"):
        rollback(written.stores, written.settings, "docs", publication_id=earlier.publication_id)
    assert found(written, "harbour") == {"guide"}


def test_what_was_live_before_pieces_is_followed_by_a_version_of_pieces_and_can_be_gone_back_to(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    earlier = as_before_pieces(written)
    assert found(written, "harbour") == {"guide"}
    assert written.refresh().is_new
    assert live(written).table_name == TABLE
    assert rollback(written.stores, written.settings, "docs").table_name == earlier.table_name
    assert found(written, "harbour") == {"guide"}
    state = live_index_state(written.store, live(written))
    assert (state.table, state.dimension, state.unindexed_rows) == (earlier.table_name, 64, 0)
    assert written.refresh().is_new
    assert live(written).table_name == TABLE


def test_many_small_files_are_joined_before_a_version_goes_live(written):
    written.write("guide", prose("harbour"))
    written.derive()
    spec, table = vectors_spec(written.embedder), written.store.table(TABLE)
    for n in range(MOST_FRAGMENTS + 1):
        row = {**written.vectors()[0], "page_id": f"{n:024x}", "chunk_id": f"{n:024x}-0"}
        replace_pages(table, spec, [row["page_id"]], pa.Table.from_pylist([row], schema=spec.schema))
    assert fragments(table) > MOST_FRAGMENTS
    written.publish()
    assert fragments(written.store.table(TABLE)) == 1
    assert live(written).rows == MOST_FRAGMENTS + 2
    assert found(written, "harbour") == {"guide"}


def test_another_model_takes_over_and_its_predecessor_goes_when_no_kept_version_needs_it(written):
    written.settings = written.settings.model_copy(update={"keep_versions": 2})
    written.write("guide", prose("harbour"))
    written.refresh()
    written.embedder = HashEmbedder(dimension=32, name="other")
    report = written.refresh()
    assert report.publication.table_name == "vectors-other-32-pieces"
    assert found(written, "harbour", SearchMode.VECTOR) == {"guide"}
    assert rollback(written.stores, written.settings, "docs").table_name == TABLE
    for topic in ("ferry", "lighthouse"):
        written.write("guide", prose(topic))
        written.refresh()
    assert [name for name in written.store.table_names() if name.startswith("vectors-")] == ["vectors-other-32-pieces"]


def test_publishing_needs_the_site_to_itself(written):
    with written.stores.site_lock("docs", "test"), pytest.raises(SiteBusy):
        written.publish()
    with written.stores.site_lock("docs", "test"), pytest.raises(SiteBusy):
        rollback(written.stores, written.settings, "docs")


def test_it_does_not_go_live_once_told_to_stop(written):
    written.write("guide", prose("harbour"))
    written.fetched()
    written.derive()
    publish(written.stores, written.settings, "docs", keep_going=lambda: False, embedder=written.embedder)
    assert live(written) is None


def test_vectors_are_held_against_the_ledger(written):
    key = written.write("guide", prose("harbour"))
    written.write("news", prose("ferry"))
    written.refresh()
    good = inspect_vectors(written.stores, "docs", TABLE)
    assert good.agrees
    assert (good.rows, good.pages) == (2, 2)
    written.remove_in_ledger(key)
    bad = inspect_vectors(written.stores, "docs", TABLE)
    assert not bad.agrees
    assert bad.removed_pages == (key,)


def test_a_missing_table_is_an_error_when_it_is_inspected(written):
    with pytest.raises(StoreError, match="no table"):
        inspect_vectors(written.stores, "docs", TABLE)


def test_chunks_that_were_never_embedded_do_not_agree(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    written.write("news", prose("ferry"))
    written.embedder.refuse = "ferry"
    written.derive()
    assert not inspect_vectors(written.stores, "docs", TABLE).agrees


def test_embedding_after_tidying_still_knows_the_vectors(written):
    written.write("guide", prose("harbour"))
    written.refresh()
    tidy(written.store, written.store.table_names(), keep_untagged=timedelta(0))
    written.erase("guide")
    written.write("moved", prose("harbour"), title="Guide")
    assert embed_chunks(written.stores, written.settings, "docs", embedder=written.embedder).counts["embedded"] == 0
    assert written.derive()["embedded"] == 0


def test_vectors_of_an_earlier_version_stay_live_are_gone_on_with_and_can_be_gone_back_to(written, monkeypatch):
    def earlier(model, dimension):
        spec = vectors_table(model, dimension)
        return replace(spec, schema=spec.schema.insert(3, pa.field("former", pa.string())))

    written.write("guide", prose("harbour"))
    written.write("tour", prose("lighthouse"))
    with monkeypatch.context() as before:
        before.setattr("kb_pipeline.stages.embed.vectors_table", earlier)
        first = written.refresh().publication
    assert "former" in written.store.table(TABLE).schema.names
    written.write("guide", prose("ferry"))
    counts = written.derive()
    assert (counts["embedded"], counts["reused"], counts["unchanged"]) == (1, 0, 1)
    assert "former" not in written.store.table(TABLE).schema.names
    for mode in SearchMode:
        assert found(written, "harbour", mode) == {"guide", "tour"} - ({"tour"} if mode is SearchMode.TEXT else set())
    assert written.publish().is_new
    assert (found(written, "harbour"), found(written, "ferry")) == (set(), {"guide"})
    assert rollback(written.stores, written.settings, "docs").lance_version == first.lance_version
    assert (found(written, "harbour"), found(written, "ferry")) == ({"guide"}, set())
    written.write("pier", prose("pier"))
    assert written.refresh().is_new
    assert (found(written, "pier"), found(written, "ferry")) == ({"pier"}, {"guide"})
