"""What every stage hands back: counts that plot over time, and the first of what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""(what is being done, how much of it is done, how much there is or None)."""


def quiet(_what: str, _done: int, _total: int | None) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One line of the table of what changed."""

    change: str
    page_id: str
    url: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table for people."""

    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(slots=True)
class StageReport:
    """Base of each stage's report."""

    counts: dict[str, int | float] = field(default_factory=dict)
    changes: list[ChangeRow] = field(default_factory=list)
    tables: dict[str, ReportTable] = field(default_factory=dict)
    """By title: what the counts are made of."""
