"""One call of Cloudflare's REST API, the operator's own account: counted, paced, limited in time and size, and its
refusals told apart. What is asked of it is fetch.cloudflare's and fetch.cloudflare_vision's business.

`POST {api}/accounts/{account}/…` with `Authorization: Bearer <token>` and a JSON body; answers are an envelope
`{"success": true, "result": …, "errors": [], "meta": {"status": 200, "title": "…"}}`, or the bytes of a picture
(https://developers.cloudflare.com/browser-rendering/rest-api/).
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import httpx

from kb_pipeline.errors import BodyUndecodable, FetchError, LimitReached, TierUnavailable, TimedOut
from kb_pipeline.fetch.cloudflare_account import account_of
from kb_pipeline.fetch.cloudflare_errors import UNTIL_TOMORROW, Refusal, complaint_in, unreadable
from kb_pipeline.fetch.content_coding import ACCEPT_ENCODING, Body
from kb_pipeline.fetch.retry_after import retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kb_pipeline.fetch.budget import Budget
    from kb_pipeline.fetch.cloudflare_account import Service
    from kb_pipeline.fetch.cloudflare_errors import Complaint
    from kb_pipeline.settings import Settings

LONGEST_WAIT: Final = 30.0
"""Seconds of Retry-After that a page waits out; for longer the tier steps aside."""
_USUAL_WAIT: Final = 10.0
"""Seconds after a 429 that names none: the slowest plan's gap between two requests."""
_LONGEST_SILENCE: Final = 3600.0
_ERROR_BYTES: Final = 64 * 1024
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One thing to ask."""

    service: Service
    path: str
    """Below the account's address."""
    body: Mapping[str, object]
    counter: str
    """Name of the day's count (fetch.budget)."""
    most: int
    """Calls a day; 0: no limit."""
    gap: float
    """Seconds between two requests to the service."""
    max_bytes: int
    seconds: float
    """For the exchange alone; waits before it are not counted."""
    refusal: Callable[[int, Complaint], Refusal]
    gives_picture: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: `result` of the envelope with its `meta`, or a picture's bytes."""

    result: object
    meta: Mapping[str, object] = field(default_factory=dict)
    wire_bytes: int = 0

    @property
    def status(self) -> int | None:
        """Of the page itself, as the browser met it; None where Cloudflare does not say, as with every picture."""
        status = self.meta.get("status")
        return status if isinstance(status, int) and 100 <= status < 600 else None  # noqa: PLR2004

    def said(self, name: str) -> str:
        """A text of the metadata, or ""."""
        value = self.meta.get(name)
        return value if isinstance(value, str) else ""


