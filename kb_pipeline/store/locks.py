"""The site lock: one writer a site, on any machine, held by a session of PostgreSQL so that it ends with its
process."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import psycopg

from kb_pipeline.errors import SiteBusy, StoreUnavailable
from kb_pipeline.store.connections import connect_to_hold
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from kb_pipeline.store.postgres_urls import PostgresAddress

_TAKE: Final = named("site_lock_take")
_GIVE_BACK: Final = named("site_lock_give_back")
_HOLDER: Final = named("site_lock_holder")
_IS_HELD: Final = named("site_lock_is_held")

_NAME_PREFIX: Final = "kb_pipeline writer: "


class SiteLock:
    """A held lock. Its connection is its own, since a pool would recycle the session that holds it."""

    def __init__(self, connection: psycopg.Connection[Any], site_id: str) -> None:
        self._connection = connection
        self.site_id = site_id

    def assert_held(self) -> None:
        """Ask the server, before each commit. Raises StoreUnavailable when the session, and so the lock, is gone."""
        try:
            row = self._connection.execute(_IS_HELD.sql, {"site_id": self.site_id}).fetchone()
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            message = f"the lock on site {self.site_id!r} was lost with its connection; run again to go on from here"
            raise StoreUnavailable(message) from error
        if row is None or not row[0]:
            message = f"the lock on site {self.site_id!r} is no longer held; run again to go on from here"
            raise StoreUnavailable(message)

    def release(self) -> None:
        """Give the lock back, then close its session: the server ends a closed session a little later, and the next
        stage may come at once. A session that is already gone gave it back itself."""
        with contextlib.suppress(psycopg.Error):
            self._connection.execute(_GIVE_BACK.sql, {"site_id": self.site_id})
        with contextlib.suppress(psycopg.Error):
            self._connection.close()


def hold_site_lock(address: PostgresAddress, site_id: str, holder: str) -> SiteLock:
    """Take the lock without waiting, or raise SiteBusy with the text its holder gave."""
    connection = connect_to_hold(address, f"{_NAME_PREFIX}{holder}")
    try:
        taken = connection.execute(_TAKE.sql, {"site_id": site_id}).fetchone()
        if taken is not None and taken[0]:
            return SiteLock(connection, site_id)
        row = connection.execute(_HOLDER.sql, {"site_id": site_id}).fetchone()
    except BaseException:
        connection.close()
        raise
    connection.close()
    by = f" by {row[0].removeprefix(_NAME_PREFIX)} (since {row[1]:%Y-%m-%d %H:%M:%S %Z})" if row else ""
    message = f"site {site_id!r} is being written{by}; wait for it to end"
    raise SiteBusy(message)
