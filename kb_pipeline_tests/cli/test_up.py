"""`kb up` starts the whole of it, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from kb_pipeline.cli import stopping
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.stopping import stop_signals
from kb_pipeline.cli.up import refuse_taken_port
from kb_pipeline.errors import ConfigError

KB_UP = "from kb_pipeline.cli import main; main()"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processes_of(data_dir) -> list[str]:
    """Command lines of whatever runs on this data directory: all that `kb up` starts has it in its environment or
    its arguments."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
            if process.status() != psutil.STATUS_ZOMBIE and any(str(data_dir) in word for word in words):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


@contextlib.contextmanager
def kb_up(data_dir, port, log):
    """`kb up` on the data directory, with the embedded server, once the UI answers."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DAGSTER"))}
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", KB_UP, "up", "--port", str(port)],
            env=environment | {"KB_DATA_DIR": str(data_dir)},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until(lambda: "The UI is at" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(90)


@pytest.fixture
def running(tmp_path):
    """`kb up` on a data directory of its own."""
    data_dir, port = tmp_path / "kb", free_port()
    with kb_up(data_dir, port, tmp_path / "up.log") as process:
        yield process, data_dir, f"http://127.0.0.1:{port}"


def wait_until(ready, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_and_leaves_no_process_behind(running, number):
    process, data_dir, address = running
    answer = httpx.post(f"{address}/graphql", json={"query": "{ version }"}, timeout=60)
    assert answer.json()["data"]["version"]
    names = " ".join(processes_of(data_dir))
    assert all(part in names for part in ("dagster_webserver", "dagster._daemon", "postgres"))
    process.send_signal(number)
    process.send_signal(number)  # an impatient second one must not cut the clean-up short
    assert process.wait(90) == ExitCode.OK
    assert processes_of(data_dir) == []


def test_what_a_killed_kb_up_has_started_ends_with_it(running):
    process, data_dir, _ = running
    process.kill()
    process.wait()
    wait_until(lambda: processes_of(data_dir) == [], 60)


def test_the_next_kb_up_ends_what_a_killed_one_and_its_guardian_have_left(running, tmp_path):
    process, data_dir, address = running
    [guardian] = [found for found in psutil.Process(process.pid).children() if "guardian" in " ".join(found.cmdline())]
    process.kill()
    guardian.kill()
    process.wait()
    assert "dagster_webserver" in " ".join(processes_of(data_dir))
    with kb_up(data_dir, int(address.rpartition(":")[2]), tmp_path / "again.log"):
        assert "that an earlier `kb up` has left behind" in (tmp_path / "again.log").read_text()
        assert httpx.post(f"{address}/graphql", json={"query": "{ version }"}, timeout=60).is_success
    assert processes_of(data_dir) == []


def test_a_second_kb_up_on_one_data_directory_is_refused(running, call, monkeypatch):
    process, data_dir, _ = running
    monkeypatch.setenv("KB_DATA_DIR", str(data_dir))
    answer = call("up", "--port", str(free_port()))
    assert answer.code == ExitCode.USAGE
    assert f"runs already on {data_dir} (process {process.pid})" in answer.err


def test_a_second_signal_that_comes_at_once_is_the_same_one_and_a_later_one_is_impatience(monkeypatch):
    monkeypatch.setattr(stopping, "IMPATIENT_AFTER", 0.3)
    with stop_signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        assert (signals.stop.is_set(), signals.at_once.is_set()) == (True, False)
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)
        assert signals.at_once.is_set()


def test_a_port_that_is_taken_is_said_before_anything_is_started():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="--port"):
        refuse_taken_port("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_is_not_ours_is_refused():
    with pytest.raises(ConfigError, match="--host"):
        refuse_taken_port("192.0.2.1", 3000)
