from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.passage_kinds import PassageKind
from kb_pipeline.serve.candidates import Passage
from kb_pipeline.serve.ranking import LEAD_WEIGHT, PAGE_WEIGHT, REPEATED, WORDS_WEIGHT, fused


def passage(
    page: str, ordinal: int, cosine: float, words: float = 0.0, kind: PassageKind = PassageKind.TEXT
) -> Passage:
    return Passage(f"{page}-{ordinal}", page, ordinal, "u", "t", (), "text", 1, kind, [{}], (cosine,), words)


def order(question: str, near: list[Passage], worded: list[Passage] | None = None) -> list[str]:
    return [found.chunk_id for _, found in fused(question, near, worded or [])]


def test_alone_the_nearest_comes_first():
    assert order("q", [passage("b", 0, 0.6), passage("a", 0, 0.5), passage("c", 0, 0.4)]) == ["b-0", "a-0", "c-0"]


def test_shared_words_raise_a_passage_by_their_share_of_the_best_match():
    near = [passage("a", 0, 0.60), passage("b", 0, 0.55), passage("c", 0, 0.5)]
    worded = [passage("b", 0, 0.55, words=12.0), passage("c", 0, 0.5, words=6.0)]
    assert order("q", near, worded) == ["b-0", "a-0", "c-0"]
    (best, _), *_ = fused("q", [passage("b", 0, 0.55)], [passage("b", 0, 0.55, words=12.0)])
    assert best == pytest.approx(
        0.55 + (WORDS_WEIGHT + PAGE_WEIGHT * WORDS_WEIGHT / 3) / (1 + PAGE_WEIGHT + LEAD_WEIGHT)
    )


def test_what_is_found_by_words_alone_is_not_lost():
    assert "x-3" in order("q", [passage("a", 0, 0.5)], [passage("x", 3, 0.1, words=9.0)])
    assert order("q", [], [passage("a", 0, 0.0, words=1.0), passage("b", 0, 0.0, words=2.0)]) == ["b-0", "a-0"]


def test_a_page_with_several_near_passages_comes_before_one_lucky_passage():
    near = [passage("a", 7, 0.60), *(passage("b", n, 0.59) for n in range(3)), passage("z", 0, 0.2)]
    assert order("q", near)[0].startswith("b-")


def test_of_two_passages_as_near_the_one_whose_page_begins_with_the_matter_comes_first():
    near = [passage("a", 3, 0.5), passage("b", 3, 0.5), passage("z", 0, 0.2)]
    assert order("q", near)[0] == "a-3"
    assert fused("q", near, [], {"a": 0.3, "b": 0.45})[0][1].chunk_id == "b-3"


def test_one_near_piece_alone_counts_less_than_two():
    lucky = replace(passage("a", 0, 0.5), likeness=(0.5, 0.1), pieces=[{}, {}])
    twice = replace(passage("b", 0, 0.5), likeness=(0.45, 0.5), pieces=[{}, {}])
    assert order("q", [lucky, twice, passage("z", 0, 0.1)])[:2] == ["b-0", "a-0"]


def test_what_a_page_says_again_makes_room_for_another_page():
    near = [passage("a", 0, 0.5), passage("a", 5, 0.5), passage("b", 0, 0.5), passage("b", 5, 0.5)]
    ranked = fused("q", near, [])
    assert [found.chunk_id for _, found in ranked] == ["a-0", "b-0", "a-5", "b-5"]
    assert ranked[0][0] - ranked[2][0] == pytest.approx(REPEATED)


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        (PassageKind.CHANGES, "what changed in release 15.3"),
        (PassageKind.LINKS, "table of contents"),
        (PassageKind.SOURCE, "source code of the parser"),
    ],
)
def test_lists_stand_behind_text_that_is_as_near_unless_the_question_asks_for_them(kind, question):
    near = [passage("list", 0, 0.52, kind=kind), passage("text", 0, 0.5), passage("z", 0, 0.1)]
    assert order("how do I restore a dump", near)[0] == "text-0"
    assert order(question, near)[0] == "list-0"


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.floats(-1, 1), st.floats(0, 50)), max_size=20))
def test_every_candidate_is_ranked_once_and_answers_repeat(drawn):
    found = {(page, ordinal): passage(page, ordinal, cosine, words) for page, ordinal, cosine, words in drawn}
    near = sorted(found.values(), key=lambda each: -each.nearness)[:10]
    worded = [each for each in found.values() if each.words]
    ranked = order("q", near, worded)
    assert len(ranked) == len(set(ranked))
    if near:
        assert set(ranked) == {each.chunk_id for each in [*near, *worded]}
    assert ranked == order("q", near, worded)
