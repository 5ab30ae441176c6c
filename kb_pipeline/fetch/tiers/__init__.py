"""The ways to get a page, one module each, and the order in which a chain asks them."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.errors import ConfigError
from kb_pipeline.fetch.tiers.browser_content import BrowserContent
from kb_pipeline.fetch.tiers.browser_markdown import BrowserMarkdown
from kb_pipeline.fetch.tiers.installed import Installed, installed
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.fetch.tiers.vision import Vision

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from kb_pipeline.fetch.budget import Budget
    from kb_pipeline.fetch.chain import Tier
    from kb_pipeline.fetch.client import HttpClient
    from kb_pipeline.fetch.cloudflare import CloudflareRenderer
    from kb_pipeline.fetch.cloudflare_api import CloudflareApi
    from kb_pipeline.fetch.rendering import PictureReader, Renderer
    from kb_pipeline.fetch.turns import Turns
    from kb_pipeline.settings import Settings

log = structlog.get_logger(__name__)


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
    """The tiers that KB_TIERS names, else all that this installation has. Raises ConfigError for one that it names in
    vain."""
    found = installed(workshop.settings)
    bench = _Bench(workshop, found)
    tiers = [bench.tier(name) for name in workshop.settings.tiers or found.tiers]
    names = ", ".join(tier.name for tier in tiers)
    if len(tiers) > 1 or workshop.settings.tiers:
        log.info("crawl.chain", tiers=names)
    else:
        log.info("crawl.chain.one_tier", tiers=names, why=found.why_not("vision"))
    return tuple(tiers)


def names_of_tiers(settings: Settings) -> tuple[str, ...]:
    """What `default_tiers` would make, without making it. Raises ConfigError as it does."""
    found = installed(settings)
    names = settings.tiers or found.tiers
    for name in names:
        _check(name, found)
    return names


class _Bench:
    """Makes tiers, and what several of them share once. An account comes before what is installed here."""

    def __init__(self, workshop: Workshop, found: Installed) -> None:
        self._workshop = workshop
        self._found = found

    def tier(self, name: str) -> Tier:
        _check(name, self._found)
        return _BUILDERS[name](self) if name in _BUILDERS else _own_tier(name, self._workshop)

    def plain_http(self) -> Tier:
        workshop = self._workshop
        return PlainHttp(workshop.client, workshop.settings, on_redirect=workshop.on_redirect)

    def browser_markdown(self) -> Tier:
        return BrowserMarkdown(self._cloudflare, self._workshop.settings)

    def browser_content(self) -> Tier:
        return BrowserContent(self._renderer, self._workshop.settings)

    def vision(self) -> Tier:
        return Vision(self._renderer, self._reader, self._workshop.settings)

    @property
    def _renderer(self) -> Renderer:
        return self._chromium if self._found.no_account else self._cloudflare

    @cached_property
    def _api(self) -> CloudflareApi:
        from kb_pipeline.fetch.cloudflare_api import CloudflareApi  # noqa: PLC0415 - only where there is an account

        api = CloudflareApi(self._workshop.settings, self._workshop.budget)
        self._workshop.stack.push_async_callback(api.aclose)
        return api

    @cached_property
    def _cloudflare(self) -> CloudflareRenderer:
        from kb_pipeline.fetch.cloudflare import CloudflareRenderer  # noqa: PLC0415

        workshop = self._workshop
        return CloudflareRenderer(
            self._api,
            workshop.settings,
            workshop.client.guard,
            on_redirect=workshop.on_redirect,
            turns=workshop.turns,
        )

    @cached_property
    def _chromium(self) -> Renderer:
        from kb_pipeline.fetch.chromium import ChromiumRenderer  # noqa: PLC0415 - loads Playwright

        workshop = self._workshop
        renderer: ChromiumRenderer = ChromiumRenderer(workshop)
        workshop.stack.push_async_callback(renderer.aclose)
        return renderer

    @cached_property
    def _reader(self) -> PictureReader:
        if self._found.no_account:
            from kb_pipeline.fetch.ocr import RapidOcrReader  # noqa: PLC0415

            return RapidOcrReader(self._workshop.settings.render_timeout_seconds)
        from kb_pipeline.fetch.cloudflare_vision import WorkersAiReader  # noqa: PLC0415

        return WorkersAiReader(self._api, self._workshop.settings)


_BUILDERS: Final[dict[str, Callable[[_Bench], Tier]]] = {
    "plain_http": _Bench.plain_http,
    "browser_markdown": _Bench.browser_markdown,
    "browser_content": _Bench.browser_content,
    "vision": _Bench.vision,
}


def _check(name: str, found: Installed) -> None:
    """Raise ConfigError for a tier that KB_TIERS names in vain."""
    if name not in _BUILDERS:
        _function(name)
    elif why := found.why_not(name):
        message = f"KB_TIERS names {name}, which cannot be used here: {why}"
        raise ConfigError(message)


def _own_tier(name: str, workshop: Workshop) -> Tier:
    """The operator's own tier. Raises ConfigError when what KB_TIERS names makes none."""
    try:
        tier = _function(name)(workshop)
    except TypeError as error:
        message = f"KB_TIERS names {name}, which makes no tier of a Workshop: {error}"
        raise ConfigError(message) from error
    if not (hasattr(tier, "name") and hasattr(tier, "fetch")):
        message = f"KB_TIERS names {name}, which gives {type(tier).__name__}; a tier has a name and a fetch(request)"
        raise ConfigError(message)
    return tier


def _function(name: str) -> Callable[[Workshop], Tier]:
    """What makes a tier of the operator's own, `package.module:function`. Raises ConfigError."""
    module, colon, function = name.partition(":")
    if not colon:
        message = f"KB_TIERS names {name}; it takes {', '.join(_BUILDERS)}, or package.module:function"
        raise ConfigError(message)
    try:
        makes: Callable[[Workshop], Tier] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        message = f"KB_TIERS names {name}, which cannot be imported: {error}"
        raise ConfigError(message) from error
    return makes
