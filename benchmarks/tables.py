"""Reads everything a site has stored, straight from PostgreSQL and Lance, and says where two such states differ.

Deliberately not through the program's own store: what is compared must not depend on what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import lance
import numpy as np
import psycopg
import pyarrow as pa
from psycopg import sql
from psycopg.rows import dict_row

from kb_pipeline.store.lance_indexes import VECTOR_COLUMN
from kb_pipeline.store.multivectors import matrices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

TIMESTAMPTZ: Final = 1184
"""The type's oid in every PostgreSQL."""
COSINE_TOLERANCE: Final = 1e-3
"""What half precision and another batch may do to a vector, as the embedding tests allow."""
NOT_COMPARED: Final[Mapping[str, str]] = {
    "attempts": "a killed run may have asked once more",
    "run_id": "another run",
    "publication_id": "a sequence",
    "lance_version": "a resumed run makes more commits",
}
TIMES: Final = ("seconds", "fetching_seconds")
TABLES_NOT_COMPARED: Final[Mapping[str, str]] = {
    "hosts": "the politeness clock",
    "schema_migrations": "not of a site",
}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class State:
    """All that is stored of one site."""

    control: Mapping[str, list[Row]]
    """Rows of each PostgreSQL table, in order of their primary key."""
    lance: Mapping[str, pa.Table]
    """Rows of each Lance table, in order; the vectors are those of the version that is live."""

    @property
    def pages(self) -> list[Row]:
        return self.control["pages"]

    @property
    def vectors(self) -> pa.Table:
        return next((table for name, table in self.lance.items() if name.startswith("vectors")), pa.table({}))

    def outcomes(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for page in self.pages:
            counts[page["state"]] = counts.get(page["state"], 0) + 1
        return dict(sorted(counts.items()))


def read_state(conninfo: str, lance_folder: Path) -> State:
    """The database holds one site only, so that whole tables are read."""
    return State(control=read_control(conninfo), lance=read_lance(lance_folder))


def read_control(conninfo: str) -> dict[str, list[Row]]:
    with psycopg.connect(conninfo, row_factory=dict_row) as connection:
        names = connection.execute("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public'").fetchall()
        return {row["tablename"]: _rows(connection, row["tablename"]) for row in names}


def query(conninfo: str, statement: str) -> list[Row]:
    """A read of the ledger."""
    with psycopg.connect(conninfo, row_factory=dict_row) as connection:
        return connection.execute(statement.encode()).fetchall()


def _rows(connection: psycopg.Connection[Row], table: str) -> list[Row]:
    cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table)))
    timed = {column.name for column in cursor.description or () if column.type_code == TIMESTAMPTZ}
    rows = [{name: value for name, value in row.items() if name not in timed} for row in cursor.fetchall()]
    return sorted(rows, key=repr)


def read_lance(folder: Path) -> dict[str, pa.Table]:
    return {path.stem: read_table(path) for path in sorted(folder.glob("*.lance"))}


def read_table(path: Path) -> pa.Table:
    dataset = lance.dataset(str(path))
    if "live" in dataset.tags.list():
        dataset = dataset.checkout_version("live")
    kept = [field.name for field in dataset.schema if not pa.types.is_timestamp(field.type)]
    table = dataset.to_table(columns=kept)
    order = [(name, "ascending") for name in ("page_id", "ordinal") if name in kept]
    return table.sort_by(order).combine_chunks()


def differences(reference: State, other: State) -> list[str]:
    """What differs, one line each; nothing when the states are equal."""
    found: list[str] = []
    for name in sorted(reference.control.keys() | other.control.keys()):
        if name not in TABLES_NOT_COMPARED:
            found += _control_differences(name, reference.control.get(name, []), other.control.get(name, []))
    for name in sorted(reference.lance.keys() | other.lance.keys()):
        if name in reference.lance and name in other.lance:
            found += _lance_differences(name, reference.lance[name], other.lance[name])
        else:
            found.append(f"{name}: only one of the two has this table")
    return found


def _control_differences(name: str, reference: list[Row], other: list[Row]) -> list[str]:
    theirs = [_comparable(row) for row in reference]
    ours = [_comparable(row) for row in other]
    if len(theirs) != len(ours):
        return [f"{name}: {len(theirs)} rows against {len(ours)}"]
    return [
        f"{name}.{column} of {row.get('url') or row.get('generation') or ''}: {row[column]!r} against {twin[column]!r}"
        for row, twin in zip(sorted(theirs, key=repr), sorted(ours, key=repr), strict=True)
        for column in row
        if row[column] != twin[column]
    ]


def _comparable(row: Row) -> Row:
    return {name: _untimed(value) for name, value in row.items() if name not in NOT_COMPARED}


def _untimed(value: object) -> object:
    """JSON without how long requests took, which no two runs agree on."""
    match value:
        case dict():
            return {name: _untimed(inner) for name, inner in value.items() if name not in TIMES}
        case list():
            return [_untimed(inner) for inner in value]
    return value


def _lance_differences(name: str, reference: pa.Table, other: pa.Table) -> list[str]:
    if len(reference) != len(other):
        return [f"{name}: {len(reference)} rows against {len(other)}"]
    if reference.column_names != other.column_names:
        return [f"{name}: columns {reference.column_names} against {other.column_names}"]
    exact = [column for column in reference.column_names if column != VECTOR_COLUMN]
    found = [f"{name}.{column} differs" for column in exact if not reference[column].equals(other[column])]
    if VECTOR_COLUMN in reference.column_names and not found and len(reference):
        worst = 1 - float(np.min(np.sum(vectors(reference) * vectors(other), axis=1)))
        if worst > COSINE_TOLERANCE:
            found.append(f"{name}.{VECTOR_COLUMN}: a cosine of {1 - worst:.5f}")
    return found


def vectors(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Those of all rows, one after the other: [n, dimension]."""
    return np.concatenate(matrices(table[VECTOR_COLUMN]))


def repeated(values: Iterable[str]) -> list[str]:
    """Values that occur more than once."""
    seen: set[str] = set()
    return sorted({value for value in values if value in seen or seen.add(value)})  # type: ignore[func-returns-value]
