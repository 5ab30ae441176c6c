"""What `kb up` starts is ended as a whole, whatever its descendants do with signals."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

import psutil
import pytest

from kb_pipeline.cli import child_processes
from kb_pipeline.cli.child_processes import MARK, Child, alive, end_all, ended_together, marked

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


def pids_of_family(child) -> list[int]:
    """The deaf one and the one that went away, once both are there."""
    said = wait_for(("pids", "deaf", "away"), child)
    # The others write into the same lines as soon as they are there.
    return [int(part) for part in said.partition("pids")[2].split() if part.isdigit()][:2]


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextlib.contextmanager
def running(name, arguments, logs, environment=os.environ, **how):
    """A child that is ended with the block."""
    with ended_together(**how) as children:
        children.append(Child(name, arguments, environment, logs))
        yield children[0]


@pytest.fixture
def impatient(monkeypatch):
    """The same signals, with less time between them."""
    monkeypatch.setattr(child_processes, "PATIENCE", tuple((number, 0.5) for number, _ in child_processes.PATIENCE))


@pytest.mark.usefixtures("impatient")
def test_leaving_the_block_ends_every_descendant(tmp_path):
    with running("family", ["-c", STUBBORN_FAMILY], tmp_path) as child:
        pids = pids_of_family(child)
        assert all(map(runs, pids))
    assert not any(map(runs, pids))
    assert child.code is not None


def test_somebody_in_a_hurry_waits_for_no_patience(tmp_path):
    began = time.monotonic()
    with running("family", ["-c", STUBBORN_FAMILY], tmp_path, hurry=lambda: True) as child:
        pids = pids_of_family(child)
        began = time.monotonic()
    assert time.monotonic() - began < child_processes.PATIENCE[0][1]
    assert not any(map(runs, pids))


def test_who_is_still_there_is_told_while_it_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "PATIENCE", tuple((number, 1.5) for number, _ in child_processes.PATIENCE))
    monkeypatch.setattr(child_processes, "_TELL_EVERY", 0.2)
    told: list[set[int]] = []
    with running(
        "family", ["-c", STUBBORN_FAMILY], tmp_path, tell=lambda left: told.append({process.pid for process in left})
    ) as child:
        deaf, _ = pids_of_family(child)
    assert told
    assert all(deaf in left for left in told)


@pytest.mark.usefixtures("impatient")
def test_what_nobody_waits_for_any_more_is_found_by_its_mark(tmp_path):
    """As the children of a `kb up` that was killed: they have another parent by then."""
    environment = {**os.environ, MARK: str(tmp_path)}
    start = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {STUBBORN_FAMILY!r}], start_new_session=True)"
    )
    subprocess.run([sys.executable, "-c", start], env=environment, check=True)
    deadline = time.monotonic() + 30
    while len(left := marked(tmp_path)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    end_all(lambda: marked(tmp_path))
    assert alive(left) == []
    assert marked(tmp_path / "another") == set()


def test_a_child_that_ended_by_itself_leaves_its_code_and_last_words(tmp_path):
    with running("short", ["-c", "print('no good'); raise SystemExit(3)"], tmp_path) as child:
        wait_for(("no good",), child)
    assert (child.code, child.last_words()) == (3, "no good\n")


@pytest.mark.usefixtures("impatient")
def test_what_a_dead_child_left_behind_is_ended_too(tmp_path):
    script = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('pid', p.pid, flush=True)"
    )
    with running("parent", ["-c", script], tmp_path) as child:
        orphan = int(wait_for(("pid",), child).split()[1])
        assert runs(orphan)
    assert not runs(orphan)


def test_a_polite_child_is_asked_only_once(tmp_path):
    script = (
        # A test runner that was started in the background hands an ignored SIGINT down.
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n    print('up', flush=True); time.sleep(600)\n"
        "except KeyboardInterrupt:\n    print('interrupted', flush=True)"
    )
    with running("polite", ["-c", script], tmp_path) as child:
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
