"""core.sync over real Lance tables and a real PostgreSQL: crashes, two writers, and a site of 300,000 pages."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb_pipeline.core.fingerprints import Recipe, fingerprint
from kb_pipeline.core.sync import Batch, Derived, Failure, Mark, sync
from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.failures import Failures
from kb_pipeline.store.lance import SiteStore, read_rows
from kb_pipeline.store.lance_marks import page_marks
from kb_pipeline.store.lance_sync import LanceSink, LanceSource, compact, replace_pages
from kb_pipeline.store.schemas import TableSpec
from kb_pipeline.store.sites import Sites

START = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = itertools.count()
ROW_KEY = {"lance-schema:unenforced-primary-key": "true"}
PARTS = TableSpec(
    "parts",
    pa.schema(
        [
            pa.field("page_id", pa.string(), nullable=False),
            pa.field("mark", pa.string(), nullable=False),
            pa.field("output", pa.string(), nullable=False),
            pa.field("chunk_id", pa.string(), nullable=False, metadata=ROW_KEY),
            pa.field("text", pa.string(), nullable=False),
        ]
    ),
    "chunk_id",
)
COPIES = TableSpec("copies", PARTS.schema, "chunk_id")


class CrashError(Exception):
    """The process died here."""


def page(number):
    return hashlib.sha256(str(number).encode()).hexdigest()[:24]


def cut(contents, *, spec=PARTS):
    """One row a word; a page that says "bad" fails."""
    columns = {field.name: [] for field in spec.schema if field.name != "mark"}
    for key, text in contents.items():
        for i, word in enumerate(text.split()):
            columns["page_id"].append(key)
            columns["output"].append(fingerprint(text))
            columns["chunk_id"].append(f"{key}-{i}")
            columns["text"].append(word)
    return pa.table(columns, schema=pa.schema([field for field in spec.schema if field.name != "mark"]))


class Contents:
    """A source in memory."""

    def __init__(self, contents):
        self.contents = contents

    def marks(self):
        return iter([Mark(key, fingerprint(self.contents[key])) for key in sorted(self.contents)])

    def read(self, keys):
        return {key: self.contents[key] for key in keys}


class DyingSink(LanceSink):
    """Dies before, between or after the two commits of a batch."""

    def __init__(self, table, spec, failures, **options):
        super().__init__(table, spec, DyingFailures(failures, self._live), **options)
        self.steps_to_live = None

    def commit(self, batch):
        self._live()
        super().commit(batch)
        self._live()

    def _live(self):
        if self.steps_to_live is not None:
            if self.steps_to_live == 0:
                raise CrashError
            self.steps_to_live -= 1


class DyingFailures:
    def __init__(self, failures, live):
        self._failures, self._live = failures, live

    def stream(self, *args):
        return self._failures.stream(*args)

    def settle(self, *args, **kwargs):
        self._live()
        self._failures.settle(*args, **kwargs)


@pytest.fixture(scope="module")
def make_sink(module_database, tmp_path_factory):
    """Sinks over new sites."""
    uri = str(tmp_path_factory.mktemp("lance"))

    def make(kind=LanceSink, spec=PARTS, site_id=None, **options):
        if site_id is None:
            site_id = f"site-{next(NUMBERS)}"
            Sites(module_database).add(site_id, "https://s.example/")
        table = SiteStore(uri, site_id).ensure(spec)
        return kind(table, spec, Failures(module_database), site_id=site_id, step="cut", **options)

    return make


def run(contents, sink, version="1", *, now=START, batch_keys=3, **options):
    def derive(_marks, items):
        errors = {key: "bad" for key, text in items.items() if text == "bad"}
        return Derived(cut({key: text for key, text in items.items() if key not in errors}), errors)

    return sync(
        Contents(contents),
        sink,
        derive,
        recipe=Recipe("cut", version),
        now=lambda: now,
        retry_after=lambda _attempts: timedelta(hours=1),
        batch_keys=batch_keys,
        **options,
    )


def rows_of(sink):
    found = read_rows(sink._table, order=("chunk_id",))
    return list(zip(*(found[name].to_pylist() for name in ("chunk_id", "page_id", "mark", "text")), strict=True))


def failures_of(sink):
    return [(failure.key, failure.fingerprint, failure.error) for failure in sink.failures()]


KEYS = st.sampled_from([page(i) for i in range(8)])
CONTENTS = st.dictionaries(KEYS, st.sampled_from(["one", "two words", "three of them", "bad"]), max_size=8)
MOMENTS = st.tuples(CONTENTS, st.sampled_from("12"), st.none() | st.integers(0, 9), st.none() | st.integers(0, 3))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MOMENTS, min_size=1, max_size=3), CONTENTS)
def test_any_history_of_crashes_and_stops_converges_to_an_uninterrupted_run(make_sink, history, contents):
    sink = make_sink(DyingSink)
    now = START
    for moment, version, dies_after, stops_after in history:
        now += timedelta(minutes=30)
        allowance = iter([True] * stops_after) if stops_after is not None else itertools.repeat(True)
        sink.steps_to_live = dies_after
        with contextlib.suppress(CrashError):
            run(moment, sink, version, now=now, keep_going=lambda allowance=allowance: next(allowance, False))
    sink.steps_to_live = None
    run(contents, sink, now=now + timedelta(days=1))

    alone = make_sink()
    run(contents, alone)
    bad = {key for key, text in contents.items() if text == "bad"}
    assert [row for row in rows_of(sink) if row[1] not in bad] == rows_of(alone)
    assert failures_of(sink) == failures_of(alone)
    assert {row[1] for row in rows_of(sink)} <= contents.keys()

    version_before = sink._table.version
    again = run(contents, sink, now=now + timedelta(days=1))
    assert (again.batches, sink._table.version) == (0, version_before)


def test_a_page_that_shrinks_loses_its_last_rows_and_no_other_pages(make_sink):
    sink = make_sink()
    run({page(1): "a b c d", page(2): "x y"}, sink)
    run({page(1): "a b", page(2): "x y"}, sink)
    assert [row[3] for row in rows_of(sink) if row[1] == page(1)] == ["a", "b"]
    assert [row[3] for row in rows_of(sink) if row[1] == page(2)] == ["x", "y"]
    run({page(2): "x y"}, sink)
    assert {row[1] for row in rows_of(sink)} == {page(2)}
    assert run({}, sink).deleted == 1
    assert rows_of(sink) == []
    assert run({page(1): "a"}, sink).added == 1


def test_a_batch_is_one_version_of_the_table(make_sink):
    sink = make_sink()
    run({page(i): "a b" for i in range(3)}, sink)
    before = sink._table.version
    run({page(1): "a", page(2): "a b", page(3): "a b c"}, sink, batch_keys=10)
    assert sink._table.version == before + 1


def test_rows_and_marks_that_disagree_are_refused_and_nothing_is_written(make_sink):
    sink = make_sink()
    before = sink._table.version
    mark = Mark(page(1), "t")
    for rows, marks in ((None, [mark]), (cut({page(2): "a"}), [mark]), (cut({page(1): "a"}), [])):
        with pytest.raises(ValueError, match="not of the same pages"):
            sink.commit(Batch(rows, marks, [], []))
    assert sink._table.version == before


def test_a_lost_lock_stops_the_writer_before_it_writes(make_sink):
    def lost():
        message = "the lock is gone"
        raise StoreUnavailable(message)

    sink = make_sink(assert_held=lost)
    with pytest.raises(StoreUnavailable, match="lock is gone"):
        run({page(1): "a"}, sink)
    assert rows_of(sink) == []


def test_a_failed_page_keeps_its_rows_and_its_failure_goes_once_it_works(make_sink):
    sink = make_sink()
    run({page(1): "a b"}, sink)
    run({page(1): "bad"}, sink)
    assert [row[3] for row in rows_of(sink)] == ["a", "b"]
    assert [(key, error) for key, _, error in failures_of(sink)] == [(page(1), "bad")]
    run({page(1): "c"}, sink)
    assert [row[3] for row in rows_of(sink)] == ["c"]
    assert failures_of(sink) == []


def test_failures_left_by_a_killed_writer_are_dropped(make_sink):
    sink = make_sink()
    run({page(1): "a"}, sink)
    orphans = [Failure(page(i), "old", "left behind", 1, START) for i in (1, 7)]
    sink._failures.settle(sink._site_id, "cut", failed=orphans, settled=[], now=START)
    run({page(1): "a"}, sink)
    assert failures_of(sink) == []


def test_two_writers_at_once_leave_each_row_once(make_sink):
    contents = {page(i): "a b c" for i in range(40)}
    first = make_sink()
    second = make_sink(site_id=first._site_id)
    troubles = []

    def write(sink):
        try:
            run(contents, sink, batch_keys=4)
        except Exception as error:  # noqa: BLE001 - shown below
            troubles.append(error)

    writers = [threading.Thread(target=write, args=(sink,)) for sink in (first, second)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert troubles == []
    third = make_sink(site_id=first._site_id)
    assert run(contents, third).batches == 0
    assert len(rows_of(third)) == 120


def test_rows_that_are_there_twice_are_healed_by_the_next_run(make_sink):
    contents = {page(1): "a b", page(2): "c"}
    sink = make_sink()
    run(contents, sink)
    sink._table.add(read_rows(sink._table))
    assert run(contents, sink).changed == 2
    assert [row[3] for row in rows_of(sink)] == [
        text for _, text in sorted([(page(1), "a"), (page(1), "b"), (page(2), "c")])
    ]


def test_compaction_changes_no_row_and_cleans_no_version(make_sink):
    sink = make_sink()
    contents = {page(i): "a b" for i in range(12)}
    run(contents, sink, batch_keys=1)
    before, versions = rows_of(sink), len(sink._table.list_versions())
    compact(sink._table)
    assert rows_of(sink) == before
    assert len(sink._table.list_versions()) >= versions
    assert run(contents, sink).batches == 0


def test_a_table_feeds_the_next_by_its_outputs(make_sink):
    upstream = make_sink()
    downstream = make_sink(spec=COPIES, site_id=upstream._site_id)

    def copy(_marks, rows):
        return Derived(rows.drop_columns("mark"))

    def follow():
        source = LanceSource(upstream._table, row_key="chunk_id", order=("chunk_id",))
        return sync(
            source,
            downstream,
            copy,
            recipe=Recipe("copy", "1"),
            now=lambda: START,
            retry_after=lambda _: timedelta(0),
        )

    run({page(i): "a b" for i in range(5)}, upstream)
    assert follow().added == 5
    run({page(i): "a b" for i in range(5)}, upstream, "2")
    assert follow().batches == 0, "derived anew with the same output changes nothing downstream"
    run({**{page(i): "a b" for i in range(1, 5)}, page(1): "a c"}, upstream, "2")
    tally = follow()
    assert (tally.changed, tally.deleted) == (1, 1)
    assert [row[3] for row in rows_of(downstream)] == [row[3] for row in rows_of(upstream)]


def test_one_row_tables_replace_and_delete_in_one_commit(make_sink):
    spec = TableSpec("single", pa.schema([pa.field("page_id", pa.string()), pa.field("text", pa.string())]), "page_id")
    table = make_sink(spec=spec)._table
    replace_pages(table, spec, [page(1), page(2)], pa.table([[page(1), page(2)], ["a", "b"]], schema=spec.schema))
    before = table.version
    replace_pages(table, spec, [page(1), page(2)], pa.table([[page(2)], ["c"]], schema=spec.schema))
    assert table.version == before + 1
    assert table.to_arrow().to_pylist() == [{"page_id": page(2), "text": "c"}]


WRITE = """
import sys
from kb_pipeline_tests.store.test_lance_sync import *
from kb_pipeline.store.database import Database
with Database.open(sys.argv[1]) as database:
    sink = LanceSink(SiteStore(sys.argv[2], "s").ensure(PARTS), PARTS, Failures(database), site_id="s", step="cut")
    run({page(i): "bad" if i % 10 == 0 else "a b c" for i in range(400)}, sink, batch_keys=2,
        on_batch=lambda tally: print(tally.batches, flush=True))
