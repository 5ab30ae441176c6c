"""`kb status`: every site on one page, what runs, and what waits for somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.helping import examples
from kb_pipeline.model import RefreshOutcome, SiteState

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.overview import SiteLine


@click.command(epilog=examples("kb status", "kb status --json | jq .waiting"))
@answers
def status(app: App) -> None:
    """Show every site, what runs, and what waits for somebody."""
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415 - `kb --help` needs no database driver
    from kb_pipeline.store.stores import control_address  # noqa: PLC0415

    with app.stores() as stores:
        lines, now = Overview(stores.database).sites(), stores.now()
    waiting = {line.site_id: needs for line in lines if (needs := needs_somebody(line))}
    app.output.json({"sites": lines, "waiting": waiting})
    app.output.fields(
        [
            ("PostgreSQL", control_address(app.settings).shown),
            ("Lance", app.settings.lance_uri),
            ("sites", len(lines)),
            ("live pages", sum(line.live_pages or 0 for line in lines)),
            ("live chunks", sum(line.live_chunks or 0 for line in lines)),
        ]
    )
    if not lines:
        app.output.say("\nNo site is registered yet: kb sites add SITE_ID URL, or kb demo to see how it goes.")
        return
    site_table(app, lines, now)
    for site_id, needs in waiting.items():
        app.output.say(f"[yellow]{site_id}[/yellow]: {escape(needs)}")


def site_table(app: App, lines: list[SiteLine], now: datetime) -> None:
    """One line a site."""
    app.output.table(
        ("site", "address", "state", "pages", "chunks", "live since", "newest refresh", "next refresh"),
        [
            (
                line.site_id,
                line.url,
                line.state,
                line.live_pages,
                line.live_chunks,
                line.live_since,
                newest_refresh(line),
                "due" if line.next_refresh_at and line.next_refresh_at <= now else line.next_refresh_at,
            )
            for line in lines
        ],
    )


def newest_refresh(line: SiteLine) -> str:
    """`3 published`, `4 open`, `-`."""
    if line.generation is None:
        return "-"
    return f"{line.generation} {line.refresh_outcome.value if line.refresh_outcome else 'open'}"


def needs_somebody(line: SiteLine) -> str | None:
    """What an operator has to do about the site, or None."""
    return "; ".join(said for said in (_waits_for(line), _made_earlier(line)) if said) or None


def _made_earlier(line: SiteLine) -> str | None:
    """That what is live is from before pieces: it is searched as it is, less well."""
    from kb_pipeline.store.schemas import is_of_earlier_version  # noqa: PLC0415 - loads the vector library

    if line.live_table is None or not is_of_earlier_version(line.live_table):
        return None
    return (
        f"what is live was made by an earlier version, one vector a passage, and is searched so: kb sites reindex"
        f" {line.site_id} brings it up, or else the next refresh"
    )


def _waits_for(line: SiteLine) -> str | None:
    from kb_pipeline.stages.approve import WAITS  # noqa: PLC0415 - loads the stages

    if line.refresh_outcome is None and line.refresh_reason not in (None, WAITS):
        return f"{line.refresh_reason}: kb sites approve {line.site_id} --pages N, for as many as fit"
    if line.state is SiteState.AWAITING_APPROVAL or (line.refresh_outcome is None and line.refresh_reason):
        return f"waits for approval: kb sites estimate {line.site_id}, then kb sites approve {line.site_id}"
    return "; ".join(_ended_badly(line)) or line.last_error or None


def _ended_badly(line: SiteLine) -> list[str]:
    """What the newest full refresh, and a retry after it, left behind. An open full refresh settles it itself."""
    if line.full_generation is not None and line.full_outcome is None:
        return []
    ended = {
        line.full_generation: (line.full_outcome, line.full_reason),
        line.generation: (line.refresh_outcome, line.refresh_reason),
    }
    said = [f"refresh {n} {_ENDED[outcome]}: {reason}" for n, (outcome, reason) in ended.items() if outcome in _ENDED]
    if line.held_removals and RefreshOutcome.HELD not in (line.full_outcome, line.refresh_outcome):
        confirm = f"kb sites refresh {line.site_id} --confirm-removals"
        said.append(f"removals held until the next refresh finds the same: {line.held_removals:,} (or {confirm})")
    return said


_ENDED: Final = {RefreshOutcome.HELD: "is held", RefreshOutcome.FAILED: "failed"}
