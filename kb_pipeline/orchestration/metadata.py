"""Turns what a stage reports into what Dagster shows: numbers that plot over time, tables of what changed and
of what it cost, and a link to the site."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import dagster as dg

from kb_pipeline.model import Site
from kb_pipeline.orchestration.count_names import readable
from kb_pipeline.stages.report import ChangeRow, StageReport

MAX_ROWS: Final = 50
_MAX_CELL: Final = 200


def materialization(asset: str, site: Site, report: StageReport, *, seconds: float) -> dg.MaterializeResult[None]:
    """The result of one asset for one site."""
    return dg.MaterializeResult(
        metadata={
            **numbers(asset, report.counts),
            "seconds": dg.MetadataValue.float(round(seconds, 3)),
            "changes": dg.MetadataValue.md(changes_table(report.changes)),
            **{title: dg.MetadataValue.md(table(made.header, made.rows)) for title, made in report.tables.items()},
            "site": dg.MetadataValue.url(site.url),
        }
    )


def numbers(of: str, counts: Mapping[str, int | float]) -> dict[str, dg.MetadataValue]:
    """Counts of an asset or a check as metadata, under names for people. Each name keeps one type for ever: Dagster
    plots a name's history as one line."""
    return {readable(of, name): _number(value) for name, value in counts.items()}


def changes_table(changes: Sequence[ChangeRow]) -> str:
    """Markdown of the first MAX_ROWS changes."""
    if not changes:
        return "Nothing changed."
    rows = [(row.change, row.url or row.page_id, row.detail) for row in changes[:MAX_ROWS]]
    more = len(changes) - len(rows)
    return table(("change", "page", "detail"), rows) + (f"\n\n… and {more:,} more" if more else "")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. Cells come from other people's websites: nothing in them ends a cell or becomes markup."""
    lines = [_line(header), _line(["---"] * len(header))]
    lines += [_line([_cell(value) for value in row]) for row in rows]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    text = " ".join(str(value if value is not None else "").split())
    if len(text) > _MAX_CELL:
        text = text[: _MAX_CELL - 1] + "…"
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, "\\" + mark)
    return text


def _number(value: float) -> dg.MetadataValue:
    return dg.MetadataValue.float(value) if isinstance(value, float) else dg.MetadataValue.int(int(value))
