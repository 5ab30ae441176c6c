"""robots.txt by origin, over real sockets: every status, redirects, and the copy of the last good file."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from kb_pipeline.errors import GuardRefused
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.robots_gate import Access, RobotsGate
from kb_pipeline.fetch.robots_tag import RobotsTag, parse_robots_tag
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import Endless, Reply, Reset, Stall, redirect, text
from kb_pipeline_tests.sites.server import LoopbackSite

RULES = "User-agent: *\nDisallow: /private\nCrawl-delay: 2\nSitemap: /map.xml\n"
SETTINGS = Settings(
    allow_private=("127.0.0.0/8",), connect_timeout_seconds=0.5, read_timeout_seconds=0.3, page_timeout_seconds=1
)


@dataclass(frozen=True)
class StoredFile:
    body: bytes
    fetched_at: datetime


class MemoryRobotsFiles:
    def __init__(self):
        self._files = {}

    def get(self, origin):
        return self._files.get(origin)

    def put(self, origin, _status, body, fetched_at):
        self._files[origin] = StoredFile(body, fetched_at)


def verdicts(site, *paths, files=None, now=None):
    async def run():
        async with HttpClient(SETTINGS) as client:
            options = {"now": now} if now else {}
            gate = RobotsGate(client, files or MemoryRobotsFiles(), token="KbBot", user_agent="KbBot/1.0", **options)
            return await asyncio.gather(*(gate.verdict(site.url(path)) for path in paths))

    return asyncio.run(run())


def test_a_file_that_was_read_allows_and_forbids():
    with LoopbackSite({"/robots.txt": text(RULES)}) as site:
        allowed, forbidden = verdicts(site, "/a", "/private/x")
        assert (allowed.access, allowed.crawl_delay, allowed.sitemaps) == (Access.ALLOWED, 2, (site.url("/map.xml"),))
        assert (forbidden.access, forbidden.reason) == (Access.FORBIDDEN, "robots.txt does not allow this page")
        assert site.count("/robots.txt") == 1
        assert site.requests[0].user_agent == "KbBot/1.0"


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_4xx_means_there_are_no_rules(status):
    with LoopbackSite({"/robots.txt": Reply(RULES, status=status)}) as site:
        assert verdicts(site, "/private/x")[0].access is Access.ALLOWED


@pytest.mark.parametrize(
    "answer", [Reply(status=500), Reply(status=503), Reset(), Stall(), redirect("http://10.0.0.1/")]
)
def test_without_an_answer_nothing_may_be_fetched(answer):
    with LoopbackSite({"/robots.txt": answer}) as site:
        verdict = verdicts(site, "/a")[0]
    assert verdict.access is Access.UNAVAILABLE
    assert "robots.txt" in verdict.reason


def test_not_modified_makes_the_copy_that_is_held_good_again_and_is_no_answer_without_one():
    files = MemoryRobotsFiles()
    with LoopbackSite({"/robots.txt": Reply(status=304)}) as site:
        assert verdicts(site, "/a", files=files)[0].access is Access.UNAVAILABLE
        files.put(site.origin, 200, RULES.encode(), datetime(2020, 1, 1, tzinfo=UTC))
        kept = verdicts(site, "/a", "/private", files=files)
        assert files.get(site.origin).fetched_at > datetime(2020, 1, 1, tzinfo=UTC)
    assert [verdict.access for verdict in kept] == [Access.ALLOWED, Access.FORBIDDEN]


def test_the_last_good_copy_serves_for_a_day_and_no_longer():
    files = MemoryRobotsFiles()
    with LoopbackSite({"/robots.txt": text(RULES)}) as site:
        verdicts(site, "/a", files=files)
        read_at = files.get(site.origin).fetched_at
        site.pages["/robots.txt"] = Reply(status=503)
        soon = verdicts(site, "/a", "/private", files=files, now=lambda: read_at + timedelta(hours=23))
        late = verdicts(site, "/a", "/private", files=files, now=lambda: read_at + timedelta(hours=25))
    assert [verdict.access for verdict in soon] == [Access.ALLOWED, Access.FORBIDDEN]
    assert [verdict.access for verdict in late] == [Access.UNAVAILABLE, Access.UNAVAILABLE]


@pytest.mark.parametrize(
    ("first", "soon", "late"),
    [(text(RULES), timedelta(hours=23), timedelta(hours=25)), (Reply(status=503), timedelta(), timedelta(minutes=2))],
    ids=["a file", "no answer"],
)
def test_an_origin_is_asked_again_when_what_is_known_of_it_is_stale(first, soon, late):
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]

    async def run(site):
        async with HttpClient(SETTINGS) as client:
            gate = RobotsGate(
                client, MemoryRobotsFiles(), token="KbBot", user_agent="KbBot/1.0", now=lambda: sum(clock[1:], clock[0])
            )
            before = await gate.verdict(site.url("/a"))
            site.pages["/robots.txt"] = text("User-agent: *\nDisallow: /")
            clock.append(soon)
            assert (await gate.verdict(site.url("/a"))).access is before.access
            clock.append(late - soon)
            return await gate.verdict(site.url("/a"))

    with LoopbackSite({"/robots.txt": first}) as site:
        assert asyncio.run(run(site)).access is Access.FORBIDDEN
        assert site.count("/robots.txt") == 2


def test_five_redirects_are_followed_and_the_sixth_counts_as_no_file():
    hops = {f"/{number}": redirect(f"/{number + 1}") for number in range(1, 5)}
    with LoopbackSite({"/robots.txt": redirect("/1"), **hops, "/5": text(RULES)}) as site:
        assert verdicts(site, "/private")[0].access is Access.FORBIDDEN
        site.pages |= {"/5": redirect("/6"), "/6": text(RULES)}
        assert verdicts(site, "/private")[0].access is Access.ALLOWED


def test_rules_on_another_host_hold_for_the_origin_that_redirected_there():
    other = LoopbackSite({"/robots.txt": text(RULES)}, address="127.0.0.2")
    with other, LoopbackSite({"/robots.txt": redirect(other.url("/robots.txt"))}) as site:
        assert verdicts(site, "/private")[0].access is Access.FORBIDDEN


def test_a_file_without_end_is_read_for_its_first_half_mebibyte():
    filler = RULES + "# filler\n" * 200_000 + "User-agent: *\nDisallow: /\n"
    with LoopbackSite({"/robots.txt": text(filler)}) as site:
        assert [verdict.access for verdict in verdicts(site, "/a", "/private")] == [Access.ALLOWED, Access.FORBIDDEN]
        site.pages["/robots.txt"] = Endless(chunked=True)
        assert verdicts(site, "/a")[0].access is Access.ALLOWED


def test_each_origin_has_its_own_rules():
    with LoopbackSite({"/robots.txt": text(RULES)}) as one, LoopbackSite({"/robots.txt": text("")}) as two:

        async def run():
            async with HttpClient(SETTINGS) as client:
                gate = RobotsGate(client, MemoryRobotsFiles(), token="KbBot", user_agent="KbBot/1.0")
                return [await gate.verdict(site.url("/private")) for site in (one, two)]

        assert [verdict.access for verdict in asyncio.run(run())] == [Access.FORBIDDEN, Access.ALLOWED]


def test_an_address_that_may_not_be_dialled_has_no_verdict():
    with LoopbackSite() as site:
        site.address = site._name = "10.0.0.1"
        with pytest.raises(GuardRefused):
            verdicts(site, "/")


@pytest.mark.parametrize(
    ("lines", "tag"),
    [
        ([], RobotsTag()),
        (["noindex"], RobotsTag(noindex=True)),
        (["NOINDEX, NoFollow"], RobotsTag(noindex=True, nofollow=True)),
        (["none"], RobotsTag(noindex=True, nofollow=True)),
        (["all"], RobotsTag()),
        (["otherbot: noindex, nofollow"], RobotsTag()),
        (["kbbot: noindex"], RobotsTag(noindex=True)),
        (["otherbot: noindex, kbbot: nofollow"], RobotsTag(nofollow=True)),
        (["otherbot: noindex", "nofollow"], RobotsTag(nofollow=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], RobotsTag(noindex=True)),
        (["max-snippet: 20, nofollow"], RobotsTag(nofollow=True)),
        (["noindexing"], RobotsTag()),
    ],
)
def test_the_robots_tag_is_read_for_all_and_for_us(lines, tag):
    assert parse_robots_tag(lines, "KbBot") == tag


@pytest.mark.parametrize(("rules", "at_once"), [(100, True), (2_000, False)])
def test_rules_that_may_take_long_to_check_hold_up_nothing_else(rules, at_once):
    lines = "".join(f"Disallow: /*a*b{number}\n" for number in range(rules))

    async def run(site):
        async with HttpClient(SETTINGS) as client:
            gate = RobotsGate(client, MemoryRobotsFiles(), token="KbBot", user_agent="KbBot/1.0")
            await gate.verdict(site.url("/"))
            checks = [asyncio.ensure_future(gate.verdict(site.url(path))) for path in ("/a/b7", "/ab")]
            await asyncio.sleep(0)
            assert [check.done() for check in checks] == [at_once] * 2
            return await asyncio.gather(*checks)

    with LoopbackSite({"/robots.txt": text(f"User-agent: *\n{lines}")}) as site:
        assert [verdict.access for verdict in asyncio.run(run(site))] == [Access.FORBIDDEN, Access.ALLOWED]
