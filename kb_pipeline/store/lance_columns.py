"""Brings the columns of a stored table to those that this version of the program has: what an earlier version made is
gone on with, not made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kb_pipeline.store.damage import other_columns, usable
from kb_pipeline.store.lance_commits import commit

if TYPE_CHECKING:
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.schemas import TableSpec


def fit_columns(table: Table, spec: TableSpec) -> None:
    """Add the columns that the table lacks, full of nulls, and drop those that the spec has no more.

    One commit each, on the newest version: tagged versions keep the columns that they were written with. A new column
    comes after all others, whatever its place in the spec is. Where the rows cannot be derived again, nothing is
    dropped. Raises TableUnusable for a table whose columns cannot be made those of the spec.
    """
    with usable(table.uri):
        held = table.schema
    if differences := _differences(held, spec):
        raise other_columns(table.uri, differences)

    def change() -> None:
        added, dropped = _missing(table.schema, spec), _surplus(table.schema, spec)
        if added:
            table.add_columns(pa.schema(added))
        if dropped:
            table.drop_columns(dropped)

    commit(table, change)


def _missing(held: pa.Schema, spec: TableSpec) -> list[pa.Field]:
    return [field for field in spec.schema if field.name not in held.names]


def _surplus(held: pa.Schema, spec: TableSpec) -> list[str]:
    return [] if spec.irreplaceable else [name for name in held.names if name not in spec.schema.names]


def _differences(held: pa.Schema, spec: TableSpec) -> list[str]:
    """What cannot be put right, a phrase each: rows that are there have no value for a column that must have one, or
    rows that are written would have none."""
    found = [
        f"no column {field.name!r}, which must not be null" for field in _missing(held, spec) if not field.nullable
    ]
    for field in held:
        if field.name in spec.schema.names:
            wanted = spec.schema.field(field.name)
            if field.type != wanted.type:
                found.append(f"column {field.name!r} as {field.type} where this program has {wanted.type}")
            elif wanted.nullable and not field.nullable:
                found.append(f"column {field.name!r} without nulls, which this program writes")
        elif spec.irreplaceable and not field.nullable:
            found.append(f"a column {field.name!r} that this program knows no value for")
    return found
