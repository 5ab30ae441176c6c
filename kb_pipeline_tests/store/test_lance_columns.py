"""Tables that an earlier version of the program made: gone on with, and no row of theirs lost."""

from __future__ import annotations

import dataclasses
import threading

import pyarrow as pa
import pytest
from lancedb.index import FTS
from lancedb.query import MatchQuery

from kb_pipeline.errors import TableUnusable
from kb_pipeline.store.lance import SiteStore, read_rows
from kb_pipeline.store.lance_marks import page_marks
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.schemas import CHUNKS_TABLE, SNAPSHOTS_TABLE, TEXTS_TABLE, TableSpec

ID = pa.field("page_id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"})
MARK = pa.field("mark", pa.string(), nullable=False)
PLAIN = pa.field("plain", pa.string(), nullable=False)
VECTOR = pa.field("vector", pa.list_(pa.float32(), 2), nullable=False)
FORMER = pa.field("former", pa.string(), nullable=False)
PIECES = pa.field("pieces", pa.list_(pa.struct([pa.field("at", pa.int32())])))
WORDS = ("harbour", "lighthouse", "ferry")
A, B, C, D = (letter * 24 for letter in "abcd")


def spec(*fields, irreplaceable=False):
    return TableSpec("vectors-x-2", pa.schema([ID, MARK, *fields]), "page_id", irreplaceable)


OLD = spec(FORMER, PLAIN, VECTOR)
NEW = spec(pa.field("author", pa.string()), PLAIN, PIECES, VECTOR)


def rows(of, **columns):
    count = len(columns["page_id"])
    filled = {"mark": ["m"] * count, "vector": [[1.0, 0.0]] * count, "former": ["f"] * count, **columns}
    return pa.table({name: filled.get(name, [None] * count) for name in of.schema.names}, schema=of.schema)


@pytest.fixture
def site(tmp_path):
    return SiteStore(str(tmp_path), "shop")


@pytest.fixture
def old(site):
    """A table of three pages as an earlier version left it, its last version tagged as the live one."""
    table = site.ensure(OLD)
    table.add(rows(OLD, page_id=[A, B, C], plain=list(WORDS)))
    table.create_index("plain", config=FTS())
    table.tags.create("live", table.version)
    return table


def by_page(table):
    return {row["page_id"]: row for row in read_rows(table).to_pylist()}


def test_columns_that_are_new_are_added_without_values_and_those_that_went_are_dropped(site, old):
    before = by_page(old)
    table = site.ensure(NEW)
    assert set(table.schema.names) == set(NEW.schema.names)
    assert [table.schema.field(field.name).type for field in NEW.schema] == NEW.schema.types
    kept = ("mark", "plain", "vector")
    assert by_page(table) == {
        page: {"page_id": page, "author": None, "pieces": None, **{name: row[name] for name in kept}}
        for page, row in before.items()
    }


def test_a_table_that_has_its_columns_is_left_alone_whatever_their_order_is(site, old):
    version = site.ensure(NEW).version
    assert version > old.version
    assert site.ensure(NEW).version == version
    reordered = dataclasses.replace(NEW, schema=pa.schema(list(NEW.schema)[::-1]))
    assert site.ensure(reordered).version == version


@pytest.mark.usefixtures("old")
def test_rows_are_replaced_and_read_by_name_where_the_stored_order_is_another(site):
    table = site.ensure(NEW)
    assert table.schema.names != NEW.schema.names
    new = rows(
        NEW, page_id=[B, D], mark=["n", "n"], plain=["pier", "buoy"], author=["Ada", None], pieces=[[{"at": 3}], []]
    )
    replace_pages(table, NEW, [B, D], new)
    found = by_page(table)
    assert set(found) == {A, B, C, D}
    assert (found[B]["author"], found[B]["plain"], found[B]["pieces"]) == ("Ada", "pier", [{"at": 3}])
    assert (found[D]["author"], found[D]["plain"], found[D]["pieces"]) == (None, "buoy", [])
    assert {mark.key: mark.fingerprint for mark in page_marks(table, "mark")} == {A: "m", B: "n", C: "m", D: "n"}
    replace_pages(table, NEW, [A, B], rows(NEW, page_id=[A], plain=["quay"]))
    assert set(by_page(table)) == {A, C, D}


