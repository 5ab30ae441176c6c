from datetime import UTC, datetime, timedelta

import pytest
from dagster import DagsterRunStatus

from kb_pipeline.orchestration.attempts import WAITS, Attempts, attempts_since, busy_sites, run_request

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
NO_PAUSE = timedelta(0)


def attempts(instance, job, since=LONG_AGO, *, failures_of_others=True):
    return attempts_since(instance, "docs", since, job, failures_of_others=failures_of_others)


def test_the_first_run_may_start_at_once():
    assert Attempts((), last_was_canceled=False).ready_at(pause_after_cancel=NO_PAUSE) < LONG_AGO


@pytest.mark.parametrize("runs", range(1, 9))
def test_each_broken_run_lengthens_the_wait_up_to_a_limit(runs):
    attempts = Attempts((NOW,) * runs, last_was_canceled=False)
    assert attempts.ready_at(pause_after_cancel=NO_PAUSE) == NOW + WAITS[min(runs, len(WAITS)) - 1]


def test_a_run_that_somebody_ended_is_not_started_again_soon():
    attempts = Attempts((NOW,), last_was_canceled=True)
    assert attempts.ready_at(pause_after_cancel=timedelta(hours=24)) == NOW + timedelta(hours=24)


def test_the_key_of_a_run_names_the_generation_and_is_new_for_each_attempt():
    first = run_request("refresh", "docs", NOW, 7, Attempts((), last_was_canceled=False))
    second = run_request("refresh", "docs", NOW, 7, Attempts((NOW,), last_was_canceled=False))
    assert first.run_key == "refresh/docs/g7/20261130T120000/1"
    assert second.run_key == "refresh/docs/g7/20261130T120000/2"
    assert first.partition_key == "docs"


def test_only_ended_runs_of_the_site_since_the_moment_count(instance, record_run):
    record_run("refresh", "docs", DagsterRunStatus.FAILURE)
    record_run("refresh", "docs", DagsterRunStatus.STARTED)
    record_run("refresh", "other", DagsterRunStatus.FAILURE)
    assert len(attempts(instance, "refresh").ended_at) == 1
    assert attempts(instance, "refresh", datetime.now(UTC) + timedelta(minutes=1)).ended_at == ()


def test_runs_of_other_jobs_count_only_when_they_broke_and_are_asked_for(instance, record_run):
    record_run("discover", "docs", DagsterRunStatus.FAILURE)
    record_run("reindex", "docs", DagsterRunStatus.SUCCESS)
    assert len(attempts(instance, "refresh").ended_at) == 1
    assert attempts(instance, "refresh", failures_of_others=False).ended_at == ()
    assert len(attempts(instance, "discover", failures_of_others=False).ended_at) == 1


def test_a_canceled_run_is_known_as_canceled(instance, record_run):
    record_run("refresh", "docs", DagsterRunStatus.FAILURE)
    record_run("refresh", "docs", DagsterRunStatus.CANCELED)
    assert attempts(instance, "refresh").last_was_canceled


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.STARTED])
def test_a_site_is_busy_from_the_queue_to_the_end_of_its_run(instance, record_run, status):
    record_run("refresh", "docs", status)
    record_run("refresh", "done", DagsterRunStatus.FAILURE)
    assert busy_sites(instance) == {"docs"}
