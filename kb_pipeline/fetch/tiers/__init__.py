"""The ways to get a page, one module each, and the order in which a chain asks them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from kb_pipeline.fetch.tiers.plain_http import PlainHttp

if TYPE_CHECKING:
    from kb_pipeline.fetch.chain import Tier
    from kb_pipeline.fetch.client import HttpClient
    from kb_pipeline.settings import Settings

TiersFor = Callable[["HttpClient", "Settings", Callable[[str, str], Awaitable[None]]], Sequence["Tier"]]
"""(client, settings, what decides about each hop of a redirect) -> the tiers of a site's chain, in order."""


def default_tiers(
    client: HttpClient, settings: Settings, on_redirect: Callable[[str, str], Awaitable[None]]
) -> tuple[Tier, ...]:
    """The tiers that this installation has."""
    return (PlainHttp(client, settings, on_redirect=on_redirect),)
