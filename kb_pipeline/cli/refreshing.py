"""`kb sites estimate`, `approve`, `refresh` and `rollback`: what changes the content of a site."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.runs import Run, exit_code_after, is_unapproved, run_job, show_stages
from kb_pipeline.model import RefreshOutcome, SiteState

if TYPE_CHECKING:
    from kb_pipeline.cli.output import Output
    from kb_pipeline.model import Estimate, Refresh


@click.command(
    epilog=examples("kb sites estimate docs"), short_help="Find a site's pages, and say what importing them costs."
)
@click.argument("site_id")
@answers
def estimate(app: App, site_id: str) -> int:
    """Find the pages of a site, and say what importing them costs. Fetches none of them but a small sample."""
    with app.stores() as stores:
        run = run_job(app, stores, "discover", site_id)
        site, refresh = stores.sites.get(site_id), stores.refreshes.latest(site_id)
        exclusions = stores.pages.count_exclusions(site_id)
    found = refresh.estimate if refresh else None
    app.output.json({"site_id": site_id, "estimate": found, "left_out_because": exclusions, "run": run.ended})
    if found is None:
        app.output.note(f"There is no estimate: {escape(run.ended.reason or 'discovery left none')}")
        app.output.note(f"Is {escape(site.url)} up, and right? Then try again: kb sites estimate {site_id}")
        return ExitCode.REFUSED
    show_estimate(app.output, found)
    if exclusions:
        app.output.table(("left out because", "pages"), exclusions.items())
    if site.state is SiteState.AWAITING_APPROVAL:
        app.output.say(_how_to_approve(site_id, found.pages, app.settings.unapproved_max_pages))
    return ExitCode.OK


def _how_to_approve(site_id: str, found: int, unasked: int) -> str:
    if found <= unasked:
        return f"Next: kb sites approve {site_id}, for all of them."
    whole = f"kb sites approve {site_id} --pages {found}"
    return f"Next: kb sites approve {site_id}, for the {unasked:,} pages of the highest priority, or {whole}, for all."


@click.command(
    epilog=examples("kb sites approve docs", "kb sites approve docs --pages 500"),
    short_help="Approve the import of a site, or of its first pages.",
)
@click.argument("site_id")
@click.option(
    "--pages",
    type=click.IntRange(1),
    help="Most pages to import. Without it, KB_UNAPPROVED_MAX_PAGES (30 unless it is set).",
)
@answers
def approve(app: App, site_id: str, pages: int | None) -> None:
    """Approve the import of a site, whole or trimmed to its first pages.

    The pages with the highest priority come first. Approve again, with another number, to change it later.
    """
    from kb_pipeline.stages.approve import approve as approve_import  # noqa: PLC0415 - loads the stages

    with app.stores() as stores:
        approved = approve_import(stores, app.settings, site_id, pages=pages, by=f"{_who()}, kb")
        site = stores.sites.get(site_id)
    app.output.json({"site": site, "estimate": approved})
    app.output.say(f"{site_id} is approved for up to {site.approved_pages:,} pages. What is approved:")
    show_estimate(app.output, approved)
    app.output.say(f"Next: kb sites refresh {site_id}; with `kb up` running, the daemon starts it within a minute.")


@click.command(
    epilog=examples("kb sites refresh docs", "kb sites refresh docs --confirm-removals"),
    short_help="Bring a site up to date now, from its pages to the live index.",
)
@click.argument("site_id")
@click.option("--confirm-removals", is_flag=True, help="Let the removals through that the last refresh held.")
@answers
def refresh(app: App, site_id: str, *, confirm_removals: bool) -> int:
    """Bring the knowledge base of a site up to date now, from its list of pages to the live index.

    Ctrl-C stops it after what is in hand; the next refresh goes on from there.
    """
    from kb_pipeline.stages import lifecycle  # noqa: PLC0415 - loads the stages

    with app.stores() as stores:
        stores.sites.get(site_id)
        if confirm_removals:
            lifecycle.confirm_removals(stores, site_id)
        run = run_job(app, stores, "refresh", site_id)
        newest = stores.refreshes.latest(site_id)
        code = exit_code_after(stores, site_id, run.ended)
    app.output.json({"site_id": site_id, "refresh": newest, "run": run.ended, "stages": run.stages})
    show_stages(app, run)
    _say_how_it_ended(app.output, site_id, newest, run)
    return code


@click.command(
    epilog=examples("kb sites rollback docs", "kb sites rollback docs --to 12"),
    short_help="Make an earlier version of a site live again.",
)
@click.argument("site_id")
@click.option(
    "--to",
    "publication_id",
    metavar="VERSION",
    type=int,
    help="Version to go back to (see `kb sites show`); the one before by default.",
)
@answers
def rollback(app: App, site_id: str, publication_id: int | None) -> None:
    """Make an earlier version of a site live again. The next refresh publishes anew."""
    from kb_pipeline.stages.publish import rollback as roll_back  # noqa: PLC0415 - loads the stages

    with app.stores() as stores:
        stores.sites.get(site_id)
        roll_back(stores, app.settings, site_id, publication_id=publication_id)
        live = stores.publications.live(site_id)
    app.output.json(live)
    if live is not None:
        app.output.say(f"{site_id} is back at refresh {live.generation}: {live.pages:,} pages, {live.rows:,} chunks.")
        app.output.say("Its next refresh goes forward again.")


def show_estimate(output: Output, found: Estimate) -> None:
    """What an import will cost."""
    output.fields(
        [
            ("pages", found.pages),
            ("tokens", f"{found.tokens:,} (between {found.tokens_low:,} and {found.tokens_high:,})"),
            ("fetching", seconds_in_words(found.fetching_seconds)),
            ("embedding", seconds_in_words(found.embedding_seconds)),
            ("browser calls, at worst", found.browser_calls_at_worst),
            ("vision calls, at worst", found.vision_calls_at_worst),
            (
                "from a sample of",
                f"{found.sampled_pages:,} pages" if found.sampled_pages else "no page: typical values",
            ),
        ]
    )


def _who() -> str:
    """The name of whoever sits at the shell; a container's user need not have one."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def seconds_in_words(seconds: float) -> str:
    """`3 s`, `12 min`, `1 h 05 min`."""
    if seconds < 90:  # noqa: PLR2004 - up to here seconds read best
        return f"{seconds:.0f} s" if seconds >= 1 else "under a second"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"  # noqa: PLR2004


def _say_how_it_ended(output: Output, site_id: str, newest: Refresh | None, run: Run) -> None:
    if newest is not None and is_unapproved(newest):
        output.note(
            f"[yellow]No page of {site_id} was fetched:[/yellow] {escape(newest.reason or 'it waits for approval')}"
        )
        output.note(f"See what it costs: kb sites estimate {site_id}; then let it go on: kb sites approve {site_id}")
        return
    if run.ended.succeeded:
        output.say(f"[green]{site_id} is live as of refresh {newest.generation if newest else '?'}.[/green]")
        return
    output.note(f"[red]{site_id} was not published:[/red] {escape(run.ended.reason or 'no reason was recorded')}")
    if newest is not None and newest.outcome is RefreshOutcome.HELD:
        output.note(
            f"The version before stays live. Let the removals through: kb sites refresh {site_id} --confirm-removals"
        )


COMMANDS: Final = (estimate, approve, refresh, rollback)
