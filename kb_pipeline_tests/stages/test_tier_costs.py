"""What tiers cost is added up, and each page that was read in part is counted."""

from __future__ import annotations

from dataclasses import replace

from kb_pipeline.fetch.answers import Answer, PageResult, TierResult
from kb_pipeline.fetch.asking import without_tiers
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.tier_costs import TierCosts
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.schemas import TEXTS
from kb_pipeline_tests.sites.replies import Reply, page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite


def attempt(tier, answer, **costs):
    return TierResult(tier, answer, **costs)


def result(*attempts):
    return PageResult(attempts[-1], attempts)


def test_each_tier_is_added_up_over_pages():
    costs = TierCosts()
    costs.add(result(attempt("plain", Answer.DOCUMENT, requests=1, seconds=0.5, wire_bytes=1_000)))
    costs.add(
        result(
            attempt("plain", Answer.JS_SHELL, requests=2, seconds=0.25),
            attempt("markdown", Answer.STEPPED_ASIDE),
            attempt("content", Answer.DOCUMENT, requests=9, seconds=3.0, calls=1),
        )
    )
    costs.add(result(attempt("plain", Answer.UNREADABLE, requests=1), attempt("content", Answer.PASSED_OVER)))
    costs.add(result(attempt("plain", Answer.NOT_MODIFIED, requests=1)))
    assert costs.counts() == {
        "asked_of_plain": 4,
        "won_by_plain": 2,
        "requests_of_plain": 5,
        "calls_of_plain": 0,
        "seconds_of_plain": 0.75,
        "asked_of_markdown": 0,
        "won_by_markdown": 0,
        "requests_of_markdown": 0,
        "calls_of_markdown": 0,
        "seconds_of_markdown": 0.0,
        "asked_of_content": 1,
        "won_by_content": 1,
        "requests_of_content": 9,
        "calls_of_content": 1,
        "seconds_of_content": 3.0,
    }
    table = costs.table()
    assert (*table.header[:3], table.header[-1]) == ("tier", "pages asked", "pages won", "why it lost")
    assert [(*row[:3], row[-1]) for row in table.rows] == [
        ("plain", "4", "2", "JavaScript only 1, unreadable 1"),
        ("markdown", "0", "0", "daily limit reached 1"),
        ("content", "1", "1", "not for this tier 1"),
    ]


def test_the_most_frequent_reasons_to_lose_are_listed():
    costs = TierCosts()
    answers = [Answer.THIN, Answer.REFUSED, Answer.EMPTY, Answer.BROKEN, Answer.CHALLENGE, Answer.PAYWALL, Answer.THIN]
    for answer in answers:
        costs.add(result(attempt("plain", answer)))
    assert costs.table().rows[0][-1] == "thin 2, refused 1, empty 1, connection broken 1, bot challenge 1, …"


def test_a_robots_txt_that_forbids_is_no_tier():
    costs = TierCosts()
    costs.add(without_tiers("robots.txt", Answer.ROBOTS_FORBIDS, "no"))
    costs.add(without_tiers("program", Answer.FAULT, "a bug"))
    assert (costs.counts(), costs.table().rows) == ({}, ())


class Rendering:
    """Reads pages that the first tier was refused; one of them in part."""

    name = "browser_content"

    def __init__(self, plain):
        self.plain = plain

    async def fetch(self, request):
        found = await self.plain.fetch(replace(request, url=request.url.replace("/refused", "/open")))
        degraded = "a frame's words only" if request.url.endswith("/b") else ""
        return replace(found, tier=self.name, calls=1, seconds=2.0, degraded=degraded)


def tiers_for(workshop):
    plain = PlainHttp(workshop.client, workshop.settings)
    return (plain, Rendering(plain))


def test_a_refresh_reports_what_its_tiers_were_asked_won_and_cost(stores, settings):
    refused = {f"/refused/{name}": Reply("no", status=403) for name in "ab"}
    served = {f"/open/{name}": page(f"About {name}", prose(name)) for name in "ab"} | {"/c": page("C", prose("c"))}
    with LoopbackSite(refused | served) as web:
        web.pages["/sitemap.xml"] = sitemap(*(web.url(path) for path in [*refused, "/c"]))
        stores.sites.add("docs", web.url("/"))
        discover(stores, settings.model_copy(update={"auto_approve_pages": 10}), "docs")
        report = fetch_pages(stores, settings, "docs", tiers_for=tiers_for)
    extract_texts(stores, settings, "docs")
    texts = read_rows(stores.site("docs").table(TEXTS), columns=["title", "degraded"]).to_pylist()
    assert {text["title"]: text["degraded"] for text in texts} == {"About a": False, "About b": True, "C": False}
    counts = report.counts
    assert (counts["asked_of_plain_http"], counts["won_by_plain_http"]) == (3, 1)
    assert (counts["asked_of_browser_content"], counts["won_by_browser_content"]) == (2, 2)
    assert (counts["calls_of_browser_content"], counts["seconds_of_browser_content"]) == (2, 4.0)
    assert (counts["tier_browser_content"], counts["degraded"]) == (2, 1)
    assert [(*row[:3], row[-1]) for row in report.tables["tiers"].rows] == [
        ("plain_http", "3", "1", "refused 2"),
        ("browser_content", "2", "2", ""),
    ]
