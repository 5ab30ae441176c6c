"""Opening everything: what is made, what is checked, and what is said when it cannot be."""

from __future__ import annotations

import psycopg
import pytest

from kb_pipeline.errors import ConfigError, SchemaTooNew, StoreUnavailable
from kb_pipeline.settings import Settings
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.stores import (
    Stores,
    control_address,
    dagster_address,
    dagster_url,
    ensure_dagster_database,
)


def test_an_empty_machine_gets_a_server_a_schema_and_dagsters_database(data_dir):
    settings = Settings(data_dir=data_dir)
    with Stores.open(settings) as stores:
        assert stores.sites.all() == []
        url = ensure_dagster_database(settings)
        assert url == ensure_dagster_database(settings) == dagster_url(settings)
        assert url.startswith("postgresql+psycopg2://postgres@/kb_dagster?host=")
        with psycopg.connect(dagster_address(settings).conninfo) as connection:
            assert connection.info.dbname == "kb_dagster"
        with Stores.open(settings) as again:
            assert again.sites.all() == []
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(control_address(settings).conninfo)


def test_a_named_server_gets_the_databases_it_lacks(empty_postgres_url, tmp_path):
    settings = Settings(data_dir=tmp_path, postgres_url=empty_postgres_url)
    name = PostgresAddress.parse(empty_postgres_url).database
    with Stores.open(settings) as stores:
        assert stores.database.migrate() == [], "opening migrated already"
        assert ensure_dagster_database(settings).startswith(f"postgresql+psycopg2://postgres@/{name}_dagster")
    assert not (tmp_path / "postgres").exists()


def test_a_user_who_may_not_make_a_database_is_told_what_to_ask_for(server_url, tmp_path):
    address = PostgresAddress.parse(server_url)
    with psycopg.connect(address.with_database("postgres").conninfo, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS humble")
        connection.execute("CREATE ROLE humble LOGIN")
        url = address.with_database("not_there").url.replace("postgres@", "humble@")
        try:
            with pytest.raises(StoreUnavailable, match="'humble' may not create it"):
                Stores.open(Settings(data_dir=tmp_path, postgres_url=url)).__enter__()
        finally:
            connection.execute("DROP ROLE humble")


def test_dagsters_own_address_is_taken_as_it_is_given(tmp_path):
    settings = Settings(data_dir=tmp_path, dagster_postgres_url="postgresql://u:p@db.example/dagster")
    assert dagster_url(settings) == "postgresql+psycopg2://u:p@db.example/dagster"
    with pytest.raises(ConfigError, match="KB_DAGSTER_POSTGRES_URL"):
        dagster_url(Settings(data_dir=tmp_path, dagster_postgres_url="mysql://x/y"))


@pytest.mark.parametrize("setting", ["data_dir", "data_uri"])
def test_a_data_directory_that_cannot_be_written_is_named_with_its_setting(tmp_path, postgres_url, setting):
    (tmp_path / "file").write_text("")
    values = {"data_dir": tmp_path / "ok", "postgres_url": postgres_url, setting: tmp_path / "file" / "below"}
    values["data_uri"] = str(values.get("data_uri", ""))
    with pytest.raises(StoreUnavailable, match=f"KB_{setting.upper()}\\) cannot be written"):
        Stores.open(Settings(**values)).__enter__()


def test_data_of_a_newer_program_is_not_opened(settings):
    with Stores.open(settings):
        pass
    with psycopg.connect(PostgresAddress.parse(settings.postgres_url).conninfo) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'from_the_future', 'x')")
    with pytest.raises(SchemaTooNew, match="upgrade this program"):
        Stores.open(settings).__enter__()


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path):
    settings = Settings(data_dir=tmp_path, postgres_url="postgresql://u:s3cret@127.0.0.1:1/kb")
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1.*KB_POSTGRES_URL") as caught:
        Stores.open(settings).__enter__()
    assert "s3cret" not in str(caught.value)
