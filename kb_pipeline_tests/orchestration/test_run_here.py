"""A run in this process is one run a site like any other, and one that was killed keeps nobody waiting."""

from functools import partial

import psycopg
import pytest
from dagster import DagsterRunStatus
from psycopg import sql

from kb_pipeline.definitions import build_definitions
from kb_pipeline.errors import SiteBusy, StoreUnavailable
from kb_pipeline.orchestration.lost_runs import PROCESS_TAG
from kb_pipeline.orchestration.run_here import run_here
from kb_pipeline.store.postgres_urls import PostgresAddress
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


class Saboteur(Onlooker):
    """Closes Dagster's database once the run has begun."""

    def __init__(self, address):
        super().__init__()
        self.address = address

    def progress(self, what, done, total):
        super().progress(what, done, total)
        if len(self.progressed) == 1:
            open_for_all(self.address, allowed=False)


def open_for_all(address, *, allowed):
    with psycopg.connect(address.with_database("postgres").conninfo, autocommit=True) as connection:
        name = sql.Identifier(address.database)
        connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(name, sql.Literal(allowed)))
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [address.database]
        )


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


def test_a_server_that_is_lost_in_mid_run_is_said_to_be_lost_and_the_next_run_goes_on(instance, stores, settings):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    address = PostgresAddress.parse(instance.event_log_storage.postgres_url)
    run = partial(run_here, build_definitions(settings), instance, stores.database, "discover", "docs")
    try:
        with pytest.raises(StoreUnavailable, match=r"lost in the middle of the run .*run the same command"):
            run(Saboteur(address))
    finally:
        open_for_all(address, allowed=True)
    assert not run(Onlooker()).succeeded


def test_somebody_who_stops_it_ends_it_at_once_and_without_a_retry(instance, stores, settings):
    stores.sites.add("docs", "http://127.0.0.1:1/")
    ended = run_here(build_definitions(settings), instance, stores.database, "discover", "docs", Impatient())
    assert "stopped by whoever started it" in ended.reason
    assert stores.refreshes.open("docs") is not None
