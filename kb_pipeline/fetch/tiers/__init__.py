"""The ways to get a page, one module each, and the order in which a chain asks them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb_pipeline.fetch.tiers.plain_http import PlainHttp

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from kb_pipeline.fetch.budget import Budget
    from kb_pipeline.fetch.chain import Tier
    from kb_pipeline.fetch.client import HttpClient, Turns
    from kb_pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Workshop:
    """What tiers are made of."""

    client: HttpClient
    settings: Settings
    stack: AsyncExitStack
    """Closed when the chain is done with: what a tier opened is closed there."""
    budget: Budget
    on_redirect: Callable[[str, str], Awaitable[None]] | None = None
    """Decides about each hop of a redirect (fetch.hops.Hops)."""
    turns: Turns | None = None
    """Politeness: a page that a browser of ours opens waits for its turn too."""


TiersFor = Callable[[Workshop], Sequence["Tier"]]
"""The tiers of a chain, in order. Nothing that takes long is started before the first page needs it."""


def default_tiers(workshop: Workshop) -> Sequence[Tier]:
    """The tiers that this installation has."""
    return (PlainHttp(workshop.client, workshop.settings, on_redirect=workshop.on_redirect),)
