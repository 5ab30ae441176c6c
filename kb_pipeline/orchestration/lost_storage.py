"""Dagster's own storage is the same PostgreSQL, reached by its own drivers: their errors in the words of ours."""

import contextlib
from collections.abc import Iterator
from typing import Final

from dagster_postgres.utils import DagsterPostgresException
from sqlalchemy.exc import InterfaceError, OperationalError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.postgres_urls import PostgresAddress

_LOST: Final = (DagsterPostgresException, OperationalError, InterfaceError, PendingRollbackError, PoolTimeout)


@contextlib.contextmanager
def dagster_storage(address: PostgresAddress) -> Iterator[None]:
    """Turn a server that was lost, or whose disk is full, into StoreUnavailable; leave every other error alone."""
    try:
        yield
    except Exception as error:
        lost = _lost(error)
        if lost is None:
            raise
        said = " ".join(str(lost.__cause__ or lost).split(" [SQL:")[0].split())
        if address.password:
            said = said.replace(address.password, "***")
        message = (
            f"PostgreSQL at {address.shown} was lost in the middle of the run ({said}). What was committed is kept:"
            " once the server is well again, run the same command and it goes on from there"
        )
        raise StoreUnavailable(message) from error


def _lost(error: BaseException) -> BaseException | None:
    """The error of the lost server, which Dagster may have met while it recorded another."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, _LOST):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None
