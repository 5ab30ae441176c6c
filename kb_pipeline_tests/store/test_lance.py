"""A site's tables: made with their schema, read in key order, and never taken for empty when they cannot be read."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from kb_pipeline.errors import InvalidSiteId, StoreError
from kb_pipeline.store.lance import SiteStore, at_version, in_pages, read_pages, read_rows
from kb_pipeline.store.lance_marks import DAMAGED, page_marks
from kb_pipeline.store.schemas import CHUNKS_TABLE, SNAPSHOTS_TABLE, TEXTS_TABLE, TableSpec, vectors_table

MARKED = TableSpec(
    "marked",
    pa.schema(
        [
            pa.field("page_id", pa.string(), nullable=False),
            pa.field("chunk_id", pa.string(), nullable=False),
            pa.field("mark", pa.string(), nullable=False),
        ]
    ),
    "chunk_id",
)


def page(number):
    return hashlib.sha256(str(number).encode()).hexdigest()[:24]


def rows(numbers, mark="m", chunks=1):
    ids = [page(number) for number in numbers for _ in range(chunks)]
    keys = [f"{page(number)}-{i}" for number in numbers for i in range(chunks)]
    return pa.table([ids, keys, [mark] * len(ids)], schema=MARKED.schema)


@pytest.fixture
def site(tmp_path):
    return SiteStore(str(tmp_path), "shop")


def pairs(marks):
    return [(mark.key, mark.fingerprint) for mark in marks]


@pytest.mark.parametrize("spec", [SNAPSHOTS_TABLE, TEXTS_TABLE, CHUNKS_TABLE, vectors_table("org/A Model!", 384)])
def test_tables_are_made_once_with_their_columns(site, spec):
    assert site.table_names() == []
    table = site.ensure(spec)
    assert table.schema.equals(spec.schema, check_metadata=True)
    assert table.count_rows() == 0
    assert site.ensure(spec).version == table.version
    assert site.table_names() == [spec.name]


def test_the_vectors_of_each_model_have_a_table_of_their_own():
    assert vectors_table("org/A Model! v2", 384).name == "vectors-a-model-v2-384-pieces"
    assert vectors_table("/models/mini/", 384).name == "vectors-model-384-pieces"


def test_a_table_that_is_missing_is_not_an_empty_one(site):
    with pytest.raises(StoreError, match="site 'shop' has no table 'texts'"):
        site.table("texts")


def test_names_that_are_no_slugs_never_become_a_path(tmp_path):
    for site_id in ("../other", "a/b", "", "A"):
        with pytest.raises(InvalidSiteId):
            SiteStore(str(tmp_path), site_id)


@pytest.mark.parametrize("damage", ["versions", "rows"])
def test_a_table_whose_files_are_gone_raises_instead_of_looking_empty(site, damage):
    table = site.ensure(MARKED)
    table.add(rows(range(10)))
    folder = Path(site.uri) / "marked.lance"
    if damage == "versions":
        shutil.rmtree(folder / "_versions")
    else:
        for file in (folder / "data").iterdir():
            file.unlink()
    with pytest.raises(StoreError):
        list(page_marks(SiteStore(site.uri.removesuffix("/sites/shop"), "shop").table("marked"), "mark"))


def test_dropping_a_site_takes_all_of_it_and_can_be_repeated(site):
    site.ensure(MARKED).add(rows(range(3)))
    site.drop()
    assert site.table_names() == []
    site.drop()
    assert not Path(site.uri).exists()
    assert site.ensure(MARKED).count_rows() == 0
    site.drop()


@pytest.mark.parametrize("run_rows", [40, 1000])
def test_marks_come_in_key_order_whatever_order_rows_were_written_in(site, run_rows):
    table = site.ensure(MARKED)
    for start in range(0, 300, 60):
        table.add(rows(range(start, start + 60), mark=f"m{start}", chunks=3))
    table.delete(in_pages([page(5)]))
    found = list(page_marks(table, "mark", row_key="chunk_id", run_rows=run_rows))
    assert {mark.weight for mark in found} == {3}
    marks = pairs(found)
    assert marks == sorted((page(i), f"m{i - i % 60}") for i in range(300) if i != 5)


def test_marks_are_those_of_one_version_while_others_commit(site):
    table = site.ensure(MARKED)
    table.add(rows(range(100)))
    marks = page_marks(site.table("marked"), "mark", run_rows=10)
    first = next(marks)
    table.add(rows(range(100, 200), mark="later"))
    table.delete(in_pages([page(3)]))
    rest = list(marks)
    assert pairs([first, *rest]) == sorted((page(i), "m") for i in range(100))


def test_marks_are_only_of_rows_that_the_filter_admits(site):
    table = site.ensure(MARKED)
    table.add(rows(range(10), mark="a"))
    table.add(rows(range(10, 20), mark="b"))
    assert pairs(page_marks(table, "mark", where="mark = 'b'")) == sorted((page(i), "b") for i in range(10, 20))


def test_pages_whose_rows_contradict_each_other_are_marked_as_damaged(site):
    table = site.ensure(MARKED)
    table.add(rows([1, 2, 3], chunks=2))
    table.add(rows([1], chunks=1))
    table.add(pa.table([[page(2)], [f"{page(2)}-9"], ["another"]], schema=MARKED.schema))
    found = dict(pairs(page_marks(table, "mark", row_key="chunk_id")))
    assert found == {page(1): DAMAGED, page(2): DAMAGED, page(3): "m"}


def test_an_empty_table_has_no_marks(site):
    assert list(page_marks(site.ensure(MARKED), "mark", row_key="chunk_id")) == []


def test_a_handle_at_a_version_does_not_move(site):
    table = site.ensure(MARKED)
    table.add(rows([1]))
    fixed = at_version(table)
    table.add(rows([2]))
    assert (fixed.count_rows(), table.count_rows(), at_version(table, 1).count_rows()) == (1, 2, 0)


def test_rows_are_read_by_page_in_order(site):
    table = site.ensure(MARKED)
    table.add(rows(range(20), chunks=2))
    wanted = sorted([page(7), page(3)])
    found = read_pages(table, [page(7), page(3), page(99)], columns=["page_id", "chunk_id"], order=("chunk_id",))
    assert found["chunk_id"].to_pylist() == [f"{key}-{i}" for key in wanted for i in range(2)]
    assert read_pages(table, []).num_rows == 0
    assert read_rows(table, where="mark = 'nothing'").num_rows == 0


def test_a_filter_takes_page_ids_only():
    with pytest.raises(ValueError, match="not a page id"):
        in_pages(["' OR true --"])
