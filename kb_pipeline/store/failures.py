"""Pages that one step of the derivation could not do. Their old rows stay; core.sync says when they are tried
again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.sync import Failure
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from kb_pipeline.store.database import Database

_MARKS: Final = named("failures_marks")
_RECORD: Final = named("failures_record")
_CLEAR: Final = named("failures_clear")
_COUNT: Final = named("failures_count")
_LIST: Final = named("failures_list")


@dataclass(frozen=True, slots=True)
class FailedPage:
    """One failure, for reports. `key` is a page id."""

    step: str
    key: str
    fingerprint: str
    error: str
    attempts: int
    retry_at: datetime
    failed_at: datetime


class Failures:
    """Repository of `failures`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stream(self, site_id: str, step: str) -> Iterator[Failure]:
        """Every failure of the step, by key, as of the first `next`."""
        return self._database.stream(_MARKS, Failure, site_id=site_id, step=step)

    def settle(
        self, site_id: str, step: str, *, failed: Sequence[Failure], settled: Sequence[str], now: datetime
    ) -> None:
        """Record `failed` and forget the failures of the keys in `settled`, in one transaction."""
        with self._database.transaction():
            if settled:
                self._database.execute(_CLEAR, site_id=site_id, step=step, keys=list(settled))
            if failed:
                self._record(site_id, step, failed, now)

    def _record(self, site_id: str, step: str, failed: Sequence[Failure], now: datetime) -> None:
        self._database.execute(
            _RECORD,
            site_id=site_id,
            step=step,
            now=now,
            keys=[failure.key for failure in failed],
            fingerprints=[failure.fingerprint for failure in failed],
            errors=[failure.error for failure in failed],
            attempts=[failure.attempts for failure in failed],
            retry_ats=[failure.retry_at for failure in failed],
        )

    def count(self, site_id: str, step: str | None = None) -> int:
        """Failures of the step, or of all steps."""
        return self._database.require(_COUNT, int, site_id=site_id, step=step)

    def listed(
        self, site_id: str, step: str | None = None, *, key: str | None = None, most: int = 100
    ) -> list[FailedPage]:
        """Failures with their reasons, of one step or all, of one page or all."""
        return self._database.all(_LIST, FailedPage, site_id=site_id, step=step, key=key, most=most)
