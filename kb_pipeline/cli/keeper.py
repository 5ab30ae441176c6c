"""Keeps the embedded PostgreSQL up for a shell after `kb env` has ended: a small process that holds the server
until the shell's session ends or `kb env --stop` asks it to leave. One a shell session."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.embedded import embedded_postgres

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings

START_SECONDS: Final = 150
STOP_SECONDS: Final = 60
_LOOK_EVERY: Final = 1.0
_READY: Final = b"ready\n"


def keep_postgres(settings: Settings) -> None:
    """Start this session's keeper unless it runs. Raises StoreUnavailable when it does not come up."""
    owner = session_owner()
    if _keeper_of(settings.data_dir, owner) is not None:
        return
    log = _note(settings.data_dir, owner).with_suffix(".log")
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "kb_pipeline.cli.keeper", str(settings.data_dir.resolve()), str(owner)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,
        )
    assert process.stdout is not None
    with process.stdout:
        if process.stdout.readline() != _READY:
            message = f"the embedded PostgreSQL cannot be kept up: {log.read_text(errors='replace').strip() or log}"
            raise StoreUnavailable(message)


def stop_keeping(settings: Settings) -> None:
    """End this session's keeper, and with it the server when nobody else uses it. None running is no error."""
    owner = session_owner()
    pid = _keeper_of(settings.data_dir, owner)
    if pid is None:
        return
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _keeper_of(settings.data_dir, owner) is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def session_owner() -> int:
    """The process whose end is the end of the shell: the session's leader, or else whoever started us."""
    leader = os.getsid(0)
    return leader if leader not in {0, os.getpid()} else os.getppid()


def keep_until_gone(data_dir: Path, owner: int) -> None:
    """Hold the server until `owner` ends or SIGTERM comes."""
    leave = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leave.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the shell is for what runs there
    with _note(data_dir, owner).open("a+") as note:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        note.truncate(0)
        note.write(str(os.getpid()))
        note.flush()
        with embedded_postgres(data_dir):
            os.write(sys.stdout.fileno(), _READY)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _wait(owner, leave)


def _wait(owner: int, leave: threading.Event) -> None:
    try:
        process = psutil.Process(owner)
        while not leave.wait(_LOOK_EVERY) and process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            pass
    except psutil.NoSuchProcess:
        return


def _note(data_dir: Path, owner: int) -> Path:
    """Holds the keeper's process id; locked for as long as it lives."""
    folder = data_dir.expanduser().resolve() / "keepers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{owner}.pid"


def _keeper_of(data_dir: Path, owner: int) -> int | None:
    """Process id of the session's keeper, or None. A note that nobody locks is of a keeper that is gone."""
    note = _note(data_dir, owner)
    if not note.exists():
        return None
    with note.open("r") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(opened.read() or 0) or None
    return None


if __name__ == "__main__":
    keep_until_gone(Path(sys.argv[1]), int(sys.argv[2]))
