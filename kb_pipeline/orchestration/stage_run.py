"""Runs one stage for the site of a step: progress into the run's log, an early stop when the site is being removed,
and the line between errors that trying again can cure and those that end the refresh."""

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import dagster as dg
import structlog

from kb_pipeline.errors import KbError, NotApproved, StoreError
from kb_pipeline.model import SiteState
from kb_pipeline.orchestration import watch
from kb_pipeline.orchestration.metadata import materialization
from kb_pipeline.orchestration.resources import EmbedderOpener
from kb_pipeline.settings import Settings
from kb_pipeline.stages import lifecycle
from kb_pipeline.stages.report import StageReport
from kb_pipeline.store.stores import Stores

LOG_EVERY: Final = timedelta(seconds=10)
LOOK_EVERY: Final = timedelta(seconds=5)


def run_stage(
    context: dg.AssetExecutionContext,
    stores: Stores,
    settings: Settings,
    stage: Callable[..., StageReport],
) -> dg.MaterializeResult[None]:
    """Run `stage` for the partition, and turn its report into a materialization.

    A transient error passes on to the asset's retry policy. Any other error of this project ends the refresh
    with its reason, and the step without a retry.
    """
    site_id = context.partition_key
    began = time.monotonic()
    with named_in_log_lines(context), interrupts_end_the_step(), permanent_errors_end_the_refresh(stores, site_id):
        report = stage(
            stores,
            settings,
            site_id,
            progress=watch.seen(log_progress(context.log)),
            keep_going=until_unwanted(stores, site_id),
            run_id=context.run.run_id,
        )
        site = stores.sites.get(site_id)
    if site.state is SiteState.REMOVING:
        message = f"site {site_id!r} is being removed"
        raise dg.Failure(message, allow_retries=False)
    if not watch.wanted()():
        message = "stopped by whoever started it; the next run goes on from here"
        raise dg.Failure(message, allow_retries=False)
    asset, seconds = context.asset_key.path[-1], time.monotonic() - began
    watch.tell(watch.StageEnd(asset, report, seconds))
    return materialization(asset, site, report, seconds=seconds)


def waits_for_approval(context: dg.AssetExecutionContext, stores: Stores) -> bool:
    """Whether this run discovered an import that nobody has approved yet: its check warns of it, and the rest of the
    run is skipped. A run that begins with the fetching has nothing that would say so, and is refused by the stage."""
    refresh = stores.refreshes.open(context.partition_key)
    selected = context.job_def.asset_layer.executable_asset_keys
    return dg.AssetKey("discovered_urls") in selected and refresh is not None and refresh.approved_at is None


def with_embedder(stage: Callable[..., StageReport], opener: EmbedderOpener) -> Callable[..., StageReport]:
    """The stage, given the embedding model when it is run."""

    def run(stores: Stores, settings: Settings, site_id: str, **options: Any) -> StageReport:
        return stage(stores, settings, site_id, embedder=opener(settings), **options)

    return run


def with_retry(stage: Callable[..., StageReport]) -> Callable[..., StageReport]:
    """The stage, on a retry where no refresh of an approved site is open."""

    def run(stores: Stores, settings: Settings, site_id: str, *, run_id: str, **options: Any) -> StageReport:
        if stores.refreshes.open(site_id) is None and stores.sites.get(site_id).approved_at is not None:
            lifecycle.start_retry(stores, site_id, run_id)
        return stage(stores, settings, site_id, run_id=run_id, **options)

    return run


def named_in_log_lines(context: dg.AssetExecutionContext) -> contextlib.AbstractContextManager[None]:
    """Every log line of the block says which site, run and asset it is of."""
    return structlog.contextvars.bound_contextvars(
        site=context.partition_key, run_id=context.run.run_id, asset=context.asset_key.path[-1]
    )


@contextlib.contextmanager
def interrupts_end_the_step() -> Iterator[None]:
    """Ends the step without a retry when somebody terminates its run, or stops what it runs in. Dagster takes an
    interrupt for one more error that a retry policy may cure, and starts the step again."""
    try:
        yield
    except (dg.DagsterExecutionInterruptedError, KeyboardInterrupt) as interrupt:
        message = "interrupted: its run was terminated, or what it ran in was stopped; the next run goes on from here"
        raise dg.Failure(message, allow_retries=False) from interrupt


@contextlib.contextmanager
def permanent_errors_end_the_refresh(stores: Stores, site_id: str) -> Iterator[None]:
    """Ends the site's open refresh as failed when the body raises what no retry can cure.

    A refresh that waits for approval stays open, and so does one whose store is in trouble.
    """
    try:
        yield
    except KbError as error:
        if error.transient:
            raise
        if not isinstance(error, NotApproved | StoreError):
            lifecycle.fail(stores, site_id, reason=str(error))
        raise dg.Failure(str(error), allow_retries=False) from error


def until_unwanted(stores: Stores, site_id: str) -> Callable[[], bool]:
    """False once somebody removes the site, or stops the run that they watch. Asks the registry every LOOK_EVERY,
    not once a page."""
    looked_at = time.monotonic()
    going, wanted = True, watch.wanted()

    def keep_going() -> bool:
        nonlocal looked_at, going
        if going and time.monotonic() - looked_at >= LOOK_EVERY.total_seconds():
            looked_at = time.monotonic()
            site = stores.sites.find(site_id)
            going = site is not None and site.state is not SiteState.REMOVING
        return going and wanted()

    return keep_going


def log_progress(log: dg.DagsterLogManager) -> Callable[[str, int, int | None], None]:
    """A line in the run's log every LOG_EVERY, since each line is a row in Dagster's database; and one for what only
    takes its time, such as loading the model, when it begins."""
    logged_at = time.monotonic()

    def progress(what: str, done: int, total: int | None) -> None:
        nonlocal logged_at
        if not done and total is None:
            log.info("%s …", what)
        elif time.monotonic() - logged_at >= LOG_EVERY.total_seconds():
            logged_at = time.monotonic()
            log.info("%s: %s", what, f"{done:,}" if total is None else f"{done:,} of {total:,}")

    return progress
