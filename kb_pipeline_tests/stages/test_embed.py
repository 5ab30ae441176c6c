from __future__ import annotations

import numpy as np
import pytest

from kb_pipeline.core.chunking import embedding_input
from kb_pipeline.errors import ModelMissing
from kb_pipeline.settings import Settings
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.embed import embed_chunks, vectors_spec
from kb_pipeline.stages.publish import rollback
from kb_pipeline.store.lance_indexes import unindexed_rows
from kb_pipeline.store.schemas import CHUNKS_TABLE
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.written_site import prose


def sections(*topics):
    return "\n\n".join(f"## About {topic}\n\n{prose(topic)}" for topic in topics)


def test_every_piece_of_a_chunk_has_the_vector_of_what_the_model_reads_for_it(written):
    written.write("guide", sections("harbour", "lighthouse"))
    counts = written.derive()
    rows = written.vectors()
    assert counts["embedded"] == len(rows) == 2
    assert counts["tokens"] == sum(row["tokens"] for row in rows)
    reads = {row["chunk_id"]: [piece["reads"] for piece in row["pieces"]] for row in written.rows("chunks")}
    for row in rows:
        assert row["plain"] == embedding_input(row["context"], row["text"])
        assert np.allclose(row["vectors"], [written.embedder.embed_query(text) for text in reads[row["chunk_id"]]])
        assert len(row["pieces"]) == len(row["vectors"]) > 1
        assert row["site_id"] == "docs"


def test_all_that_is_embedded_is_indexed_before_it_goes_live(written):
    for name in ("harbour", "ferry"):
        written.write(name, sections(name))
        written.derive()
        table = written.store.table(vectors_spec(written.embedder).name)
        assert [index.columns for index in table.list_indices()] == [["plain"]]
        assert unindexed_rows(table) == 0


@pytest.mark.parametrize(
    ("pages", "kept"),
    [({"a": "12", "b": "34", "c": "56", "d": "78"}, [(2, 4), (4, 8)]), ({"long": "123456"}, [(1, 6)])],
)
def test_what_is_embedded_is_kept_after_so_many_chunks_and_a_longer_page_by_itself(written, monkeypatch, pages, kept):
    monkeypatch.setattr("kb_pipeline.stages.embed.BATCH_CHUNKS", 4)
    for name, topics in pages.items():
        written.write(name, sections(*(f"harbour {topic}" for topic in topics)))
    make_chunks(written.stores, written.settings, "docs")
    said = []

    def progress(what, done, _total):
        if what == "embedding pages":
            said.append((done, len(written.vectors())))

    embed_chunks(written.stores, written.settings, "docs", embedder=written.embedder, progress=progress)
    assert said == kept


def test_an_edit_in_one_section_embeds_that_section_alone(written):
    written.write("guide", sections("harbour", "lighthouse", "ferry"))
    written.derive()
    written.embedder.embedded.clear()
    written.write("guide", sections("harbour", "lighthouse and the tide", "ferry"))
    counts = written.derive()
    assert (counts["embedded"], counts["reused"], counts["changed"]) == (1, 2, 1)
    assert written.embedder.embedded
    assert all("tide" in text for text in written.embedder.embedded)


def test_the_wait_for_the_model_is_said_before_it_and_not_without_need(written):
    said = []

    def progress(what, *_counts):
        said.append((what, written.embedder.loaded))

    def embed():
        embed_chunks(written.stores, written.settings, "docs", embedder=written.embedder, progress=progress)

    written.write("guide", sections("harbour"))
    make_chunks(written.stores, written.settings, "docs")
    embed()
    assert said[0] == ("loading the embedding model", False)
    said.clear()
    embed()
    written.embedder.loaded = False
    embed()
    assert "loading the embedding model" not in [what for what, _ in said]