"""


def test_a_writer_that_was_killed_is_finished_by_the_next(module_database, tmp_path, make_sink):
    Sites(module_database).add("s", "https://s.example/")
    arguments = [sys.executable, "-c", WRITE, module_database.address.url, str(tmp_path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        while int(writer.stdout.readline()) < 10:
            pass
        writer.send_signal(signal.SIGKILL)

    table = SiteStore(str(tmp_path), "s").table("parts")
    assert 0 < len(list(page_marks(table, "mark", row_key="chunk_id"))) < 360
    contents = {page(i): "bad" if i % 10 == 0 else "a b c" for i in range(400)}
    sink = LanceSink(table, PARTS, Failures(module_database), site_id="s", step="cut")
    run(contents, sink, batch_keys=100, now=START + timedelta(days=1))
    alone = make_sink()
    run(contents, alone, batch_keys=100)
    assert rows_of(sink) == rows_of(alone)
    assert failures_of(sink) == failures_of(alone)


FILL = """
import sys
import pyarrow as pa
from kb_pipeline_tests.store.test_lance_sync import *
recipe = Recipe("cut", "1")
for site_id, pages in (("small", 30_000), ("large", 300_000)):
    site = SiteStore(sys.argv[1], site_id)
    above, below = site.ensure(PARTS), site.ensure(COPIES)
    for start in range(0, pages, 30_000):
        ids = [page(i) for i in range(start, start + 30_000)]
        outputs = [key + "abcdefgh" for key in ids]
        # Every hundredth page is stale.
        marks = ["stale" if i % 100 == 0 else recipe.target(output) for i, output in enumerate(outputs)]
        keys = [key + "-0" for key in ids]
        text = ["some text"] * len(ids)
        above.add(pa.table([ids, outputs, outputs, keys, text], schema=PARTS.schema))
        below.add(pa.table([ids, marks, outputs, keys, text], schema=COPIES.schema))
