"""Commits to a Lance table that another writer may come before."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.damage import usable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.store.lance import Table

COMMIT_ATTEMPTS: Final = 8


def commit(table: Table, change: Callable[[], None]) -> None:
    """Do `change` to the table's latest version. Done again, from the beginning, when another commit came first.

    Raises StoreUnavailable for a full disk and TableUnusable for whatever else Lance refuses.
    """
    with usable(table.uri):
        for attempt in range(1, COMMIT_ATTEMPTS + 1):
            table.checkout_latest()
            try:
                change()
            except (RuntimeError, OSError) as error:
                if attempt == COMMIT_ATTEMPTS or not is_conflict(error):
                    raise
                time.sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311 - jitter
            else:
                return


def is_conflict(error: Exception) -> bool:
    """Whether Lance refused a commit only because another one came first."""
    said = str(error).lower()
    return "conflict" in said or "concurrent" in said
