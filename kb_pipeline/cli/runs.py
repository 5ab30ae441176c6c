"""Runs a Dagster job for one site from a shell: progress while it goes, and what its stages reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.model import SiteState

if TYPE_CHECKING:
    from kb_pipeline.cli.app import App
    from kb_pipeline.orchestration.run_here import EndedRun
    from kb_pipeline.orchestration.watch import StageEnd
    from kb_pipeline.stages.report import Progress
    from kb_pipeline.store.stores import Stores


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
    """Shows progress under the stage's name, and keeps the reports."""

    show: Progress
    stages: list[StageEnd] = field(default_factory=list)

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.show(what, done, total)

    def stage_ended(self, end: StageEnd) -> None:
        self.stages.append(end)


def run_job(app: App, stores: Stores, job: str, site_id: str) -> Run:
    """Run `job` for the site in this process. Raises SiteNotFound, SiteBusy, StoreUnavailable."""
    from kb_pipeline.definitions import build_definitions  # noqa: PLC0415 - Dagster takes seconds to load
    from kb_pipeline.orchestration.run_here import instance_of, run_here  # noqa: PLC0415

    stores.sites.get(site_id)
    with stores.site_lock(site_id, f"kb {job}"):
        pass  # somebody at a shell is told at once that another run writes, where a run would wait and retry
    with instance_of(app.settings) as instance, app.output.progress() as progress:
        watcher = _Watcher(progress)
        ended = run_here(build_definitions(app.settings), instance, stores.database, job, site_id, watcher)
    return Run(ended, watcher.stages)


def exit_code_after(stores: Stores, site_id: str, ended: EndedRun) -> ExitCode:
    """What the end of a run means for the one who called it."""
    if ended.succeeded:
        return ExitCode.OK
    site = stores.sites.find(site_id)
    if site is not None and site.state is SiteState.AWAITING_APPROVAL:
        return ExitCode.WAITS_FOR_APPROVAL
    return ExitCode.REFUSED


def show_stages(app: App, run: Run) -> None:
    """A line a stage with its counts, then the pages that changed."""
    app.output.table(
        ("stage", "seconds", "counts"),
        [(end.asset, round(end.seconds, 2), _counts(end)) for end in run.stages],
    )
    changes = [
        (end.asset, row.change, row.url or row.page_id, row.detail) for end in run.stages for row in end.report.changes
    ]
    if changes:
        app.output.table(("stage", "change", "page", "detail"), changes)


def _counts(end: StageEnd) -> str:
    """The counts that are not zero."""
    named = end.report.counts.items()
    return ", ".join(f"{name} {value:,.0f}" if value >= 1 else f"{name} {value:.2f}" for name, value in named if value)
