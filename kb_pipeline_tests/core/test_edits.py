"""What an edit of a long page costs: about the share of its text that changed is embedded again, and never much more
than the chunks that show the edit."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import pytest

from kb_pipeline.core.chunking import chunk, embedding_input
from kb_pipeline.core.extract import extract
from kb_pipeline.core.plain import plain_text
from kb_pipeline.core.sentences import sentence_spans
from kb_pipeline.embed.model_files import PACKAGED_MODEL, locate
from kb_pipeline.embed.tokens import token_counter
from kb_pipeline_tests.core.edited_manual import EDITS, URL, versions

count_tokens = token_counter(locate(PACKAGED_MODEL))
FAR_REACHING = {"a section renamed", "a term renamed on the whole page"}
"""A heading is part of what is embedded of everything under it, and a word stands in more chunks than its share of the
text is: these cost what shows them."""
BESIDE = 2
"""Chunks beside an edit that may be packed anew with it: the one before it and the one after."""


def units(text):
    """Sentences, table rows and lines of code, by how often each occurs."""
    lines = plain_text(text.markdown).splitlines()
    return Counter(unit for line in lines for start, end in sentence_spans(line) if (unit := line[start:end].strip()))


def tokens_of(counted):
    return sum(count_tokens(unit) * times for unit, times in counted.items())


@dataclass
class Step:
    """One version after another."""

    changed: float
    """Share of the text, in tokens, that is not in the version before."""
    embedded: float
    """Share of the chunks, in tokens, whose hash no chunk of the version before has."""
    largest: float
    """Share of the largest chunk."""
    unasked: list[str]
    """What is embedded again and shows nothing that changed."""


@pytest.fixture(scope="module")
def steps():
    """By edit."""
    read = [(name, extract(html.encode(), "text/html", URL)) for name, html in versions()]
    cut = [(name, units(text), chunk(text, count_tokens)) for name, text in read]
    return {name: step(*before, *after) for (_, *before), (name, *after) in itertools.pairwise(cut)}


def step(old_units, old_chunks, new_units, new_chunks):
    known = {made.hash for made in old_chunks}
    again = [made for made in new_chunks if made.hash not in known]
    total = sum(made.tokens for made in new_chunks)
    new = new_units - old_units
    inputs = [embedding_input(made.context, made.text) for made in again]
    return Step(
        changed=tokens_of(new) / tokens_of(new_units),
        embedded=sum(made.tokens for made in again) / total,
        largest=max(made.tokens for made in new_chunks) / total,
        unasked=[shown for shown in inputs if not any(unit in shown for unit in new)],
    )


def test_the_page_is_long_and_each_version_is_another():
    pages = [html for _, html in versions()]
    assert len(set(pages)) == len(pages) == 11
    assert pages == [html for _, html in versions()]
    assert len(plain_text(extract(pages[0].encode(), "text/html", URL).markdown).split()) > 8_000


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_embedded_again_shows_the_edit_or_stands_beside_it(steps, edit):
    assert len(steps[edit].unasked) <= BESIDE


@pytest.mark.parametrize("edit", sorted(EDITS.keys() - FAR_REACHING))
def test_the_share_that_is_embedded_again_is_close_to_the_share_that_changed(steps, edit):
    found = steps[edit]
    assert found.embedded <= found.changed + BESIDE * found.largest
    assert found.embedded >= 0.95 * found.changed


def test_over_all_versions_an_edit_costs_its_text_and_less_than_one_chunk(steps):
    near = [found for edit, found in steps.items() if edit not in FAR_REACHING]
    excess = sum(found.embedded - found.changed for found in near) / len(near)
    assert excess <= max(found.largest for found in near)


def test_a_section_that_only_moved_is_not_embedded_again(steps):
    assert steps["a section moved"].embedded == 0
