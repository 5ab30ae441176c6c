"""The third tier: the page's HTML as a browser renders it, at Cloudflare or here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.tiers.rendered import attempt, passed_over

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest, TierResult
    from kb_pipeline.fetch.rendering import Renderer
    from kb_pipeline.settings import Settings

NAME: Final = "browser_content"


class BrowserContent:
    """Implements fetch.chain.Tier."""

    name = NAME

    def __init__(self, renderer: Renderer, settings: Settings) -> None:
        self._renderer = renderer
        self._token = settings.bot_token

    async def fetch(self, request: PageRequest) -> TierResult:
        """Have the page rendered."""
        work = passed_over(NAME, request)
        return work or await attempt(NAME, request, self._token, self._renderer.content(request))