"""

MEASURE = """
import resource, sys
from kb_pipeline_tests.store.test_lance_sync import *

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

class NoFailures:
    def stream(self, site_id, step):
        return iter(())
    def settle(self, *args, **kwargs):
        pass

def go(site_id, note=lambda tally: None):
    site = SiteStore(sys.argv[1], site_id)
    sink = LanceSink(site.table("copies"), COPIES, NoFailures(), site_id=site_id, step="cut")
    source = LanceSource(site.table("parts"), row_key="chunk_id")
    return sync(source, sink, lambda marks, rows: Derived(rows.drop_columns("mark")), recipe=Recipe("cut", "1"),
                now=lambda: START, retry_after=lambda _: timedelta(0), batch_keys=int(sys.argv[2]), on_batch=note)

go("small")
before, most = rss(), 0
def note(tally):
    global most
    most = max(most, rss())
tally = go("large", note)
assert (tally.changed, tally.unchanged) == (3000, 297_000), tally
print(max(most, rss()) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_number_of_pages(tmp_path, record_property):
    subprocess.run([sys.executable, "-c", FILL, str(tmp_path)], check=True)
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path), "500"], capture_output=True, text=True, check=True
    )
    grown = int(measured.stdout) / 2**20
    record_property("mebibytes", grown)
    assert grown < 80, "most of it is what allocators keep of one batch, whatever the number of pages"
