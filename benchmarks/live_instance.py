"""A webserver and a daemon of Dagster on an instance of their own, and the few GraphQL calls that the scripts here
make. For use on one machine: everything listens on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx

from kb_pipeline.orchestration.instance import prepare_instance, project_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from kb_pipeline.settings import Settings

REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "kb_pipeline"}

LAUNCH_BACKFILL = """
mutation ($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""
BACKFILL_STATUS = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) {
  __typename ... on PartitionBackfill { status } ... on PythonError { message } } }"""
RUNS = """
query ($filter: RunsFilter!) { runsOrError(filter: $filter, limit: 200) {
  ... on Runs { results { runId jobName status startTime endTime tags { key value } } } } }"""
PARTITIONS = """
query { assetNodes { assetKey { path } partitionKeys } }"""
TICKS = """
query ($sensor: SensorSelector!) { sensorOrError(sensorSelector: $sensor) {
  ... on Sensor { sensorState { ticks(limit: 200) { status timestamp endTimestamp } } } } }"""


class Webserver:
    """The GraphQL API of a running webserver."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._client = httpx.Client(base_url=self.url, timeout=60)

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The answer's `data`. Raises RuntimeError with the errors of the answer."""
        answer = self._client.post("/graphql", json={"query": query, "variables": variables}).json()
        if answer.get("errors"):
            raise RuntimeError(answer["errors"])
        return answer["data"]

    def is_up(self) -> bool:
        """Whether it answers, with the code location loaded."""
        query = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name } } } }"
        with contextlib.suppress(httpx.HTTPError, ValueError):
            return bool(self.ask(query)["repositoriesOrError"].get("nodes"))
        return False

    def backfill(self, assets: list[str], partitions: list[str]) -> str:
        """Launch a backfill of the assets; its id."""
        selection = [{"path": [name]} for name in assets]
        params = {"assetSelection": selection, "partitionNames": partitions, "title": "All sites once more"}
        launched = self.ask(LAUNCH_BACKFILL, params=params)["launchPartitionBackfill"]
        if launched["__typename"] != "LaunchBackfillSuccess":
            raise RuntimeError(launched)
        return launched["backfillId"]

    def backfill_status(self, backfill_id: str) -> str:
        """`REQUESTED`, `COMPLETED_SUCCESS`, `COMPLETED_FAILED`, …"""
        return self.ask(BACKFILL_STATUS, id=backfill_id)["partitionBackfillOrError"]["status"]

    def runs(self, **filters: Any) -> list[dict[str, Any]]:
        """Runs, the newest first."""
        return self.ask(RUNS, filter=filters)["runsOrError"]["results"]

    def partition_keys(self) -> list[str]:
        """The sites of the graph."""
        nodes = self.ask(PARTITIONS)["assetNodes"]
        return sorted(next(node["partitionKeys"] for node in nodes if node["assetKey"]["path"] == ["live_index"]))

    def tick_seconds(self, sensor: str) -> list[float]:
        """How long the sensor's recorded ticks took."""
        selector = {**REPOSITORY, "sensorName": sensor}
        ticks = self.ask(TICKS, sensor=selector)["sensorOrError"]["sensorState"]["ticks"]
        return [tick["endTimestamp"] - tick["timestamp"] for tick in ticks if tick["endTimestamp"]]


@contextlib.contextmanager
def dagster_processes(settings: Settings, extra: Mapping[str, str], logs: Path) -> Iterator[Webserver]:
    """Webserver and daemon over the instance of `settings`, whose PostgreSQL runs; stopped at the end."""
    environ = {**os.environ, **prepare_instance(settings), **extra}
    workspace = str(project_file("workspace.yaml"))
    port = free_port()
    web = ["dagster_webserver", "-h", "127.0.0.1", "-p", str(port), "-w", workspace]
    daemon = ["dagster._daemon", "run", "-w", workspace]
    with contextlib.ExitStack() as stack:
        for name, module in (("webserver", web), ("daemon", daemon)):
            stack.enter_context(_process([sys.executable, "-m", *module], environ, logs / f"{name}.log"))
        webserver = Webserver(port)
        wait_until(webserver.is_up, "the webserver answers", 120)
        yield webserver


@contextlib.contextmanager
def _process(command: list[str], environ: Mapping[str, str], log: Path) -> Iterator[None]:
    """A process in a group of its own, with the code servers that it starts."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as said:
        process = subprocess.Popen(command, env=environ, stdout=said, stderr=said, start_new_session=True)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def wait_until(condition: Callable[[], bool], what: str, seconds: float) -> float:
    """Poll until the condition holds; how long it took. Raises TimeoutError that names `what`."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            message = f"not within {seconds:.0f} s: {what}"
            raise TimeoutError(message)
        time.sleep(0.5)
    return time.monotonic() - began


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
