"""Where a page's redirects may lead: on the site, and where robots.txt allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import host_of, same_site, url_key
from kb_pipeline.errors import RedirectRefused
from kb_pipeline.fetch.answers import Answer
from kb_pipeline.fetch.response import shown
from kb_pipeline.fetch.robots_gate import Access

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.robots_gate import RobotsGate, RobotsVerdict


class HopRefused(RedirectRefused):
    """A hop that is not taken; `answer` is what that means for the page."""

    def __init__(self, answer: Answer, message: str) -> None:
        super().__init__(message)
        self.answer = answer


class Hops:
    """The `on_redirect` hook of a site's pages."""

    def __init__(self, gate: RobotsGate, site_url: str, *, subdomains: bool) -> None:
        self._gate = gate
        self._site_url = site_url
        self._subdomains = subdomains

    async def __call__(self, _source: str, target: str) -> None:
        """Raise HopRefused for a hop off the site, or past a robots.txt (RFC 9309 holds for each target)."""
        if not same_site(target, self._site_url, subdomains=self._subdomains):
            message = f"redirects to another site, {host_of(target)}"
            raise HopRefused(Answer.OFF_SITE, message)
        refuse_by_robots(target, await self._gate.verdict(target))


def refuse_by_robots(target: str, verdict: RobotsVerdict) -> None:
    """Raise HopRefused unless robots.txt lets a page lead to `target`."""
    if verdict.access is Access.FORBIDDEN:
        message = f"redirects to {shown(target)}, which robots.txt does not allow"
        raise HopRefused(Answer.HOP_FORBIDDEN, message)
    if verdict.access is Access.UNAVAILABLE:
        raise HopRefused(Answer.ROBOTS_UNAVAILABLE, verdict.reason)


def refuse_known_redirect(request: PageRequest, target: str) -> None:
    """Raise HopRefused for a hop to the page that this one is known to be a duplicate of: nothing new is there."""
    if request.original is not None and page_id(url_key(target)) == request.original:
        message = f"redirects to {shown(target)}"
        raise HopRefused(Answer.SAME_REDIRECT, message)
