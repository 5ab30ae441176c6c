"""Lets the process that runs a job itself watch its stages, and stop them: the progress bars, tables and Ctrl-C of
`kb sites refresh`. A run that was launched by the daemon has no watcher."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Protocol

from kb_pipeline.stages.report import Progress, StageReport


@dataclass(frozen=True, slots=True)
class StageEnd:
    """One stage that came to its end, with what it reported."""

    asset: str
    report: StageReport
    seconds: float


class Watcher(Protocol):
    """Somebody who looks on."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Called often, from the run's own threads."""
        ...

    def stage_ended(self, end: StageEnd) -> None:
        """Called once for each stage that did not raise."""
        ...

    def wants_more(self) -> bool:
        """Asked often; False ends the run at the next batch, with everything kept that was committed."""
        ...


_WATCHER: Final[ContextVar[Watcher | None]] = ContextVar("watcher", default=None)


@contextlib.contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Stages that run inside the block, in this thread, report to `watcher` too."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def seen(progress: Progress) -> Progress:
    """`progress`, with the watcher's beside it when there is one."""
    watcher = _WATCHER.get()
    if watcher is None:
        return progress

    def both(what: str, done: int, total: int | None) -> None:
        progress(what, done, total)
        watcher.progress(what, done, total)

    return both


def wanted() -> Callable[[], bool]:
    """Tells, from any thread, whether the run is to go on; always, when nobody watches."""
    watcher = _WATCHER.get()
    return watcher.wants_more if watcher is not None else lambda: True


def tell(end: StageEnd) -> None:
    """Pass a stage's end on to the watcher, when there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher.stage_ended(end)
