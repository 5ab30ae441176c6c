"""A host that refuses browsers like any other client is not rendered page by page."""

from __future__ import annotations

import asyncio

import pytest

from kb_pipeline.fetch.answers import BLOCKED, EMPTY_HANDED, Answer, PageRequest
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.futility import ASKED_AGAIN, ENOUGH, Futility
from kb_pipeline_tests.fetch.scripted import Scripted

PAGES = 60


def fetch_all(*tiers, pages=PAGES, hosts=("a.example",)):
    async def run():
        chain = Chain(tiers, futility=Futility())
        return [await chain.fetch(PageRequest(f"https://{host}/{n}")) for n in range(pages) for host in hosts]

    return asyncio.run(run())


@pytest.mark.parametrize("refusal", sorted(BLOCKED | {Answer.RATE_LIMITED}))
def test_a_tier_that_a_host_refuses_like_the_first_is_asked_now_and_then_only(refusal):
    browser = Scripted("browser", refusal)
    results = fetch_all(Scripted("plain", refusal), browser)
    assert len(browser.asked) == ENOUGH + 2  # at the 20th and the 40th page in vain
    assert {result.best.answer for result in results} == {refusal}
    passed_over = [result for result in results if result.attempts[-1].answer is Answer.PASSED_OVER]
    assert len(passed_over) == PAGES - len(browser.asked)
    assert "got no further" in passed_over[0].errors


def test_one_page_that_the_tier_brings_has_it_asked_for_all_again():
    refused = [Answer.REFUSED] * (ENOUGH + 1)
    browser = Scripted("browser", *refused, Answer.DOCUMENT)
    results = fetch_all(Scripted("plain", Answer.REFUSED), browser)
    cleared = [result.best.answer is Answer.DOCUMENT for result in results]
    assert not any(cleared[:ASKED_AGAIN])
    assert all(cleared[-(PAGES - 2 * ASKED_AGAIN) :])


@pytest.mark.parametrize("answer", sorted(EMPTY_HANDED))
def test_a_page_that_shows_nothing_says_nothing_about_the_next_one(answer):
    browser = Scripted("browser", answer)
    fetch_all(Scripted("plain", answer), browser)
    assert len(browser.asked) == PAGES


def test_hosts_and_refusals_count_for_themselves():
    browser = Scripted("browser", Answer.REFUSED)
    fetch_all(Scripted("plain", Answer.REFUSED), browser, pages=ENOUGH, hosts=("a.example", "b.example"))
    assert len(browser.asked) == 2 * ENOUGH
