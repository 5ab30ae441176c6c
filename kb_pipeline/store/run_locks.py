"""A lock that each run holds while its process lives, so that any machine can tell a run that goes on from one
whose process was killed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import psycopg

from kb_pipeline.store.connections import connect_to_hold, unavailable
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.store.database import Database

_TAKE: Final = named("run_lock_take")
_WITHOUT_LOCK: Final = named("runs_without_lock")


@contextlib.contextmanager
def hold_run_lock(database: Database, run_id: str) -> Iterator[None]:
    """Hold the lock of `run_id` for the length of the block, on a connection of its own.

    A run whose lock is taken already is a second process of the same run; it goes on, and the site lock
    decides which of the two may write. Raises StoreUnavailable.
    """
    with unavailable(database.address):
        connection = connect_to_hold(database.address, f"kb_pipeline run: {run_id}")
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
