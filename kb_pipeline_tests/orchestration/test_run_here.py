"""A run in this process is one run a site like any other, and one that was killed keeps nobody waiting."""

import pytest
from dagster import DagsterRunStatus

from kb_pipeline.definitions import build_definitions
from kb_pipeline.errors import SiteBusy
from kb_pipeline.orchestration.lost_runs import PROCESS_TAG
from kb_pipeline.orchestration.run_here import run_here
from kb_pipeline.store.run_locks import hold_run_lock


class Onlooker:
    """Keeps what it is told."""

    def __init__(self):
        self.progressed: list[str] = []
        self.ended = []

    def progress(self, what, _done, _total):
        self.progressed.append(what)

    def stage_ended(self, end):
        self.ended.append(end)

    def wants_more(self):
        return True


class Impatient(Onlooker):
    """Somebody who has pressed Ctrl-C."""

    def wants_more(self):
        return False


@pytest.fixture
def run(instance, stores, settings):
    def run_job(job):
        return run_here(build_definitions(settings), instance, stores.database, job, "docs", Onlooker())

    return run_job


def test_it_is_recorded_with_its_partition_and_its_process(run, instance, stores):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    ended = run("discover")
    recorded = instance.get_run_by_id(ended.run_id)
    assert recorded.status is DagsterRunStatus.FAILURE
    assert recorded.tags["dagster/partition"] == "docs"
    assert PROCESS_TAG in recorded.tags
    assert not ended.succeeded
    assert ended.reason


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED])
def test_it_does_not_start_beside_another_run_of_the_site(run, record_run, stores, status):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    other = record_run("refresh", "docs", status, **{PROCESS_TAG: "host:1"})
    with hold_run_lock(stores.database, other.run_id), pytest.raises(SiteBusy, match=other.run_id):
        run("discover")


@pytest.mark.parametrize("status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.STARTED])
def test_a_run_whose_process_was_killed_is_ended_first(run, instance, record_run, stores, status):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    lost = record_run("refresh", "docs", status, **{PROCESS_TAG: "host:1"})
    run("discover")
    assert instance.get_run_by_id(lost.run_id).status is DagsterRunStatus.FAILURE


def test_somebody_who_stops_it_ends_it_at_once_and_without_a_retry(instance, stores, settings):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    ended = run_here(build_definitions(settings), instance, stores.database, "discover", "docs", Impatient())
    assert "stopped by whoever started it" in ended.reason
    assert stores.refreshes.open("docs") is not None
