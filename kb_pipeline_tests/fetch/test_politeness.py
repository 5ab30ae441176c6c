"""When requests start: gaps, holds, strain. Times are short, and only lower bounds are strict."""

import asyncio
import time
from datetime import UTC, datetime

import pytest

from kb_pipeline.errors import HostOnHold
from kb_pipeline.fetch.politeness import LONGEST_HOLD, MemoryClock, Politeness, SharedClock
from kb_pipeline.fetch.retry_after import LONGEST, retry_after_seconds

URL = "https://example.com/a"


def politeness(gap=0.0, *, clock=None, connections=4):
    return Politeness(clock or MemoryClock(), gap=gap, max_crawl_delay=0.3, host_connections=connections)


async def take(turns, count, url=URL, *, status=200, headers=(), seconds=0.01, **options):
    """Moments at which `count` turns began, all asked for at once."""
    began = []

    async def one():
        async with turns.turn(url, **options) as turn:
            began.append(time.monotonic())
            turn.answered(status, dict(headers), seconds)

    await asyncio.gather(*(one() for _ in range(count)))
    return sorted(began)


def test_turns_at_one_host_are_a_gap_apart_and_other_hosts_do_not_wait():
    async def run():
        turns, asked = politeness(0.1), time.monotonic()
        first, other = await asyncio.gather(take(turns, 4), take(turns, 1, "https://other.example/"))
        return [began - asked for began in first], other[0] - asked

    first, other = asyncio.run(run())
    assert all(began >= 0.1 * number - 0.01 for number, began in enumerate(first))
    assert other < first[-1]


def test_two_runs_share_one_gap_through_the_clock():
    async def run():
        clock, asked = MemoryClock(), time.monotonic()
        both = await asyncio.gather(take(politeness(0.1, clock=clock), 2), take(politeness(0.1, clock=clock), 2))
        return max(both[0] + both[1]) - asked

    assert asyncio.run(run()) >= 0.29


def test_no_more_requests_are_in_flight_than_allowed():
    async def run():
        turns, most, now = politeness(connections=2), 0, 0

        async def one():
            nonlocal most, now
            async with turns.turn(URL):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.02)
                now -= 1

        await asyncio.gather(*(one() for _ in range(6)))
        return most

    assert asyncio.run(run()) == 2


def test_a_crawl_delay_widens_the_gap_up_to_the_cap():
    async def run():
        turns, asked = politeness(), time.monotonic()
        turns.set_crawl_delay("https://example.com:443", 60)
        return (await take(turns, 2))[-1] - asked

    assert 0.29 <= asyncio.run(run()) < 10


def test_with_no_gap_the_clock_is_asked_once_for_each_host():
    asked = []

    class Clock(MemoryClock):
        async def reserve(self, host, gap_seconds):
            asked.append((host, gap_seconds))
            return await super().reserve(host, gap_seconds)

    assert len(asyncio.run(take(politeness(clock=Clock()), 20))) == 20
    assert asked == [("example.com", 0.0)]


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_a_hold_that_another_run_left_is_obeyed_from_the_first_request_on(gap):
    async def run():
        clock, asked = MemoryClock(), time.monotonic()
        await take(politeness(gap, clock=clock), 1, status=429, headers={"retry-after": "1"})
        return [began - asked for began in await take(politeness(gap, clock=clock), 3)]

    assert min(asyncio.run(run())) >= 0.99


def test_prompt_turns_skip_the_gap_and_nothing_else():
    async def run():
        turns, asked = politeness(5.0), time.monotonic()
        prompt = await take(turns, 8, prompt=True)
        await take(turns, 1, prompt=True, status=429, headers={"retry-after": "1"})
        refused = time.monotonic()
        after = await take(turns, 1, prompt=True) + await take(turns, 1)
        return prompt[-1] - asked, [began - refused for began in after]

    prompt, after = asyncio.run(run())
    assert prompt < 4
    assert min(after) >= 0.98


def test_a_429_with_retry_after_holds_the_host():
    async def run():
        turns = politeness()
        before = await take(turns, 1, status=429, headers={"retry-after": "1"})
        return before[0], (await take(turns, 1))[0]

    refused, after = asyncio.run(run())
    assert after - refused >= 0.99


def test_one_page_in_maintenance_does_not_stop_the_others_but_a_second_503_does():
    async def run():
        turns = politeness()
        await take(turns, 1, status=503, headers={"retry-after": "1"})
        started = time.monotonic()
        await take(turns, 1, status=503, headers={"retry-after": "1"})
        between = time.monotonic() - started
        await take(turns, 1)
        return between, time.monotonic() - started

    between, after = asyncio.run(run())
    assert between < 0.99
    assert after >= 0.99


def test_a_hold_is_shared_with_other_runs_and_capped():
    told = []

    class Table:
        def reserve(self, _host, _gap):
            return 0.0

        def hold(self, host, seconds):
            told.append((host, seconds))

        def set_slowdown(self, host, slowdown):
            told.append((host, slowdown))

    turns = politeness(0.01, clock=SharedClock(Table()))
    asyncio.run(take(turns, 1, status=429, headers={"retry-after": "900"}))
    assert told == [("example.com", LONGEST_HOLD), ("example.com", 2.0)]


def test_a_host_that_asks_thrice_to_be_left_alone_for_long_is_left_alone():
    async def run():
        turns = politeness()

        async def refused():
            async with turns.turn(URL) as turn:
                await asyncio.sleep(0.01)
                turn.answered(429, {"retry-after": "3600"}, 0.01)

        await asyncio.gather(refused(), refused(), refused())
        async with turns.turn(URL):
            pass

    with pytest.raises(HostOnHold, match="60 more minutes") as caught:
        asyncio.run(run())
    assert 3500 < caught.value.seconds <= 3600


def test_a_host_that_slows_is_given_more_time_and_recovers():
    async def run():
        turns = politeness(0.02)
        calm = await take(turns, 4, seconds=0.01)
        await take(turns, 6, seconds=3.0)
        strained = await take(turns, 4, seconds=0.01)
        await take(turns, 30, seconds=0.01)
        recovered = await take(turns, 4, seconds=0.01)
        return [began[-1] - began[0] for began in (calm, strained, recovered)]

    calm, strained, recovered = asyncio.run(run())
    assert strained > 1.5 * calm
    assert recovered < strained


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "date", "seconds"),
    [
        ("120", None, 120),
        (" 0 ", None, 0),
        ("99999999999999999999", None, LONGEST),
        ("Sun, 01 Mar 2026 12:01:00 GMT", None, 60),
        ("Sun, 01 Mar 2026 11:00:00 GMT", None, 0),
        ("Sun, 01 Mar 2026 09:01:00 GMT", "Sun, 01 Mar 2026 09:00:00 GMT", 60),
        ("Sun, 01 Mar 2036 12:00:00 GMT", None, LONGEST),
        ("Sun, 01 Mar 2026 12:00:00 +9999999999999999", None, None),
        ("Sun, 01 Mar 2026 12:01:00 GMT", "Sun, 01 Mar 2026 12:00:00 +9999999999999999", 60),
        ("Sun, 31 Dec 9999 23:59:59 -2359", "Mon, 01 Jan 0001 00:00:00 +2359", LONGEST),
        ("soon", None, None),
        ("-5", None, None),
        ("1.5", None, None),
        ("٣", None, None),
        ("", None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value, date, seconds):
    headers = {"retry-after": value} | ({"date": date} if date else {})
    assert retry_after_seconds(headers, NOW) == seconds
