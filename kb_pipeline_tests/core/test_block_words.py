from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.block_features import heading_blocks
from kb_pipeline.core.block_words import NameScores, Outline, WordScores, scored_features
from kb_pipeline.core.html_tree import parse_html
from kb_pipeline.core.main_content import main_of
from kb_pipeline.core.page_blocks import read_blocks

NAMES = {"menu": -1.5, "body": 0.5, "post": 2.0}
WORDS = {"read": 1.0, "share": -2.0}
CLASSES = st.sampled_from(["", " class=menu", " class='post body'", " class=other", " id=postMenu"])
PAGES = st.recursive(
    st.sampled_from(["read (it).", "Share!", "--", "plain words"]),
    lambda inner: st.builds(
        lambda name, parts: f"<div{name}>{''.join(parts)}</div>", CLASSES, st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


def named_above(context):
    """Scores of the names of each level, from the element itself up."""
    levels = []
    while context is not None:
        levels.append([NAMES[name] for name in context.named if name in NAMES])
        context = context.above
    return levels


def summed(levels):
    found = [score for level in levels for score in level]
    return (min(found), max(found), sum(found), sum(found) / len(found)) if found else (0, 0, 0, 0)


@given(PAGES)
def test_each_block_has_the_scores_of_the_names_around_it_and_of_its_words(html):
    document, _ = parse_html(f"<body class=post>{html}")
    page = read_blocks(document.find("body"), main_of)
    blocks = page.blocks
    words = [block.words for block in blocks]
    tables = NameScores(NAMES), WordScores(WORDS)
    scored = scored_features(Outline.of(page).names(), words, heading_blocks(blocks), *tables)
    for block, row in zip(blocks, scored, strict=True):
        levels = named_above(block.context)
        low, high, total, _ = summed(levels[:3])
        said = [word.strip("().!-").lower() for word in block.words]
        known = [WORDS[word] for word in said if word in WORDS]
        spoken = (min(known), max(known), sum(known), sum(known) / len(list(filter(None, said)))) if known else (0,) * 4
        expected = [*summed(levels), low, high, total, sum(levels[0]), *spoken]
        assert np.allclose(row[:12], expected, atol=1e-5)


def test_words_that_were_looked_up_are_remembered_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("kb_pipeline.core.block_words._MOST_REMEMBERED", 3)
    scores = WordScores(WORDS)
    assert [scores[word] for word in ("Read,", "unknown")] == [1.0, 0.0]
    assert math.isnan(scores["—"])
    assert scores["share"] == -2.0
    assert len(scores) <= 3
    assert scores["x" * 1_000] == 0.0
    assert "x" * 1_000 not in scores


def test_names_that_were_looked_up_are_remembered_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("kb_pipeline.core.block_words._MOST_REMEMBERED", 2)
    scores = NameScores(NAMES)
    assert scores["menu", "post", "other"] == (-1.5, 2.0, 0.5, 2)
    assert scores["menu", "post", "other"] is scores["menu", "post", "other"]
    assert [scores[name,][3] for name in ("other", "body", "menu")] == [0, 1, 1]
    assert len(scores) <= 2
    assert scores["x" * 1_000,][3] == 0
    assert ("x" * 1_000,) not in scores
