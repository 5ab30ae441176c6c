"""A long page that is edited again and again, from its stored body to its vectors: what each edit costs the model."""

from __future__ import annotations

import pytest

from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.core.edited_manual import EDITS, versions
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.stored_site import SITE, StoredSite

MOST = {
    "a typo": 2,
    "a sentence added": 2,
    "a section inserted": 5,
    "a section removed": 2,
    "a section moved": 0,
    "a section renamed": 5,
    "a table row added": 2,
    "a line of code changed, a list item removed": 4,
    "a paragraph rewritten": 2,
}
"""Chunks, of some 75: of a small edit the one that shows it and one beside it, of a section its own and two beside."""


@pytest.fixture
def site(stores, settings):
    return StoredSite(stores, settings)


def hashes(site):
    return [row["hash"] for row in read_rows(site.stores.site(SITE).table("chunks"), columns=["hash"]).to_pylist()]


def test_only_what_an_edit_touches_goes_through_the_model(site):
    embedder, known, cost = HashEmbedder(), set(), {}
    for edit, html in versions():
        site.fetched("/manual", html)
        site.extract()
        counts = site.index(embedder)
        now = hashes(site)
        assert counts["embedded"] == len(set(now) - known), edit
        assert counts["embedded"] + counts["reused"] == len(now), edit
        known = set(now)
        cost[edit] = counts["embedded"]
    assert {edit: cost[edit] for edit, most in MOST.items() if cost[edit] > most} == {}
    assert sum(cost[edit] for edit in EDITS) < cost[""]
