"""`kb sites`: the group, and its commands that only read. Those that change a site are in `registering` and
`refreshing`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from kb_pipeline.cli import refreshing, registering
from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.status import needs_somebody, site_table
from kb_pipeline.model import PageStatus, SiteOptions

if TYPE_CHECKING:
    from kb_pipeline.cli.output import Output
    from kb_pipeline.model import Refresh


_STATE_HELP = f"Only pages in this state: {', '.join(state.value for state in PageStatus)}."


@click.group(
    epilog=examples(
        "kb sites add docs https://docs.example.org/",
        "kb sites estimate docs            # what an import would cost",
        "kb sites approve docs --pages 50  # consent",
        "kb sites refresh docs             # import it, or bring it up to date",
        "kb sites show docs",
    )
)
def sites() -> None:
    """Register sites, approve and refresh them, roll back, remove."""


@sites.command("list", epilog=examples("kb sites list", "kb sites list --json | jq -r '.[].site_id'"))
@answers
def list_sites(app: App) -> None:
    """List every site, with what is live of it."""
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415 - `kb --help` needs no database driver

    with app.stores() as stores:
        lines, now = Overview(stores.database).sites(), stores.now()
    app.output.json(lines)
    if lines:
        site_table(app, lines, now)
    else:
        app.output.say("No site is registered yet: kb sites add SITE_ID URL")


@sites.command(
    epilog=examples("kb sites show docs", "kb sites show docs --json | jq .refreshes"),
    short_help="Show one site: options, pages by outcome, refreshes, versions.",
)
@click.argument("site_id")
@answers
def show(app: App, site_id: str) -> None:
    """Show one site: its options, its pages by outcome, its refreshes and versions."""
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415

    with app.stores() as stores:
        site = stores.sites.get(site_id)
        line = next(line for line in Overview(stores.database).sites() if line.site_id == site_id)
        states = stores.pages.count_by_state(site_id)
        exclusions = stores.pages.count_exclusions(site_id)
        refreshes = stores.refreshes.recent(site_id, 10)
        publications = stores.publications.recent(site_id, 10)
        failures = stores.failures.listed(site_id, most=20)
    answer = {
        "site": site,
        "needs": needs_somebody(line),
        "pages_by_state": states,
        "left_out_because": exclusions,
        "refreshes": refreshes,
        "publications": publications,
        "failures": failures,
    }
    app.output.json(answer)
    output = app.output
    output.fields(
        [
            ("site", site.site_id),
            ("address", site.url),
            ("pages come from", site.source_type),
            ("state", site.state),
            ("tenant", site.tenant),
            ("approved pages", site.approved_pages),
            ("next refresh", site.next_refresh_at),
            ("options", _changed_options(site.options)),
            ("needs", needs_somebody(line)),
        ]
    )
    output.table(("pages", "number"), sorted((state.value, number) for state, number in states.items()))
    if exclusions:
        output.table(("left out because", "pages"), exclusions.items())
    if refreshes:
        output.table(("refresh", "kind", "started", "ended", "outcome", "reason"), map(_refresh_row, refreshes))
    if publications:
        output.table(
            ("version", "table", "Lance version", "refresh", "pages", "chunks", "since", "live", "reason"),
            [
                (
                    p.publication_id,
                    p.table_name,
                    p.lance_version,
                    p.generation,
                    p.pages,
                    p.rows,
                    p.published_at,
                    p.live,
                    p.reason,
                )
                for p in publications
            ],
        )
    if failures:
        output.table(
            ("step", "page", "attempts", "next try", "error"),
            [(failure.step, failure.key, failure.attempts, failure.retry_at, failure.error) for failure in failures],
        )


@sites.command(epilog=examples("kb sites pages docs", "kb sites pages docs --state unreachable --limit 20"))
@click.argument("site_id")
@click.option("--state", metavar="STATE", type=click.Choice([state.value for state in PageStatus]), help=_STATE_HELP)
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="Most pages.")
@answers
def pages(app: App, site_id: str, state: str | None, limit: int) -> None:
    """List a site's pages, with what became of each and why."""
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415

    with app.stores() as stores:
        stores.sites.get(site_id)
        listed = Overview(stores.database).pages(site_id, PageStatus(state) if state else None, most=limit)
    app.output.json(listed)
    app.output.table(
        ("address", "state", "reason", "status", "chunks", "last fetched"),
        [(p.url, p.state, p.reason or "", p.status_code, p.chunk_count, p.last_fetched_at) for p in listed],
    )
    if len(listed) == limit:
        _say_more(app.output, limit)


def _say_more(output: Output, limit: int) -> None:
    output.say(f"The first {limit:,} pages; --limit shows more.")


def _refresh_row(refresh: Refresh) -> tuple[object, ...]:
    return (
        refresh.generation,
        refresh.kind,
        refresh.started_at,
        refresh.finished_at,
        refresh.outcome or "open",
        refresh.reason or "",
    )


def _changed_options(options: SiteOptions) -> str:
    """What differs from the defaults."""
    defaults = asdict(SiteOptions())
    return ", ".join(f"{name}={value}" for name, value in asdict(options).items() if value != defaults[name])


for command in (*registering.COMMANDS, *refreshing.COMMANDS):
    sites.add_command(command)
