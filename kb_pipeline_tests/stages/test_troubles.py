"""What a refresh could not have, told in one line and in tables."""

from datetime import UTC, datetime

from kb_pipeline.model import Refresh, RefreshKind, RefreshOutcome
from kb_pipeline.stages.troubles import as_table, history, in_one_line, why
from kb_pipeline.store.reports import Trouble

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TROUBLES = [
    Trouble("The site asked us to slow down", 1_200),
    Trouble("a", 3),
    Trouble("b", 1),
    Trouble("c", 1),
    Trouble("d", 1),
]


def test_one_line_names_the_commonest_reasons_and_counts_the_rest():
    assert in_one_line(TROUBLES) == (
        "1,200 pages: The site asked us to slow down; 3 pages: a; 1 page: b; 2 pages: other reasons"
    )


def test_a_refresh_without_trouble_says_nothing():
    assert in_one_line([]) is None
    assert why(Refresh("docs", 1, RefreshKind.FULL, NOW)) == ""


def test_a_table_names_every_reason():
    assert len(as_table(TROUBLES).rows) == len(TROUBLES)


def test_the_history_has_the_reason_of_each_night_and_what_its_pages_said():
    held = Refresh(
        "docs", 2, RefreshKind.FULL, NOW, NOW, RefreshOutcome.HELD, "too many are gone", trouble="6 pages: 404"
    )
    assert history([held]).rows == ((2, "full", "2026-01-02 03:04", "held", "too many are gone. 6 pages: 404"),)
