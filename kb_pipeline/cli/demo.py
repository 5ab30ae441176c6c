"""`kb demo`: the whole way of a site, from registration to answers and through a change, on a site that this
program serves itself. Everything is real: the same jobs, stores and checks as for any other site."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.rule import Rule

from kb_pipeline.cli.demo_settings import (
    DEMO_OPTIONS,
    DEMO_QUESTIONS,
    DEMO_SITE_ID,
    admitting_demo_site,
    with_demo_tiers,
)
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.errors import SiteBusy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.cli.app import App
    from kb_pipeline.cli.live_chunks import PageChange
    from kb_pipeline.cli.runs import Run
    from kb_pipeline.demo import DemoServer
    from kb_pipeline.store.stores import Stores


class DemoFailed(Exception):
    """The demo did not come to where it should; the message says where it stopped."""


@click.command(epilog=examples("kb demo", "kb demo --port 8400"))
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the demo site. Without it, 8319, or a free one.")
@click.pass_obj
def demo(app: App, port: int | None) -> int:
    """Run everything once on a small site that this program serves itself.

    The site is registered as 'demo', found, approved, fetched, embedded, asked and changed. It takes less than a
    minute and no network. It can be looked at afterwards in the UI (`kb up`), and the next demo begins by deleting it.
    """
    from kb_pipeline.demo import DEFAULT_PORT, serve_demo_site  # noqa: PLC0415 - `kb --help` needs no server

    _heading(app, "Starting PostgreSQL and cleaning up after the demo before")
    try:
        with serve_demo_site(port=port or DEFAULT_PORT) as server:
            app.use(with_demo_tiers(admitting_demo_site(app.settings, server.server_address[1])))
            _first_act_and_second(app, server)
    except DemoFailed as failed:
        app.output.note(f"[red]The demo stopped:[/red] {escape(str(failed))}")
        return ExitCode.REFUSED
    _say_what_next(app)
    return ExitCode.OK


def _first_act_and_second(app: App, server: DemoServer) -> None:
    with app.stores() as stores, _only_demo(stores):
        _clean(app, stores)
        _register(app, stores, server)
        _discover_and_approve(app, stores)
        _heading(app, "Refreshing: fetch, extract, chunk, embed, publish")
        _refresh(app, stores)
        _say_outcomes(app, stores)
        _ask(app, stores)
        _second_act(app, stores, server)
        if not app.settings.postgres_url:
            app.output.note("[dim]Stopping PostgreSQL …[/dim]")


@contextmanager
def _only_demo(stores: Stores) -> Iterator[None]:
    """Keep other demos out until this one ends: each begins by deleting what the one before has left."""
    with ExitStack() as held:
        try:
            held.enter_context(stores.site_lock("kb demo", "kb demo"))  # no site: a blank cannot be in a site's name
        except SiteBusy as busy:
            message = "another `kb demo` is running here; this one would delete its site"
            raise SiteBusy(message) from busy
        yield


def _clean(app: App, stores: Stores) -> None:
    from kb_pipeline.cli.registering import remove_site  # noqa: PLC0415 - loads Dagster

    if stores.sites.find(DEMO_SITE_ID) is not None and remove_site(app, stores, DEMO_SITE_ID) is not ExitCode.OK:
        message = "the demo site of an earlier run could not be removed"
        raise DemoFailed(message)


def _register(app: App, stores: Stores, server: DemoServer) -> None:
    from kb_pipeline.stages.register import register  # noqa: PLC0415

    _heading(app, f"Registering {server.origin} as site '{DEMO_SITE_ID}'")
    register(stores, app.settings, DEMO_SITE_ID, server.origin + "/", options=DEMO_OPTIONS)
    app.output.say("The website of a webhook service that does not exist, served by this program until the demo ends.")


def _discover_and_approve(app: App, stores: Stores) -> None:
    from kb_pipeline.cli.refreshing import show_estimate  # noqa: PLC0415
    from kb_pipeline.stages.approve import approve  # noqa: PLC0415

    _heading(app, "Finding its pages, and estimating what importing them costs")
    run = _run(app, stores, "discover")
    refresh = stores.refreshes.latest(DEMO_SITE_ID)
    if refresh is None or refresh.estimate is None:
        raise DemoFailed(run.ended.reason or "discovery left no estimate")
    show_estimate(app.output, refresh.estimate)
    approve(stores, app.settings, DEMO_SITE_ID, pages=refresh.estimate.pages, by="kb demo")
    app.output.say(f"Approved: {refresh.estimate.pages} pages. A site of your own waits here for `kb sites approve`.")


def _say_outcomes(app: App, stores: Stores) -> None:
    from kb_pipeline.model import PageStatus  # noqa: PLC0415
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415

    states = stores.pages.count_by_state(DEMO_SITE_ID)
    app.output.say(
        ", ".join(f"{number} {state.value}" for state, number in sorted(states.items())) + ". Not in the index:"
    )
    ordinary = {PageStatus.FRESH, PageStatus.UNCHANGED}
    pages = Overview(stores.database).pages(DEMO_SITE_ID, None, most=1000)
    app.output.table(
        ("page", "outcome", "because"),
        [(page.url, page.state, page.reason or "") for page in pages if page.state not in ordinary],
    )


def _ask(app: App, stores: Stores) -> None:
    from kb_pipeline.cli.search import find, show_hits  # noqa: PLC0415

    for question in DEMO_QUESTIONS:
        _heading(app, f"Asking: {question}")
        hits = find(app, stores, DEMO_SITE_ID, question, limit=2)
        if not hits:
            message = f"nothing was found for {question!r}"
            raise DemoFailed(message)
        show_hits(app.output, hits)


def _second_act(app: App, stores: Stores, server: DemoServer) -> None:
    from kb_pipeline.cli.live_chunks import changes_between, read_live_chunks  # noqa: PLC0415

    before = read_live_chunks(stores, DEMO_SITE_ID)
    server.site.begin_second_act()
    server.site.answered.clear()
    _heading(app, "The site changes: one word in one page, one page deleted, one added. Refreshing again")
    run = _refresh(app, stores)
    changes = changes_between(before, read_live_chunks(stores, DEMO_SITE_ID))
    app.output.table(
        ("page", "what happened", "chunks embedded", "chunks kept", "chunks dropped"),
        [(change.url, change.what, change.embedded, change.kept, change.dropped) for change in changes],
    )
    answered = ", ".join(f"{number} times {status}" for status, number in sorted(server.site.answered.items()))
    untouched = len(before) - sum(change.what != "added" for change in changes)
    app.output.say(f"The other {untouched} pages were left as they are. The site was asked for: {answered}.")
    _check_second_act(server, run, changes)


def _check_second_act(server: DemoServer, run: Run, changes: list[PageChange]) -> None:
    """The demo says nothing that it has not seen: exactly those three pages, and nothing else embedded."""
    from kb_pipeline.demo import ADDED_PATH, CHANGED_PATH, DELETED_PATH  # noqa: PLC0415

    wanted = {(CHANGED_PATH, "changed"), (DELETED_PATH, "deleted"), (ADDED_PATH, "added")}
    seen = {(change.url.removeprefix(server.origin), change.what) for change in changes}
    if seen != wanted:
        message = f"the refresh changed {sorted(seen)} where the site changed {sorted(wanted)}"
        raise DemoFailed(message)
    embedded, new = run.count("embeddings", "embedded"), sum(change.embedded for change in changes)
    if embedded != new:
        message = f"{embedded} chunks were embedded where {new} are new"
        raise DemoFailed(message)


def _refresh(app: App, stores: Stores) -> Run:
    from kb_pipeline.cli.runs import counts_in_words  # noqa: PLC0415

    run = _run(app, stores, "refresh")
    if not run.ended.succeeded:
        raise DemoFailed(run.ended.reason or "the refresh failed")
    for end in run.stages:
        app.output.say(f"[green]✓[/green] {end.asset:<16} {end.seconds:6.2f} s   [dim]{counts_in_words(end)}[/dim]")
    return run


def _run(app: App, stores: Stores, job: str) -> Run:
    from kb_pipeline.cli.runs import run_job  # noqa: PLC0415 - loads Dagster

    return run_job(app, stores, job, DEMO_SITE_ID)


def _heading(app: App, text: str) -> None:
    app.output.answers.print()
    app.output.answers.print(Rule(f"[bold]{text}", align="left"))


def _say_what_next(app: App) -> None:
    _heading(app, "What next")
    app.output.say("Look at these runs in the Dagster UI:   make up            then open http://127.0.0.1:3000")
    app.output.say('Ask something yourself:                 .venv/bin/kb search --site demo "Which limits are there?"')
    app.output.say("Ask why a page is not in:               .venv/bin/kb why URL")
    app.output.say("Add a real site:                        .venv/bin/kb sites add docs https://docs.example.org/")
    app.output.say("                                        .venv/bin/kb sites estimate docs")
    app.output.say("                                        .venv/bin/kb sites approve docs --pages 50")
    app.output.say("                                        .venv/bin/kb sites refresh docs")
