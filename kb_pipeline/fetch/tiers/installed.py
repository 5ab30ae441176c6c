"""What this installation has to render pages and to read pictures, in words and as a list of tiers. Looks at settings
and at what is installed; starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.chromium.finding import why_unavailable
from kb_pipeline.fetch.cloudflare import why_no_account
from kb_pipeline.fetch.ocr import why_no_ocr

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings

PLAIN_HTTP: Final = "plain_http"
BROWSER_MARKDOWN: Final = "browser_markdown"
BROWSER_CONTENT: Final = "browser_content"
VISION: Final = "vision"


@dataclass(frozen=True, slots=True)
class Installed:
    """Why each thing cannot be used here; empty where it can."""

    no_account: str
    """Cloudflare, which renders and reads."""
    no_chromium: str
    no_ocr: str

    def why_not(self, tier: str) -> str:
        """What a tier lacks; empty when nothing."""
        if not self.no_account or tier == PLAIN_HTTP:
            return ""
        lacks = {
            BROWSER_MARKDOWN: [],
            BROWSER_CONTENT: [self.no_chromium],
            VISION: [self.no_chromium, self.no_ocr],
        }[tier]
        missing = [why for why in lacks if why]
        if tier == BROWSER_MARKDOWN or missing:
            return "; ".join([self.no_account, *missing])
        return ""

    @property
    def tiers(self) -> tuple[str, ...]:
        """Those that can be used, in order."""
        every = (PLAIN_HTTP, BROWSER_MARKDOWN, BROWSER_CONTENT, VISION)
        return tuple(tier for tier in every if not self.why_not(tier))


def installed(settings: Settings) -> Installed:
    """Look."""
    return Installed(why_no_account(settings), why_unavailable(settings) or "", why_no_ocr())
