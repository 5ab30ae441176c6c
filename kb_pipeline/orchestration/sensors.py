"""What starts runs and what follows from their end. A tick reads our tables and Dagster's run history, crawls
nothing and ends within seconds; there is no cursor, so a tick that is lost or doubled changes nothing."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import islice, takewhile
from typing import Final

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, DefaultSensorStatus, RunsFilter

from kb_pipeline.model import Site, SiteState
from kb_pipeline.orchestration import jobs
from kb_pipeline.orchestration.attempts import MAX_ATTEMPTS, attempts_since, busy_sites, run_request
from kb_pipeline.orchestration.lost_runs import end_lost_runs
from kb_pipeline.orchestration.partitions import PARTITION_TAG, sites
from kb_pipeline.orchestration.run_reason import why_run_failed
from kb_pipeline.stages import lifecycle
from kb_pipeline.store.reports import DueSite, Reports
from kb_pipeline.store.stores import Stores

MOST_REQUESTS: Final = 25
"""Runs that one tick asks for; the next tick goes on."""
_MOST_LOOKED_AT: Final = 200
_RUNNING: Final = DefaultSensorStatus.RUNNING


@dg.sensor(job=jobs.discover, minimum_interval_seconds=15, default_status=_RUNNING)
def site_registry(context: dg.SensorEvaluationContext, stores: dg.ResourceParam[Stores]) -> dg.SensorResult:
    """Keeps the partitions in step with the registry, and discovers new sites. The partition of a site that is no
    longer registered goes once no run of it is queued or going on."""
    registry = {site.site_id: site for site in stores.sites.all()}
    keys = set(context.instance.get_dynamic_partitions(str(sites.name)))
    busy = busy_sites(context.instance)
    added, stale = sorted(registry.keys() - keys), sorted(keys - registry.keys() - busy)
    requests = _site_requests(context.instance, stores, registry.values(), busy, SiteState.REGISTERED, "discover")
    said = f"{len(registry)} sites; {len(added)} partitions added, {len(stale)} deleted"
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[
            *([sites.build_add_request(added)] if added else []),
            *([sites.build_delete_request(stale)] if stale else []),
        ],
        skip_reason=None if requests else said,
    )


# Named, not passed: Dagster would rebuild a sensor of an op job, and warn about its own parameters.
@dg.sensor(job_name="remove_site", minimum_interval_seconds=15, default_status=_RUNNING)
def site_removal(context: dg.SensorEvaluationContext, stores: dg.ResourceParam[Stores]) -> dg.SensorResult:
    """Deletes the data of a site that is being removed, once no other run of it is queued or going on."""
    keys = set(context.instance.get_dynamic_partitions(str(sites.name)))
    known = [site for site in stores.sites.all() if site.site_id in keys]
    busy = busy_sites(context.instance)
    requests = _site_requests(context.instance, stores, known, busy, SiteState.REMOVING, "remove_site")
    return dg.SensorResult(run_requests=requests, skip_reason=None if requests else "no site to remove")


@dg.sensor(job=jobs.refresh, minimum_interval_seconds=15, default_status=_RUNNING)
def refresh_due(context: dg.SensorEvaluationContext, stores: dg.ResourceParam[Stores]) -> dg.SensorResult:
    """Starts the refresh of each approved site whose time has come, and takes up again one that a broken run left
    open. A refresh that broke too often is ended as failed."""
    due = Reports(stores.database).refreshes_due(stores.now(), most=_MOST_LOOKED_AT)
    return _start(context, stores, due, "refresh")


@dg.sensor(job=jobs.retry, minimum_interval_seconds=60, default_status=_RUNNING)
def retry_due(context: dg.SensorEvaluationContext, stores: dg.ResourceParam[Stores]) -> dg.SensorResult:
    """Asks again for pages that could not be reached or were put off, once their retry time has come."""
    due = Reports(stores.database).retries_due(stores.now(), most=_MOST_LOOKED_AT)
    return _start(context, stores, due, "retry")


@dg.run_failure_sensor(minimum_interval_seconds=5, default_status=_RUNNING)
def run_failure(context: dg.RunFailureSensorContext, stores: dg.ResourceParam[Stores]) -> None:
    """Writes to the site why its run failed. The refresh of a run that broke stays open, and is taken up again by
    `refresh_due`; a check or an error that no retry cures has ended it already."""
    run = context.dagster_run
    site_id = run.tags.get(PARTITION_TAG)
    if site_id is None or _has_succeeded_since(context.instance, site_id, run.run_id):
        return
    reason = why_run_failed(context.instance, run.run_id)
    stores.sites.note_error(site_id, reason, stores.now())
    context.log.warning("run %s of site %s failed: %s", run.run_id, site_id, reason)


@dg.sensor(minimum_interval_seconds=30, default_status=_RUNNING)
def lost_runs(context: dg.SensorEvaluationContext, stores: dg.ResourceParam[Stores]) -> dg.SensorResult:
    """Ends runs whose process is gone: killed with its code server, or with its machine."""
    going, ended = end_lost_runs(context.instance, stores.database)
    return dg.SensorResult(skip_reason=f"{going} runs going on, {ended} of them lost")


def _site_requests(
    instance: DagsterInstance, stores: Stores, known: Iterable[Site], busy: set[str], state: SiteState, job: str
) -> list[dg.RunRequest]:
    """A run of `job` for each site in `state`, as soon as it has no run and its last attempts allow one."""
    now = stores.now()
    requests: list[dg.RunRequest] = []
    for site in known:
        if site.state is not state or site.site_id in busy or len(requests) == MOST_REQUESTS:
            continue
        asked = site.next_refresh_at or site.created_at
        if asked > now and state is SiteState.REGISTERED:
            continue  # its discovery failed, and has been given a time
        since = max(site.created_at, asked) if asked <= now else site.created_at
        attempts = attempts_since(instance, site.site_id, since, job, failures_of_others=False)
        pause = timedelta(hours=site.options.refresh_interval_hours)
        if attempts.ready_at(pause_after_cancel=pause) <= now:
            requests.append(run_request(job, site.site_id, since, 0, attempts))
    return requests


def _start(context: dg.SensorEvaluationContext, stores: Stores, due: list[DueSite], job: str) -> dg.SensorResult:
    busy = busy_sites(context.instance)
    keys = set(context.instance.get_dynamic_partitions(str(sites.name)))
    able = [site for site in due if site.site_id in keys and site.site_id not in busy]
    requests = list(islice(_due_requests(context.instance, stores, able, job), MOST_REQUESTS))
    reason = None if requests else f"{len(due)} sites due, {len(due) - len(able)} of them with a run already"
    return dg.SensorResult(run_requests=requests, skip_reason=reason)


def _due_requests(
    instance: DagsterInstance, stores: Stores, due: Iterable[DueSite], job: str
) -> Iterable[dg.RunRequest]:
    now = stores.now()
    for site in due:
        attempts = attempts_since(instance, site.site_id, site.since, job, failures_of_others=True)
        if site.is_open and len(attempts.ended_at) >= MAX_ATTEMPTS:
            lifecycle.fail(stores, site.site_id, reason=_gave_up(stores, site, len(attempts.ended_at)))
        elif attempts.ready_at(pause_after_cancel=timedelta(hours=site.refresh_interval_hours)) <= now:
            yield run_request(job, site.site_id, site.since, site.generation, attempts)


def _gave_up(stores: Stores, site: DueSite, runs: int) -> str:
    last = stores.sites.get(site.site_id).last_error or "no reason was recorded"
    return f"refresh {site.generation} was ended after {runs} runs of it broke; the last: {last}"


def _has_succeeded_since(instance: DagsterInstance, site_id: str, run_id: str) -> bool:
    """Whether a later run of the site went well, so that the failure is old news."""
    newest = instance.get_runs(
        filters=RunsFilter(
            tags={PARTITION_TAG: site_id}, statuses=[DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE]
        ),
        limit=10,
    )
    later = takewhile(lambda run: run.run_id != run_id, newest)
    return any(run.status is DagsterRunStatus.SUCCESS for run in later)


ALL: Final = (site_registry, site_removal, refresh_due, retry_due, run_failure, lost_runs)
