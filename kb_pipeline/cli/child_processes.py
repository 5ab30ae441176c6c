"""Long-running processes of ours with all that they start: begun in sessions of their own, ended as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final, TypeAlias

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

PATIENCE: Final = ((signal.SIGINT, 3.0), (signal.SIGTERM, 20.0), (signal.SIGKILL, 10.0))
"""What is sent, and the seconds before the next. Dagster's processes end at an interrupt, with their code servers; a
run has to be told itself, and a code server waits for it."""
MARK: Final = "KBUP_DATA_DIR"
"""Set in what `kb up` starts, and so in all that this starts in turn: by it they are found when nobody knows their
process ids any more."""
_TELL_EVERY: Final = 5.0
_LOOK_EVERY: Final = 0.05
_FIND_EVERY: Final = 1.0
_LAST_BYTES: Final = 4096

Find: TypeAlias = "Callable[[], set[psutil.Process]]"
Hurry: TypeAlias = "Callable[[], bool]"
Tell: TypeAlias = "Callable[[list[psutil.Process]], None]"


def _never() -> bool:
    return False


def _nobody(_running: list[psutil.Process]) -> None:
    """Nobody listens."""


class Child:
    """A Python process and its descendants."""

    def __init__(self, name: str, arguments: Sequence[str], environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        logs.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as said:
            # Its own session: Ctrl-C at the terminal reaches us alone, and we end the children in order.
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [sys.executable, *arguments],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def last_words(self) -> str:
        """The end of its log."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
            return log.read().decode(errors="replace")

    def family(self) -> set[psutil.Process]:
        """Whoever descends from it, and whoever is left of its session once it is gone itself."""
        found: set[psutil.Process] = set()
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self._process.pid)
            found |= {root, *root.children(recursive=True)}
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(process.pid) == self._process.pid:
                    found.add(process)
        return found

    def reap(self) -> None:
        """Wait for the process itself, which has ended, so that it has a code."""
        self._process.wait()


@contextlib.contextmanager
def ended_together(*, hurry: Hurry = _never, tell: Tell = _nobody) -> Iterator[list[Child]]:
    """A list for children; when the block is left, all of them end with their descendants, whatever these do with
    signals."""
    children: list[Child] = []
    try:
        yield children
    finally:
        end_all(lambda: set().union(*(child.family() for child in children)), hurry=hurry, tell=tell)
        for child in children:
            child.reap()


def marked(data_dir: Path) -> set[psutil.Process]:
    """Every process that descends from a `kb up` on this data directory, whoever its parent is now."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == str(data_dir):
                found.add(process)
    return found


def end_all(find: Find, *, hurry: Hurry = _never, tell: Tell = _nobody) -> None:
    """End every process that `find` finds, now or while the others end. `hurry` cuts the politeness short; `tell` is
    told every few seconds who is still there."""
    family = find()
    for number, seconds in PATIENCE:
        if hurry() and number is not signal.SIGKILL:
            continue
        family |= find()
        if not alive(family):
            return
        _signal(number, family)
        family = _wait(family, find, seconds, _never if number is signal.SIGKILL else hurry, tell)


def alive(family: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    running = []
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                running.append(process)
    return running


def _signal(number: signal.Signals, family: Iterable[psutil.Process]) -> None:
    """Politely to the leaders of sessions alone, who pass it on; then to everybody."""
    leaders = {process for process in family if _leads(process)} if number is signal.SIGINT else set()
    for process in leaders or family:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


def _leads(process: psutil.Process) -> bool:
    try:
        return os.getsid(process.pid) == process.pid and bool(alive([process]))
    except (OSError, psutil.Error):
        return False


def _wait(family: set[psutil.Process], find: Find, seconds: float, hurry: Hurry, tell: Tell) -> set[psutil.Process]:
    """Until all have ended, or the time is over; the family, with those who came meanwhile."""
    now = time.monotonic()
    deadline, tell_at, find_at = now + seconds, now + _TELL_EVERY, now + _FIND_EVERY
    while (running := alive(family)) and now < deadline and not hurry():
        if now >= tell_at:
            tell_at = now + _TELL_EVERY
            tell(running)
        if now >= find_at:
            find_at = now + _FIND_EVERY
            family = family | find()
        time.sleep(_LOOK_EVERY)
        now = time.monotonic()
    return family
