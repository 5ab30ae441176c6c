"""What was won within the last minutes is given again, and asked for once."""

from __future__ import annotations

import asyncio

import pytest

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.fetch.answers import CLEARS, Answer, PageRequest
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.winner_cache import LASTS, WinnerCache
from kb_pipeline_tests.fetch.scripted import Scripted, answered

URL = "https://example.com/a"


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Slow(Scripted):
    """Answers once it is let go."""

    def __init__(self, *results):
        super().__init__("slow", *results)
        self.go = asyncio.Event()
        self.stopped = 0

    async def fetch(self, request):
        result = await super().fetch(request)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        return result


def fetch_all(tier, *requests, cache=None):
    chain = Chain((tier,), cache=WinnerCache(clock=Clock()) if cache is None else cache)

    async def one_by_one():
        return [await chain.fetch(request) for request in requests]

    return asyncio.run(one_by_one())


def get(url=URL, **fields):
    return PageRequest(url, **fields)


def test_a_page_that_was_won_is_not_asked_for_again():
    tier = Scripted("a", Answer.DOCUMENT)
    first, second = fetch_all(tier, get(), get())
    assert len(tier.asked) == 1
    assert (first.age, second.age) == (None, 0.0)
    assert second.best is first.best


@pytest.mark.parametrize(("passed", "asked"), [(LASTS - 0.1, 1), (LASTS, 2)])
def test_it_is_for_five_minutes(passed, asked):
    tier, clock = Scripted("a", Answer.DOCUMENT), Clock()
    cache = WinnerCache(clock=clock)
    fetch_all(tier, get(), cache=cache)
    clock.seconds += passed
    [found] = fetch_all(tier, get(), cache=cache)
    assert LASTS == 300
    assert len(tier.asked) == asked
    assert found.age == (pytest.approx(passed) if asked == 1 else None)


@pytest.mark.parametrize("answer", sorted(set(Answer) - CLEARS))
def test_what_does_not_clear_is_asked_for_again(answer):
    tier = Scripted("a", answer, Answer.DOCUMENT)
    assert [found.best.answer for found in fetch_all(tier, get(), get())] == [answer, Answer.DOCUMENT]


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        (get(URL + "#part"), 1),
        (get(URL + "?utm_source=x"), 1),
        (get(URL + "?page=2"), 2),
        (get("http://example.com/a"), 2),
        (get("https://www.example.com/a"), 2),
        (get(policy=FetchPolicy(headers=(("X-Key", "k"),))), 2),
        (get(policy=FetchPolicy(cookies=(("c", "1"),))), 2),
        (get(policy=FetchPolicy(basic_auth=("u", "p"))), 2),
        (get(policy=FetchPolicy(locale="de")), 2),
        (get(ignore_noindex=True), 2),
        (get(etag='"1"'), 2),
        (get(last_modified="Mon, 01 Jan 2024 00:00:00 GMT"), 2),
        (get(content_hash="x"), 2),
        (get(original="x"), 2),
    ],
)
def test_only_the_same_page_fetched_the_same_way_is_the_same(other, asked):
    tier = Scripted("a", Answer.DOCUMENT)
    fetch_all(tier, get(), other)
    assert len(tier.asked) == asked


def test_a_conditional_answer_is_not_remembered():
    tier = Scripted("a", Answer.NOT_MODIFIED, Answer.DOCUMENT)
    _, second = fetch_all(tier, get(etag='"1"'), get())
    assert second.best.answer is Answer.DOCUMENT


def test_what_is_no_address_is_left_to_the_tiers():
    assert fetch_all(Scripted("a", Answer.NOT_PUBLIC), get("no address"))[0].best.answer is Answer.NOT_PUBLIC


