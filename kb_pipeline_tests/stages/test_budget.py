"""The day's calls of a paid service are counted once for all processes, in PostgreSQL."""

import asyncio
import multiprocessing

from kb_pipeline.fetch.budget import BROWSER_CALLS, VISION_CALLS, OwnBudget
from kb_pipeline.model import Outcome
from kb_pipeline.settings import Settings
from kb_pipeline.stages.budget import SharedBudget
from kb_pipeline_tests.sites.cloudflare import LoopbackCloudflare, envelope
from kb_pipeline_tests.sites.replies import prose
from kb_pipeline_tests.stages.racer import DAY, noon, race
from kb_pipeline_tests.stages.whole_site import NAMES

SHELL = '<html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>'


def test_four_processes_that_race_for_the_last_ten_calls_get_exactly_ten(stores, postgres_url):
    stores.usage.add(DAY.date(), "", BROWSER_CALLS, 90)
    context = multiprocessing.get_context("spawn")
    start, got = context.Barrier(4), context.Queue()
    racers = [context.Process(target=race, args=(postgres_url, 12, start, got)) for _ in range(4)]
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


def test_pages_that_the_days_calls_do_not_reach_are_deferred_and_come_another_day(whole):
    def written(request):
        return envelope(f"# Page\n\n{prose(request.body['url'])}")

    with LoopbackCloudflare({"markdown": written}) as api:
        limited = {"cloudflare_browser_daily_limit": 2, "tiers": ("plain_http", "browser_markdown")}
        whole.settings = Settings(**(whole.settings.model_dump() | api.settings | limited))
        for name in NAMES:
            whole.server.pages[f"/{name}"] = SHELL
        first = whole.refresh()
        calls = api.count("markdown")
        whole.settings = whole.settings.model_copy(update={"cloudflare_browser_daily_limit": 0})
        second = whole.refresh()
    assert (first.outcomes[Outcome.FRESH], first.outcomes[Outcome.DEFERRED], calls) == (3, 1, 2)
    assert second.outcomes[Outcome.DEFERRED] == 0
    assert whole.stores.usage.of_day(whole.stores.now().date(), "", BROWSER_CALLS) == api.count("markdown")
