"""Runs whose process is gone: killed with its code server, with its machine, or at a shell. Until such a run is
ended it keeps its site from ever running again, since one run a site is all there may be."""

import os
import socket
from typing import Final

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from kb_pipeline.orchestration.partitions import PARTITION_TAG
from kb_pipeline.store.database import Database
from kb_pipeline.store.run_locks import runs_without_lock

PROCESS_TAG: Final = "kb/process"
"""Tag of a run whose process holds the run's lock: machine and process id. Set once the lock is held, never before:
a tagged run without a lock is a run whose process is gone."""

_GOING_ON: Final = (DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED)


def process_tag() -> dict[str, str]:
    """The tag that names this process."""
    return {PROCESS_TAG: f"{socket.gethostname()}:{os.getpid()}"}


def end_lost_runs(instance: DagsterInstance, database: Database, *, site_id: str | None = None) -> tuple[int, int]:
    """End the lost runs of a site, or of all, as failed; how many tagged runs there were, and how many were lost."""
    tags = {} if site_id is None else {PARTITION_TAG: site_id}
    runs = instance.get_runs(filters=RunsFilter(tags=tags, statuses=list(_GOING_ON)))
    held = {run.run_id: run.tags[PROCESS_TAG] for run in runs if PROCESS_TAG in run.tags}
    ended = 0
    for run_id in runs_without_lock(database, list(held)) if held else []:
        now = instance.get_run_by_id(run_id)
        # The lock is given back a moment before the run's end is recorded.
        if now is not None and now.status in _GOING_ON:
            instance.report_run_failed(now, f"The run's process ({held[run_id]}) exited without a word.")
            # Only the daemon gives a dead run's pool slots back, and none runs beside a command at a shell: the
            # next refresh would wait for its own predecessor without end.
            instance.event_log_storage.free_concurrency_slots_for_run(run_id)
            ended += 1
    return len(held), ended
