"""What the demo runs with: its site's id, its options, and the one private address that is admitted for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.model import SiteOptions

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings

DEMO_SITE_ID: Final = "demo"

DEMO_OPTIONS: Final = SiteOptions(
    request_gap_seconds=0.0,  # our own server, on this machine
    golden_questions=(
        ("How long is a failed delivery retried?", "/docs/retries"),
        ("What does the Developer plan cost?", "/pricing"),
    ),
)

DEMO_QUESTIONS: Final = (
    "How long does Ferrywire keep retrying a failed delivery?",
    "What does the Developer plan cost, and how many deliveries does it include?",
    "In which country is customer data stored, and how is it encrypted?",
)


def admitting_demo_site(settings: Settings, port: int) -> Settings:
    """Settings that also admit the demo site, on its port alone."""
    return settings.model_copy(update={"allow_private": (*settings.allow_private, f"127.0.0.1:{port}")})


def with_demo_tiers(settings: Settings) -> Settings:
    """What is installed here changes nothing that the demo shows, unless KB_TIERS asks for it."""
    return settings.model_copy(update={"tiers": settings.tiers or ("plain_http",)})
