"""`kb up` starts the whole of it, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from kb_pipeline.cli.exit_codes import ExitCode
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


@pytest.fixture
def running(tmp_path):
    """`kb up` on a data directory of its own, with the embedded server, once the UI answers."""
    data_dir, port = tmp_path / "kb", free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DAGSTER"))}
    log = (tmp_path / "up.log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-c", KB_UP, "up", "--port", str(port)],
        env=environment | {"KB_DATA_DIR": str(data_dir)},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        wait_until(lambda: "The UI is at" in (tmp_path / "up.log").read_text() or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "up.log").read_text()
        yield process, data_dir, f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(90)
        log.close()


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


def test_a_port_that_is_taken_is_said_before_anything_is_started():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="--port"):
        refuse_taken_port("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_is_not_ours_is_refused():
    with pytest.raises(ConfigError, match="--host"):
        refuse_taken_port("192.0.2.1", 3000)
