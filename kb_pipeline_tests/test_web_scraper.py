"""The scraping contract: what other programs import."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from kb_pipeline import web_scraper
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.budget import BROWSER_CALLS
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.robots_gate import Access
from kb_pipeline.settings import PROJECT_ROOT, Settings
from kb_pipeline.web_scraper import (
    ConfigError,
    InvalidAddress,
    Outcome,
    ScrapedContent,
    WebScraperService,
    get_web_scraper_service,
)
from kb_pipeline.web_scraper.hosts import KEPT_SECONDS, Hosts, RecentRobots
from kb_pipeline_tests.fetch.scripted import Scripted, answered
from kb_pipeline_tests.sites.replies import Reply, Reset, Stall, page, prose, redirect, text
from kb_pipeline_tests.sites.server import LoopbackSite

AUTHOR = '<meta name="author" content="Ada Lovelace">'
NOINDEX = '<meta name="robots" content="noindex">'


def settings_of(**fields):
    plain = {"allow_private": ("127.0.0.1",), "request_gap_seconds": 0, "tiers": ("plain_http",)}
    return Settings(**(plain | fields))


@pytest.fixture
def site():
    with LoopbackSite(
        {"/a": page("About a", prose("a"), links=["/b", "https://elsewhere.example/x"], head_extra=AUTHOR)}
    ) as web:
        yield web


@pytest.fixture
def service():
    with WebScraperService(settings_of()) as opened:
        yield opened


def asked(site):
    return [request.path for request in site.requests]


# What it gives -------------------------------------------------------------------------------------------------------


def test_a_page_is_given_as_text_with_all_that_is_known_of_it(site, service):
    before = datetime.now(UTC)
    got = service.scrape_url(site.url("/a"))
    assert got.ok
    assert (got.title, got.language, got.status, got.tier) == ("About a", "en", 200, "plain_http")
    assert got.author == got.to_dict()["author"] == "Ada Lovelace"
    assert got.markdown.startswith("# About a\n")
    assert got.characters >= 200
    assert (got.url, got.final_url) == (site.url("/a"), site.url("/a"))
    assert (got.outcome, got.answer, got.reason, got.errors) == (Outcome.FRESH, Answer.DOCUMENT, "", "")
    assert "<h1>About a</h1>" in got.html
    assert got.links == (site.url("/b"), "https://elsewhere.example/x")
    assert before <= got.fetched_at <= datetime.now(UTC)
    [attempt] = got.attempts
    assert (attempt.tier, attempt.won, attempt.requests) == ("plain_http", True, 1)
    assert attempt.wire_bytes == len(got.body)


def test_a_page_may_be_kept_as_json(site, service):
    kept = json.loads(json.dumps(service.scrape_url(site.url("/a")).to_dict()))
    assert (kept["ok"], kept["outcome"], kept["answer"]) == (True, "fresh", "document")
    assert kept["attempts"][0]["tier"] == "plain_http"
    assert datetime.fromisoformat(kept["fetched_at"]).tzinfo is not None


def test_the_repr_of_a_page_is_short(site, service):
    assert len(repr(service.scrape_url(site.url("/a")))) < 1_000


def test_plain_text_has_no_html(site, service):
    site.pages["/t.txt"] = text("A title\n\n" + prose("text"))
    got = service.scrape_url(site.url("/t.txt"))
    assert (got.ok, got.html, got.links) == (True, None, ())


FAILURES = [
    (Reply("gone", status=404), Outcome.GONE, Answer.NOT_FOUND, "We couldn't find this page (404)", False),
    (Reply("no", status=403), Outcome.UNREACHABLE, Answer.REFUSED, "refused", False),
    (Reply("oops", status=500), Outcome.UNREACHABLE, Answer.SERVER_ERROR, "problem of its own", True),
    (Reply("", status=200), Outcome.UNREACHABLE, Answer.EMPTY, "came back empty", True),
    (Reset(), Outcome.UNREACHABLE, Answer.BROKEN, "broke", True),
    (page("Thin", "Too little."), Outcome.THIN, Answer.THIN, "too little text", False),
    (page("Private", prose("x"), head_extra=NOINDEX), Outcome.FORBIDDEN, Answer.NOINDEX, "noindex", False),
    (Reply(b"\x00" * 99, content_type="video/mp4"), Outcome.THIN, Answer.NOT_A_DOCUMENT, "not a page", False),
]


@pytest.mark.parametrize(
    ("behaviour", "outcome", "answer", "reason", "transient"), FAILURES, ids=[case[2] for case in FAILURES]
)
def test_what_a_site_fails_to_do_is_a_result(site, service, behaviour, outcome, answer, reason, transient):
    site.pages["/x"] = behaviour
    got = service.scrape_url(site.url("/x"))
    assert (got.ok, got.outcome, got.answer, got.transient) == (False, outcome, answer, transient)
    assert reason in got.reason
    assert got.errors.startswith("plain_http: ")


def test_a_text_that_is_too_short_is_given_all_the_same(site, service):
    site.pages["/x"] = page("Thin", "Too little.")
    assert "Too little." in service.scrape_url(site.url("/x")).markdown


def test_a_private_address_is_a_result_and_is_not_opened(site):
    with WebScraperService(settings_of(allow_private=())) as service:
        got = service.scrape_url(site.url("/a"))
    assert (got.answer, got.status, site.requests) == (Answer.NOT_PUBLIC, None, [])


def test_a_fault_of_a_tier_is_the_result_of_its_page_alone(site):
    class Faulty(Scripted):
        async def fetch(self, request):
            if request.url.endswith("/a"):
                message = "a bug"
                raise ZeroDivisionError(message)
            return await super().fetch(request)

    with WebScraperService(settings_of(), tiers_for=lambda _: (Faulty("own", Answer.DOCUMENT),)) as service:
        got = service.scrape_url(site.url("/a"))
        assert (got.answer, got.errors) == (Answer.FAULT, "program: ZeroDivisionError: a bug")
        assert service.scrape_url(site.url("/b")).ok


def test_each_tier_says_why_it_lost(site):
    tiers = (Scripted("first", Answer.THIN), Scripted("second", answered(Answer.BROKEN, "second", calls=1)))
    with WebScraperService(settings_of(), tiers_for=lambda _: tiers) as service:
        got = service.scrape_url(site.url("/a"))
    assert got.errors.splitlines() == ["first: first says so", "second: second says so"]
    assert [(attempt.tier, attempt.calls) for attempt in got.attempts] == [("first", 0), ("second", 1)]


def test_pages_that_ask_not_to_be_indexed_can_be_read_by_what_is_no_index(site):
    site.pages["/x"] = page("Private", prose("x"), head_extra=NOINDEX)
    with WebScraperService(settings_of(), ignore_noindex=True) as service:
        assert service.scrape_url(site.url("/x")).ok


# What it raises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["", "a", "/a", "example.org/a", "mailto:a@example.org", "file:///etc/passwd", "http://"]
)
def test_what_is_no_address_of_a_page_raises(service, url):
    with pytest.raises(InvalidAddress):
        service.scrape_url(url)
    with pytest.raises(InvalidAddress):
        asyncio.run(service.scrape_url_async(url))


def test_wrong_settings_raise_as_soon_as_they_are_read(monkeypatch):
    monkeypatch.setenv("KB_REQUEST_GAP_SECONDS", "soon")
    with pytest.raises(ConfigError, match="KB_REQUEST_GAP_SECONDS"):
        get_web_scraper_service()


def test_tiers_that_cannot_be_made_raise_in_the_first_call_and_in_the_next(site):
    def broken(_workshop):
        message = "no such tier"
        raise ConfigError(message)

    with WebScraperService(settings_of(), tiers_for=broken) as service:
        for _ in range(2):
            with pytest.raises(ConfigError, match="no such tier"):
                service.scrape_url(site.url("/a"))


def test_a_service_that_is_closed_says_so(site):
    service = WebScraperService(settings_of())
    assert service.scrape_url(site.url("/a")).ok
    service.close()
    service.close()
    with pytest.raises(RuntimeError, match="closed"):
        service.scrape_url(site.url("/a"))
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(service.scrape_url_async(site.url("/a")))


def test_those_who_wait_when_it_is_closed_are_told(site):
    site.pages["/slow"] = Stall()
    service = WebScraperService(settings_of())

    async def wait():
        return await asyncio.gather(service.scrape_url_async(site.url("/slow?2")), return_exceptions=True)

    with ThreadPoolExecutor(2) as threads:
        blocked, awaited = threads.submit(service.scrape_url, site.url("/slow?1")), threads.submit(asyncio.run, wait())
        until(lambda: asked(site).count("/slow") == 2)
        service.close()
        with pytest.raises(RuntimeError, match="closed"):
            blocked.result()
        [told] = awaited.result()
        assert isinstance(told, RuntimeError)


def test_a_resource_keeps_its_own_tasks_until_it_is_closed(site):
    """A browser is closed through the connection that a task of its own reads."""
    ended = []

    class Connected(Scripted):
        async def fetch(self, request):
            result = await super().fetch(request)
            await asyncio.Event().wait()
            return result

    async def answer(question):
        (await question.get()).set_result("closed")

    def tiers_for(workshop):
        question = asyncio.Queue()
        reader = asyncio.create_task(answer(question))

        async def close():
            said = asyncio.get_running_loop().create_future()
            await question.put(said)
            ended.append(await said)
            await reader

        workshop.stack.push_async_callback(close)
        return (Connected("own", Answer.DOCUMENT),)

    service = WebScraperService(settings_of(), tiers_for=tiers_for)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(service.scrape_url, site.url("/a"))
        until(lambda: "/robots.txt" in asked(site))
        service.close()
        assert isinstance(waiting.exception(), RuntimeError)
    assert ended == ["closed"]


def test_the_time_that_a_caller_gives_ends_as_a_result(site, service):
    site.pages["/slow"] = Stall()
    got = service.scrape_url(site.url("/slow"), timeout=0.2)
    assert (got.answer, got.transient, got.final_url) == (Answer.TIMED_OUT, True, site.url("/slow"))
    assert "0.2 s" in got.reason


# How it behaves ------------------------------------------------------------------------------------------------------


def test_robots_txt_is_obeyed(site, service):
    site.pages["/robots.txt"] = text("User-agent: *\nDisallow: /a")
    got = service.scrape_url(site.url("/a"))
    assert (got.outcome, got.answer, got.tier) == (Outcome.FORBIDDEN, Answer.ROBOTS_FORBIDS, "robots.txt")
    assert asked(site) == ["/robots.txt"]


def test_a_robots_txt_that_cannot_be_read_lets_nothing_be_fetched(site, service):
    site.pages["/robots.txt"] = Reply("", status=503)
    got = service.scrape_url(site.url("/a"))
    assert (got.answer, got.transient, asked(site)) == (Answer.ROBOTS_UNAVAILABLE, True, ["/robots.txt"])


def test_a_redirect_to_another_site_is_followed_where_its_robots_txt_allows(site, service):
    with LoopbackSite(
        {"/there": page("There", prose("there")), "/robots.txt": text("User-agent: *\nDisallow: /no")}
    ) as there:
        site.pages |= {"/yes": redirect(there.url("/there")), "/no": redirect(there.url("/no"))}
        got = service.scrape_url(site.url("/yes"))
        assert (got.ok, got.url, got.final_url) == (True, site.url("/yes"), there.url("/there"))
        refused = service.scrape_url(site.url("/no"))
        assert (refused.answer, refused.outcome) == (Answer.HOP_FORBIDDEN, Outcome.UNREACHABLE)
        assert "robots.txt does not allow" in refused.reason
        assert asked(there) == ["/robots.txt", "/there"]


def test_requests_to_one_host_keep_their_distance(site):
    with WebScraperService(settings_of(request_gap_seconds=0.5)) as service, ThreadPoolExecutor(3) as threads:
        list(threads.map(service.scrape_url, [site.url(f"/a?{n}") for n in range(3)]))
    at = sorted(request.at for request in site.requests if request.path == "/a")
    assert at[2] - at[0] > 0.5  # 1 s, but for how long each took to start


def test_a_page_that_was_read_is_given_again_and_one_that_failed_is_asked_again(site, service):
    first, again = (service.scrape_url(site.url("/a")) for _ in range(2))
    assert (first.from_cache, again.from_cache) == (False, True)
    assert again.markdown == first.markdown
    assert abs(again.fetched_at - first.fetched_at) < timedelta(seconds=0.5)
    assert not service.scrape_url(site.url("/b")).ok
    site.pages["/b"] = page("About b", prose("b"))
    assert service.scrape_url(site.url("/b")).ok
    assert asked(site) == ["/robots.txt", "/a", "/b", "/b"]


def test_what_the_operator_says_of_a_site_reaches_the_tiers(site):
    tier = Scripted("own", Answer.DOCUMENT)
    config = json.dumps({"127.0.0.1": {"locale": "de-DE"}})
    with WebScraperService(settings_of(site_config=config), tiers_for=lambda _: (tier,)) as service:
        service.scrape_url(site.url("/a"))
    assert tier.asked[0].policy.locale == "de-DE"


def test_the_daily_limits_are_counted_by_the_process(site):
    class Paid(Scripted):
        def __init__(self, workshop):
            super().__init__("paid", Answer.DOCUMENT)
            self.budget = workshop.budget

        async def fetch(self, request):
            if not await self.budget.take(BROWSER_CALLS, 1):
                return TierResult("paid", Answer.STEPPED_ASIDE, "1 call a day")
            return await super().fetch(request)

    with WebScraperService(settings_of(), tiers_for=lambda workshop: (Paid(workshop),)) as service:
        assert service.scrape_url(site.url("/a")).ok
        got = service.scrape_url(site.url("/b"))
    assert (got.outcome, got.transient) == (Outcome.DEFERRED, True)


def test_many_threads_may_call_at_once(site, service):
    site.pages |= {f"/{n}": page(f"Page {n}", prose(str(n)), delay=0.02) for n in range(10)}
    with ThreadPoolExecutor(40) as threads:
        got = list(threads.map(service.scrape_url, [site.url(f"/{n % 10}") for n in range(40)]))
    assert [page.title for page in got] == [f"Page {n % 10}" for n in range(40)]
    assert sorted(asked(site)) == sorted(["/robots.txt", *(f"/{n}" for n in range(10))])


def test_threads_and_several_event_loops_share_one_service(site, service):
    async def two():
        return await asyncio.gather(*(service.scrape_url_async(site.url(f"/a?{n}")) for n in range(2)))

    with ThreadPoolExecutor(3) as threads:
        loops = [threads.submit(asyncio.run, two()) for _ in range(2)]
        assert threads.submit(service.scrape_url, site.url("/a")).result().ok
        assert all(got.ok for loop in loops for got in loop.result())
    assert sum(thread.name == "web-scraper" for thread in threading.enumerate()) == 1


def test_the_blocking_call_works_where_an_event_loop_runs(site, service):
    async def call():
        return service.scrape_url(site.url("/a"))

    assert asyncio.run(call()).ok


def test_cancelling_a_coroutine_stops_its_request(site, service):
    site.pages["/slow"] = Stall()

    async def give_up():
        task = asyncio.create_task(service.scrape_url_async(site.url("/slow")))
        await asyncio.to_thread(until, lambda: "/slow" in asked(site))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    site.pages["/slow"] = page("Now", prose("now"))
    assert service.scrape_url(site.url("/slow")).ok


def test_it_is_closed_with_its_block(site):
    async def within():
        async with WebScraperService(settings_of()) as service:
            assert (await service.scrape_url_async(site.url("/a"))).ok
        return service

    assert asyncio.run(within()).closed
    with WebScraperService(settings_of()) as service:
        pass
    assert service.closed


def test_a_service_that_nobody_holds_any_more_ends_by_itself(site):
    def threads():
        return [thread for thread in threading.enumerate() if thread.name == "web-scraper"]

    before = len(threads())
    assert WebScraperService(settings_of()).scrape_url(site.url("/a")).ok
    gc.collect()
    until(lambda: len(threads()) == before)


def test_a_process_has_one_service_until_it_is_closed():
    first = get_web_scraper_service()
    assert get_web_scraper_service() is first
    first.close()
    second = get_web_scraper_service()
    assert second is not first
    second.close()


# In a process of its own ---------------------------------------------------------------------------------------------


def run_script(script, *arguments, **environment):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), *arguments],
        env=os.environ
        | {"KB_ALLOW_PRIVATE": "127.0.0.1", "KB_REQUEST_GAP_SECONDS": "0", "KB_TIERS": "plain_http"}
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_it_needs_no_database_no_dagster_and_no_model(site):
    script = """
        import sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in {"psycopg", "lancedb", "lance", "pyarrow", "dagster", "torch"}:
                    raise ImportError(f"{name} must not be imported")

        sys.meta_path.insert(0, Blocked())
        import kb_pipeline.web_scraper
        page = kb_pipeline.web_scraper.get_web_scraper_service().scrape_url(sys.argv[1])
        print(page.title, page.links)
    """
    ended = run_script(script, site.url("/a"))
    assert ended.stdout.startswith("About a (")
    assert ended.stderr == ""


def test_importing_it_loads_no_client_and_no_parser():
    script = """
        import sys
        import kb_pipeline.web_scraper
        print(sorted({"httpx", "lxml", "pydantic", "structlog", "ada_url"} & set(sys.modules)))
    """
    assert run_script(script).stdout == "[]\n"


def test_nothing_is_written_to_the_output_of_the_program_that_calls(site):
    site.pages["/robots.txt"] = Reply("", status=500)
    script = """
        import logging, sys
        from kb_pipeline.web_scraper import get_web_scraper_service
        logging.basicConfig(level="INFO", format="%(name)s %(message)s")
        get_web_scraper_service().scrape_url(sys.argv[1])
    """
    ended = run_script(script, site.url("/a"))
    assert ended.stdout == ""
    assert "kb_pipeline.fetch.robots_gate event='crawl.robots_unavailable'" in ended.stderr


def test_a_child_of_fork_scrapes_with_a_service_of_its_own(site):
    script = """
        import os, sys
        from kb_pipeline.web_scraper import get_web_scraper_service
        service = get_web_scraper_service()
        print(service.scrape_url(sys.argv[1]).title, flush=True)
        child = os.fork()
        if child == 0:
            print("child", service.scrape_url(sys.argv[1] + "?2").title, flush=True)
            sys.exit(0)
        print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), service.scrape_url(sys.argv[1]).from_cache)
    """
    assert run_script(script, site.url("/a")).stdout.splitlines() == ["About a", "child About a", "ended 0 True"]


def test_what_is_open_when_the_process_ends_is_closed_although_there_are_no_threads_left_then(site):
    script = """
        import asyncio, sys
        from kb_pipeline.fetch.tiers.plain_http import PlainHttp
        from kb_pipeline.web_scraper import WebScraperService

        def tiers_for(workshop):
            workshop.stack.push_async_callback(asyncio.to_thread, print, "closed", flush=True)
            return (PlainHttp(workshop.client, workshop.settings),)

        service = WebScraperService(tiers_for=tiers_for)
        print(service.scrape_url(sys.argv[1]).title, flush=True)
    """
    ended = run_script(script, site.url("/a"))
    assert (ended.stdout, ended.stderr) == ("About a\nclosed\n", "")


def test_the_examples_of_its_page_run(site):
    text = (PROJECT_ROOT / "docs" / "web_scraper.md").read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    site.pages |= {"/": page("Home", prose("home")), "/backup": page("Backup", prose("backup"))}
    said = run_script(examples.replace("https://docs.example.org", site.url(""))).stdout
    assert said.startswith("Backup\n# Backup\n")
    assert said.endswith("['Home', 'Backup']\n")


def test_its_page_names_every_field():
    text = (PROJECT_ROOT / "docs" / "web_scraper.md").read_text(encoding="utf-8")
    names = [*ScrapedContent.__dataclass_fields__, "ok", "html", "links", "errors"]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_contract_is_what_the_module_exports():
    assert set(web_scraper.__all__) == {
        "Answer",
        "ConfigError",
        "InvalidAddress",
        "Outcome",
        "ScrapeAttempt",
        "ScrapedContent",
        "WebScraperService",
        "get_web_scraper_service",
    }


# What is held of hosts -----------------------------------------------------------------------------------------------


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_hosts_that_were_not_asked_for_long_are_forgotten():
    clock = Clock()
    hosts = Hosts(settings_of(), most=3, clock=clock)
    hosts.ask_with(object())

    async def ask(*names):
        for name in names:
            async with hosts.turn(f"https://{name}.example/"):
                pass

    asyncio.run(ask("a", "b", "c", "d"))
    assert len(hosts) == 4, "nothing that was just asked is forgotten"
    clock.seconds = KEPT_SECONDS
    asyncio.run(ask("a", "e"))
    assert len(hosts) == 3


def test_the_rules_of_robots_files_that_are_held_are_bounded_by_the_bytes_of_the_files():
    async def ask(sites):
        hosts = Hosts(settings_of(), most_parsed_bytes=10_000)
        async with HttpClient(Settings(allow_private=("127.0.0.0/8",))) as client:
            hosts.ask_with(client)
            for site in sites:
                await hosts.verdict(site.url("/"))
                assert hosts.parsed_bytes <= 10_000
            verdicts = [await hosts.verdict(site.url("/private")) for site in (sites[-1], sites[0])]
        return len(hosts), hosts.parsed_bytes, {verdict.access for verdict in verdicts}

    rules = text("User-agent: *\nDisallow: /private\n" + "#" * 4_000)
    with contextlib.ExitStack() as stack:
        sites = [
            stack.enter_context(LoopbackSite({"/robots.txt": rules}, address=f"127.0.0.{number}"))
            for number in (1, 2, 3)
        ]
        assert asyncio.run(ask(sites)) == (3, 2 * len(rules.body), {Access.FORBIDDEN})
        assert [site.count("/robots.txt") for site in sites] == [2, 1, 1]


def test_the_robots_files_that_are_kept_are_bounded():
    files, now = RecentRobots(most_bytes=10_000), datetime.now(UTC)
    for number in range(9):
        files.put(f"https://{number}.example:443", 200, b"#" * 4_000, now)
    assert [number for number in range(9) if files.get(f"https://{number}.example:443")] == [7, 8]
    files.put("https://8.example:443", 200, b"", now)
    assert files.get("https://8.example:443").body == b""


def until(true):
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
