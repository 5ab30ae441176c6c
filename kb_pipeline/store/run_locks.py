"""A lock that each run holds while its process lives, so that any machine can tell a run that goes on from one
whose process was killed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import psycopg

from kb_pipeline.store.database import CONNECT_SECONDS, KEEPALIVES, unavailable
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.store.database import Database

_TAKE: Final = named("run_lock_take")
_WITHOUT_LOCK: Final = named("runs_without_lock")

# The server's side of a connection ends when its machine has lost its power, not when the process is killed.
_SERVER_OPTIONS: Final = (
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 -c idle_session_timeout=0"
)


@contextlib.contextmanager
def hold_run_lock(database: Database, run_id: str) -> Iterator[None]:
    """Hold the lock of `run_id` for the length of the block, on a connection of its own.

    A run whose lock is taken already is a second process of the same run; it goes on, and the site lock
    decides which of the two may write. Raises StoreUnavailable.
    """
    with unavailable(database.address):
        connection: psycopg.Connection[Any] = psycopg.connect(
            database.address.conninfo,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name=f"kb_pipeline run: {run_id}",
            options=_SERVER_OPTIONS,
            **KEEPALIVES,
        )
    try:
        with unavailable(database.address):
            connection.execute(_TAKE.sql, {"run_id": run_id})
        yield
    finally:
        with contextlib.suppress(psycopg.Error):
            connection.close()


def runs_without_lock(database: Database, run_ids: Sequence[str]) -> list[str]:
    """Those of the runs that no process holds."""
    return database.all(_WITHOUT_LOCK, str, run_ids=list(run_ids))
