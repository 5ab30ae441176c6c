"""Finds the SQL that ships with the program and gives it by name. SQL is written in `sql/`, never in Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from kb_pipeline.errors import StoreError

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_HEADING: Final = re.compile(r"^-- name: *(\S+) *$", re.MULTILINE)
_COMMENT_LINE: Final = re.compile(r"^\s*--.*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement with its name. Parameters are written `%(name)s`."""

    name: str
    sql: bytes


def sql_folder() -> Path:
    """`sql/` of the checkout, or of the installed wheel. Raises StoreError when the installation lacks it."""
    candidates = (_PACKAGE.parent / "sql", _PACKAGE / "_project" / "sql")
    for folder in candidates:
        if (folder / "migrations").is_dir() and (folder / "queries").is_dir():
            return folder
    message = f"the installation is incomplete: no SQL in {' or '.join(map(str, candidates))}"
    raise StoreError(message)


def parse_queries(text: str, whence: str) -> dict[str, Query]:
    """Cut a file at its `-- name: x` lines. Whole-line comments are dropped, since psycopg reads `%` in them too."""
    parts = _HEADING.split(text)
    if _COMMENT_LINE.sub("", parts[0]).strip():
        message = f"{whence}: SQL before the first `-- name:` line"
        raise StoreError(message)
    found: dict[str, Query] = {}
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        sql = _COMMENT_LINE.sub("", body).strip().removesuffix(";")
        if not sql or name in found:
            message = f"{whence}: query {name!r} is empty or named twice"
            raise StoreError(message)
        found[name] = Query(name, sql.encode())
    return found


@cache
def all_queries() -> dict[str, Query]:
    """Every query of `sql/queries/*.sql`; read once a process."""
    found: dict[str, Query] = {}
    for file in sorted((sql_folder() / "queries").glob("*.sql")):
        for name, query in parse_queries(file.read_text(encoding="utf-8"), file.name).items():
            if name in found:
                message = f"{file.name}: query {name!r} is already in another file"
                raise StoreError(message)
            found[name] = query
    return found


def named(name: str) -> Query:
    """The query of that name. Called while modules are imported, so that a missing one stops the start."""
    try:
        return all_queries()[name]
    except KeyError:
        message = f"no query {name!r} in {sql_folder() / 'queries'}"
        raise StoreError(message) from None
