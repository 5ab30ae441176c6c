"""Runs a job for one site in this process, on the instance that the UI shows. The run is recorded like any other:
its steps, logs and materializations are in the UI afterwards."""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from kb_pipeline.errors import SiteBusy
from kb_pipeline.orchestration.attempts import UNFINISHED
from kb_pipeline.orchestration.instance import open_instance, prepare_instance
from kb_pipeline.orchestration.lost_runs import end_lost_runs, process_tag
from kb_pipeline.orchestration.lost_storage import dagster_storage
from kb_pipeline.orchestration.partitions import PARTITION_TAG, sites
from kb_pipeline.orchestration.run_reason import why_run_failed
from kb_pipeline.orchestration.watch import Watcher, watched_by
from kb_pipeline.settings import Settings
from kb_pipeline.store.database import Database
from kb_pipeline.store.run_locks import hold_run_lock

# The run's lines are in the event log; on the terminal they would bury the answer.
_QUIET_LOGGERS: Final = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that came to its end."""

    run_id: str
    succeeded: bool
    reason: str | None
    """Why it failed; None when it did not."""


@contextlib.contextmanager
def instance_of(settings: Settings) -> Iterator[DagsterInstance]:
    """The instance, made ready. PostgreSQL must run."""
    prepare_instance(settings)
    with open_instance(settings) as instance:
        yield instance


def run_here(
    definitions: dg.Definitions,
    instance: DagsterInstance,
    database: Database,
    job_name: str,
    site_id: str,
    watcher: Watcher,
) -> EndedRun:
    """Run the job to its end. Raises SiteBusy when a run of the site is queued or going on, and StoreUnavailable when
    Dagster's storage is lost."""
    with dagster_storage(database.address):
        end_lost_runs(instance, database, site_id=site_id)
        _refuse_beside_another(instance, site_id)
        instance.add_dynamic_partitions(str(sites.name), [site_id])
        run_id = str(uuid.uuid4())
        with watched_by(watcher), hold_run_lock(database, run_id):
            ended = definitions.resolve_job_def(job_name).execute_in_process(
                run_config=_QUIET_LOGGERS,
                instance=instance,
                partition_key=site_id,
                raise_on_error=False,
                run_id=run_id,
                tags=process_tag(),
            )
        reason = None if ended.success else why_run_failed(instance, run_id)
        return EndedRun(run_id, ended.success, reason)


def forget_site(instance: DagsterInstance, site_id: str) -> None:
    """Delete the site's partition. Its runs and materializations stay in Dagster's history."""
    instance.delete_dynamic_partition(str(sites.name), site_id)


def _refuse_beside_another(instance: DagsterInstance, site_id: str) -> None:
    """The run queue would make this run wait; a person at a shell is told instead."""
    filters = RunsFilter(tags={PARTITION_TAG: site_id}, statuses=list(UNFINISHED))
    others = instance.get_runs(filters=filters, limit=1)
    if others:
        doing = "is queued" if others[0].status is DagsterRunStatus.QUEUED else "is going on"
        message = f"run {others[0].run_id} ({others[0].job_name}) of site {site_id!r} {doing}"
        raise SiteBusy(message)
