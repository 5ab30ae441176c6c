"""The lines of the benchmark: printed as they come, kept as JSON, and at the end the statements that did not hold."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_WIDTH = 18


@dataclass(frozen=True, slots=True)
class Line:
    """One fact. `wrong` says which of the behaviours that the line stands for were not seen."""

    name: str
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()


class Report:
    """Collects lines. The file is written anew after each, so that a run that is stopped leaves what it measured."""

    def __init__(self, folder: Path, **about: object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
        self._about = {**machine(), **about}
        self.lines: list[Line] = []

    def add(self, line: Line) -> None:
        self.lines.append(line)
        print(f"{line.name:<{NAME_WIDTH}} {line.text}", flush=True)
        for complaint in line.wrong:
            print(f"{'':<{NAME_WIDTH}} did not hold: {complaint}", flush=True)
        document = {"about": self._about, "lines": [as_json(kept) for kept in self.lines]}
        self.path.write_text(json.dumps(document, indent=2, default=str, ensure_ascii=False) + "\n")

    @property
    def wrong(self) -> list[str]:
        return [f"{line.name}: {complaint}" for line in self.lines for complaint in line.wrong]


def as_json(line: Line) -> dict[str, object]:
    """Not `dataclasses.asdict`, which takes a Counter apart wrongly."""
    return {"name": line.name, "text": line.text, "numbers": dict(line.numbers), "wrong": line.wrong}


def machine() -> dict[str, object]:
    """What the numbers depend on."""
    model = next((row for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")), "")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "processor": model.partition(":")[2].strip(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
    }


def expect(*statements: tuple[bool, str]) -> tuple[str, ...]:
    """The complaints of the statements that are false."""
    return tuple(complaint for holds, complaint in statements if not holds)


def count(number: float, noun: str) -> str:
    """`1 page`, `1,169 pages`, `0 bodies`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,.0f} {noun if number == 1 else plural}"


def megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def listed(values: list[str], most: int = 5) -> str:
    return "; ".join(values[:most]) + (f"; and {len(values) - most} more" if len(values) > most else "")


def shortened(text: str, most: int = 100) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
