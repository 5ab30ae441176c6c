"""Brings a database's schema to the version of this program: `sql/migrations/NNNN_name.sql`, forward only."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.rows import class_row

from kb_pipeline.errors import SchemaTooNew, StoreError
from kb_pipeline.store.connections import connect
from kb_pipeline.store.named_queries import named, sql_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kb_pipeline.store.postgres_urls import PostgresAddress

_CREATE: Final = named("schema_table_create")
_EXISTS: Final = named("schema_table_exists")
_APPLIED: Final = named("schema_applied")
_RECORD: Final = named("schema_record")
_LOCK: Final = named("schema_lock")
_FILE_NAME: Final = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One file, and the SQL in it."""

    number: int
    name: str
    sha256: str
    sql: bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """One row of `schema_migrations`."""

    number: int
    name: str
    sha256: str


def read_migrations(folder: Path | None = None) -> list[Migration]:
    """Every migration in order of number. Raises StoreError when numbers are missing, doubled or misspelt."""
    found: list[Migration] = []
    for file in sorted((folder or sql_folder() / "migrations").glob("*.sql")):
        match = _FILE_NAME.fullmatch(file.name)
        if match is None or int(match[1]) != len(found) + 1:
            message = f"migration {file.name} is not named {len(found) + 1:04d}_<name>.sql, the next in order"
            raise StoreError(message)
        sql = file.read_bytes()
        # Line ends may differ between checkouts; the statements do not.
        digest = hashlib.sha256(sql.replace(b"\r\n", b"\n")).hexdigest()
        found.append(Migration(int(match[1]), match[2], digest, sql))
    return found


def migrate(address: PostgresAddress, migrations: Sequence[Migration] | None = None) -> list[int]:
    """Apply what is missing, each migration in one transaction with its row; the numbers applied.

    Two starters do not race: the second waits for the first at an advisory lock and finds nothing to do.
    Raises SchemaTooNew when the database knows a migration that this program does not, and StoreError when
    an applied migration is not the one of this program any more.
    """
    known = list(read_migrations() if migrations is None else migrations)
    with connect(address) as connection:
        if not _missing(connection, known):
            return []
        connection.execute(_LOCK.sql)
        connection.execute(_CREATE.sql)
        missing = _missing(connection, known)
        for migration in missing:
            _apply(connection, migration)
        return [migration.number for migration in missing]


def _missing(connection: psycopg.Connection[Any], known: Sequence[Migration]) -> list[Migration]:
    applied: list[Applied] = []
    exists = connection.execute(_EXISTS.sql).fetchone()
    if exists is not None and exists[0]:
        with connection.cursor(row_factory=class_row(Applied)) as cursor:
            applied = cursor.execute(_APPLIED.sql).fetchall()
    by_number = {migration.number: migration for migration in known}
    for row in applied:
        ours = by_number.pop(row.number, None)
        if ours is None:
            message = (
                f"the database has schema version {applied[-1].number} and this program knows {len(known)}:"
                " it was written by a newer version; upgrade this program"
            )
            raise SchemaTooNew(message)
        if ours.sha256 != row.sha256:
            message = (
                f"migration {row.number:04d}_{row.name} was changed after it was applied;"
                " restore the file and put the change into a new migration"
            )
            raise StoreError(message)
    return sorted(by_number.values(), key=lambda migration: migration.number)


def _apply(connection: psycopg.Connection[Any], migration: Migration) -> None:
    try:
        with connection.transaction():
            connection.execute(migration.sql)
            connection.execute(
                _RECORD.sql,
                {"number": migration.number, "name": migration.name, "sha256": migration.sha256},
            )
    except psycopg.OperationalError:
        raise
    except psycopg.Error as error:
        message = f"migration {migration.number:04d}_{migration.name} failed and was rolled back: {error}"
        raise StoreError(message) from error