class CloudflareApi:
    """Calls of one account. `now` tells when a day of the account's plan ends (UTC)."""

    def __init__(
        self, settings: Settings, budget: Budget, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.account = account_of(settings)
        self._settings = settings
        self._budget = budget
        self._now = now
        self._http: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    async def post(self, call: Call) -> Reply:
        """Ask once, and again after a Retry-After that is worth waiting for: that second time is not counted, since
        Cloudflare did nothing the first time. Nor is a call given back that ends in a refusal: there are few of them,
        for a service that refuses is left alone.

        Raises TierUnavailable, LimitReached, and what `call.refusal` makes of the page's own faults.
        """
        call.service.check()
        if not await self._budget.take(call.counter, call.most):
            message = f"{call.most} calls of {call.service.name} a day are allowed, and made"
            raise LimitReached(message)
        try:
            return await self._attempts(call)
        except FetchError as error:
            error.calls = 1
            raise

    async def _attempts(self, call: Call) -> Reply:
        reply, wait = await self._once(call)
        if isinstance(reply, Refusal) and reply.try_again and wait <= LONGEST_WAIT:
            call.service.hold(wait)
            reply, wait = await self._once(call)
        if isinstance(reply, Reply):
            call.service.answered()
            return reply
        self._learn(call.service, reply, wait)
        raise reply.error

    def _learn(self, service: Service, refusal: Refusal, wait: float) -> None:
        if refusal.is_fault:
            service.failed(refusal.error)
            return
        service.answered()
        silence = self._seconds_of_today() if refusal.silence == UNTIL_TOMORROW else refusal.silence
        if refusal.try_again:
            silence = min(wait, _LONGEST_SILENCE)
        if silence:
            service.silence(refusal.error, silence)

    async def _once(self, call: Call) -> tuple[Reply | Refusal, float]:
        """One request; what came, and the seconds to wait after a refusal."""
        token = self._token()
        await call.service.turn(call.gap)
        call.service.check()
        try:
            async with asyncio.timeout(call.seconds):
                return await self._exchange(call, token)
        except (TimeoutError, httpx.TimeoutException):
            message = f"{call.service.name} gave no complete answer within {call.seconds:g} s"
            return Refusal(TimedOut(message), is_fault=True), 0.0
        except BodyUndecodable as error:
            return unreadable(call.service.name, str(error)), 0.0
        except httpx.TransportError as error:
            message = f"{call.service.name} could not be reached ({type(error).__name__})"
            return Refusal(TierUnavailable(message), is_fault=True), 0.0

    async def _exchange(self, call: Call, token: str) -> tuple[Reply | Refusal, float]:
        content = await asyncio.to_thread(lambda: json.dumps(call.body).encode())
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept-Encoding": ACCEPT_ENCODING,
            "User-Agent": self._settings.bot_user_agent,
        }
        async with self._client().stream("POST", self._address(call.path), content=content, headers=headers) as answer:
            good = answer.status_code == _OK
            wire = 0
            limit = call.max_bytes if good else _ERROR_BYTES
            body = Body(answer.headers.get("content-encoding"), limit, cut=not good)
            async for piece in answer.aiter_raw():
                wire += len(piece)
                body.feed(piece)
                if body.full:
                    break
        wait = retry_after_seconds(answer.headers, self._now())
        reply = await asyncio.to_thread(self._read, call, answer.status_code, body.finish(), wire)
        return reply, _USUAL_WAIT if wait is None else wait

    def _read(self, call: Call, status: int, body: bytes, wire: int) -> Reply | Refusal:
        if status != _OK:
            return call.refusal(status, complaint_in(self._without_token(body)))
        if call.gives_picture and is_picture(body):
            return Reply(body, wire_bytes=wire)
        try:
            envelope = json.loads(body)
        except (ValueError, RecursionError):
            return unreadable(call.service.name, "it is not JSON")
        if not isinstance(envelope, dict):
            return unreadable(call.service.name, "it is no envelope")
        if envelope.get("success") is False or envelope.get("result") is None:
            return call.refusal(status, complaint_in(self._without_token(body)))
        meta = envelope.get("meta")
        return Reply(envelope["result"], meta if isinstance(meta, dict) else {}, wire)

    def _client(self) -> httpx.AsyncClient:
        if self._http is None:
            settings = self._settings
            timeout = httpx.Timeout(None, connect=settings.connect_timeout_seconds)  # the exchange has its own limit
            self._http = httpx.AsyncClient(timeout=timeout, trust_env=False, verify=httpx.create_ssl_context())
        return self._http

    def _address(self, path: str) -> str:
        account = quote(self._settings.cloudflare_account_id.strip(), safe="")
        return f"{self._settings.cloudflare_api_url.rstrip('/')}/accounts/{account}/{quote(path, safe='/@')}"

    def _token(self) -> str:
        """The token, for the header and nothing else. An odd one would be quoted by the error that refuses it."""
        token = self._settings.cloudflare_api_token.get_secret_value().strip()
        if not _TOKEN.fullmatch(token):
            message = "CLOUDFLARE_API_TOKEN is empty, or holds characters that no token has"
            raise TierUnavailable(message)
        return token

    def _without_token(self, body: bytes) -> bytes:
        """A gateway may repeat what it was sent."""
        return body.replace(self._token().encode(), b"(token)")

    def _seconds_of_today(self) -> float:
        now = self._now().astimezone(UTC)
        midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        return (midnight - now).total_seconds()


def is_picture(body: bytes) -> bool:
    """Whether the bytes begin as a PNG, a JPEG or a WebP do."""
    return body.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")) or (body[:4], body[8:12]) == (b"RIFF", b"WEBP")
