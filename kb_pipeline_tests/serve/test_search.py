from __future__ import annotations

import pytest

from kb_pipeline.core.chunking import embedding_input
from kb_pipeline.errors import ConfigError, NotLive, SiteNotFound
from kb_pipeline.serve.quoting import LEFT_OUT, PASSAGES_A_PAGE, QUOTED_TOKENS
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.serve.spelling import LEAST_TEXTS
from kb_pipeline.store.vectors import LIVE_TAG
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.earlier_layout import as_before_pieces
from kb_pipeline_tests.stages.written_site import ROOT, WrittenSite, prose

MODES = list(SearchMode)


@pytest.fixture
def written(stores, settings):
    site = WrittenSite(stores, settings)
    anchors = [{"heading": 0, "fragment": "tides"}]
    site.write("harbour", f"## Tides\n\n{prose('harbour tide')}", anchors=anchors, title="Harbours")
    site.write("ferry", prose("ferry timetable"), title="Ferries")
    site.write("settings", "Set `max_wal_size` in the file. " + prose("configuration value"), title="Settings")
    site.refresh()
    return site


def ask(written, question, **options):
    return search(written.stores, written.settings, "docs", question, embedder=written.embedder, **options)


@pytest.mark.parametrize("mode", MODES)
def test_the_page_that_answers_comes_first_with_a_link_into_its_section(written, mode):
    best = ask(written, "harbour tide", mode=mode)[0]
    assert best.url == ROOT + "harbour#tides"
    assert best.title == "Harbours"
    assert best.heading_path == ("Tides",)
    assert "harbour tide" in best.text
    assert best.chunk_id == f"{best.page_id}-0"


AWKWARD_QUESTIONS = [
    '"unclosed',
    "a AND OR NOT",
    "(((",
    "harbour:tide^9~2 *",
    "what is it",
    "'; DROP TABLE x; --",
    "\x00 tide",
    "\ud800 tide \udfff",
    "x" * 20_000,
    "harbour " * 5000,
    "漢字",
    "🙂",
    "\\",
    "[]{}",
]


@pytest.mark.parametrize("mode", MODES)
def test_no_question_breaks_the_search(written, mode):
    for question in AWKWARD_QUESTIONS:
        ask(written, question, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_question_finds_nothing(written, mode):
    assert (
        ask(written, "", mode=mode)
        == ask(written, " \n\t", mode=mode)
        == ask(written, "tide", mode=mode, limit=0)
        == []
    )


def test_identifiers_are_found_whole_and_by_their_parts(written):
    for question in ("max_wal_size", "wal"):
        assert ask(written, question, mode=SearchMode.TEXT)[0].url == ROOT + "settings"


@pytest.mark.parametrize("mode", MODES)
def test_the_part_that_answers_is_the_one_with_the_word(written, mode):
    parts = [f"## About {topic}\n\n{prose(topic, 3)}" for topic in ("pumps", "pipes")]
    parts.insert(1, "## Errors\n\nERR_CONN_RESET says that the far end hung up.")
    anchors = [{"heading": n, "fragment": name} for n, name in enumerate(("pumps", "errors", "pipes"))]
    written.write("errors", "\n\n".join(parts), anchors=anchors, title="Plumbing")
    written.refresh()
    (hit,) = ask(written, "what says err_conn_reset", mode=mode, limit=1)
    assert "ERR_CONN_RESET" in hit.best
    assert hit.url == ROOT + "errors#errors"


@pytest.mark.parametrize("mode", MODES)
def test_a_page_has_at_most_three_passages(written, mode):
    written.write("long", "\n\n".join(f"## Part {n}\n\n{prose(f'harbour tide {n}')}" for n in range(8)))
    written.refresh()
    hits = ask(written, "harbour tide", mode=mode, limit=10)
    pages = [hit.page_id for hit in hits]
    assert max(pages.count(page) for page in pages) == PASSAGES_A_PAGE


@pytest.mark.parametrize("mode", MODES)
def test_one_text_at_several_addresses_is_one_result(written, mode):
    for n in range(6):
        written.write(f"copy{n}", prose("lighthouse"), title=f"Copy {n}")
    written.refresh()
    hits = ask(written, "lighthouse", mode=mode, limit=10)
    (hit,) = (hit for hit in hits if "lighthouse" in hit.text)
    assert sorted([hit.url, *hit.also_at]) == [f"{ROOT}copy{n}" for n in range(6)]


def test_a_hit_quotes_what_else_its_page_says_of_the_question(written):
    parts = [f"## Part {n}\n\n{prose(f'filler {n}', 20)}" for n in range(4)]
    parts.insert(3, "## Signals\n\nThe foghorn sounds twice.")
    written.write("long", "\n\n".join(["## Fog\n\nWhat the foghorn is for.", *parts]), title="Long")
    written.refresh()
    (hit,) = ask(written, "foghorn", limit=1)
    assert "What the foghorn is for." in hit.text
    assert "The foghorn sounds twice." in hit.text
    assert f"\n\n{LEFT_OUT}\n\n" in hit.text
    assert hit.best in hit.text
    assert hit.parts[0].heading_path[-1] == "Fog"
    assert "Signals" in [part.heading_path[-1] for part in hit.parts]
    assert all(part.text in hit.text for part in hit.parts)
    assert written.embedder.count_tokens(hit.text) <= QUOTED_TOKENS


def test_a_misspelled_word_finds_what_the_right_one_does(written):
    class Model(HashEmbedder):
        def count_tokens(self, text):
            return super().count_tokens(text) + text.count("harbuor")

    for n in range(LEAST_TEXTS):
        written.write(f"port{n}", prose(f"port {n}, which is a harbour"))
    written.refresh()
    written.embedder = Model()
    found = ask(written, "harbuor tide")
    assert found == ask(written, "harbour tide")
    assert ask(written, "harbuor", mode=SearchMode.TEXT) == []


def test_the_first_hits_are_the_same_however_many_are_asked_for_and_quote_no_passage_twice(written):
    for n in range(3):
        parts = (f"## Part {k}\n\nThe foghorn of {k}. {prose(f'foghorn {k}', 9)}" for k in range(9))
        written.write(f"long{n}", "\n\n".join(parts), title=f"Coast {n}")
    written.refresh()
    five, many = ask(written, "foghorn", limit=5), ask(written, "foghorn", limit=20)
    assert many[:5] == five
    for hit in many:
        assert len({part.text for part in hit.parts}) == len(hit.parts)
    pairs = [(hit, other) for hit in five for other in five if hit is not other and hit.page_id == other.page_id]
    assert pairs
    assert not [part for hit, other in pairs for part in hit.parts if part.text in other.text]


def test_hits_come_best_first_and_answers_repeat(written):
    for mode in MODES:
        first = ask(written, "the harbour by way of step", mode=mode)
        assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)
        assert ask(written, "the harbour by way of step", mode=mode) == first


