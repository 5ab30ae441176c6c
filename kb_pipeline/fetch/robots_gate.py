"""robots.txt of each origin: fetched once a run, remembered for a day in case the site cannot give it (RFC 9309
§2.3, §2.4). Reading the file is core.robots' business."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from kb_pipeline.core.robots import Robots, RobotsAccess, access_of
from kb_pipeline.core.urls import origin_of
from kb_pipeline.errors import FetchError, GuardRefused, TooManyRedirects

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.fetch.client import HttpClient
    from kb_pipeline.fetch.politeness import Politeness

log = structlog.get_logger(__name__)

_MAX_REDIRECTS: Final = 5
_MAX_BYTES: Final = 512 * 1024
_LAST_GOOD_COPY: Final = timedelta(days=1)
_FRESH: Final = timedelta(days=1)
"""A file is read anew after a day (RFC 9309 §2.4): a large site's refresh takes longer."""
_ASK_AGAIN: Final = timedelta(minutes=1)
"""When an origin that gave no answer is asked again."""
_OK: Final = 200
_QUICK_STARS: Final = 1_000
"""Up to so many wildcards a check takes a few milliseconds, whatever the rules and the address are."""


class Access(StrEnum):
    """What robots.txt lets us do with one address."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNAVAILABLE = "unavailable"
    """robots.txt could not be read: nothing may be fetched, and nothing is removed for it."""


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """The answer for one address. `sitemaps` are the file's own, whatever the access."""

    access: Access
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()
    reason: str = ""
    """Words for a site's owner; empty when allowed."""


class StoredRobots(Protocol):
    """A robots.txt as it was stored."""

    @property
    def body(self) -> bytes: ...  # noqa: D102 - the file, as it came
    @property
    def fetched_at(self) -> datetime: ...  # noqa: D102 - when it was read


class RobotsFiles(Protocol):
    """Where the last robots.txt that was read of each origin is kept."""

    def get(self, origin: str) -> StoredRobots | None:
        """The origin's file, however old."""
        ...

    def put(self, origin: str, status: int, body: bytes, fetched_at: datetime) -> None:
        """Replace the origin's file."""
        ...


@dataclass(frozen=True, slots=True)
class _Rules:
    access: RobotsAccess
    robots: Robots
    sitemaps: tuple[str, ...]
    reason: str
    read_at: datetime
    file_bytes: int = 0


class RobotsGate:
    """Verdicts for addresses, one request a day and origin. `token` is our product token, as in robots.txt groups."""

    def __init__(  # the collaborators are the interface
        self,
        client: HttpClient,
        files: RobotsFiles,
        *,
        token: str,
        user_agent: str,
        politeness: Politeness | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._files = files
        self._token = token
        self._user_agent = user_agent
        self._politeness = politeness
        self._now = now
        self._rules: dict[str, _Rules] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    @property
    def file_bytes(self) -> int:
        """Bytes of the files whose rules are held. Parsed, they take up to twenty times as much."""
        return sum(rules.file_bytes for rules in self._rules.values())

    def forget(self) -> None:
        """Hold no rules any more: who asks next has the file read anew."""
        self._rules.clear()
        self._locks = {origin: lock for origin, lock in self._locks.items() if lock.locked()}

    async def verdict(self, url: str) -> RobotsVerdict:
        """Whether `url` may be fetched. Raises GuardRefused for an address that may not be dialled at all."""
        self._client.guard.check_url(url)
        rules = await self._rules_of(origin_of(url))
        if rules.access is RobotsAccess.UNAVAILABLE:
            return RobotsVerdict(Access.UNAVAILABLE, reason=rules.reason)
        delay = rules.robots.crawl_delay(self._token)
        if await self._allows(rules.robots, url):
            return RobotsVerdict(Access.ALLOWED, delay, rules.sitemaps)
        return RobotsVerdict(Access.FORBIDDEN, delay, rules.sitemaps, "robots.txt does not allow this page")

    async def _allows(self, robots: Robots, url: str) -> bool:
        """In a thread where rules that were made to be slow would hold up every other page."""
        if robots.stars(self._token) <= _QUICK_STARS:
            return robots.allows(self._token, url)
        return await asyncio.to_thread(robots.allows, self._token, url)

    async def access(self, url: str) -> RobotsAccess:
        """What the answer for the robots.txt of the origin of `url` means."""
        return (await self._rules_of(origin_of(url))).access

    async def _rules_of(self, origin: str) -> _Rules:
        async with self._locks.setdefault(origin, asyncio.Lock()):
            known = self._rules.get(origin)
            if known is None or self._is_stale(known):
                known = self._rules[origin] = await self._read(origin)
                if self._politeness is not None:
                    self._politeness.set_crawl_delay(origin, known.robots.crawl_delay(self._token))
            return known

    def _is_stale(self, rules: _Rules) -> bool:
        lasts = _ASK_AGAIN if rules.access is RobotsAccess.UNAVAILABLE else _FRESH
        return self._now() - rules.read_at > lasts

    async def _read(self, origin: str) -> _Rules:
        url = f"{origin}/robots.txt"
        status, body, why = await self._ask(url)
        access = access_of(status, body)
        if access is RobotsAccess.UNAVAILABLE:
            return await self._last_good(origin, url, why)
        if access is RobotsAccess.KEEP_CACHED:
            stored = await asyncio.to_thread(self._files.get, origin)
            if stored is None:
                return self._unavailable(origin, why)
            status, body = _OK, stored.body
        if access is RobotsAccess.ALLOW_ALL:
            body = b""
        await asyncio.to_thread(self._files.put, origin, status or _OK, body, self._now())
        return await self._parsed(access, body, url)

    async def _ask(self, url: str) -> tuple[int | None, bytes, str]:
        """Status (None: no answer), body, and what to say when the answer forbids all."""
        try:
            response = await self._client.get(
                url, max_bytes=_MAX_BYTES, user_agent=self._user_agent, max_redirects=_MAX_REDIRECTS, truncate=True
            )
        except TooManyRedirects:
            return 404, b"", ""  # RFC 9309 §2.3.1.2: taken as if there were none
        except GuardRefused as error:
            return None, b"", f"robots.txt cannot be read ({error})"
        except FetchError as error:
            return None, b"", f"robots.txt could not be read ({error})"
        return response.status, response.body, f"robots.txt could not be read (status {response.status})"

    async def _last_good(self, origin: str, url: str, why: str) -> _Rules:
        stored = await asyncio.to_thread(self._files.get, origin)
        if stored is not None and self._now() - stored.fetched_at < _LAST_GOOD_COPY:
            log.info("crawl.robots_from_copy", origin=origin, why=why, fetched_at=stored.fetched_at.isoformat())
            return await self._parsed(RobotsAccess.PARSE, stored.body, url)
        return self._unavailable(origin, why)

    def _unavailable(self, origin: str, why: str) -> _Rules:
        log.warning("crawl.robots_unavailable", origin=origin, why=why)
        return _Rules(RobotsAccess.UNAVAILABLE, Robots.parse(b""), (), why, self._now())

    async def _parsed(self, access: RobotsAccess, body: bytes, url: str) -> _Rules:
        robots = await asyncio.to_thread(self._indexed, body, url)
        return _Rules(access, robots, robots.sitemaps(url), "", self._now(), len(body))

    def _indexed(self, body: bytes, url: str) -> Robots:
        robots = Robots.parse(body)
        # The first check puts a group's rules in order: 0.2 s for the largest file, in which other pages go on.
        robots.allows(self._token, url.removesuffix("robots.txt"))
        return robots
