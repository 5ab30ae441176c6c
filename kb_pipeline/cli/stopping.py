"""How `kb up` is asked to stop, and what it says while everything ends."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.cli.output import Output

IMPATIENT_AFTER: Final = 1.0
"""Seconds from one signal to the next that means something else."""
_KINDS: Final = {
    "dagster_webserver": "the webserver",
    "dagster._daemon": "the daemon",
    "api grpc": "the code server",
    "multiprocessing": "a run",
}


class StopSignals:
    """Ctrl-C, SIGTERM and a closed terminal, counted instead of what they do otherwise: none cuts the clean-up short.
    The first sets `stop`, one that comes later `at_once`; a launcher that sends two together means one."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.at_once = threading.Event()
        self._stopped_at = 0.0

    def came(self, *_: object) -> None:
        """Count one."""
        if not self.stop.is_set():
            self._stopped_at = time.monotonic()
            self.stop.set()
        elif time.monotonic() - self._stopped_at >= IMPATIENT_AFTER:
            self.at_once.set()


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """The signals that come during the block."""
    signals = StopSignals()
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {name: signal.signal(name, signals.came) for name in names}
    try:
        yield signals
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


class Farewell:
    """What is said while everything ends."""

    def __init__(self, output: Output, signals: StopSignals) -> None:
        self._note = output.note
        self._at_once = signals.at_once
        self._began = time.monotonic()
        self._said_at_once = False

    def begin(self) -> None:
        """Say what is about to happen."""
        self._began = time.monotonic()
        self._note(
            "Stopping. A run that goes on is ended too, within half a minute; what it has done is kept, and the next"
            " `kb up` takes it up again. Ctrl-C again ends everything at once."
        )

    def in_a_hurry(self) -> bool:
        """Whether somebody does not want to wait; said once."""
        if self._at_once.is_set() and not self._said_at_once:
            self._said_at_once = True
            self._note("Ending everything at once …")
        return self._said_at_once

    def say_who_is_left(self, running: list[psutil.Process]) -> None:
        """Say what is waited for."""
        names = ", ".join(dict.fromkeys(map(_kind, running)))
        self._note(f"[dim]Waiting for {names} ({time.monotonic() - self._began:.0f} s) …[/dim]")


def _kind(process: psutil.Process) -> str:
    """What a process of Dagster's is, by its command line."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        words = ""
    return next((kind for sign, kind in _KINDS.items() if sign in words), "what they have started")
