"""`kb sites`: the group, and its commands that only read. Those that change a site are in `registering`,
`refreshing` and `reindexing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb_pipeline.cli import refreshing, registering, reindexing
from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.status import site_table
from kb_pipeline.model import PageStatus

if TYPE_CHECKING:
    from kb_pipeline.cli.output import Output


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
    from kb_pipeline.cli.site_page import read_site_page, show_site_page  # noqa: PLC0415 - other commands need it not

    with app.stores() as stores:
        page = read_site_page(stores, site_id)
    app.output.json(page)
    show_site_page(app.output, page)


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
    output.say(f"The first {limit:,} pages; --limit shows more, --state those in one state.")


for command in (*registering.COMMANDS, *refreshing.COMMANDS, *reindexing.COMMANDS):
    sites.add_command(command)
