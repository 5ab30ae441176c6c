"""The control plane's connection pool, its transactions and its named queries. Repositories are written over
this; nothing above them sees psycopg."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from psycopg_pool import ConnectionPool

from kb_pipeline.errors import StoreError
from kb_pipeline.store.connections import LIMITS, connect, unavailable
from kb_pipeline.store.locks import hold_site_lock
from kb_pipeline.store.migrations import migrate
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.rows import StorableTextDumper, row_factory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    import psycopg

    from kb_pipeline.store.locks import SiteLock
    from kb_pipeline.store.named_queries import Query

RowT = TypeVar("RowT")

POOL_CONNECTIONS: Final = 12
"""Enough for a run's streams (each holds one), its stages and the fetch workers, who queue for the rest."""
STREAM_ROWS: Final = 2000


class Database:
    """A pool of connections to the control plane. Every method raises StoreUnavailable when the server is out of
    reach or out of space. Thread-safe."""

    def __init__(self, address: PostgresAddress, pool: ConnectionPool[Any]) -> None:
        self.address = address
        self._pool = pool
        self._in_transaction: ContextVar[psycopg.Connection[Any] | None] = ContextVar("in_transaction", default=None)
        self._stream_number = 0

    @classmethod
    def open(cls, url: str, *, connections: int = POOL_CONNECTIONS) -> Self:
        """Connect to `url`. Raises StoreUnavailable (names the host and KB_POSTGRES_URL, never the password)."""
        address = PostgresAddress.parse(url)
        with unavailable(address), connect(address):
            pass
        pool: ConnectionPool[Any] = ConnectionPool(
            address.conninfo,
            kwargs={"autocommit": True, "application_name": "kb_pipeline"} | LIMITS,
            min_size=1,
            max_size=connections,
            timeout=60,
            reconnect_timeout=0,
            # A connection that died while it lay in the pool (server restarted) is replaced, not handed out.
            check=ConnectionPool.check_connection,
            configure=_configure,
            open=False,
        )
        pool.open()
        return cls(address, pool)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def migrate(self) -> list[int]:
        """Bring the schema to this program's version; the numbers applied. Raises SchemaTooNew, StoreError."""
        with unavailable(self.address):
            return migrate(self.address)

    def all(self, query: Query, row_type: type[RowT], **params: object) -> list[RowT]:
        """Every row. `row_type`: a dataclass, `dict`, `tuple`, or the type of a single column."""
        with self._connection() as connection, connection.cursor(row_factory=row_factory(row_type)) as cursor:
            return cursor.execute(query.sql, params).fetchall()

    def one(self, query: Query, row_type: type[RowT], **params: object) -> RowT | None:
        """The first row, or None when there is none."""
        with self._connection() as connection, connection.cursor(row_factory=row_factory(row_type)) as cursor:
            return cursor.execute(query.sql, params).fetchone()

    def require(self, query: Query, row_type: type[RowT], **params: object) -> RowT:
        """The first row of a query that always has one."""
        row = self.one(query, row_type, **params)
        if row is None:
            message = f"query {query.name} gave no row for {params}"
            raise StoreError(message)
        return row

    def execute(self, query: Query, **params: object) -> int:
        """Run a statement; the number of rows it touched."""
        with self._connection() as connection:
            return connection.execute(query.sql, params).rowcount

    def many(self, query: Query, rows: Sequence[Mapping[str, object]]) -> int:
        """Run a statement for each row, pipelined, in one transaction; the number of rows touched."""
        if not rows:
            return 0
        with self.transaction(), self._connection() as connection, connection.cursor() as cursor:
            cursor.executemany(query.sql, rows)
            return cursor.rowcount

    def stream(self, query: Query, row_type: type[RowT], **params: object) -> Iterator[RowT]:
        """Every row as of the first `next`, STREAM_ROWS at a time, whatever is committed meanwhile.

        The cursor is WITH HOLD: the server keeps the result, and no transaction stays open while a run
        spends hours between two rows. A stream has a connection of its own until it ends or is closed, but one
        that is begun inside a transaction is part of it: it sees what was written there, and ends with it.
        """
        self._stream_number += 1
        name, withhold = f"stream_{self._stream_number}", self._in_transaction.get() is None
        with self._connection() as connection:
            cursor = connection.cursor(name, row_factory=row_factory(row_type), withhold=withhold)
            cursor.itersize = STREAM_ROWS
            with cursor:
                cursor.execute(query.sql, params)
                while rows := cursor.fetchmany(STREAM_ROWS):
                    yield from rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of this thread inside the block are one transaction; a nested block is a savepoint."""
        with self._connection() as connection, connection.transaction():
            token = self._in_transaction.set(connection)
            try:
                yield
            finally:
                self._in_transaction.reset(token)

    @contextlib.contextmanager
    def site_lock(self, site_id: str, holder: str) -> Iterator[SiteLock]:
        """Be the only writer of a site, on any machine. Raises SiteBusy naming the other holder."""
        with unavailable(self.address):
            lock = hold_site_lock(self.address, site_id, holder)
        try:
            yield lock
        finally:
            lock.release()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        current = self._in_transaction.get()
        with unavailable(self.address):
            if current is not None:
                yield current
            else:
                with self._pool.connection() as connection:
                    yield connection


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(str, StorableTextDumper)
