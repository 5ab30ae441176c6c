"""The second tier: the page as Cloudflare Browser Rendering writes it in Markdown, in a minimal HTML envelope."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from kb_pipeline.fetch.envelope import MAX_MARKDOWN, first_heading, markdown_as_html, said_by, wrap
from kb_pipeline.fetch.tiers.rendered import attempt, passed_over, words_do_not_tell

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest, TierResult
    from kb_pipeline.fetch.rendering import Rendered
    from kb_pipeline.settings import Settings

NAME: Final = "browser_markdown"


class MarkdownRenderer(Protocol):
    """Renders pages to Markdown."""

    async def markdown(self, request: PageRequest) -> Rendered:
        """The page, its body Markdown in UTF-8. Raises FetchError as fetch.rendering.Renderer does."""
        ...


class BrowserMarkdown:
    """Implements fetch.chain.Tier."""

    name = NAME

    def __init__(self, renderer: MarkdownRenderer, settings: Settings) -> None:
        self._renderer = renderer
        self._token = settings.bot_token

    async def fetch(self, request: PageRequest) -> TierResult:
        """Ask for the page in Markdown."""
        unfit = passed_over(NAME, request) or words_do_not_tell(NAME, request)
        return unfit or await attempt(NAME, request, self._token, self._page(request), words_only=True)

    async def _page(self, request: PageRequest) -> Rendered:
        rendered = await self._renderer.markdown(request)
        return await asyncio.to_thread(self._in_envelope, request, rendered)

    def _in_envelope(self, request: PageRequest, rendered: Rendered) -> Rendered:
        markdown = rendered.body.decode("utf-8", "replace")
        if not markdown.strip():
            return replace(rendered, body=b"")
        title = rendered.title or first_heading(markdown)
        body = wrap(markdown_as_html(markdown), said_by(request.answered, self._token), title)
        return replace(rendered, body=body, degraded=_lost(markdown))


def _lost(markdown: str) -> str:
    return f"only the first {MAX_MARKDOWN:,} characters were read" if len(markdown) > MAX_MARKDOWN else ""