def test_a_version_that_is_live_is_searched_as_before_when_the_newest_has_other_columns(site, old):
    held = by_page(old)
    table = site.ensure(NEW)
    replace_pages(table, NEW, [A], rows(NEW, page_id=[A], plain=["pier"]))
    live = site.table(OLD.name)
    live.checkout("live")
    assert by_page(live) == held
    words = live.search(MatchQuery("harbour", "plain"), query_type="fts").select(["page_id", "former"]).to_list()
    assert [(row["page_id"], row["former"]) for row in words] == [(A, "f")]
    near = live.search([1.0, 0.0], vector_column_name="vector").select(["page_id", "former"]).limit(9).to_list()
    assert sorted(row["page_id"] for row in near) == [A, B, C]


@pytest.mark.usefixtures("old")
def test_the_index_over_words_stays_with_the_newest_version(site):
    table = site.ensure(NEW)
    found = table.search(MatchQuery("ferry", "plain"), query_type="fts").select(["page_id"]).to_list()
    assert [row["page_id"] for row in found] == [C]
    assert [index.columns for index in table.list_indices()] == [["plain"]]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (spec(FORMER, PLAIN, pa.field("vector", pa.list_(pa.float32(), 3))), "column 'vector' as fixed_size_list"),
        (spec(FORMER, PLAIN, pa.field("vector", pa.list_(pa.float32(), 2))), "column 'vector' without nulls"),
        (spec(FORMER, PLAIN, VECTOR, pa.field("tokens", pa.int32(), nullable=False)), "no column 'tokens'"),
        (spec(PLAIN, VECTOR, irreplaceable=True), "a column 'former' that this program knows no value for"),
    ],
    ids=["another type", "nulls", "a value for every row", "a value for every new row"],
)
def test_columns_that_cannot_be_made_those_of_this_version_are_refused_and_nothing_is_touched(site, old, wanted, says):
    with pytest.raises(TableUnusable, match=says) as refused:
        site.ensure(wanted)
    assert f"delete {old.uri}, and run `kb sites refresh shop`" in str(refused.value)
    assert site.table(OLD.name).version == old.version


def test_a_table_whose_rows_cannot_be_derived_again_never_loses_a_column(site):
    held = dataclasses.replace(spec(PLAIN, pa.field("note", pa.string())), irreplaceable=True)
    table = site.ensure(held)
    table.add(rows(held, page_id=[A, B], plain=["pier", "quay"], note=["kept", "too"]))
    later = dataclasses.replace(spec(pa.field("author", pa.string()), PLAIN), irreplaceable=True)
    table = site.ensure(later)
    assert set(table.schema.names) == {"page_id", "mark", "plain", "note", "author"}
    replace_pages(table, later, [B, C], rows(later, page_id=[B, C], plain=["bridge", "buoy"], author=["Ada", "Bob"]))
    found = by_page(table)
    assert (found[A]["note"], found[A]["author"], found[A]["plain"]) == ("kept", None, "pier")
    assert (found[B]["author"], found[B]["plain"]) == ("Ada", "bridge")
    assert (found[C]["note"], found[C]["plain"]) == (None, "buoy")


def test_bodies_alone_cannot_be_derived_again():
    assert [table.name for table in (SNAPSHOTS_TABLE, TEXTS_TABLE, CHUNKS_TABLE) if table.irreplaceable] == [
        "snapshots"
    ]


@pytest.mark.usefixtures("old")
def test_two_that_open_a_table_at_once_both_get_its_new_columns(site):
    stores = [SiteStore(site.uri.removesuffix("/sites/shop"), "shop") for _ in range(4)]
    start, found = threading.Barrier(len(stores)), []

    def open_it(store):
        start.wait()
        found.append(set(store.ensure(NEW).schema.names))

    threads = [threading.Thread(target=open_it, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [set(NEW.schema.names)] * len(stores)
    assert len(by_page(site.table(OLD.name))) == len(WORDS)
