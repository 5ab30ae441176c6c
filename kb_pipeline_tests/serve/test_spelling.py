from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.serve.spelling import LEAST_TEXTS, MOST_LOOKED_UP, as_spelled, edits_between
from kb_pipeline.store.layouts import searchable
from kb_pipeline.store.schemas import vectors_table_name
from kb_pipeline_tests.stages.written_site import WrittenSite, prose

KNOWN = {"giant", "vacuums", "create", "liner"}
"""Words that the model has whole."""


def count_tokens(text: str) -> int:
    return 1 if text.casefold() in KNOWN else 2


@pytest.fixture
def site(stores, settings):
    written = WrittenSite(stores, settings)
    words = "The repository, its branches, columns and vacuum; a grant, serializable."
    for n in range(LEAST_TEXTS):
        written.write(f"page{n}", f"{words} {prose('liner')}")
    written.write("once", f"A singleton stands here. {prose('liner')}")
    written.refresh()
    found = searchable(written.store.table(vectors_table_name(written.embedder.slug, written.embedder.dimension)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("asked", "spelled"),
    [
        ("create a repositry", "create a repository"),
        ("Vaccum, collumns!", "vacuum, columns!"),
        ("branhces of collumns", "branches of columns"),
    ],
)
def test_a_word_becomes_what_the_site_calls_it(site, asked, spelled):
    assert as_spelled(site, asked, count_tokens) == spelled


@pytest.mark.parametrize(
    "asked",
    [
        "the repository has branches",  # the site has them
        "a giant one",  # the model has it
        "kubernetes cluster",  # nothing is near
        "vacmm",  # two letters of five
        "xacuum",  # another first letter
        "singletom",  # in one passage alone
        "vaccum_cost --vaccum vaccum.conf /vaccum vaccum() VacCum vaccum9",  # names, options, addresses
        "",
    ],
)
def test_other_words_stay_as_they_are(site, asked):
    assert as_spelled(site, asked, count_tokens) == asked


def test_a_pasted_log_is_not_looked_up_word_by_word(site):
    asked = "unheard " * MOST_LOOKED_UP + "vaccum"
    assert as_spelled(site, asked, count_tokens) == asked


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("comit", "commit", 1), ("branhc", "branch", 1), ("colum", "column", 1), ("same", "same", 0), ("abc", "xyz", 3)],
)
def test_edits_are_counted(one, other, edits):
    assert edits_between(one, other, 2) == edits


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 3))
def test_edits_are_the_same_both_ways_and_none_for_equal_words(one, other, most):
    found = edits_between(one, other, most)
    assert found == edits_between(other, one, most) <= most + 1
    assert (found == 0) == (one == other)
