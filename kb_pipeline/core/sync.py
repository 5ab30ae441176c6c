"""Keeps one table in step with the one before it: a streaming merge-join of two mark streams.

A run killed anywhere resumes by being run again, a second run does nothing, and memory does not grow with
the number of keys. There is no cursor: the marks are the progress, and they are committed with the rows.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from kb_pipeline.core.ordered import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from kb_pipeline.core.fingerprints import Recipe
    from kb_pipeline.core.ordered import Ordered

ItemsT = TypeVar("ItemsT")
ItemsT_co = TypeVar("ItemsT_co", covariant=True)
RowsT = TypeVar("RowsT")

DEFAULT_BATCH_KEYS: Final = 64
DEFAULT_BATCH_WEIGHT: Final = 32 * 2**20
FREE_KEYS: Final = 16
"""A batch holds this many times more keys that need no derivation, such as deletions."""
MAX_LISTED_CHANGES: Final = 50


@dataclass(frozen=True, slots=True)
class Mark:
    """A key and the fingerprint of what it holds. `weight` (bytes) bounds a batch by what it must read."""

    key: str
    fingerprint: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A key whose derivation failed for one target fingerprint; it is tried again from `retry_at` on."""

    key: str
    fingerprint: str
    error: str
    attempts: int
    retry_at: datetime


@dataclass(frozen=True, slots=True)
class Derived(Generic[RowsT]):
    """What a derive gives for a batch: the rows of the keys that worked, and why the others did not."""

    rows: RowsT
    errors: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    """Anything worth adding up over the run (bytes, tokens, reused and embedded chunks)."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[RowsT]):
    """One commit. The sink stores `rows` with `marks`, drops `deleted`, and records `failures`, all or nothing
    for rows and marks; a failure that is recorded twice is the same failure."""

    rows: RowsT | None
    marks: Sequence[Mark]
    deleted: Sequence[str]
    failures: Sequence[Failure]
    forgotten: Sequence[str] = ()
    """Keys of failures that no longer matter: the key went, or is up to date after all."""


class Source(Protocol[ItemsT_co]):
    """Where keys come from."""

    def marks(self) -> Iterator[Mark]:
        """Every key once, in ascending order. Raises when it cannot read to the end: short is never complete."""
        ...

    def read(self, keys: Sequence[str]) -> ItemsT_co:
        """Everything that deriving these keys needs."""
        ...


class Sink(Protocol[RowsT]):
    """Where derived rows go, and the memory of what each key was last derived from."""

    def marks(self) -> Iterator[Mark]:
        """Every stored key once, in ascending order, as of the call: later commits do not show."""
        ...

    def failures(self) -> Iterator[Failure]:
        """Every recorded failure, in ascending order of key, as of the call."""
        ...

    def commit(self, batch: Batch[RowsT]) -> None:
        """Store the batch. A key of `marks` leaves no failure behind; a key of `failures` keeps its old rows."""
        ...


class Change(StrEnum):
    """What happened to a key."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    FAILED = "failed"


@dataclass(slots=True)
class Tally:
    """Counts of one sync, for metadata and progress."""

    unchanged: int = 0
    added: int = 0
    changed: int = 0
    deleted: int = 0
    failed: int = 0
    waiting: int = 0
    """Keys that failed before and whose retry time has not come."""
    batches: int = 0
    stopped_early: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    listed: list[tuple[Change, str]] = field(default_factory=list)
    """The first changes, for the table of what changed; at most MAX_LISTED_CHANGES of each kind."""

    def note(self, change: Change, key: str) -> None:
        """Count one change and list it while there is room."""
        count = getattr(self, change.value) + 1
        setattr(self, change.value, count)
        if count <= MAX_LISTED_CHANGES:
            self.listed.append((change, key))


@dataclass(frozen=True, slots=True)
class _Work:
    change: Change | None
    """None: nothing to derive, only a failure to forget."""
    mark: Mark
    """The source's mark; for a deletion, the sink's."""
    target: str = ""
    attempts: int = 0

    @property
    def derives(self) -> bool:
        return self.change in {Change.ADDED, Change.CHANGED}


