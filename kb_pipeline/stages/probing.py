"""Asks a site for an address that does not exist, so that its not-found page is known even where it comes with 200 and
in words like nothing seen before. Once a full refresh; a site that cannot be asked simply has no such page."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.not_found import MOST_WORDS, is_above, is_same, look_of, made_up_address
from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.robots_gate import Access
from kb_pipeline.model import PageState, SourceType
from kb_pipeline.stages.page_reading import examined
from kb_pipeline.store.not_found_probes import NotFoundProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.not_found import Look
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.model import Discovered, Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.site_session import SiteSession

MOST_ADDRESSES: Final = 1_000
"""Pages whose folders are counted."""
_OK: Final = 200
_MISSING: Final = frozenset({404, 410})
_SAID: Final = frozenset({PageState.OK, PageState.SOFT_404})


class Prober:
    """Asks one site."""

    def __init__(self, site: Site, session: SiteSession, settings: Settings) -> None:
        self._site = site
        self._session = session
        self._settings = settings

    async def probe(self, seed: str, pages: Sequence[Discovered], start_page: Response | None) -> NotFoundProbe | None:
        """Ask for a made-up address beside the site's pages; None when it may not be asked for, or did not answer.

        The start page, or else a page of the list, has to look otherwise: a site that gives one answer to everything,
        always or tonight, has no not-found page. Where its answer has scripts, pages of the list have to as well: they
        may be one shell that scripts fill, beside a start page that the server writes.
        """
        if self._site.source_type is SourceType.URL or not pages:
            return None
        url = await self._address(seed, [page.url for page in islice(pages, MOST_ADDRESSES)])
        response = await self._ask(url) if url else None
        if url is None or response is None:
            return None
        look, useless = await asyncio.to_thread(_look, response)
        if look is not None and response.redirects:
            useless = "it leads to another address"
        elif look is not None and len(look.words) > MOST_WORDS:
            useless = "the answer says so much that it may be a page of the site"
        if look is not None and useless is None:
            good = start_page if start_page is not None and start_page.status == _OK else await self._ask(pages[0].url)
            useless = await asyncio.to_thread(_why_not_told_apart, look, good)
        if look is not None and useless is None and look.scripted and not look.unfinished:
            look = replace(look, unfinished=not await self._others_differ(look, _others(pages, url)))
        return NotFoundProbe(url, response.status, useless, None if useless else look)

    async def _address(self, seed: str, pages: Sequence[str]) -> str | None:
        for beside in (pages, ()):
            url = made_up_address(self._site.url, seed, beside)
            try:
                verdict = await self._session.gate.verdict(url)
            except FetchError:
                return None
            if verdict.access is Access.ALLOWED:
                return url
        return None

    async def _others_differ(self, look: Look, urls: Sequence[str]) -> bool:
        """Whether one of the pages is known to look otherwise, and none the same."""
        differs = False
        for url in urls:
            response = await self._ask(url)
            page, _ = await asyncio.to_thread(_look, response) if response is not None else (None, None)
            if page is not None and is_same(page, look):
                return False
            differs = differs or page is not None
        return differs

    async def _ask(self, url: str) -> Response | None:
        """As pages are asked for: a site may show other visitors another page."""
        try:
            return await self._session.client.get(
                url,
                max_bytes=self._settings.max_html_bytes,
                user_agent=self._settings.browser_user_agent,
                on_redirect=self._session.hops,
                truncate=True,
            )
        except FetchError:
            return None


def _others(pages: Sequence[Discovered], made_up: str) -> list[str]:
    """Two pages of the list, in the folder of the made-up address if there are any, and no start page."""
    urls = [page.url for page in islice(pages, MOST_ADDRESSES) if not is_above(page.url, made_up)]
    folder = made_up.rpartition("/")[0]
    beside = [url for url in urls if url.rpartition("/")[0] == folder] or urls
    return list(dict.fromkeys(beside[len(beside) * third // 3] for third in (1, 2))) if beside else []


def _why_not_told_apart(look: Look, good: Response | None) -> str | None:
    """Why the answer does not tell pages that exist from those that do not; None when it does."""
    page, why = _look(good) if good is not None and good.status == _OK else (None, None)
    if page is None:
        return f"no page of the site is known that looks otherwise{f': {why}' if why else ''}"
    return "the start page, or a page of the list, looks the same" if is_same(page, look) else None


def _look(response: Response) -> tuple[Look | None, str | None]:
    """How an answer looks, or why it cannot be told."""
    if response.status != _OK and response.status not in _MISSING:
        return None, f"the answer has status {response.status}"
    if kind_of(response.content_type, response.body, response.final_url) is not BodyKind.HTML:
        return None, "the answer is no page"
    found = examined(response.body, response.content_type, response.final_url)
    if isinstance(found, str):
        return None, found
    if found.state not in _SAID:
        return None, f"the answer is something else ({found.state.value})"
    html = decode_html(response.body, response.content_type)
    look = look_of(found.text, html, response.url, response.final_url)
    return look, None if look else "the answer says too little to be compared"
