"""Schema versions: applied once, in order, whole or not at all, and never behind the program's back."""

from __future__ import annotations

import threading
from dataclasses import replace

import psycopg
import pytest

from kb_pipeline.errors import SchemaTooNew, StoreError
from kb_pipeline.store.migrations import Migration, migrate, read_migrations
from kb_pipeline.store.postgres_urls import PostgresAddress

CREATE = Migration(1, "create", "a" * 64, b"CREATE TABLE t (x integer); INSERT INTO t VALUES (1);")
WIDEN = Migration(2, "widen", "b" * 64, b"ALTER TABLE t ADD y integer; UPDATE t SET y = x * 100 WHERE x % 2 = 1;")
BROKEN = Migration(3, "broken", "c" * 64, b"INSERT INTO t VALUES (2, 2); SELECT nonsense FROM nowhere;")


@pytest.fixture
def address(empty_postgres_url):
    return PostgresAddress.parse(empty_postgres_url)


def rows(address, sql):
    with psycopg.connect(address.conninfo) as connection:
        return connection.execute(sql).fetchall()


def test_what_is_missing_is_applied_in_order_and_a_second_start_applies_nothing(address):
    assert migrate(address, [CREATE]) == [1]
    assert migrate(address, [CREATE, WIDEN]) == [2]
    assert migrate(address, [CREATE, WIDEN]) == []
    assert rows(address, "SELECT x, y FROM t") == [(1, 100)]
    assert [row[:2] for row in rows(address, "SELECT number, name, applied_at FROM schema_migrations")] == [
        (1, "create"),
        (2, "widen"),
    ]


def test_a_migration_that_fails_leaves_no_trace(address):
    migrate(address, [CREATE, WIDEN])
    with pytest.raises(StoreError, match="0003_broken failed and was rolled back"):
        migrate(address, [CREATE, WIDEN, BROKEN])
    assert rows(address, "SELECT count(*) FROM t") == [(1,)]
    assert rows(address, "SELECT max(number) FROM schema_migrations") == [(2,)]


def test_data_of_a_newer_program_is_refused_untouched(address):
    migrate(address, [CREATE, WIDEN])
    with pytest.raises(SchemaTooNew, match="schema version 2 and this program knows 1"):
        migrate(address, [CREATE])


def test_an_applied_migration_that_was_edited_is_an_error(address):
    migrate(address, [CREATE])
    with pytest.raises(StoreError, match="0001_create was changed after it was applied"):
        migrate(address, [replace(CREATE, sha256="d" * 64), WIDEN])
    assert rows(address, "SELECT max(number) FROM schema_migrations") == [(1,)]


def test_starters_that_come_at_once_do_not_race(address):
    slow = replace(CREATE, sql=b"SELECT pg_sleep(0.3);" + CREATE.sql)
    applied = []
    starters = [threading.Thread(target=lambda: applied.append(migrate(address, [slow, WIDEN]))) for _ in range(4)]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert sorted(applied) == [[], [], [], [1, 2]]


def test_the_files_are_numbered_without_a_gap(tmp_path):
    (tmp_path / "0001_one.sql").write_text("SELECT 1;")
    (tmp_path / "0003_three.sql").write_text("SELECT 3;")
    with pytest.raises(StoreError, match=r"0003_three\.sql is not named 0002_"):
        read_migrations(tmp_path)
    assert [migration.number for migration in read_migrations()][:1] == [1]
