"""Drives the graph as it runs in production: a real webserver and daemon on PostgreSQL, three sites on loopback. Prints
a line for each thing that must hold, keeps pictures of the UI with --pictures, and exits 1 when one does not hold."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.live_instance import Webserver, dagster_processes, wait_until
from benchmarks.pictures import take_pictures
from benchmarks.small_model import small_model
from kb_pipeline.model import RefreshOutcome, SiteOptions, SiteState
from kb_pipeline.settings import Settings
from kb_pipeline.stages.approve import approve
from kb_pipeline.store.stores import Stores, postgres
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite

if TYPE_CHECKING:
    from collections.abc import Iterator

ASSETS = ["discovered_urls", "fetched_pages", "extracted_text", "chunks", "embeddings", "live_index"]
SITES = ("apples", "birds", "clouds")
PAGES = 30
SENSORS = ("site_registry", "site_removal", "refresh_due", "retry_due", "run_failure", "lost_runs")
PATIENCE = 900


class Report:
    """Lines of what was checked."""

    def __init__(self) -> None:
        self.failed = 0

    def line(self, what: str, *, holds: bool, detail: str = "") -> None:
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {what}{f'  ({detail})' if detail else ''}", flush=True)


@contextlib.contextmanager
def small_site(topic: str) -> Iterator[LoopbackSite]:
    """PAGES pages about a topic, with a sitemap."""
    with LoopbackSite({}) as site:
        for number in range(PAGES):
            site.pages[f"/{topic}/{number}"] = page(f"{topic} {number}", prose(f"{topic} {number}"))
        site.pages["/sitemap.xml"] = sitemap(*[site.url(f"/{topic}/{number}") for number in range(PAGES)])
        yield site


def add_and_import(
    report: Report, stores: Stores, settings: Settings, web: Webserver, sites: dict[str, LoopbackSite]
) -> None:
    for site_id, site in sites.items():
        stores.sites.add(site_id, site.url("/"), options=SiteOptions(refresh_interval_hours=24))
    took = wait_until(
        lambda: all(_state(stores, s) is SiteState.AWAITING_APPROVAL for s in sites), "discovered", PATIENCE
    )
    report.line(
        "three sites added: partitions made, each discovered and waiting for approval",
        holds=True,
        detail=f"{took:.0f} s",
    )
    fetched = sum(site.count(f"/{site_id}/0") for site_id, site in sites.items())
    report.line("nothing is fetched before the approval", holds=fetched <= len(sites), detail=f"{fetched} sampled")
    wait_until(lambda: len(web.runs(statuses=["SUCCESS", "FAILURE"])) >= len(sites), "the runs end", PATIENCE)
    colours = {run["status"] for run in web.runs(statuses=["SUCCESS", "FAILURE"])}
    report.line(
        "a site that waits for its approval is no failed run", holds=colours == {"SUCCESS"}, detail=", ".join(colours)
    )
    for site_id in sites:
        approve(stores, settings, site_id, pages=PAGES, by="live_graph")
    took = wait_until(lambda: all(stores.publications.live(s) for s in sites), "all live", PATIENCE)
    rows = [stores.publications.live(s).pages for s in sites]
    report.line(
        "approved: the sensor starts their refreshes, all three go live",
        holds=rows == [PAGES] * 3,
        detail=f"{took:.0f} s, pages {rows}",
    )


def backfill(report: Report, web: Webserver, sites: dict[str, LoopbackSite]) -> None:
    for site in sites.values():
        site.forget()
    backfill_id = web.backfill(ASSETS, list(sites))
    took = wait_until(lambda: web.backfill_status(backfill_id).startswith("COMPLETED"), "the backfill ends", PATIENCE)
    report.line(
        "a backfill of the three sites finishes",
        holds=web.backfill_status(backfill_id) == "COMPLETED_SUCCESS",
        detail=f"{took:.0f} s",
    )
    runs = web.runs(tags=[{"key": "dagster/backfill", "value": backfill_id}])
    report.line("it is one run a site", holds=len(runs) == len(sites), detail=f"{len(runs)} runs")
    _no_two_at_once(report, web, sites)


def broken_deploy(report: Report, stores: Stores, sites: dict[str, LoopbackSite]) -> None:
    """One site answers 404 everywhere; the two others change a page."""
    before = {s: stores.refreshes.latest(s).generation for s in sites}
    live = stores.publications.live("birds")
    for path in [path for path in sites["birds"].pages if path.startswith("/birds/")]:
        del sites["birds"].pages[path]
    for site_id in ("apples", "clouds"):
        sites[site_id].pages[f"/{site_id}/3"] = page(f"{site_id} 3", prose(f"{site_id} changed"))
    for site_id in sites:
        stores.sites.schedule(site_id, stores.now() - timedelta(seconds=1))

    def ended() -> bool:
        last = [stores.refreshes.latest(s) for s in sites]
        return all(refresh.generation > before[refresh.site_id] and refresh.outcome for refresh in last)

    wait_until(ended, "the three refreshes end", PATIENCE)
    outcomes = {s: stores.refreshes.latest(s).outcome for s in sites}
    report.line(
        "a failing check on one site stops that site alone",
        holds=outcomes
        == {"apples": RefreshOutcome.PUBLISHED, "birds": RefreshOutcome.HELD, "clouds": RefreshOutcome.PUBLISHED},
        detail=", ".join(f"{s} {o}" for s, o in outcomes.items()),
    )
    report.line("its old index stays live", holds=stores.publications.live("birds") == live)
    wait_until(lambda: stores.sites.get("birds").last_error is not None, "the reason is written", 60)
    report.line(
        "the site says why",
        holds="removals_are_plausible" in (stores.sites.get("birds").last_error or ""),
        detail=stores.sites.get("birds").last_error or "",
    )


def killed_run(report: Report, stores: Stores, web: Webserver, site: LoopbackSite) -> None:
    """`kill -9` of a run while it fetches; nobody lifts a finger afterwards."""
    pages = {path: answer for path, answer in site.pages.items() if path.startswith("/apples/")}
    site.pages.update({path: replace(answer, delay=5.0) for path, answer in pages.items()})
    wait_until(lambda: not web.runs(statuses=["STARTED"]), "no run is left of the step before", PATIENCE)
    site.forget()
    stores.sites.schedule("apples", stores.now() - timedelta(seconds=1))

    def process() -> int:
        """Of the run that fetches, once it is known."""
        started = [_tag(run, "kb/process") for run in web.runs(statuses=["STARTED"])]
        return next((int(tag.rpartition(":")[2]) for tag in started if tag), 0)

    wait_until(lambda: process() > 0, "the run has started", PATIENCE)
    wait_until(lambda: sum(map(site.count, pages)) > PAGES // 4, "the run is fetching", PATIENCE)
    os.kill(process(), signal.SIGKILL)
    took = wait_until(lambda: not web.runs(statuses=["STARTED"]), "the run is known to be dead", PATIENCE)
    report.line("a run that is killed is known as failed", holds=True, detail=f"{took:.0f} s")
    generation = stores.refreshes.latest("apples").generation
    site.pages.update(pages)
    wait_until(lambda: bool(stores.sites.get("apples").last_error), "the reason is written", 60)
    report.line("the site says what became of it", holds=True, detail=stores.sites.get("apples").last_error or "")
    took = wait_until(lambda: stores.refreshes.open("apples") is None, "its refresh is taken up again", PATIENCE)
    ended = stores.refreshes.latest("apples")
    holds = (ended.generation, ended.outcome) == (generation, RefreshOutcome.PUBLISHED)
    report.line("its refresh is taken up again, and published", holds=holds, detail=f"{took:.0f} s")
    report.line("the reason goes once all is well", holds=stores.sites.get("apples").last_error is None)


def removal(report: Report, stores: Stores, settings: Settings, web: Webserver) -> None:
    stores.sites.set_state("clouds", SiteState.REMOVING)
    took = wait_until(lambda: stores.sites.find("clouds") is None, "the site is removed", PATIENCE)
    took += wait_until(lambda: "clouds" not in web.partition_keys(), "its partition is gone", PATIENCE)
    folder = Path(settings.lance_uri) / "sites" / "clouds"
    left = [file for file in folder.rglob("*") if file.is_file()] if folder.exists() else []
    report.line(
        "removing a site deletes its data and its partition",
        holds=not left,
        detail=f"{took:.0f} s, {len(left)} files left",
    )
    report.line("the others keep theirs", holds=web.partition_keys() == ["apples", "birds"])


def ticks(report: Report, web: Webserver) -> None:
    for sensor in SENSORS:
        seconds = web.tick_seconds(sensor)
        slowest = max(seconds, default=0.0)
        report.line(
            f"ticks of {sensor} end within seconds",
            holds=bool(seconds) and slowest < 10,
            detail=f"{len(seconds)} ticks, slowest {slowest:.2f} s",
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the UI")
    parser.add_argument("--keep", type=Path, help="data folder to use and keep (default: a temporary one)")
    options = parser.parse_args()
    # The processes that were started end with this one, however it is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    report = Report()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kb-live-")))
        started = Settings(data_dir=folder, allow_private=("127.0.0.0/8",), request_gap_seconds=0)
        settings = started.model_copy(update={"postgres_url": stack.enter_context(postgres(started))})
        stores = stack.enter_context(Stores.open(settings))
        sites = {topic: stack.enter_context(small_site(topic)) for topic in SITES}
        extra = {
            "KB_ALLOW_PRIVATE": "127.0.0.0/8",
            "KB_REQUEST_GAP_SECONDS": "0",
            # Embedding is not the subject here.
            "KB_EMBEDDING_MODEL": str(small_model(folder / "model")),
        }
        web = stack.enter_context(dagster_processes(settings, extra, folder / "logs"))
        add_and_import(report, stores, settings, web, sites)
        backfill(report, web, sites)
        broken_deploy(report, stores, sites)
        killed_run(report, stores, web, sites["apples"])
        if options.pictures:
            take_pictures(web.url, options.pictures)
        removal(report, stores, settings, web)
        ticks(report, web)
    print(f"\n{'all held' if not report.failed else f'{report.failed} did not hold'}")
    return 1 if report.failed else 0


def _tag(run: dict[str, Any], key: str) -> str:
    return next((tag["value"] for tag in run["tags"] if tag["key"] == key), "")


def _state(stores: Stores, site_id: str) -> SiteState:
    return stores.sites.get(site_id).state


def _no_two_at_once(report: Report, web: Webserver, sites: dict[str, LoopbackSite]) -> None:
    spans: dict[str, list[tuple[float, float]]] = {site_id: [] for site_id in sites}
    for run in web.runs(statuses=["SUCCESS", "FAILURE"]):
        site_id = _tag(run, "dagster/partition")
        if site_id in spans and run["startTime"] and run["endTime"]:
            spans[site_id].append((run["startTime"], run["endTime"]))
    overlaps = 0
    for runs in spans.values():
        ordered = sorted(runs)
        overlaps += sum(later[0] < earlier[1] for earlier, later in pairwise(ordered))
    report.line(
        "no site ever had two runs at once", holds=overlaps == 0, detail=f"{sum(map(len, spans.values()))} runs"
    )


if __name__ == "__main__":
    sys.exit(main())
