"""The embedded server: shared, stopped by the last, and back after every kind of violent end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from kb_pipeline.errors import StoreError, StoreUnavailable
from kb_pipeline.store.embedded import embedded_address, embedded_postgres
from kb_pipeline.store.postgres_urls import PostgresAddress

FAST = {"fsync": "off"}

HOLD = """
import sys
from pathlib import Path
from kb_pipeline.store.embedded import embedded_postgres
with embedded_postgres(Path(sys.argv[1]), options={"fsync": "off"}) as url:
    print(url, flush=True)
    sys.stdin.readline()
"""


@contextlib.contextmanager
def another_process(data_dir):
    """A process that uses the server until its standard input closes."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert any(line.startswith("postgresql://") for line in process.stdout), "it ended before it had a server"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(60)


def postmaster(data_dir):
    """The server's process, or None."""
    try:
        return psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split("\n")[0]))
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None


def runs(process):
    """Whether it runs; one that nobody has asked for yet has ended."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def answer(url):
    with psycopg.connect(PostgresAddress.parse(url).with_database("postgres").conninfo) as connection:
        return connection.execute("SELECT 1").fetchone()[0]


def test_processes_share_one_server_and_the_last_to_leave_stops_it_even_after_a_kill(data_dir):
    with another_process(data_dir) as first, embedded_postgres(data_dir, options=FAST) as url:
        server = postmaster(data_dir)
        assert answer(url) == 1
        with embedded_postgres(data_dir) as again:
            assert again == url
        assert server.is_running(), "one of this process's two uses has ended"

        first.send_signal(signal.SIGKILL)
        first.wait()
        assert answer(url) == 1
    assert not runs(server), "a killed process is not counted as a user"


NOBODY_REAPS = """
import ctypes, subprocess, sys
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
subprocess.run([sys.executable, "-c", sys.argv[1], sys.argv[2]], check=True)
"""
TIMED_STOP = """
import sys, time
from pathlib import Path
from kb_pipeline.store.embedded import embedded_postgres
with embedded_postgres(Path(sys.argv[1]), options={"fsync": "off"}):
    began = time.monotonic()
print("stopped in", time.monotonic() - began)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux leaves orphans to somebody else than init")
def test_a_stopped_server_is_not_waited_for_where_nobody_reaps_it(data_dir):
    command = [sys.executable, "-c", NOBODY_REAPS, TIMED_STOP, str(data_dir)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=250)
    assert float(ended.stdout.rpartition("stopped in")[2]) < 20
    assert postmaster(data_dir) is None


def test_the_server_comes_back_after_it_was_killed_and_after_its_number_went_to_another(data_dir):
    with embedded_postgres(data_dir, options=FAST):
        for child in postmaster(data_dir).children():
            assert child.is_running()
        postmaster(data_dir).kill()
    with embedded_postgres(data_dir, options=FAST) as url:
        assert answer(url) == 1

    for recorded in ("postmaster.pid", ".s.PGSQL.5432.lock"):
        (data_dir / "postgres" / recorded).write_text(f"{os.getpid()}\n{data_dir / 'postgres'}\n1\n5432\n\n\n")
    with embedded_postgres(data_dir, options=FAST) as url:
        assert answer(url) == 1


def test_a_set_up_that_was_killed_is_begun_anew_and_odd_paths_are_no_obstacle(data_dir):
    odd = data_dir / ("a, 'folder' with $HOME and spaces " + "x" * 90)
    half = odd / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with embedded_postgres(odd, options=FAST) as url:
        assert answer(url) == 1
        sockets = Path(embedded_address(odd).host)
        assert len(str(sockets)) < 90
    assert not sockets.exists()
    assert not half.exists()


def test_a_data_directory_that_is_a_file_is_said_so(data_dir):
    (data_dir / "kb").write_text("")
    with pytest.raises(StoreUnavailable, match=r"KB_DATA_DIR\) cannot be written"), embedded_postgres(data_dir / "kb"):
        pass


def test_files_of_another_postgresql_are_left_alone(data_dir):
    pgdata = data_dir / "postgres"
    pgdata.mkdir()
    (pgdata / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(StoreError, match=r"made by PostgreSQL 9\.6"), embedded_postgres(data_dir):
        pass
    (pgdata / "PG_VERSION").unlink()
    (pgdata / "letters.txt").write_text("mine")
    with pytest.raises(StoreError, match="no folder of a PostgreSQL server"), embedded_postgres(data_dir):
        pass
    assert (pgdata / "letters.txt").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounts a small file system")
def test_a_full_disk_is_said_so_and_leaves_nothing_half_made(data_dir):
    small = data_dir / "small"
    small.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=False)
    if mount.returncode != 0:
        pytest.skip("may not mount")
    try:
        with pytest.raises(StoreUnavailable, match="No space left"), embedded_postgres(small):
            pass
        assert not (small / "postgres").exists()
    finally:
        subprocess.run(["umount", str(small)], check=True)
