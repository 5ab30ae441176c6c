"""The day's calls of a paid service are counted once for all processes, in PostgreSQL."""

import asyncio
import multiprocessing
from datetime import UTC, datetime

from kb_pipeline.fetch.budget import BROWSER_CALLS, VISION_CALLS, OwnBudget
from kb_pipeline.stages.budget import SharedBudget
from kb_pipeline.store.stores import Stores

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def noon():
    return DAY


def race(settings, attempts, start, got):
    """In a process of its own: as many calls as can be had, several asked for at once, when all are there."""

    async def take_all(stores):
        budget = SharedBudget(stores, noon)
        return sum(await asyncio.gather(*(budget.take(BROWSER_CALLS, 100) for _ in range(attempts))))

    with Stores.open(settings) as stores:
        start.wait(60)
        got.put(asyncio.run(take_all(stores)))


def test_four_processes_that_race_for_the_last_ten_calls_get_exactly_ten(stores, settings):
    stores.usage.add(DAY.date(), "", BROWSER_CALLS, 90)
    context = multiprocessing.get_context("spawn")
    start, got = context.Barrier(4), context.Queue()
    racers = [context.Process(target=race, args=(settings, 12, start, got)) for _ in range(4)]
    for racer in racers:
        racer.start()
    taken = [got.get(timeout=90) for _ in racers]
    for racer in racers:
        racer.join(30)
    assert sum(taken) == 10
    assert stores.usage.of_day(DAY.date(), "", BROWSER_CALLS) == 100


def take(budget, name, most):
    return asyncio.run(budget.take(name, most))


def test_no_limit_counts_all_the_same_and_a_limit_set_later_sees_it(stores):
    budget = SharedBudget(stores, noon)
    assert all(take(budget, VISION_CALLS, 0) for _ in range(3))
    assert not take(budget, VISION_CALLS, 3)
    assert take(budget, VISION_CALLS, 4)
    assert take(budget, BROWSER_CALLS, 1), "each service has its own count"


def test_a_new_day_has_all_its_calls(stores):
    days = iter([DAY, DAY, DAY.replace(day=2)])
    budget = SharedBudget(stores, lambda: next(days))
    assert [take(budget, BROWSER_CALLS, 1) for _ in range(3)] == [True, False, True]


def test_a_program_that_only_scrapes_counts_for_itself():
    days = iter([DAY, DAY, DAY, DAY.replace(day=2)])
    budget = OwnBudget(lambda: next(days))
    assert [take(budget, BROWSER_CALLS, 2) for _ in range(4)] == [True, True, False, True]
