"""Opens everything that is stored, in the right order, and hands it to stages and serving as one object."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.aliases import Aliases
from kb_pipeline.store.database import Database
from kb_pipeline.store.embedded import embedded_address, embedded_postgres
from kb_pipeline.store.failures import Failures
from kb_pipeline.store.hosts import Hosts, RobotsFiles
from kb_pipeline.store.lance import SiteStore
from kb_pipeline.store.not_found_probes import NotFoundProbes
from kb_pipeline.store.pages import Pages
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.publications import Publications
from kb_pipeline.store.queries import Queries
from kb_pipeline.store.refreshes import Refreshes
from kb_pipeline.store.servers import ensure_database
from kb_pipeline.store.sites import Sites
from kb_pipeline.store.usage import Allowances, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.settings import Settings
    from kb_pipeline.store.locks import SiteLock

LEAST_FREE_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Stores:
    """The control plane's repositories, and the way to each site's Lance database."""

    lance_uri: str
    database: Database
    sites: Sites
    pages: Pages
    aliases: Aliases
    refreshes: Refreshes
    publications: Publications
    failures: Failures
    hosts: Hosts
    robots_files: RobotsFiles
    not_found_probes: NotFoundProbes
    usage: Usage
    allowances: Allowances
    queries: Queries

    @classmethod
    @contextlib.contextmanager
    def open(cls, settings: Settings) -> Iterator[Stores]:
        """Start the embedded PostgreSQL when KB_POSTGRES_URL is empty, connect, migrate, check the data directory.

        Raises StoreUnavailable (server or directory out of reach, unwritable or full), SchemaTooNew, StoreError,
        ConfigError (an address that is none).
        """
        check_data_dir(settings.data_dir, "KB_DATA_DIR")
        if "://" not in settings.lance_uri:
            check_data_dir(Path(settings.lance_uri), "KB_DATA_URI")
        with postgres(settings) as url:
            ensure_database(PostgresAddress.parse(url))
            with Database.open(url) as database:
                database.migrate()
                yield cls.over(database, settings.lance_uri)

    @classmethod
    def over(cls, database: Database, lance_uri: str) -> Stores:
        """The stores over a database whose schema is current."""
        return cls(
            lance_uri=lance_uri,
            database=database,
            sites=Sites(database),
            pages=Pages(database),
            aliases=Aliases(database),
            refreshes=Refreshes(database),
            publications=Publications(database),
            failures=Failures(database),
            hosts=Hosts(database),
            robots_files=RobotsFiles(database),
            not_found_probes=NotFoundProbes(database),
            usage=Usage(database),
            allowances=Allowances(database),
            queries=Queries(database),
        )

    def site(self, site_id: str) -> SiteStore:
        """The site's Lance database. Raises InvalidSiteId; nothing is opened or created yet."""
        return SiteStore(self.lance_uri, site_id)

    def site_lock(self, site_id: str, holder: str) -> contextlib.AbstractContextManager[SiteLock]:
        """Be the only writer of the site; `holder` is what the next one reads in SiteBusy."""
        return self.database.site_lock(site_id, holder)

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)


@contextlib.contextmanager
def postgres(settings: Settings) -> Iterator[str]:
    """The control plane's URL: KB_POSTGRES_URL, or an embedded server for as long as the block lasts."""
    if settings.postgres_url:
        yield settings.postgres_url
        return
    with embedded_postgres(settings.data_dir) as url:
        yield url


def control_address(settings: Settings) -> PostgresAddress:
    """Where the control plane is, whether or not the server runs."""
    if settings.postgres_url:
        return PostgresAddress.parse(settings.postgres_url)
    return embedded_address(settings.data_dir)


def dagster_address(settings: Settings) -> PostgresAddress:
    """Where Dagster's own storage is: KB_DAGSTER_POSTGRES_URL, or `<name>_dagster` beside the control plane."""
    if settings.dagster_postgres_url:
        return PostgresAddress.parse(settings.dagster_postgres_url, "KB_DAGSTER_POSTGRES_URL")
    control = control_address(settings)
    return control.with_database(f"{control.database}_dagster")


def dagster_url(settings: Settings) -> str:
    """`dagster_address` as dagster-postgres takes it: `postgresql+psycopg2://…`."""
    return dagster_address(settings).sqlalchemy_url


def ensure_dagster_database(settings: Settings) -> str:
    """Create Dagster's database when it is missing (the server must run); its `dagster_url`.

    Raises StoreUnavailable, with what to do, when this user may not create it.
    """
    address = dagster_address(settings)
    ensure_database(address)
    return address.sqlalchemy_url


def check_data_dir(folder: Path, setting: str) -> None:
    """Create the folder. Raises StoreUnavailable when it cannot be made or written, or its disk is full."""
    folder = folder.expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.write_bytes(b"1")
        probe.unlink(missing_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        message = f"{folder} ({setting}) cannot be written: {error.strerror or error}"
        raise StoreUnavailable(message) from error
    if free < LEAST_FREE_BYTES:
        message = f"the disk of {folder} ({setting}) is full: {free // 2**20} MiB free"
        raise StoreUnavailable(message)
