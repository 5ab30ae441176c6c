"""How one address is fetched beyond the defaults: what the operator's site configuration may say. Reading that
configuration is core.site_config's business, obeying it the tiers'."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal

WaitUntil = Literal["load", "domcontentloaded", "networkidle", "commit"]

SECRET_FIELDS: Final = ("headers", "cookies", "basic_auth")
"""What may hold a secret: sent to the page's own origin alone, and never written down."""


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """One entry of the site configuration. None: the tier's own default."""

    wait_until: WaitUntil | None = None
    wait_for: str | None = None
    """CSS selector that must appear before a rendered page is read."""
    delay_before_return_html: float | None = None
    """Seconds."""
    page_timeout_ms: int | None = None
    process_iframes: bool | None = None
    deep_iframe_extraction: bool | None = None
    """Frames within frames too."""
    locale: str | None = None
    timezone_id: str | None = None
    user_agent: str | None = None
    user_agent_mode: Literal["browser", "bot"] | None = None
    """Which of our two names is given; `user_agent` stands above it."""
    fallback_enabled: bool | None = None
    """False: the first tier alone, no www fallback, no proxy fallback, no second ask."""
    fallback_on_empty: bool | None = None
    fallback_on_blocked: bool | None = None
    """False: a refusal ends the page with the tier that met it. True: login walls, paywalls and rate limits, which
    rendering seldom cures, go on to the next tier as well."""
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    basic_auth: tuple[str, str] | None = None
    """User and password."""

    @property
    def names_its_agent(self) -> bool:
        """Whether the operator chose the name that is given: then no other is tried."""
        return self.user_agent is not None or self.user_agent_mode is not None

    def for_another_origin(self) -> FetchPolicy:
        """The policy without what only the page's own origin may be sent."""
        return replace(self, headers=(), cookies=(), basic_auth=None)

    def __repr__(self) -> str:
        """Without what may be a secret: policies end up in log lines and tracebacks."""
        shown = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in SECRET_FIELDS}
        said = (f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"FetchPolicy({', '.join(said)})"


ANY_PAGE: Final = FetchPolicy()
"""Nothing was said about the address."""
