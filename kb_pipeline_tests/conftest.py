"""Fixtures that every test may use. One embedded PostgreSQL serves the whole session and its xdist workers; each
test that asks gets a fresh database of its own name on it."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from kb_pipeline.settings import Settings
from kb_pipeline.store.database import Database
from kb_pipeline.store.embedded import embedded_postgres
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.servers import drop_database, ensure_database
from kb_pipeline.store.stores import Stores

# Durability is what a test server can do without: nothing survives the session.
UNSAFE_AND_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@pytest.fixture(scope="session")
def embedded_server_url(tmp_path_factory):
    """The embedded server that all workers share: the last one to leave stops it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with embedded_postgres(shared / "server", options=UNSAFE_AND_FAST) as url:
        yield url


@pytest.fixture(scope="session")
def server_url(embedded_server_url):
    """The server that tests use unless they are about another."""
    return embedded_server_url


@pytest.fixture
def postgres_url(server_url):
    """An empty database, dropped after the test with whatever is still connected to it."""
    address = PostgresAddress.parse(server_url).with_database(f"test_{uuid.uuid4().hex[:12]}")
    ensure_database(address)
    yield address.url
    drop_database(address)
    drop_database(address.with_database(f"{address.database}_dagster"))


@pytest.fixture
def database(postgres_url):
    """An empty control plane."""
    with Database.open(postgres_url) as opened:
        opened.migrate()
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
