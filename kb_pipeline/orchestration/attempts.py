"""When a site's next run may start. Dagster's run history answers it together with our tables; there is no
cursor, and a run counts whoever started it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import dagster as dg
from dagster import DagsterInstance, DagsterRunStatus, RunRecord, RunsFilter

from kb_pipeline.orchestration.partitions import PARTITION_TAG

UNFINISHED: Final = (
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
)
FINISHED: Final = (DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)
WAITS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=20),
    timedelta(hours=1),
    timedelta(hours=6),
)
MAX_ATTEMPTS: Final = len(WAITS)
"""Runs that one refresh is given before it is ended as failed."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Finished runs of one site since some moment, newest first."""

    ended_at: tuple[datetime, ...]
    last_was_canceled: bool

    def ready_at(self, *, pause_after_cancel: timedelta) -> datetime:
        """When the next run may start: at once for the first, then after a growing wait.

        Somebody who ends a run wants it ended: it is not started again before `pause_after_cancel`.
        """
        if not self.ended_at:
            return datetime.min.replace(tzinfo=UTC)
        wait = WAITS[min(len(self.ended_at), len(WAITS)) - 1]
        return self.ended_at[0] + (max(wait, pause_after_cancel) if self.last_was_canceled else wait)


def busy_sites(instance: DagsterInstance) -> set[str]:
    """Sites with a run that is queued or going on."""
    records = instance.get_run_records(filters=RunsFilter(statuses=list(UNFINISHED)))
    return {key for record in records if (key := record.dagster_run.tags.get(PARTITION_TAG))}


def attempts_since(
    instance: DagsterInstance, site_id: str, since: datetime, job: str, *, failures_of_others: bool
) -> Attempts:
    """Runs of the job for the site that ended after `since`; with `failures_of_others`, broken runs of other jobs too:
    a backfill that breaks says as much about the site as a refresh that does.

    Compares end times, which are Unix time, and not Dagster's creation column, which is in the time zone of
    the database session.
    """
    records = instance.get_run_records(
        filters=RunsFilter(tags={PARTITION_TAG: site_id}, statuses=list(FINISHED)), limit=4 * MAX_ATTEMPTS
    )
    ended = [
        record
        for record in records
        if _ended_at(record) > since
        and (record.dagster_run.job_name == job or (failures_of_others and not record.dagster_run.is_success))
    ]
    ended.sort(key=_ended_at, reverse=True)
    canceled = bool(ended) and ended[0].dagster_run.status is DagsterRunStatus.CANCELED
    return Attempts(tuple(_ended_at(record) for record in ended), canceled)


def run_request(job_name: str, site_id: str, since: datetime, generation: int, attempts: Attempts) -> dg.RunRequest:
    """A request whose key is new for each attempt: Dagster drops a key it has seen, for ever, even when that
    run never started."""
    moment = f"{since.astimezone(UTC):%Y%m%dT%H%M%S}"
    return dg.RunRequest(
        run_key=f"{job_name}/{site_id}/g{generation}/{moment}/{len(attempts.ended_at) + 1}",
        job_name=job_name,
        partition_key=site_id,
    )


def _ended_at(record: RunRecord) -> datetime:
    return datetime.fromtimestamp(record.end_time or record.update_timestamp.timestamp(), UTC)
