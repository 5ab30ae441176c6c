from datetime import UTC, datetime

from dagster import FloatMetadataValue, IntMetadataValue

from kb_pipeline.model import Site, SiteOptions, SiteState, SourceType
from kb_pipeline.orchestration.metadata import MAX_ROWS, changes_table, materialization, numbers, table
from kb_pipeline.stages.report import ChangeRow, ReportTable, StageReport


def test_counts_keep_their_type_so_that_their_history_plots_as_one_line():
    values = numbers("chunks", {"pages": 3, "share": 0.0})
    assert isinstance(values["pages"], IntMetadataValue)
    assert isinstance(values["share"], FloatMetadataValue)


def test_a_title_from_a_website_cannot_break_the_table_or_add_markup():
    made = table(("page", "reason"), [("https://a.test/x|y", "line one\nline two <script>*bold*")])
    assert made.splitlines()[2] == r"| https://a.test/x\|y | line one line two \<script\>\*bold\* |"


def test_a_long_table_of_changes_is_cut_and_says_how_much_is_missing():
    changes = [ChangeRow("added", f"{i:024x}", f"https://a.test/{i}") for i in range(MAX_ROWS + 7)]
    lines = changes_table(changes).splitlines()
    assert len(lines) == 2 + MAX_ROWS + 2
    assert lines[-1] == "… and 7 more"


def test_nothing_changed_is_said_in_words():
    assert changes_table([]) == "Nothing changed."


def test_the_tables_of_a_report_are_shown_under_their_titles():
    site = Site(
        "docs",
        "https://a.test/",
        SourceType.AUTO,
        SiteState.ACTIVE,
        SiteOptions(),
        "",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    report = StageReport(tables={"tiers": ReportTable(("tier", "pages asked"), (("plain_http", "1,200"),))})
    made = materialization("fetched_pages", site, report, seconds=1.0)
    assert made.metadata["tiers"].value == "| tier | pages asked |\n| --- | --- |\n| plain\\_http | 1,200 |"