def test_the_vector_score_is_a_cosine(written):
    piece = written.rows("chunks")[0]["pieces"][-1]
    (best, *_) = ask(written, piece["reads"], mode=SearchMode.VECTOR)
    assert best.score == pytest.approx(1, abs=1e-5)
    assert best.best in piece["reads"]


def test_a_site_that_is_unknown_or_not_live_says_so(stores, settings):
    with pytest.raises(SiteNotFound, match="nobody"):
        search(stores, settings, "nobody", "tide", embedder=HashEmbedder())
    WrittenSite(stores, settings)
    with pytest.raises(NotLive, match="nothing of site 'docs' is live yet"):
        search(stores, settings, "docs", "tide", embedder=HashEmbedder())


def test_a_question_is_never_embedded_by_another_model_than_the_passages(written):
    other = HashEmbedder(dimension=32, name="other")
    for mode in (SearchMode.VECTOR, SearchMode.FUSED):
        with pytest.raises(ConfigError, match="were not made by KB_EMBEDDING_MODEL"):
            search(written.stores, written.settings, "docs", "tide", mode=mode, embedder=other)
    assert search(written.stores, written.settings, "docs", "tide", mode=SearchMode.TEXT, embedder=other)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_live_from_before_pieces_is_searched_as_it_is(written, mode):
    as_before_pieces(written)
    best, *others = ask(written, "harbour tide", mode=mode)
    assert best.url == ROOT + "harbour#tides"
    assert best.heading_path == ("Tides",)
    assert best.best == best.text == written.rows("chunks")[_place(written, "harbour")]["text"]
    assert best.score > max((hit.score for hit in others), default=0)
    assert ask(written, "max_wal_size", mode=mode)[0].url == ROOT + "settings"


def test_a_vector_score_from_before_pieces_is_that_of_the_whole_passage(written):
    as_before_pieces(written)
    row = written.rows("chunks")[_place(written, "ferry")]
    (best, *_) = ask(written, embedding_input(row["context"], row["text"]), mode=SearchMode.VECTOR)
    assert (best.url, best.score) == (ROOT + "ferry", pytest.approx(1, abs=1e-5))


@pytest.mark.parametrize("mode", [SearchMode.VECTOR, SearchMode.FUSED])
def test_what_another_model_made_before_pieces_is_refused(written, mode):
    as_before_pieces(written)
    other = HashEmbedder(dimension=32, name="other")
    with pytest.raises(ConfigError, match="were not made by KB_EMBEDDING_MODEL"):
        search(written.stores, written.settings, "docs", "tide", mode=mode, embedder=other)


def _place(written, path):
    return [row["url"].partition("#")[0] for row in written.rows("chunks")].index(ROOT + path)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_live_in_columns_that_are_not_known_is_said_to_be_that_and_not_to_be_damaged(written, mode):
    table = written.store.table(written.stores.publications.live("docs").table_name)
    table.drop_columns(["pieces", "kind"])
    table.tags.update(LIVE_TAG, table.version)
    with pytest.raises(ConfigError, match=r"another version of this program.*kb sites reindex docs"):
        ask(written, "tide", mode=mode)


def test_questions_are_logged(written):
    ask(written, "  harbour   tide ", mode=SearchMode.TEXT)
    (asked,) = written.stores.queries.recent("docs")
    assert (asked.question, asked.mode, asked.hits) == ("harbour tide", "text", 1)
    assert asked.millis > 0
