"""The laws of core.sync, over random histories with crashes and early stops."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_pipeline.core.fingerprints import Recipe
from kb_pipeline.core.sync import MAX_LISTED_CHANGES, Batch, Change, Derived, Failure, Mark, Tally, sync

START = datetime(2026, 1, 1, tzinfo=UTC)


class CrashError(Exception):
    """The process died here."""


@dataclass
class Clock:
    now: datetime = START

    def __call__(self):
        return self.now


@dataclass
class MemorySource:
    """Keys with contents; the fingerprint is the content."""

    contents: dict[str, str]

    def marks(self):
        return iter([Mark(key, self.contents[key], weight=len(self.contents[key])) for key in sorted(self.contents)])

    def read(self, keys):
        return {key: self.contents[key] for key in keys}


@dataclass
class MemorySink:
    """Rows and marks in one commit, failures in a second, as in a store of two databases."""

    rows: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Failure] = field(default_factory=dict)
    steps_to_live: int | None = None
    commits: int = 0

    def marks(self):
        return iter([Mark(key, self.stored[key]) for key in sorted(self.stored)])

    def failures(self):
        return iter([self.failed[key] for key in sorted(self.failed)])

    def commit(self, batch: Batch):
        self._step()
        self.commits += 1
        for key in batch.deleted:
            self.rows.pop(key, None)
            self.stored.pop(key, None)
        self.rows.update(batch.rows or {})
        self.stored.update({mark.key: mark.fingerprint for mark in batch.marks})
        self._step()
        for key in (*batch.deleted, *batch.forgotten, *(mark.key for mark in batch.marks)):
            self.failed.pop(key, None)
        self.failed.update({failure.key: failure for failure in batch.failures})
        self._step()

    def _step(self):
        if self.steps_to_live is None:
            return
        if self.steps_to_live == 0:
            raise CrashError
        self.steps_to_live -= 1

    @property
    def state(self):
        return self.rows, self.stored, {key: replace(f, retry_at=START) for key, f in self.failed.items()}


def derive_with(version):
    """Upper-case; contents that hold "bad" fail."""

    def derive(marks, items):
        errors = {key: "bad content" for key, content in items.items() if "bad" in content}
        rows = {mark.key: f"{version}:{items[mark.key].upper()}" for mark in marks if mark.key not in errors}
        return Derived(rows, errors, {"derived": len(rows)})

    return derive


def run(source, sink, version="1", *, clock=None, batch_keys=3, batch_weight=1000, **options):
    return sync(
        source,
        sink,
        derive_with(version),
        recipe=Recipe("upper", version),
        now=clock or Clock(),
        retry_after=lambda attempts: timedelta(hours=attempts),
        batch_keys=batch_keys,
        batch_weight=batch_weight,
        **options,
    )


KEYS = st.sampled_from([f"{i:02d}" for i in range(12)])
CONTENTS = st.dictionaries(KEYS, st.sampled_from(["a", "b", "c", "bad", "longer text"]), max_size=12)
VERSIONS = st.sampled_from(["1", "2"])
MOMENTS = st.fixed_dictionaries(
    {
        "contents": CONTENTS,
        "version": VERSIONS,
        "dies_after": st.none() | st.integers(0, 12),
        "stops_after": st.none() | st.integers(0, 4),
        "hours": st.integers(0, 3),
    }
)


def live_through(history, make_sink):
    """Run a sync for each moment of a history; the sink, whatever became of the runs."""
    sink, clock = make_sink(), Clock()
    for moment in history:
        clock.now += timedelta(hours=moment["hours"])
        left = moment["stops_after"]
        allowance = iter([True] * left if left is not None else [])
        sink.steps_to_live = moment["dies_after"]
        with contextlib.suppress(CrashError):
            run(
                MemorySource(moment["contents"]),
                sink,
                moment["version"],
                clock=clock,
                keep_going=(lambda allowance=allowance: next(allowance, False)) if left is not None else lambda: True,
            )
        sink.steps_to_live = None
    return sink, clock


def settle(contents, sink, version, clock):
    """Run to the end, so late that whatever failed is due again."""
    clock.now += timedelta(days=30)
    return run(MemorySource(contents), sink, version, clock=clock)


@settings(max_examples=100, deadline=None)
@given(st.lists(MOMENTS, max_size=6), CONTENTS, VERSIONS)
def test_any_history_of_crashes_and_stops_converges_to_an_uninterrupted_run(history, contents, version):
    sink, clock = live_through(history, MemorySink)
    settle(contents, sink, version, clock)

    alone = MemorySink()
    run(MemorySource(contents), alone, version)
    bad = {key for key, content in contents.items() if content == "bad"}
    assert {k: v for k, v in sink.rows.items() if k not in bad} == alone.rows
    assert {k: v for k, v in sink.stored.items() if k not in bad} == alone.stored
    assert sink.failed.keys() == alone.failed.keys() == bad
    assert sink.rows.keys() <= contents.keys(), "a key that went leaves no rows"


@settings(max_examples=50, deadline=None)
@given(st.lists(MOMENTS, max_size=4), CONTENTS, VERSIONS)
def test_a_second_run_does_nothing(history, contents, version):
    sink, clock = live_through(history, MemorySink)
    settle(contents, sink, version, clock)
    before, commits = repr(sink.state), sink.commits

    tally = run(MemorySource(contents), sink, version, clock=clock)

    assert repr(sink.state) == before
    assert sink.commits == commits
    assert (tally.added, tally.changed, tally.deleted, tally.failed, tally.batches) == (0, 0, 0, 0, 0)
    assert tally.unchanged + tally.waiting == len(contents)


@settings(max_examples=50, deadline=None)
@given(CONTENTS, CONTENTS, KEYS, st.integers(1, 5))
def test_a_failure_of_one_key_changes_no_other_key(before, after, key, batch_keys):
    healthy = {k: v if v != "bad" else "fine" for k, v in after.items()}
    first, second = MemorySink(), MemorySink()
    for sink, then in ((first, {**healthy, key: "fine"}), (second, {**healthy, key: "bad"})):
        run(MemorySource({k: v for k, v in before.items() if v != "bad"}), sink)
        run(MemorySource(then), sink, batch_keys=batch_keys)

    assert {k: v for k, v in first.rows.items() if k != key} == {k: v for k, v in second.rows.items() if k != key}
    assert {k: v for k, v in first.stored.items() if k != key} == {k: v for k, v in second.stored.items() if k != key}
    assert list(second.failed) == [key]


@settings(max_examples=40, deadline=None)
@given(CONTENTS)
def test_a_changed_recipe_derives_all_again_and_deletes_none(contents):
    healthy = {k: v for k, v in contents.items() if v != "bad"}
    sink = MemorySink()
    run(MemorySource(healthy), sink, "1")

    tally = run(MemorySource(healthy), sink, "2")

    assert (tally.changed, tally.deleted, tally.added) == (len(healthy), 0, 0)
    assert tally.counts["derived"] == len(healthy)
    assert set(sink.rows) == set(healthy)
    assert all(row.startswith("2:") for row in sink.rows.values())


def test_a_failed_key_keeps_its_old_rows_and_waits_longer_each_time():
    sink, clock = MemorySink(), Clock()
    run(MemorySource({"a": "good"}), sink, clock=clock)

    run(MemorySource({"a": "bad"}), sink, clock=clock)
    assert sink.rows == {"a": "1:GOOD"}
    assert (sink.failed["a"].attempts, sink.failed["a"].retry_at) == (1, START + timedelta(hours=1))

    assert run(MemorySource({"a": "bad"}), sink, clock=clock).waiting == 1
    clock.now += timedelta(hours=1)
    assert run(MemorySource({"a": "bad"}), sink, clock=clock).failed == 1
    assert (sink.failed["a"].attempts, sink.failed["a"].retry_at) == (2, clock.now + timedelta(hours=2))


def test_new_content_or_a_new_recipe_is_tried_at_once_whatever_failed_before():
    sink = MemorySink()
    run(MemorySource({"a": "bad", "b": "bad"}), sink)

    tally = run(MemorySource({"a": "good", "b": "bad"}), sink)
    assert (tally.added, tally.waiting) == (1, 1)
    assert list(sink.failed) == ["b"]

    assert run(MemorySource({"a": "good", "b": "bad"}), sink, "2").failed == 1
    assert sink.failed["b"].attempts == 1, "attempts are counted for one target"


def test_failures_of_keys_that_went_or_are_up_to_date_are_dropped():
    sink = MemorySink()
    run(MemorySource({"a": "good", "b": "bad", "c": "good"}), sink)
    sink.failed["a"] = Failure("a", "an old target", "left by a writer that was killed", 1, START)
    sink.failed["z"] = Failure("z", "t", "of a page that went", 1, START)

    tally = run(MemorySource({"a": "good", "c": "good"}), sink)

    assert sink.failed == {}
    assert (tally.unchanged, tally.added, tally.changed, tally.deleted) == (2, 0, 0, 0)


def test_an_empty_source_deletes_everything_and_an_unreadable_one_nothing():
    class Broken(MemorySource):
        def marks(self):
            yield from list(super().marks())[:2]
            raise OSError(5, "the rest cannot be read")

    contents = dict.fromkeys("abcdef", "x")
    sink = MemorySink()
    run(MemorySource(contents), sink)

    with pytest.raises(OSError, match="cannot be read"):
        run(Broken(contents), sink)
    assert set(sink.rows) == set(contents)

    assert run(MemorySource({}), sink).deleted == 6
    assert sink.rows == {}


@pytest.mark.parametrize("keys", [["b", "a"], ["a", "a"]])
def test_marks_out_of_order_are_refused_before_anything_is_deleted_by_them(keys):
    class Unordered(MemorySource):
        def marks(self):
            return iter([Mark(key, "x") for key in keys])

    sink = MemorySink()
    run(MemorySource({"a": "x", "b": "x"}), sink)
    with pytest.raises(ValueError, match="not strictly ascending"):
        run(Unordered({}), sink)
    assert set(sink.rows) == {"a", "b"}


def test_a_batch_ends_at_its_keys_or_its_weight_whichever_comes_first():
    sizes = []

    class Watching(MemorySink):
        def commit(self, batch):
            sizes.append(len(batch.marks))
            super().commit(batch)

    contents = {f"{i:02d}": "x" * 10 for i in range(10)}
    run(MemorySource(contents), Watching(), batch_keys=4)
    assert sizes == [4, 4, 2]
    sizes.clear()
    run(MemorySource(contents), Watching(), batch_weight=30)
    assert sizes == [3, 3, 3, 1]
    sizes.clear()
    run(MemorySource({"a": "x" * 100, "b": "x"}), Watching(), batch_weight=30)
    assert sizes == [1, 1], "a key heavier than a batch is a batch of its own"


def test_streams_are_closed_when_a_derive_raises():
    closed = []

    class Streaming(MemorySource):
        def marks(self):
            try:
                yield from super().marks()
            finally:
                closed.append("source")

    def explode(_marks, _items):
        raise CrashError

    with pytest.raises(CrashError) as caught:
        sync(
            Streaming(dict.fromkeys("abcdef", "x")),
            MemorySink(),
            explode,
            recipe=Recipe("s", "1"),
            now=Clock(),
            retry_after=lambda _: timedelta(0),
            batch_keys=1,
        )
    assert closed == ["source"], caught.traceback


def test_derive_may_only_report_keys_it_was_given():
    with pytest.raises(ValueError, match="was not given"):
        sync(
            MemorySource({"a": "x"}),
            MemorySink(),
            lambda _marks, _items: Derived({}, {"b": "who?"}),
            recipe=Recipe("s", "1"),
            now=Clock(),
            retry_after=lambda _: timedelta(0),
        )


def test_the_tally_counts_all_changes_and_lists_the_first_of_each_kind():
    tally = Tally()
    for i in range(MAX_LISTED_CHANGES + 5):
        tally.note(Change.ADDED, f"{i:03d}")
    tally.note(Change.DELETED, "x")
    assert (tally.added, tally.deleted) == (MAX_LISTED_CHANGES + 5, 1)
    assert len(tally.listed) == MAX_LISTED_CHANGES + 1


def test_progress_is_reported_after_each_commit_and_stopping_leaves_what_was_committed():
    seen = []
    sink = MemorySink()
    contents = {f"{i:02d}": "x" for i in range(9)}
    tally = run(MemorySource(contents), sink, on_batch=lambda t: seen.append(t.added), keep_going=lambda: len(seen) < 2)
    assert seen == [3, 6]
    assert tally.stopped_early
    assert len(sink.rows) == 6
    assert not run(MemorySource(contents), sink).stopped_early
    assert len(sink.rows) == 9


MEASURE = """
import resource, sys
from datetime import UTC, datetime, timedelta
from kb_pipeline.core.fingerprints import Recipe
from kb_pipeline.core.sync import Derived, Mark, sync

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

class Source:
    def __init__(self, keys):
        self.keys = keys
    def marks(self):
        return (Mark(f"{i:024x}", f"{i:032x}") for i in range(self.keys))
    def read(self, keys):
        return keys

class Sink:
    def __init__(self, keys):
        self.keys = keys
    def marks(self):
        # Every third key is up to date, every third is stale, every third is missing; as many again are to go.
        recipe = Recipe("s", "1")
        for i in range(self.keys * 2):
            if i >= self.keys or i % 3 == 0:
                yield Mark(f"{i:024x}", recipe.target(f"{i:032x}"))
            elif i % 3 == 1:
                yield Mark(f"{i:024x}", "stale")
    def failures(self):
        return iter(())
    def commit(self, batch):
        pass

def run(keys):
    return sync(Source(keys), Sink(keys), lambda marks, items: Derived(len(items)), recipe=Recipe("s", "1"),
                now=lambda: datetime.now(UTC), retry_after=lambda _: timedelta(0))

run(2_000)
before = rss()
tally = run(300_000)
assert tally.unchanged + tally.added + tally.changed == 300_000 and tally.deleted == 300_000, tally
print(rss() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_number_of_keys():
    answer = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 20 * 2**20