def test_the_least_recently_used_is_given_up_first():
    tier, cache = Scripted("a", Answer.DOCUMENT), WinnerCache(most_entries=2, clock=Clock())
    a, b, c = (get(f"https://example.com/{name}") for name in "abc")
    fetch_all(tier, a, b, a, c, a, b, cache=cache)
    assert [request.url[-1] for request in tier.asked] == list("abcb")
    assert len(cache) == 2


def test_the_bytes_that_are_held_are_bounded():
    big = answered(Answer.DOCUMENT, body=b"x" * 40_000)
    cache = WinnerCache(most_bytes=100_000, clock=Clock())
    fetch_all(Scripted("a", big), *(get(f"https://example.com/{n}") for n in range(9)), cache=cache)
    assert (len(cache), cache.bytes_held <= 100_000) == (2, True)
    huge = answered(Answer.DOCUMENT, body=b"x" * 200_000)
    fetch_all(Scripted("a", huge), get("https://example.com/huge"), cache=cache)
    assert len(cache) == 2


def test_what_the_losers_brought_is_not_held():
    tiers = [Scripted("a", answered(Answer.THIN, "a", body=b"x" * 9)), Scripted("b", Answer.DOCUMENT)]

    async def twice():
        chain = Chain(tiers, cache=WinnerCache(clock=Clock()))
        return [await chain.fetch(get()) for _ in range(2)]

    _, second = asyncio.run(twice())
    assert [(attempt.answer, attempt.response is None) for attempt in second.attempts] == [
        (Answer.THIN, True),
        (Answer.DOCUMENT, False),
    ]


def at_once(result, count=5):
    async def run():
        tier = Slow(result)
        chain = Chain((tier,), cache=WinnerCache())
        tasks = [asyncio.create_task(chain.fetch(get())) for _ in range(count)]
        await asyncio.sleep(0.01)
        tier.go.set()
        return tier, await asyncio.gather(*tasks)

    return asyncio.run(run())


@pytest.mark.parametrize("answer", [Answer.DOCUMENT, Answer.REFUSED])
def test_those_who_ask_at_once_share_one_request(answer):
    tier, found = at_once(answer)
    assert len(tier.asked) == 1
    assert {result.best.answer for result in found} == {answer}


def test_whoever_started_a_request_may_leave_without_taking_it_from_the_others():
    async def run():
        tier = Slow(Answer.DOCUMENT)
        chain = Chain((tier,), cache=WinnerCache())
        first, second = (asyncio.create_task(chain.fetch(get())) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0)
        tier.go.set()
        return tier, await second

    tier, found = asyncio.run(run())
    assert (found.best.answer, len(tier.asked), tier.stopped) == (Answer.DOCUMENT, 1, 0)


def test_a_request_that_nobody_waits_for_any_more_is_given_up_and_the_next_one_asks_anew():
    async def run():
        tier = Slow(Answer.DOCUMENT)
        chain = Chain((tier,), cache=WinnerCache())
        waiting = [asyncio.create_task(chain.fetch(get())) for _ in range(2)]
        await asyncio.sleep(0.01)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert tier.stopped == 1, "whoever leaves waits for it to end"
        tier.go.set()
        await chain.fetch(get())
        return tier

    tier = asyncio.run(run())
    assert (len(tier.asked), tier.stopped) == (2, 1)


def test_a_fault_reaches_everybody_who_waits_and_is_not_remembered():
    class Faulty(Scripted):
        async def fetch(self, request):
            result = await super().fetch(request)
            await asyncio.sleep(0.01)
            if len(self.asked) == 1:
                message = "a bug"
                raise RuntimeError(message)
            return result

    async def run():
        tier = Faulty("a", Answer.DOCUMENT)
        chain = Chain((tier,), cache=WinnerCache())
        first = await asyncio.gather(*(chain.fetch(get()) for _ in range(2)), return_exceptions=True)
        return first, await chain.fetch(get())

    first, later = asyncio.run(run())
    assert [str(error) for error in first] == ["a bug", "a bug"]
    assert later.best.answer is Answer.DOCUMENT
