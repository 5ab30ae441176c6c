"""What `kb up` starts is ended as a whole, whatever its descendants do with signals."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from kb_pipeline.cli import child_processes
from kb_pipeline.cli.child_processes import Child

# A child, a grandchild that ignores polite signals, and one that has left for a session of its own.
STUBBORN_FAMILY = """
import subprocess, sys, time
ignoring = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM)]"
wait = "; print('{0}', flush=True); time.sleep(600)"
deaf = subprocess.Popen([sys.executable, "-c", ignoring + wait.format("deaf")])
away = subprocess.Popen([sys.executable, "-c", "import time" + wait.format("away")], start_new_session=True)
print("pids", deaf.pid, away.pid, flush=True)
time.sleep(600)
"""


def wait_for(what, child, seconds: float = 30) -> str:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        said = child.last_words()
        if all(word in said for word in what):
            return said
        time.sleep(0.05)
    raise AssertionError(child.last_words())


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def impatient(monkeypatch):
    """The same signals, with less time between them."""
    monkeypatch.setattr(child_processes, "PATIENCE", tuple((number, 0.5) for number, _ in child_processes.PATIENCE))


@pytest.mark.usefixtures("impatient")
def test_leaving_the_block_ends_every_descendant(tmp_path):
    with Child("family", ["-c", STUBBORN_FAMILY], os.environ, tmp_path) as child:
        said = wait_for(("pids", "deaf", "away"), child)
        pids = [int(part) for part in said.partition("pids")[2].split()[:2]]
        assert all(map(alive, pids))
    assert not any(map(alive, pids))
    assert child.code is not None


def test_a_child_that_ended_by_itself_leaves_its_code_and_last_words(tmp_path):
    with Child("short", ["-c", "print('no good'); raise SystemExit(3)"], os.environ, tmp_path) as child:
        wait_for(("no good",), child)
    assert (child.code, child.last_words()) == (3, "no good\n")


@pytest.mark.usefixtures("impatient")
def test_what_a_dead_child_left_behind_is_ended_too(tmp_path):
    script = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('pid', p.pid, flush=True)"
    )
    with Child("parent", ["-c", script], os.environ, tmp_path) as child:
        orphan = int(wait_for(("pid",), child).split()[1])
        assert alive(orphan)
    assert not alive(orphan)


def test_a_polite_child_is_asked_only_once(tmp_path):
    script = (
        # A test runner that was started in the background hands an ignored SIGINT down.
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n    print('up', flush=True); time.sleep(600)\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)"
    )
    with Child("polite", ["-c", script], os.environ, tmp_path) as child:
        wait_for(("up",), child)
    assert child.code == 0
    assert "interrupted" in child.last_words()


def test_the_keeper_holds_the_embedded_server_until_it_is_told_to_stop(data_dir):
    """`kb env` as a shell runs it: the server outlives the command, and `--stop` ends it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DAGSTER"))}
    environment["KB_DATA_DIR"] = str(data_dir / "kb")
    kb = f"{sys.executable} -c 'from kb_pipeline.cli import main; main()'"
    script = f"""
        set -e
        eval "$({kb} env)"
        {kb} env > /dev/null   # a second time in the same shell starts no second keeper
        pgrep -cf "kb_pipeline.cli.keeper $KB_DATA_DIR"
        {sys.executable} -c 'import psycopg, os; psycopg.connect(os.environ["KB_POSTGRES_URL"]); print("reached")'
        {kb} env --stop
        # It has let go of the server; leaving takes a moment more.
        for _ in {{1..100}}; do pgrep -f "kb_pipeline.cli.keeper $KB_DATA_DIR" > /dev/null || break; sleep 0.1; done
        pgrep -cf "kb_pipeline.cli.keeper $KB_DATA_DIR" || true
        test ! -e "$KB_DATA_DIR/postgres/postmaster.pid" && echo stopped
    """
    ended = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.stdout.split() == ["1", "reached", "0", "stopped"], ended.stderr
    assert ended.stderr.count("Setting up PostgreSQL, once") == 1
