"""What changed between two versions is told from the rows themselves."""

from __future__ import annotations

from kb_pipeline.cli.live_chunks import PageChange, changes_between


def version(**pages: str) -> dict[str, frozenset[str]]:
    return {url: frozenset(hashes) for url, hashes in pages.items()}


def test_two_equal_versions_differ_in_nothing():
    assert changes_between(version(a="xy", b="z"), version(b="z", a="xy")) == []


def test_an_edit_in_one_section_is_one_chunk_embedded_and_the_others_kept():
    assert changes_between(version(a="xyz"), version(a="xwz")) == [PageChange("a", "changed", 1, 2, 1)]


def test_pages_that_come_and_go_are_added_and_deleted():
    assert changes_between(version(a="xy"), version(b="zw")) == [
        PageChange("a", "deleted", 0, 0, 2),
        PageChange("b", "added", 2, 0, 0),
    ]


def test_a_text_that_moved_to_another_page_is_not_embedded_again():
    assert changes_between(version(a="xy"), version(b="xy")) == [
        PageChange("a", "deleted", 0, 0, 2),
        PageChange("b", "added", 0, 2, 0),
    ]
