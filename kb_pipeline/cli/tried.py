"""What each tier made of a page, as a table: for `kb why`, which reads it off the ledger, and `kb scrape`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kb_pipeline.cli.output import Output

_COLUMNS: Final[Mapping[str, str]] = {
    "answer": "answer",
    "why": "why",
    "requests": "requests",
    "calls": "paid calls",
    "seconds": "seconds",
    "bytes": "bytes",
    "degraded": "read in part",
}
_ONLY_WHERE_SAID: Final = frozenset({"calls", "degraded"})
_KNOWN: Final = frozenset({"tier", "won", *_COLUMNS})


def marked(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The ledger's records of the attempts at a page, in order, each with whether it `won`."""
    from kb_pipeline.fetch.answers import CLEARS  # noqa: PLC0415 - `kb --help` needs none of it

    clears = {answer.value for answer in CLEARS}
    return [{**record, "won": record.get("answer") in clears} for record in records]


def show_tried(output: Output, records: Sequence[Mapping[str, Any]]) -> None:
    """One row a tier, the winner marked; nothing when no tier was asked."""
    if not records:
        return
    said = [name for name in _COLUMNS if name not in _ONLY_WHERE_SAID or any(record.get(name) for record in records)]
    more = sorted({name for record in records for name in record} - _KNOWN)
    rows = [
        ["won" if record.get("won") else "", str(record.get("tier", "?")).replace("_", " ")]
        + [record.get(name) for name in [*said, *more]]
        for record in records
    ]
    headings = [*(_COLUMNS[name] for name in said), *(name.replace("_", " ") for name in more)]
    output.table(["", "tried", *headings], rows)
