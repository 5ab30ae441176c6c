from __future__ import annotations

import pytest

from kb_pipeline.core.markdown_blocks import parse_blocks
from kb_pipeline.core.passage_kinds import PassageKind, is_about_changes, link_share, page_kind, passage_kind

PROSE = (
    "The tide turns twice a day, and the ferry waits for it. [A timetable](https://a.example/t) hangs in the hall.\n"
)
LINKS = "".join(f"- [Harbour number {n}](https://a.example/{n})\n" for n in range(12))
CODE = "```c\n" + "int tide(void) { return 12; }\n" * 40 + "```\n"


@pytest.mark.parametrize(
    "title",
    [
        "Release Notes",
        "E.6. Release 15.14",
        "v2.3.1",
        "Changelog",
        "What\u2019s new in 4.0",
        "Version 3",
        "リリースノート",
        "Notes de version",
    ],
)
def test_titles_of_lists_of_changes(title):
    assert is_about_changes(title)
    assert page_kind(title, parse_blocks(PROSE)) is PassageKind.CHANGES


@pytest.mark.parametrize(
    "title", ["Press releases", "How to change a password", "Versioning", "Releasing a lock", "News"]
)
def test_titles_that_only_sound_alike(title):
    assert not is_about_changes(title)


def test_a_page_of_links_of_code_and_of_text():
    assert page_kind("Index", parse_blocks(LINKS)) is PassageKind.LINKS
    assert page_kind("tide.c", parse_blocks(CODE)) is PassageKind.SOURCE
    assert page_kind("Tides", parse_blocks(PROSE + CODE[:200] + "\n```\n" + PROSE * 5)) is PassageKind.TEXT
    assert page_kind("Empty", []) is PassageKind.TEXT


def test_a_passage_is_what_its_page_is_or_what_it_shows_itself():
    assert passage_kind(PassageKind.SOURCE, (), PROSE) is PassageKind.SOURCE
    assert passage_kind(PassageKind.TEXT, ("Guide", "Changelog"), PROSE) is PassageKind.CHANGES
    assert passage_kind(PassageKind.TEXT, ("Guide",), LINKS) is PassageKind.LINKS
    assert passage_kind(PassageKind.TEXT, ("Guide",), PROSE) is PassageKind.TEXT


def test_the_share_of_links_counts_what_is_shown_and_no_address():
    assert link_share("") == 0
    assert link_share("no link at all") == 0
    assert link_share("[abcd](https://a.example/long/address) xyz") == pytest.approx(4 / 8)
    assert link_share("[" * 5_000 + "](" * 5_000) == 0
