"""What a refresh could not have, in the words of its site's owner: one line for the list of refreshes, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.stages.report import ReportTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.model import Refresh
    from kb_pipeline.store.reports import Trouble

MOST_REASONS: Final = 3
_MAX_REASON: Final = 200


def in_one_line(troubles: Sequence[Trouble]) -> str | None:
    """The commonest reasons, with how many pages each; None when there is none."""
    told = [f"{_pages(trouble.pages)}: {trouble.reason[:_MAX_REASON]}" for trouble in troubles[:MOST_REASONS]]
    rest = sum(trouble.pages for trouble in troubles[MOST_REASONS:])
    return "; ".join([*told, *([f"{_pages(rest)}: other reasons"] if rest else [])]) or None


def as_table(troubles: Sequence[Trouble]) -> ReportTable:
    """Each reason and its pages."""
    return ReportTable(("reason", "pages"), tuple((trouble.reason, trouble.pages) for trouble in troubles))


def why(refresh: Refresh) -> str:
    """Why a refresh ended as it did, and what it could not have."""
    return ". ".join(part for part in (refresh.reason, refresh.trouble) if part)


def history(refreshes: Sequence[Refresh]) -> ReportTable:
    """How the newest refreshes ended, and why."""
    rows = ((r.generation, r.kind, f"{r.started_at:%Y-%m-%d %H:%M}", r.outcome or "open", why(r)) for r in refreshes)
    return ReportTable(("refresh", "kind", "started", "outcome", "why"), tuple(rows))


def _pages(number: int) -> str:
    return f"{number:,} page{'s' if number != 1 else ''}"
