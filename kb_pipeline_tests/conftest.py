"""Fixtures that every test may use. One embedded PostgreSQL serves the whole session and its xdist workers; each
test that asks gets a fresh database of its own name on it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from kb_pipeline.settings import Settings
from kb_pipeline.store.database import Database
from kb_pipeline.store.embedded import embedded_postgres
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.servers import drop_database
from kb_pipeline.store.stores import Stores

# Durability is what a test server can do without: nothing survives the session.
UNSAFE_AND_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


PREFIXES = ("KB_", "DAGSTER_", "CLOUDFLARE_", "WEBSCRAPER_", "WEB_SCRAPER_")
PLAIN = "plain_http"
SERVER_DIR = "KB_PYTEST_SERVER_DIR"
"""Set by the controlling process for its workers."""


def pytest_configure():
    os.environ["KB_TIERS"] = PLAIN  # for what outlives a test
    if SERVER_DIR not in os.environ:
        os.environ[SERVER_DIR] = tempfile.mkdtemp(prefix="kb-tests-")


def pytest_unconfigure():
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ.pop(SERVER_DIR), ignore_errors=True)


def settings_in_the_environment():
    """The variables that settings are read from, but for the two that are the tests' own."""
    own = {SERVER_DIR, "KB_TEST_POSTGRES_URL"}
    return {name: value for name, value in os.environ.items() if name.startswith(PREFIXES) and name not in own}


@pytest.fixture(autouse=True)
def environment_of_nobody():
    """No test reads the settings of whoever runs it, or those that another test's command has set. Only tests that are
    about browsers start one, whatever is installed here."""
    before = settings_in_the_environment()
    for name in before:
        del os.environ[name]
    os.environ["KB_TIERS"] = PLAIN
    yield
    for name in settings_in_the_environment():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session")
def embedded_server_url():
    """The embedded server that all workers share: the last one to leave stops it."""
    with embedded_postgres(Path(os.environ[SERVER_DIR]), options=UNSAFE_AND_FAST) as url:
        yield url


@pytest.fixture
def data_dir():
    """A folder that an embedded server can live in. Not `tmp_path`: each new pytest session of the machine closes
    the folders of all others to everybody else, and so to the user that a server of root runs as."""
    with tempfile.TemporaryDirectory(prefix="kb-data-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def server_url(embedded_server_url):
    """The server that tests use unless they are about another."""
    return embedded_server_url


@contextlib.contextmanager
def database_of_its_own(server_url, template="template1"):
    """The URL of a copy of `template`, dropped afterwards with whatever is still connected to it."""
    address = PostgresAddress.parse(server_url).with_database(f"test_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(address.with_database("postgres").conninfo, autocommit=True) as connection:
        names = {"name": sql.Identifier(address.database), "template": sql.Identifier(template)}
        connection.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY").format(**names))
    try:
        yield address.url
    finally:
        drop_database(address)
        drop_database(address.with_database(f"{address.database}_dagster"))


@pytest.fixture(scope="session")
def template(embedded_server_url):
    """The name of a database with the current schema: copying it is faster than migrating each test's."""
    with database_of_its_own(embedded_server_url) as url:
        with Database.open(url) as opened:
            opened.migrate()
        yield PostgresAddress.parse(url).database


@pytest.fixture
def empty_postgres_url(server_url):
    """An empty database of this test alone."""
    with database_of_its_own(server_url) as url:
        yield url


@pytest.fixture
def postgres_url(server_url, template):
    """A database of this test alone, with the schema and nothing else."""
    with database_of_its_own(server_url, template) as url:
        yield url


@pytest.fixture(scope="module")
def module_database(server_url):
    """A control plane for a module whose tests leave nothing in it."""
    with database_of_its_own(server_url) as url, Database.open(url) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def database(postgres_url):
    """An empty control plane."""
    with Database.open(postgres_url) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path, postgres_url: str) -> Settings:
    """Settings with a data directory and a control plane of their own, and no waiting between requests."""
    return Settings(
        data_dir=tmp_path / "kb",
        postgres_url=postgres_url,
        allow_private=("127.0.0.1",),
        request_gap_seconds=0,
        retry_delays_seconds=(0.05, 0.05, 0.05),
    )


@pytest.fixture
def stores(settings):
    """Everything that is stored, empty."""
    with Stores.open(settings) as opened:
        yield opened
