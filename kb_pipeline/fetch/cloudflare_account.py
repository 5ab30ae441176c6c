"""What one process knows of a Cloudflare account: when its next request may start, and whether there is any use in
asking. Shared by all chains of the process; the day's counts are fetch.budget's."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import structlog

if TYPE_CHECKING:
    from kb_pipeline.errors import FetchError
    from kb_pipeline.settings import Settings

log = structlog.get_logger(__name__)

FAILURES_IN_A_ROW: Final = 5
"""So many failures of the service's own, one after the other, and it is left alone for a while."""
SILENCE_SECONDS: Final = 60.0


@dataclass(slots=True)
class Service:
    """Browser Rendering or Workers AI of one account, as this process sees it."""

    name: str
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _next: float = 0.0
    _held_until: float = 0.0
    _silent_until: float = 0.0
    _why: FetchError | None = None
    _failures: int = 0

    async def turn(self, gap: float) -> None:
        """Wait for the next slot, `gap` seconds after the one before it. Slots are given out in order and evenly:
        Cloudflare allows no bursts (https://developers.cloudflare.com/browser-rendering/limits/)."""
        while True:
            with self._lock:  # chains of one process may run in several event loops
                now = time.monotonic()
                slot = max(now, self._next)
                self._next = slot + gap
            await asyncio.sleep(slot - now)
            if time.monotonic() >= self._held_until:
                return

    def hold(self, seconds: float) -> None:
        """Let nobody begin for so long, those neither who wait for their slot."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)
            self._next = max(self._next, self._held_until)

    def check(self) -> None:
        """Raise, without a request, what the service said last, while it is not to be asked."""
        why = self._why
        if why is not None and time.monotonic() < self._silent_until:
            raise type(why)(str(why))

    def silence(self, error: FetchError, seconds: float) -> None:
        """Ask nothing for so long; `error` is what every page is told meanwhile. Said once as a warning."""
        with self._lock:
            now = time.monotonic()
            said = now < self._silent_until
            self._why = error
            self._silent_until = max(self._silent_until, now + seconds)
        if not said:
            log.warning("cloudflare.left_alone", service=self.name, seconds=round(seconds), why=str(error))

    def failed(self, error: FetchError) -> None:
        """The service failed of its own accord. A few in a row silence it."""
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            self._failures = 0
            self.silence(error, SILENCE_SECONDS)

    def answered(self) -> None:
        """The service works."""
        self._failures = 0


@dataclass(frozen=True, slots=True)
class Account:
    """The two services that are used."""

    browser: Service = field(default_factory=lambda: Service("Browser Rendering"))
    vision: Service = field(default_factory=lambda: Service("Workers AI"))


_ACCOUNTS: Final[dict[str, Account]] = {}


def account_of(settings: Settings) -> Account:
    """The account that the settings name; another token is another account, so that a new one is tried at once."""
    parts = (settings.cloudflare_api_url, settings.cloudflare_account_id, settings.cloudflare_api_token)
    secret = "\n".join(part if isinstance(part, str) else part.get_secret_value() for part in parts)
    return _ACCOUNTS.setdefault(hashlib.sha256(secret.encode()).hexdigest(), Account())
