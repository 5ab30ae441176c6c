"""The pool: transactions, streams, and a server that is not there, goes away, or is full."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
import pytest

from kb_pipeline.errors import ConfigError, StoreError, StoreUnavailable
from kb_pipeline.model import Discovered, PageSource, SiteOptions
from kb_pipeline.store.database import Database
from kb_pipeline.store.named_queries import Query
from kb_pipeline.store.pages import Pages
from kb_pipeline.store.sites import Sites

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = Query("count", b"SELECT count(*) FROM sites")
NUMBERS = Query("numbers", b"SELECT i AS number, 'n' || i AS label, 0 AS unasked FROM generate_series(1, %(most)s) i")
CUT_OFF = Query(
    "cut_off",
    b"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    b" WHERE datname = current_database() AND pid <> pg_backend_pid()",
)


@dataclass(frozen=True)
class Numbered:
    number: int
    label: str


def cut_off_everybody(database):
    with psycopg.connect(database.address.conninfo, autocommit=True) as connection:
        connection.execute(CUT_OFF.sql)


def test_a_transaction_is_undone_by_an_error_and_a_nested_one_alone(database):
    sites = Sites(database)

    def add_and_fail(site_id):
        with database.transaction():
            sites.add(site_id, "https://one.example/")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        add_and_fail("one")
    assert database.require(COUNT, int) == 0

    with database.transaction():
        sites.add("one", "https://one.example/")
        with pytest.raises(RuntimeError):
            add_and_fail("two")
    assert [site.site_id for site in sites.all()] == ["one"]


def test_rows_become_what_is_asked_for(database):
    assert database.all(NUMBERS, Numbered, most=2) == [Numbered(1, "n1"), Numbered(2, "n2")]
    assert database.all(NUMBERS, int, most=2) == [1, 2]
    assert database.one(NUMBERS, tuple, most=1) == (1, "n1", 0)
    assert database.one(NUMBERS, dict, most=1) == {"number": 1, "label": "n1", "unasked": 0}
    assert database.one(NUMBERS, int, most=0) is None
    with pytest.raises(StoreError, match="query numbers gave no row"):
        database.require(NUMBERS, int, most=0)


def test_a_stream_shows_the_state_at_its_start_and_holds_no_transaction_open(database):
    sites, pages = Sites(database), Pages(database)
    sites.add("s", "https://s.example/")

    def record(numbers):
        found = [Discovered(f"{i:024x}", f"https://s.example/{i}", PageSource.SITEMAP) for i in numbers]
        pages.record_discovered("s", 1, found, NOW)

    record(range(5000))
    stream = pages.stream("s")
    first = next(stream)
    record(range(5000, 6000))
    idle = Query(
        "idle",
        b"SELECT count(*) FROM pg_stat_activity"
        b" WHERE datname = current_database() AND state LIKE 'idle in transaction%%'",
    )
    assert database.require(idle, int) == 0
    rest = list(stream)
    assert [first.page_id, *(page.page_id for page in rest)] == [f"{i:024x}" for i in range(5000)]


def test_a_stream_within_a_transaction_sees_what_the_transaction_wrote(database):
    sites, pages = Sites(database), Pages(database)
    with database.transaction():
        sites.add("s", "https://s.example/")
        found = [Discovered(f"{i:024x}", f"https://s.example/{i}", PageSource.SITEMAP) for i in range(3000)]
        pages.record_discovered("s", 1, found, NOW)
        stream = pages.stream("s")
        seen = [next(stream).page_id]
        pages.record_discovered("s", 1, [Discovered("f" * 24, "https://s.example/f", PageSource.SITEMAP)], NOW)
        seen += [page.page_id for page in stream]
        left_open = pages.stream("s")
        next(left_open)
    left_open.close()
    assert seen == [page.page_id for page in found]
    assert database.require(COUNT, int) == 1


def test_streams_give_their_connection_back_when_they_are_dropped(database):
    for _ in range(50):
        stream = database.stream(NUMBERS, int, most=10_000)
        assert next(stream) == 1
        stream.close()
    assert database.require(COUNT, int) == 0


def test_text_that_postgresql_cannot_hold_is_stored_with_replacement_characters(database):
    sites = Sites(database)
    sites.add("s", "https://s.example/\0\ud800x\U0001f600", options=SiteOptions(include=("/\0*",)))
    site = sites.get("s")
    assert site.url == "https://s.example/\ufffd\ufffdx\U0001f600"
    assert site.options.include == ("/\ufffd*",)


def test_a_server_that_refuses_is_named_and_its_password_is_not():
    with pytest.raises(StoreUnavailable) as caught:
        Database.open("postgresql://someone:s3cret@127.0.0.1:1/kb")
    assert "127.0.0.1:1" in str(caught.value)
    assert "KB_POSTGRES_URL" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["mysql://h/d", "https://example.org/", "postgresql://h:port/d", "nonsense"])
def test_an_address_that_is_none_is_refused_by_name_of_its_setting(url):
    with pytest.raises(ConfigError, match="KB_POSTGRES_URL"):
        Database.open(url)


def test_the_pool_recovers_when_the_server_cut_every_connection(database):
    assert database.require(COUNT, int) == 0
    cut_off_everybody(database)
    deadline = time.monotonic() + 10
    while True:
        try:
            assert database.require(COUNT, int) == 0
        except StoreUnavailable:
            assert time.monotonic() < deadline
        else:
            break


def test_a_server_that_goes_away_in_mid_stream_is_an_error_and_never_the_end_of_the_list(database):
    stream = database.stream(NUMBERS, int, most=100_000)
    assert next(stream) == 1
    cut_off_everybody(database)
    with pytest.raises(StoreUnavailable, match="is not available"):
        list(stream)


def test_a_server_that_goes_away_inside_a_transaction_leaves_nothing_of_it(database):
    sites = Sites(database)

    def write_and_lose_the_server():
        with database.transaction():
            sites.add("s", "https://s.example/")
            cut_off_everybody(database)
            sites.add("t", "https://t.example/")

    with pytest.raises(StoreUnavailable):
        write_and_lose_the_server()
    assert sites.all() == []
