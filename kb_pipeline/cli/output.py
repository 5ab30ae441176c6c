"""How `kb` speaks: answers on standard output, as tables or as one JSON document; progress and log lines on
standard error, as bars on a terminal and as plain lines elsewhere."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kb_pipeline.stages.report import Progress as ProgressCallback

PLAIN_WIDTH: Final = 200
"""Columns of a table that no terminal limits: a pipe must not cut addresses."""
PLAIN_LINE_EVERY: Final = 5.0


class _Pipe(Console):
    """A console whose reader may leave: rich itself would end the process then, with the exit code of a fault."""

    def on_broken_pipe(self) -> None:
        """Leave it to `cli.main`."""
        raise BrokenPipeError


class Output:
    """Where a command's answer and its progress go."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.answers = _Pipe(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)
        self.notes = _Pipe(stderr=True, highlight=False, emoji=False, soft_wrap=True)

    def say(self, line: str = "") -> None:
        """One line of an answer (rich markup); nothing when the answer is JSON."""
        if not self.as_json:
            self.answers.print(line, soft_wrap=True)

    def note(self, line: str) -> None:
        """A line about what is going on (rich markup), on standard error."""
        self.notes.print(line)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
        """A table for people; numbers are set to the right, and no cell is cut."""
        listed = [list(row) for row in rows]
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
        for place, name in enumerate(columns):
            numeric = bool(listed) and all(isinstance(row[place], int | float | None) for row in listed)
            table.add_column(name, justify="right" if numeric else "left", overflow="fold")
        for row in listed:
            table.add_row(*(escape(shown(value)) for value in row))
        if not self.as_json:
            self.answers.print(table)

    def fields(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Names and values, one a line; what is empty is left out."""
        listed = [(name, shown(value)) for name, value in pairs if value not in (None, "", (), {})]
        width = max((len(name) for name, _ in listed), default=0)
        for name, value in listed:
            self.say(f"[dim]{name:<{width}}[/dim]  {escape(value)}")

    def json(self, answer: object) -> None:
        """The whole answer as one JSON document; nothing when the answer is for people."""
        if self.as_json:
            sys.stdout.write(json.dumps(plain(answer), indent=2, ensure_ascii=False) + "\n")

    @contextmanager
    def progress(self) -> Iterator[ProgressCallback]:
        """A callback `(what, done, total)` that is shown while the block runs."""
        if not self.notes.is_terminal:
            yield plain_progress(lambda line: self.notes.print(line, markup=False))
            return
        columns = (
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description:<24}"),
            BarColumn(bar_width=30),
            _CountColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.notes) as bars:
            yield _bars_progress(bars)


class _CountColumn(ProgressColumn):
    """How much is done of how much; nothing for what is only said to go on."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["counted"], style="progress.download")


def _bars_progress(bars: Progress) -> ProgressCallback:
    """One bar for each thing that goes on. What is not counted at all has ended when the next one begins."""
    tasks: dict[str, TaskID] = {}

    def report(what: str, done: int, total: int | None) -> None:
        if what not in tasks:
            for task in bars.tasks:
                if task.total is None and not task.completed:
                    bars.update(task.id, total=1, completed=1)
            tasks[what] = bars.add_task(what, total=total, counted="")
        bars.update(tasks[what], completed=done, total=total, counted=_counted(done, total))

    return report


def _counted(done: int, total: int | None) -> str:
    if total is None:
        return f"{done:,}" if done else ""
    return f"{done:,} of {total:,}"


def plain_progress(write: Callable[[str], None], *, every: float = PLAIN_LINE_EVERY) -> ProgressCallback:
    """A line when something new begins, when it is complete, and every few seconds between. What is begun without a
    count only takes its time: it has a name and no number."""
    last_line: dict[str, float] = {}
    last_state: dict[str, tuple[int, int | None]] = {}

    def report(what: str, done: int, total: int | None) -> None:
        complete = total is not None and done >= total
        due = time.monotonic() - last_line.get(what, float("-inf")) >= every
        if (due or complete) and last_state.get(what) != (done, total):
            write(f"{what}: {counted}" if (counted := _counted(done, total)) else f"{what} …")
            last_line[what] = time.monotonic()
            last_state[what] = (done, total)

    return report


def shown(value: object) -> str:
    """A value as people read it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.0f}"  # noqa: PLR2004 - scores, then seconds
    if isinstance(value, int):
        return f"{value:,}"
    return str(value.value).replace("_", " ") if isinstance(value, Enum) else str(value)


def plain(value: object) -> Any:
    """A value of JSON: dataclasses become objects, times ISO 8601 in UTC, enums their values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.value if isinstance(value, Enum) else str(value) if isinstance(value, Path) else value
