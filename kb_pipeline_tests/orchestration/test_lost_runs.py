import subprocess
import sys

from dagster import DagsterRunStatus

from kb_pipeline.orchestration.lost_runs import PROCESS_TAG
from kb_pipeline.store.run_locks import hold_run_lock, runs_without_lock

HOLD = """
import sys
from kb_pipeline.store.database import Database
from kb_pipeline.store.run_locks import hold_run_lock
with Database.open(sys.argv[1]) as database, hold_run_lock(database, sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def status(instance, run):
    return instance.get_run_by_id(run.run_id).status


def test_a_run_whose_process_is_gone_is_ended_with_the_reason(instance, tick, record_run):
    lost = record_run("refresh", "docs", DagsterRunStatus.STARTED, **{PROCESS_TAG: "host:1"})
    tick("lost_runs")
    assert status(instance, lost) is DagsterRunStatus.FAILURE


def test_a_run_that_goes_on_is_left_alone(instance, stores, tick, record_run):
    going = record_run("refresh", "docs", DagsterRunStatus.STARTED, **{PROCESS_TAG: "host:1"})
    with hold_run_lock(stores.database, going.run_id):
        tick("lost_runs")
        assert status(instance, going) is DagsterRunStatus.STARTED


def test_runs_of_other_programs_and_runs_that_only_begin_are_left_alone(instance, tick, record_run):
    runs = [
        record_run("refresh", "docs", DagsterRunStatus.STARTED),
        record_run("refresh", "docs", DagsterRunStatus.STARTING, **{PROCESS_TAG: "host:1"}),
    ]
    tick("lost_runs")
    assert [status(instance, run) for run in runs] == [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING]


def test_a_killed_process_gives_its_lock_back(database, postgres_url):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, postgres_url, "a-run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        assert runs_without_lock(database, ["a-run", "b-run"]) == ["b-run"]
        holder.kill()
        holder.wait()
    for _ in range(100):
        if runs_without_lock(database, ["a-run"]):
            break
    assert runs_without_lock(database, ["a-run"]) == ["a-run"]


def test_a_lost_run_gives_its_pool_slots_back(instance, tick, record_run):
    storage = instance.event_log_storage
    storage.set_concurrency_slots("embed", 1)
    lost = record_run("refresh", "docs", DagsterRunStatus.STARTED, **{PROCESS_TAG: "host:1"})
    assert storage.claim_concurrency_slot("embed", lost.run_id, "embeddings").is_claimed
    tick("lost_runs")
    assert storage.claim_concurrency_slot("embed", "the-next-run", "embeddings").is_claimed
