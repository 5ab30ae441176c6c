"""Databases of a PostgreSQL server: made when they are missing, dropped by tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import psycopg
from psycopg import errors, sql

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.connections import connect, unavailable
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from kb_pipeline.store.named_queries import Query
    from kb_pipeline.store.postgres_urls import PostgresAddress

_EXISTS: Final = named("database_exists")
_CREATE: Final = named("database_create")
_DROP: Final = named("database_drop")

MAINTENANCE_DATABASE: Final = "postgres"


def ensure_database(address: PostgresAddress) -> bool:
    """Create the database when the server lacks it; whether it was created.

    Raises StoreUnavailable when the server is out of reach, or when this user may not create it.
    """
    try:
        connect(address).close()
    except psycopg.OperationalError as error:
        # A refused login has no SQLSTATE here, so that it is the server that is asked.
        if "does not exist" not in str(error):
            with unavailable(address):
                raise
    else:
        return False
    return _create(address)


def _create(address: PostgresAddress) -> bool:
    with unavailable(address), _maintenance(address) as connection:
        row = connection.execute(_EXISTS.sql, {"name": address.database}).fetchone()
        if row is not None and row[0]:
            return False
        try:
            connection.execute(_named_database(_CREATE, address.database))
        except (errors.DuplicateDatabase, errors.UniqueViolation):
            return False  # another starter was faster
        except errors.InsufficientPrivilege as error:
            message = (
                f"there is no {address.shown}, and user {address.user!r} may not create it:"
                f" have an administrator run CREATE DATABASE for that user"
            )
            raise StoreUnavailable(message) from error
    return True


def drop_database(address: PostgresAddress) -> None:
    """Drop the database and cut off whoever uses it; none is no error."""
    with unavailable(address), _maintenance(address) as connection:
        connection.execute(_named_database(_DROP, address.database))


def _maintenance(address: PostgresAddress) -> psycopg.Connection[tuple[object, ...]]:
    return connect(address.with_database(MAINTENANCE_DATABASE))


def _named_database(query: Query, database: str) -> sql.Composed:
    return sql.SQL(query.sql.decode()).format(name=sql.Identifier(database))
