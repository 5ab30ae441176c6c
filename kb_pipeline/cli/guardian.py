"""Ends what `kb up` has started when `kb up` itself cannot: when it was killed. There is one `kb up` a data directory,
and its guardian holds the directory's lock, and the embedded PostgreSQL, for as long as anything is left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kb_pipeline.cli.child_processes import alive, end_all, marked
from kb_pipeline.errors import ConfigError, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kb_pipeline.settings import Settings

LEFT_SECONDS: Final = 60.0
"""For what a killed `kb up` has left to end."""
_BYE: Final = b"bye"
_EMBEDDED: Final = "embedded"
_LOOK_EVERY: Final = 0.2


@contextlib.contextmanager
def only_one_up(data_dir: Path, tell: Callable[[str], None]) -> Iterator[IO[str]]:
    """Hold the lock of the data directory, once whatever an earlier `kb up` has left there has ended.

    Raises ConfigError while another `kb up` runs, StoreUnavailable when the folder cannot be written.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        opened = (data_dir / "up.lock").open("a+")
    except OSError as error:
        message = f"{data_dir} (KB_DATA_DIR) cannot be written: {error.strerror or error}"
        raise StoreUnavailable(message) from error
    with opened as lock:
        _acquire(lock, data_dir, tell)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        if left := alive(marked(data_dir)):
            tell(f"Ending {len(left)} processes that an earlier `kb up` has left behind …")
            end_all(lambda: marked(data_dir))
        yield lock


def _acquire(lock: IO[str], data_dir: Path, tell: Callable[[str], None]) -> None:
    """Wait for the guardian of a killed `kb up`, and for nobody else."""
    deadline = time.monotonic() + LEFT_SECONDS
    told = False
    while not _locked(lock):
        lock.seek(0)
        other = lock.read().strip()
        if _is_running(other) or time.monotonic() > deadline:
            message = f"`kb up` runs already on {data_dir} (process {other}): stop it, or choose another KB_DATA_DIR"
            raise ConfigError(message)
        if not told:
            tell("The `kb up` before was killed; waiting for what it had started to end …")
            told = True
        time.sleep(_LOOK_EVERY)


def _locked(lock: IO[str]) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_running(pid: str) -> bool:
    import psutil  # noqa: PLC0415 - only where there is another one

    with contextlib.suppress(psutil.NoSuchProcess, ValueError):
        return bool(psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE)
    return False


@contextlib.contextmanager
def guarded(settings: Settings, lock: IO[str]) -> Iterator[None]:
    """Have a guardian for the block. It outlives this process when that is killed, and then ends what carries the
    mark of this data directory."""
    data_dir = settings.data_dir.expanduser().resolve()
    logs = data_dir / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    kind = "foreign" if settings.postgres_url else _EMBEDDED
    with (logs / "guardian.log").open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, "-m", "kb_pipeline.cli.guardian", str(data_dir), kind],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[lock.fileno()],
        )
    try:
        yield
    finally:
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            process.communicate(_BYE, timeout=LEFT_SECONDS)


def guard(data_dir: Path, *, embedded: bool) -> None:
    """Wait for the end of standard input. Unless it was announced, end every process of this data directory."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when nothing is left to guard
    with contextlib.ExitStack() as stack:
        if embedded:
            from kb_pipeline.store.embedded import embedded_postgres  # noqa: PLC0415 - without one it is not needed

            stack.enter_context(embedded_postgres(data_dir))
        if sys.stdin.buffer.read() != _BYE:
            end_all(lambda: marked(data_dir))


if __name__ == "__main__":
    guard(Path(sys.argv[1]), embedded=sys.argv[2] == _EMBEDDED)