def sync(
    source: Source[ItemsT],
    sink: Sink[RowsT],
    derive: Callable[[Sequence[Mark], ItemsT], Derived[RowsT]],
    *,
    recipe: Recipe,
    now: Callable[[], datetime],
    retry_after: Callable[[int], timedelta],
    batch_keys: int = DEFAULT_BATCH_KEYS,
    batch_weight: int = DEFAULT_BATCH_WEIGHT,
    keep_going: Callable[[], bool] = lambda: True,
    on_batch: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Bring `sink` in step with `source`, and return what was done.

    `derive` gets marks that carry the *source's* fingerprints; the sink gets marks that carry the target,
    `recipe.target(source fingerprint)`. A key that `derive` reports in `errors` keeps its old rows and is
    recorded with its attempts; `retry_after(attempts)` is how long it then waits. Whatever source, sink or
    derive raise ends the run; what was committed stays, and running again goes on from there.
    """
    tally = Tally()
    with closing(_plan(source, sink, recipe, now, tally)) as plan:
        for works in _batched(plan, batch_keys, batch_weight):
            if not keep_going():
                tally.stopped_early = True
                break
            _carry_out(works, source, sink, derive, now, retry_after, tally)
            tally.batches += 1
            on_batch(tally)
    return tally


def _plan(
    source: Source[ItemsT], sink: Sink[RowsT], recipe: Recipe, now: Callable[[], datetime], tally: Tally
) -> Generator[_Work, None, None]:
    """Merge-join the streams of marks and failures, and yield what is to be done in key order."""
    with (
        ordered(sink.marks(), "sink") as stored,
        ordered(sink.failures(), "failure") as failures,
        ordered(source.marks(), "source") as wanted,
    ):
        while (mark := wanted.pop()) is not None:
            yield from _gone(stored, failures, mark.key)
            held, failure = stored.pop_if(mark.key), failures.pop_if(mark.key)
            target = recipe.target(mark.fingerprint)
            if held is not None and held.fingerprint == target:
                tally.unchanged += 1
                if failure is not None:
                    yield _Work(None, mark)
                continue
            known = failure if failure is not None and failure.fingerprint == target else None
            if known is not None and known.retry_at > now():
                tally.waiting += 1
                continue
            change = Change.ADDED if held is None else Change.CHANGED
            yield _Work(change, mark, target, known.attempts if known else 0)
        yield from _gone(stored, failures, None)


def _gone(stored: Ordered[Mark], failures: Ordered[Failure], below: str | None) -> Iterator[_Work]:
    """Keys before `below` that the source passed over: rows to delete and failures to forget."""
    while (held := stored.pop_below(below)) is not None:
        yield _Work(Change.DELETED, held)
    while (failure := failures.pop_below(below)) is not None:
        yield _Work(None, Mark(failure.key, failure.fingerprint))


def _carry_out(
    works: Sequence[_Work],
    source: Source[ItemsT],
    sink: Sink[RowsT],
    derive: Callable[[Sequence[Mark], ItemsT], Derived[RowsT]],
    now: Callable[[], datetime],
    retry_after: Callable[[int], timedelta],
    tally: Tally,
) -> None:
    wanted = [work for work in works if work.derives]
    marks = [work.mark for work in wanted]
    derived = derive(marks, source.read([mark.key for mark in marks])) if marks else None
    errors = derived.errors if derived else {}
    _check_errors(errors, marks)
    sink.commit(
        Batch(
            rows=derived.rows if derived else None,
            marks=[Mark(work.mark.key, work.target) for work in wanted if work.mark.key not in errors],
            deleted=[work.mark.key for work in works if work.change is Change.DELETED],
            failures=[
                _failure(work, errors[work.mark.key], now(), retry_after) for work in wanted if work.mark.key in errors
            ],
            forgotten=[work.mark.key for work in works if work.change is None],
        )
    )
    for work in works:
        if work.change is not None:
            failed = work.derives and work.mark.key in errors
            tally.note(Change.FAILED if failed else work.change, work.mark.key)
    if derived:
        tally.counts.update(derived.counts)


def _failure(work: _Work, error: str, at: datetime, retry_after: Callable[[int], timedelta]) -> Failure:
    attempts = work.attempts + 1
    return Failure(work.mark.key, work.target, error, attempts, at + retry_after(attempts))


def _check_errors(errors: Mapping[str, str], marks: Sequence[Mark]) -> None:
    strangers = errors.keys() - {mark.key for mark in marks}
    if strangers:
        message = f"derive reported errors for keys it was not given: {', '.join(sorted(strangers)[:3])}"
        raise ValueError(message)


def _batched(works: Iterable[_Work], most_keys: int, most_weight: int) -> Iterator[list[_Work]]:
    batch: list[_Work] = []
    derived, weight = 0, 0
    for work in works:
        full = derived + work.derives > most_keys or weight + work.mark.weight > most_weight
        if batch and (full or len(batch) >= most_keys * FREE_KEYS):
            yield batch
            batch, derived, weight = [], 0, 0
        batch.append(work)
        derived += work.derives
        weight += work.mark.weight
    if batch:
        yield batch
