"""Runs a Dagster job for one site from a shell: progress while it goes, and what its stages reported."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_pipeline.cli.app import App
    from kb_pipeline.model import Refresh
    from kb_pipeline.orchestration.run_here import EndedRun
    from kb_pipeline.orchestration.watch import StageEnd
    from kb_pipeline.stages.report import ChangeRow, Progress
    from kb_pipeline.store.stores import Stores


LISTED_CHANGES: Final = 30


@dataclass(slots=True)
class Run:
    """A run as it was seen from here."""

    ended: EndedRun
    stages: list[StageEnd]

    def count(self, asset: str, name: str) -> int | float:
        """One count of one stage; 0 when the stage did not run or does not count it."""
        return next((end.report.counts.get(name, 0) for end in self.stages if end.asset == asset), 0)


@dataclass(slots=True)
class _Watcher:
    """Shows progress under the stage's name, keeps the reports, and passes Ctrl-C on."""

    show: Progress
    stages: list[StageEnd] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.show(what, done, total)

    def stage_ended(self, end: StageEnd) -> None:
        self.stages.append(end)

    def wants_more(self) -> bool:
        return not self.stop.is_set()


def run_job(app: App, stores: Stores, job: str, site_id: str) -> Run:
    """Run `job` for the site in this process. Raises SiteNotFound, SiteBusy, StoreUnavailable, and KeyboardInterrupt
    once a run that somebody stopped has come to its end."""
    stores.sites.get(site_id)
    with stores.site_lock(site_id, f"kb {job}"):
        pass  # somebody at a shell is told at once that another run writes, where a run would wait and retry
    with app.output.progress() as progress:
        watcher = _Watcher(progress)
        ended = _run_watched(app, stores, job, site_id, watcher)
    if watcher.stop.is_set() and not ended.succeeded:
        app.output.note("Stopped. What was done is kept: the next run goes on from here.")
        raise KeyboardInterrupt
    return Run(ended, watcher.stages)


def _run_watched(app: App, stores: Stores, job: str, site_id: str, watcher: _Watcher) -> EndedRun:
    if "dagster" not in sys.modules:
        watcher.progress("loading Dagster", 0, None)
    from kb_pipeline.definitions import build_definitions  # noqa: PLC0415 - Dagster takes seconds to load
    from kb_pipeline.orchestration.run_here import instance_of, run_here  # noqa: PLC0415

    with instance_of(app.settings) as instance:
        definitions = build_definitions(app.settings)
        return _until_stopped(
            lambda: run_here(definitions, instance, stores.database, job, site_id, watcher), watcher.stop, app
        )


def _until_stopped(work: Callable[[], EndedRun], stop: threading.Event, app: App) -> EndedRun:
    """Do the work in a thread of its own, and leave Ctrl-C to this one: in the main thread Dagster would raise it in
    the midst of whatever runs, where it is taken for an error of a page and tried again.

    The first Ctrl-C lets the batch in hand be committed; the second gives up at once, which loses no more than that.
    """
    done: Future[EndedRun] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits
            done.set_exception(error)

    threading.Thread(target=run, name="run", daemon=True).start()
    try:
        return done.result()
    except KeyboardInterrupt:
        if done.done():
            raise
    stop.set()
    app.output.note("Stopping after what is in hand; Ctrl-C again stops at once.")
    return done.result()


def exit_code_after(stores: Stores, site_id: str, ended: EndedRun) -> ExitCode:
    """What the end of a run means for the one who called it."""
    if is_unapproved(stores.refreshes.latest(site_id)):
        return ExitCode.WAITS_FOR_APPROVAL
    return ExitCode.OK if ended.succeeded else ExitCode.REFUSED


def is_unapproved(refresh: Refresh | None) -> bool:
    """Whether the refresh has an estimate that nobody has approved, or that does not fit the allowance."""
    if refresh is None or refresh.estimate is None:
        return False
    return refresh.outcome is None and refresh.approved_at is None


def show_stages(app: App, run: Run) -> None:
    """A line a stage with its counts, then the first pages that changed."""
    if not run.stages:
        return
    app.output.table(
        ("stage", "seconds", "counts"),
        [(end.asset, round(end.seconds, 2), counts_in_words(end)) for end in run.stages],
    )
    changes = changed_pages(run.stages)
    if changes:
        app.output.table(
            ("page", "change", "detail"), [(row.url, row.change, row.detail) for row in changes[:LISTED_CHANGES]]
        )
    if len(changes) > LISTED_CHANGES:
        app.output.say(f"… and {len(changes) - LISTED_CHANGES:,} more of the pages that the run lists.")


def changed_pages(stages: Sequence[StageEnd]) -> list[ChangeRow]:
    """One row a page: what the first stage that saw it change says of it."""
    pages: dict[str, ChangeRow] = {}
    for end in stages:
        for row in end.report.changes:
            pages.setdefault(row.url or row.page_id, row)
    return [pages[url] for url in sorted(pages)]


def counts_in_words(end: StageEnd) -> str:
    """The counts that are not zero; the seconds have a column of their own."""
    from kb_pipeline.orchestration.count_names import in_words  # noqa: PLC0415 - with the rest of the graph

    return in_words(end.asset, {name: value for name, value in end.report.counts.items() if name != "seconds"})
