"""One run over the fetch frontier: a coordinator that keeps workers busy with due pages and commits what they bring.

Memory is bounded by the window of due pages and by the bytes that wait for a commit; a killed run loses what was
not committed, a few seconds of work.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.errors import StoreError
from kb_pipeline.fetch.asking import fault
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.futility import Futility
from kb_pipeline.fetch.hops import Hops
from kb_pipeline.fetch.tiers import Workshop
from kb_pipeline.model import Outcome
from kb_pipeline.stages.asking import Rules
from kb_pipeline.stages.budget import SharedBudget
from kb_pipeline.stages.site_session import open_gate, shared_politeness
from kb_pipeline.stages.visit import Visit, ask, conclude
from kb_pipeline.store.frontier import DuePage, Ending

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.core.site_config import SiteConfig
    from kb_pipeline.fetch.robots_gate import RobotsGate
    from kb_pipeline.fetch.tiers import TiersFor
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.commit import Committer
    from kb_pipeline.stages.fetch_report import FetchReport
    from kb_pipeline.stages.report import Progress
    from kb_pipeline.store.frontier import Frontier
    from kb_pipeline.store.not_found_probes import NotFoundProbe
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

COMMIT_PAGES: Final = 64
COMMIT_BYTES: Final = 16 * 2**20
COMMIT_SECONDS: Final = 5.0
WINDOW_A_WORKER: Final = 8
"""Due pages read ahead for each worker; a retry whose time has come waits for no more than these."""
POLL_SECONDS: Final = 0.2
COUNT_SECONDS: Final = 10.0
THREADS: Final = 16
"""For look-ups of names, extraction and the store: a name server that hangs must not stop commits."""


class Crawl:
    """One run over the frontier. The coordinator is the only one that touches its state; tasks only visit."""

    def __init__(
        self,
        stores: Stores,
        settings: Settings,
        site: Site,
        frontier: Frontier,
        committer: Committer,
        report: FetchReport,
        *,
        progress: Progress,
        keep_going: Callable[[], bool],
        tiers_for: TiersFor,
    ) -> None:
        self._stores = stores
        self._settings = settings
        self._site = site
        self._frontier = frontier
        self._committer = committer
        self._report = report
        self._progress = progress
        self._keep_going = keep_going
        self._tiers_for = tiers_for
        self._ready: deque[DuePage] = deque()
        self._tasks: dict[asyncio.Task[Visit], str] = {}
        self._done: list[Visit] = []
        self._finished = 0
        self._total = 0
        self._count_at = 0.0
        self._committed_at = time.monotonic()
        self._look_at = 0.0

    async def run(self) -> None:
        """Visit due pages until there are none, the time is up, or somebody says stop."""
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS))
        async with AsyncExitStack() as stack:
            self._chain, self._gate, sites = await self._open(stack)
            self._rules = Rules(
                self._site,
                self._settings,
                harvest_links=self._committer.joins_links(),
                tiers=self._chain.names,
                site_config=sites,
                probe=self._probe(),
            )
            await self._tell()
            try:
                await self._work(_deadline(self._site))
            finally:
                await self._cancel()

    def _probe(self) -> NotFoundProbe | None:
        probe = self._stores.not_found_probes.get(self._site.site_id)
        return probe if probe and probe.look else None

    async def _open(self, stack: AsyncExitStack) -> tuple[Chain, RobotsGate, SiteConfig]:
        politeness = shared_politeness(self._stores, self._settings, self._site)
        client = await stack.enter_async_context(HttpClient(self._settings, turns=politeness))
        gate = open_gate(client, self._stores, self._settings, politeness)
        hops = Hops(gate, self._site.url, subdomains=self._site.options.subdomains)
        workshop = Workshop(
            client,
            self._settings,
            stack,
            SharedBudget(self._stores),
            on_redirect=hops,
            turns=politeness,
        )
        sites = client.site_config
        chain = Chain(self._tiers_for(workshop), on_redirect=hops, policy_for=sites.policy_for, futility=Futility())
        return chain, gate, sites

    async def _work(self, deadline: float) -> None:
        while True:
            if not await asyncio.to_thread(self._keep_going):  # it asks the registry
                self._report.stopped_early = True
                break
            if time.monotonic() >= deadline:
                await self._cancel()
                await self._commit()
                await asyncio.to_thread(self._defer_rest)
                return
            await self._top_up()
            if self._tasks:
                await self._collect()
            elif not await self._wait_for_more():
                return
            if self._commit_is_due():
                await self._commit()
        await self._cancel()
        await self._commit()

    async def _top_up(self) -> None:
        workers = self._settings.host_connections
        if len(self._ready) < workers and time.monotonic() >= self._look_at:
            most = workers * WINDOW_A_WORKER
            found = await asyncio.to_thread(self._frontier.due, self._stores.now(), in_hand=self._in_hand(), most=most)
            self._ready.extend(found)
            self._look_at = 0.0 if len(found) == most else time.monotonic() + POLL_SECONDS
        while self._ready and len(self._tasks) < workers:
            due = self._ready.popleft()
            self._tasks[asyncio.create_task(self._visit(due))] = due.page_id

    def _in_hand(self) -> list[str]:
        return [
            *self._tasks.values(),
            *(page.page_id for page in self._ready),
            *(visit.due.page_id for visit in self._done),
        ]

    async def _collect(self) -> None:
        finished, _ = await asyncio.wait(self._tasks, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in finished:
            del self._tasks[task]
            self._done.append(task.result())

    async def _wait_for_more(self) -> bool:
        """With nothing in hand: commit, and wait a little for the next retry. False when no page is due any more."""
        await self._commit()
        left = await asyncio.to_thread(self._frontier.left, self._stores.now())
        if left.pages == 0:
            return False
        until = (left.next_retry_at - self._stores.now()).total_seconds() if left.next_retry_at else 0.0
        await asyncio.sleep(min(max(until, 0.0), POLL_SECONDS))
        self._look_at = 0.0
        return True

    async def _visit(self, due: DuePage) -> Visit:
        try:
            result = await ask(due, self._chain, self._gate, self._rules)
            if self._rules.harvest_links:
                return await asyncio.to_thread(conclude, due, result, self._rules, self._stores.now())
            return conclude(due, result, self._rules, self._stores.now())
        except StoreError:
            raise
        except Exception as error:  # the per-page boundary: a bug on one page ends that page alone
            log.exception("crawl.page_fault", site=self._site.site_id, url=due.url)
            return conclude(due, fault(error), self._rules, self._stores.now())

    def _commit_is_due(self) -> bool:
        return bool(self._done) and (
            len(self._done) >= COMMIT_PAGES
            or sum(visit.weight for visit in self._done) >= COMMIT_BYTES
            or time.monotonic() - self._committed_at >= COMMIT_SECONDS
        )

    async def _commit(self) -> None:
        visits, self._committed_at = self._done, time.monotonic()
        if not visits:
            return
        committed = await asyncio.to_thread(self._committer.commit, visits)
        self._done = []
        self._look_at = 0.0
        for visit in committed:
            self._report.note(visit)
            self._finished += isinstance(visit.end, Ending)
            _warn_if_unreachable(self._site.site_id, visit)
        await self._tell()

    async def _tell(self) -> None:
        """Report progress. What is left is counted now and then only: it takes longer the larger the site is."""
        if time.monotonic() >= self._count_at:
            left = await asyncio.to_thread(self._frontier.left, self._stores.now())
            self._total, self._count_at = self._finished + left.pages, time.monotonic() + COUNT_SECONDS
        self._progress("fetching pages", self._finished, max(self._total, self._finished))

    def _defer_rest(self) -> None:
        minutes = self._site.options.time_limit_minutes or 0
        retry_at = self._stores.now() + timedelta(minutes=self._settings.retry_after_refresh_minutes)
        deferred = self._frontier.defer_rest(f"The time limit of {minutes:g} minutes ended the refresh first", retry_at)
        log.info("crawl.time_limit", site=self._site.site_id, minutes=minutes, deferred=deferred)

    async def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._ready.clear()


def _deadline(site: Site) -> float:
    minutes = site.options.time_limit_minutes
    return float("inf") if minutes is None else time.monotonic() + 60 * minutes


def _warn_if_unreachable(site_id: str, visit: Visit) -> None:
    if isinstance(visit.end, Ending) and visit.end.outcome is Outcome.UNREACHABLE:
        log.warning(
            "crawl.page_unreachable",
            site=site_id,
            url=visit.due.url,
            reason=visit.end.attempt.reason,
            error=visit.end.attempt.error,
        )