def test_a_page_that_moved_keeps_its_vectors(written):
    written.write("old", sections("harbour"), title="Same")
    written.derive()
    written.embedder.embedded.clear()
    written.erase("old")
    written.write("new", sections("harbour"), title="Same")
    assert written.derive()["embedded"] == 0
    assert [row["url"] for row in written.vectors()] == ["https://docs.example.org/new"]


def test_the_same_text_at_several_addresses_is_embedded_once(written):
    for n in range(5):
        written.write(f"copy{n}", sections("harbour"), title="Same")
    counts = written.derive()
    assert (counts["embedded"], counts["reused"]) == (1, 4)
    assert len(written.vectors()) == 5


def test_a_changed_link_target_changes_the_text_and_embeds_nothing(written):
    written.write("guide", prose("harbour") + " See [the map](https://example.org/a).")
    written.derive()
    written.write("guide", prose("harbour") + " See [the map](https://example.org/b).")
    counts = written.derive()
    assert (counts["changed"], counts["embedded"]) == (1, 0)
    assert "example.org/b" in written.vectors()[0]["text"]


def test_after_a_roll_back_the_vectors_of_the_live_version_are_known(written):
    written.write("guide", sections("harbour"))
    written.refresh()
    written.write("guide", sections("ferry"))
    written.refresh()
    rollback(written.stores, written.settings, written.site_id)
    written.embedder.embedded.clear()
    written.write("guide", sections("harbour"))
    assert written.derive()["embedded"] == 0


def test_a_page_the_model_refuses_fails_alone_and_keeps_its_old_vectors(written):
    written.write("good", sections("harbour"))
    written.write("bad", sections("lighthouse"))
    written.derive()
    written.embedder.refuse = "poison"
    written.write("good", sections("harbour", "ferry"))
    written.write("bad", sections("poison"))
    counts = written.derive()
    assert (counts["failed"], counts["changed"]) == (1, 1)
    texts = [row["text"] for row in written.vectors()]
    assert any("lighthouse" in text for text in texts)
    assert any("ferry" in text for text in texts)
    assert written.stores.failures.count("docs", "embed") == 1
    assert written.derive()["waiting"] == 1


@pytest.mark.parametrize("columns_were_added", [False, True])
def test_chunks_of_an_earlier_version_wait_until_they_are_cut_anew(written, columns_were_added):
    written.write("guide", sections("harbour"))
    make_chunks(written.stores, written.settings, "docs")
    written.store.table("chunks").drop_columns(["pieces", "kind"])
    if columns_were_added:
        written.store.ensure(CHUNKS_TABLE)
    report = embed_chunks(written.stores, written.settings, "docs", embedder=written.embedder)
    assert (report.counts["failed"], report.counts["embedded"]) == (1, 0)
    assert "an earlier version of this program" in report.changes[0].detail
    written.write("guide", sections("harbour", "ferry"))
    assert written.derive()["embedded"] == 2


def test_a_refresh_with_nothing_to_embed_loads_no_model(written):
    written.write("guide", sections("harbour"))
    written.derive()
    embedder = HashEmbedder(refuse="")
    counts = embed_chunks(written.stores, written.settings, written.site_id, embedder=embedder).counts
    assert (counts["unchanged"], counts["embedded"], embedder.embedded) == (1, 0, [])


def test_another_model_builds_beside_and_takes_no_vector_from_the_first(written):
    written.write("guide", sections("harbour"))
    written.refresh()
    other = HashEmbedder(dimension=32, name="other")
    counts = embed_chunks(written.stores, written.settings, written.site_id, embedder=other).counts
    assert counts["embedded"] == 1
    assert len(written.rows(vectors_spec(other).name)) == len(written.vectors()) == 1


def test_a_missing_model_says_so_and_loses_nothing(written):
    written.write("guide", sections("harbour"))
    written.derive()
    with pytest.raises(ModelMissing, match="KB_EMBEDDING_MODEL"):
        embed_chunks(written.stores, Settings(embedding_model="/no/such/model"), written.site_id)
    assert len(written.vectors()) == 1
