"""`kb sites add`, `set` and `remove`: what is in the registry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.site_options import OPTION_NAMES, parse_options
from kb_pipeline.errors import ConfigError
from kb_pipeline.model import SiteState, SourceType, check_site_id

if TYPE_CHECKING:
    from kb_pipeline.store.stores import Stores

_OPTIONS_HELP: Final = f"\n\nOptions of a site: {', '.join(OPTION_NAMES)}. docs/operating.md says what they mean."


@click.command(
    epilog=examples(
        "kb sites add docs https://docs.example.org/",
        "kb sites add docs https://example.org/ --set 'include=/docs/*'",
        "kb sites add news https://example.org/feed.xml --source feed",
    )
    + _OPTIONS_HELP,
    short_help="Register the site at URL under SITE_ID.",
)
@click.argument("site_id")
@click.argument("url")
@click.option(
    "--source",
    metavar="SOURCE",
    type=click.Choice([source.value for source in SourceType]),
    default=SourceType.AUTO.value,
    show_default=True,
    help="Where the list of pages comes from: auto (found out), or what URL is: sitemap, feed, or url (one page).",
)
@click.option("--tenant", default="default", show_default=True, help="Whose allowance the site counts against.")
@click.option("--set", "assignments", multiple=True, metavar="NAME=VALUE", help="An option of the site; repeatable.")
@answers
def add(app: App, site_id: str, url: str, source: str, tenant: str, assignments: tuple[str, ...]) -> None:
    """Register the site at URL under SITE_ID (a-z, 0-9 and '-').

    Nothing is fetched before its estimate is approved, except what finding the pages takes.
    """
    from kb_pipeline.stages.register import register  # noqa: PLC0415 - loads the stages

    check_site_id(site_id)
    options = parse_options(assignments)
    with app.stores() as stores:
        site = register(stores, app.settings, site_id, url, SourceType(source), options, tenant)
    app.output.json(site)
    app.output.say(f"Registered {site_id}: {escape(site.url)}")
    app.output.say(f"Next: kb sites estimate {site_id}, which finds its pages and says what importing them costs.")


@click.command(
    "set",
    epilog=examples(
        "kb sites set docs refresh_interval_hours=6",
        "kb sites set docs 'include=/docs/*,/api/*' time_limit_minutes=none",
    )
    + _OPTIONS_HELP,
)
@click.argument("site_id")
@click.argument("assignments", nargs=-1, required=True, metavar="NAME=VALUE...")
@answers
def set_options(app: App, site_id: str, assignments: tuple[str, ...]) -> None:
    """Change options of a site; they count from its next refresh on."""
    from kb_pipeline.stages.register import change_options  # noqa: PLC0415 - loads the stages

    with app.stores() as stores:
        site = change_options(stores, site_id, parse_options(assignments, stores.sites.get(site_id).options))
    app.output.json(site)
    app.output.say(escape(f"{site_id}: {', '.join(assignments)}"))


@click.command(
    epilog=examples("kb sites remove docs", "kb sites remove docs --yes   # in a script"),
    short_help="Delete a site with all its pages, chunks and vectors.",
)
@click.argument("site_id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers
def remove(app: App, site_id: str, *, yes: bool) -> int:
    """Delete a site with all its pages, chunks and vectors. This cannot be undone."""
    with app.stores() as stores:
        site = stores.sites.get(site_id)
        _confirm(app, f"Delete {site_id} ({site.url}) and everything that was imported from it?", yes=yes)
        code = remove_site(app, stores, site_id)
    app.output.json({"site_id": site_id, "removed": code is ExitCode.OK})
    if code is ExitCode.OK:
        app.output.say(f"{site_id} was removed.")
    return code


def remove_site(app: App, stores: Stores, site_id: str) -> ExitCode:
    """Mark the site, delete its data and its partition. Raises SiteBusy while a run of it goes on: that run stops
    within seconds, and the daemon, or this command run again, does the rest."""
    from kb_pipeline.cli.runs import run_job  # noqa: PLC0415 - with most commands it is not needed

    stores.sites.set_state(site_id, SiteState.REMOVING)
    run = run_job(app, stores, "remove_site", site_id)
    if not run.ended.succeeded:
        app.output.note(f"{site_id} could not be removed: {escape(str(run.ended.reason))}")
        return ExitCode.REFUSED
    from kb_pipeline.orchestration.run_here import forget_site, instance_of  # noqa: PLC0415 - loads Dagster

    with instance_of(app.settings) as instance:
        forget_site(instance, site_id)
    return ExitCode.OK


def _confirm(app: App, question: str, *, yes: bool) -> None:
    if yes:
        return
    if app.output.as_json or not sys.stdin.isatty():
        message = "this deletes data and nobody can be asked here: add --yes"
        raise ConfigError(message)
    click.confirm(question, abort=True, err=True)


COMMANDS: Final = (add, set_options, remove)
