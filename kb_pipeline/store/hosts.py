"""Politeness that all runs on all machines share: when the next request to a host may start, and the last
robots.txt of each origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.database import Database

FURTHEST_SLOT_SECONDS: Final = 3600.0
"""What no host is owed beyond: a slot that is further away was never asked for by one."""

_RESERVE: Final = named("hosts_reserve")
_HOLD: Final = named("hosts_hold")
_SET_SLOWDOWN: Final = named("hosts_set_slowdown")
_GET: Final = named("hosts_get")
_ROBOTS_GET: Final = named("robots_files_get")
_ROBOTS_PUT: Final = named("robots_files_put")


@dataclass(frozen=True, slots=True)
class Host:
    """One row of `hosts`."""

    host: str
    next_slot_at: datetime
    slowdown: float
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """The last robots.txt that an origin answered with."""

    origin: str
    status: int
    body: bytes
    fetched_at: datetime


class Hosts:
    """Repository of `hosts`. The clock is the server's, so machines whose clocks differ agree."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, host: str, gap_seconds: float) -> float:
        """Take the next free slot of the host; the seconds to wait until it. Slots are `gap_seconds` times the
        host's slowdown apart, whoever asks, and at most FURTHEST_SLOT_SECONDS away. A slot that is not used is lost,
        never shared."""
        return self._database.require(_RESERVE, float, host=host, gap=gap_seconds, furthest=FURTHEST_SLOT_SECONDS)

    def hold(self, host: str, seconds: float) -> None:
        """No new slot for so long, as Retry-After asks. Never brings an earlier hold forward."""
        self._database.execute(_HOLD, host=host, seconds=seconds)

    def set_slowdown(self, host: str, slowdown: float) -> None:
        """Multiply the host's gap by this (at least 1) from now on."""
        self._database.execute(_SET_SLOWDOWN, host=host, slowdown=max(1.0, slowdown))

    def get(self, host: str) -> Host | None:
        """The host's row, or None when it was never asked."""
        return self._database.one(_GET, Host, host=host)


class RobotsFiles:
    """Repository of `robots_files`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, origin: str) -> RobotsFile | None:
        """The last file of this origin (`scheme://host:port`), however old, or None."""
        return self._database.one(_ROBOTS_GET, RobotsFile, origin=origin)

    def put(self, origin: str, status: int, body: bytes, fetched_at: datetime) -> None:
        """Replace the origin's file."""
        self._database.execute(_ROBOTS_PUT, origin=origin, status=status, body=body, fetched_at=fetched_at)
