"""Addresses of databases in all their spellings."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from kb_pipeline.store.postgres_urls import PostgresAddress


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:p%40ss@db.example:5433/kb?sslmode=require",
        "postgresql://u@/kb?host=%2Ftmp%2Fa+b&port=5432",
        "postgresql://u@[::1]:5432/kb",
        "postgresql://u@/kb?host=a.example%2Cb.example&port=5432%2C5433",
        "postgresql://db.example/kb",
    ],
)
def test_an_address_survives_being_read_and_written(url):
    address = PostgresAddress.parse(url)
    assert PostgresAddress.parse(address.url) == address
    assert PostgresAddress.parse(address.sqlalchemy_url) == address
    assert PostgresAddress.parse(address.conninfo).database == "kb"


def test_the_password_is_in_no_message_and_in_every_connection():
    address = PostgresAddress.parse("postgres://u:p%40ss@db.example/kb")
    assert address.shown == "db.example, database 'kb'"
    assert conninfo_to_dict(address.conninfo)["password"] == "p@ss"
    assert address.with_database("kb_dagster").sqlalchemy_url == (
        "postgresql+psycopg2://u:p%40ss@db.example/kb_dagster"
    )


def test_other_drivers_spellings_are_understood():
    assert PostgresAddress.parse("postgresql+psycopg2://u@h/d") == PostgresAddress.parse("postgresql://u@h/d")


def test_options_of_the_address_are_kept_beside_our_own():
    address = PostgresAddress.parse("postgresql://u@h/d?options=-c%20search_path%3Dkb")
    assert conninfo_to_dict(address.conninfo)["options"] == "-c search_path=kb -c TimeZone=UTC"
