"""How connections to the control plane are opened, one way for the pool and for sessions that hold a lock, and what
it means when one is lost."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import psycopg

from kb_pipeline.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.store.postgres_urls import PostgresAddress

LIMITS: Final[dict[str, Any]] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    # Probes are sent on silent connections only; this ends one that dies with a statement on its way. Milliseconds.
    "tcp_user_timeout": 60_000,
}
"""libpq's parameters that keep a call from waiting for a machine that is gone."""
# The server's side of the same: it is what frees the lock of a machine that lost its power.
_LOCK_SESSION: Final = (
    "-c TimeZone=UTC -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=60000 -c idle_session_timeout=0"
)


def connect(address: PostgresAddress) -> psycopg.Connection[Any]:
    """A connection without a transaction around its statements. Raises what psycopg raises."""
    return psycopg.connect(address.conninfo, autocommit=True, **LIMITS)


def connect_to_hold(address: PostgresAddress, name: str) -> psycopg.Connection[Any]:
    """A session for a lock, which ends with it: `name` is what others see of its holder. Raises what psycopg raises."""
    return psycopg.connect(address.conninfo, autocommit=True, application_name=name, options=_LOCK_SESSION, **LIMITS)


@contextlib.contextmanager
def unavailable(address: PostgresAddress) -> Iterator[None]:
    """Turn a lost, refused or full server into StoreUnavailable, and leave every other error alone."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        if address.password:
            said = said.replace(address.password, "***")
        message = f"PostgreSQL at {address.shown} (KB_POSTGRES_URL) is not available: {said}"
        raise StoreUnavailable(message) from error
