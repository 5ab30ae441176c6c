"""The site lock, with real processes: one writer, named, and gone with its process."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from kb_pipeline.errors import SiteBusy, StoreUnavailable

HOLD = """
import sys
from kb_pipeline.store.database import Database
with Database.open(sys.argv[1]) as database, database.site_lock(sys.argv[2], "run 4711"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def a_writer(url, site_id):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, url, site_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_writer_is_told_who_the_first_is(database, postgres_url):
    with a_writer(postgres_url, "s"):
        with (
            pytest.raises(SiteBusy, match=r"'s' is being written by run 4711 \(since 20"),
            database.site_lock("s", "me"),
        ):
            pass
        with database.site_lock("another", "me") as lock:
            lock.assert_held()


def test_a_writer_that_was_killed_leaves_nothing_that_blocks_the_next(database, postgres_url):
    with a_writer(postgres_url, "s") as writer:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        deadline = time.monotonic() + 10
        while True:
            try:
                with database.site_lock("s", "me") as lock:
                    lock.assert_held()
                break
            except SiteBusy:
                assert time.monotonic() < deadline, "the server notices the end of the process at once"


def test_one_process_cannot_write_a_site_twice_either(database):
    with (
        database.site_lock("s", "first"),
        pytest.raises(SiteBusy, match="by first"),
        database.site_lock("s", "second"),
    ):
        pass
    with database.site_lock("s", "third"):
        pass


def test_an_error_inside_frees_the_lock(database):
    with pytest.raises(RuntimeError), database.site_lock("s", "first"):
        raise RuntimeError
    with database.site_lock("s", "second"):
        pass


def test_a_lock_whose_session_was_cut_off_stops_its_writer(database):
    with database.site_lock("s", "first") as lock:
        lock.assert_held()
        with psycopg.connect(database.address.conninfo, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE %s"
                " AND datname = current_database()",
                ["kb_pipeline writer:%"],
            )
        with pytest.raises(StoreUnavailable, match="lock on site 's' was lost"):
            lock.assert_held()


def test_a_lock_that_was_given_back_is_no_longer_held(database):
    with database.site_lock("s", "first") as lock:
        pass
    with pytest.raises(StoreUnavailable):
        lock.assert_held()
