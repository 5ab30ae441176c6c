"""A long-running process of ours with all that it starts: begun in a session of its own, ended as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final, Self

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

PATIENCE: Final = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""What is sent, and the seconds before the next: Dagster ends its code servers and runs when it is interrupted."""
_LAST_BYTES: Final = 4096


class Child:
    """A Python process and its descendants. Leaving the block ends all of them, whatever they do with signals."""

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

    def stop(self) -> None:
        """End the process, and every descendant, of which some have a session of their own."""
        family = self._family()
        for number, seconds in PATIENCE:
            family |= self._family()
            if not _alive(family):
                break
            self._signal(number, family)
            _wait(family, seconds)
        self._process.wait()

    def _family(self) -> set[psutil.Process]:
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

    def _signal(self, number: signal.Signals, family: Iterable[psutil.Process]) -> None:
        """Politely to the leader alone, who passes it on; then to everybody."""
        leader_alone = number is signal.SIGINT and self._process.poll() is None
        for process in family:
            if not leader_alone or process.pid == self._process.pid:
                with contextlib.suppress(psutil.Error):
                    process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _alive(family: Iterable[psutil.Process]) -> list[psutil.Process]:
    alive = []
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


def _wait(family: Iterable[psutil.Process], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while _alive(family) and time.monotonic() < deadline:
        time.sleep(0.05)
