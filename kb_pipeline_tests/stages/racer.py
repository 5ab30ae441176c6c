"""What a process of its own runs in the race for the day's last calls. Imports little, so that it starts soon."""

import asyncio
from datetime import UTC, datetime
from types import SimpleNamespace

from kb_pipeline.fetch.budget import BROWSER_CALLS
from kb_pipeline.stages.budget import SharedBudget
from kb_pipeline.store.database import Database
from kb_pipeline.store.usage import Usage

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def noon():
    return DAY


def race(postgres_url, attempts, start, got):
    """As many calls as can be had, several asked for at once, when all racers are there."""

    async def take_all(usage):
        budget = SharedBudget(SimpleNamespace(usage=usage), noon)
        return sum(await asyncio.gather(*(budget.take(BROWSER_CALLS, 100) for _ in range(attempts))))

    with Database.open(postgres_url) as database:
        start.wait(60)
        got.put(asyncio.run(take_all(Usage(database))))
