"""Whether a host's certificate covers its name without `www.`, and nothing else is wrong with it: the one fault of a
certificate that another address cures."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, Any, Final

import httpcore
import structlog

from kb_pipeline.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kb_pipeline.fetch.guard import Target

log = structlog.get_logger(__name__)

_WWW: Final = "www."
_MOST_HOSTS: Final = 1024
_KEPT_SECONDS: Final = 3600.0
_LEAST_LABELS_UNDER_A_STAR: Final = 2


class Certificates:
    """Looks at certificates through `backend`, which guards what it dials. One that was seen is remembered for an
    hour: hosts are given better ones."""

    def __init__(
        self,
        backend: httpcore.AsyncNetworkBackend,
        ssl_context: ssl.SSLContext,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._ssl_context = ssl_context
        self._seconds = seconds
        self._clock = clock
        self._found: dict[tuple[str, int], tuple[bool, float]] = {}
        """Whether the apex is the cure, and when that was seen; the oldest first."""

    async def apex_for(self, target: Target) -> str | None:
        """The address without `www.`, scheme, port, path and query alike; None where that cures nothing."""
        apex = target.host.removeprefix(_WWW)
        if target.scheme != "https" or apex == target.host or "." not in apex:
            return None
        cures = self._remembered(target)
        if cures is None:
            names = await self._names(target.host, target.port)
            if not names:
                return None  # Not kept: the next page may find the host in a better hour.
            cures = covers(names, apex) and not covers(names, target.host)
            self._remember(target, cures=cures)
        return target.url.replace(f"://{_WWW}", "://", 1) if cures else None

    def _remembered(self, target: Target) -> bool | None:
        cures, seen_at = self._found.get((target.host, target.port), (None, 0.0))
        return None if self._clock() - seen_at >= _KEPT_SECONDS else cures

    def _remember(self, target: Target, *, cures: bool) -> None:
        key = (target.host, target.port)
        self._found.pop(key, None)
        self._found[key] = (cures, self._clock())
        if len(self._found) > _MOST_HOSTS:
            del self._found[next(iter(self._found))]

    async def _names(self, host: str, port: int) -> tuple[str, ...]:
        """DNS names of a certificate that is valid but for its names; none when it is not."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._handshake(host, port)
        except (TimeoutError, FetchError, httpcore.NetworkError, httpcore.TimeoutException) as error:
            log.debug("crawl.certificate_not_seen", host=host, error=str(error))
            return ()

    async def _handshake(self, host: str, port: int) -> tuple[str, ...]:
        stream = await self._backend.connect_tcp(host, port, self._seconds)
        try:
            stream = await stream.start_tls(without_host_check(self._ssl_context), host, self._seconds)
            certificate: dict[str, Any] = stream.get_extra_info("ssl_object").getpeercert() or {}
        finally:
            await stream.aclose()
        return tuple(name for kind, name in certificate.get("subjectAltName", ()) if kind == "DNS")


def covers(names: Iterable[str], host: str) -> bool:
    """Whether a certificate of these names is for `host` (RFC 9525 §6.3): a star stands for one whole label, the
    first, with two others at least behind it."""
    wanted = host.lower().rstrip(".")
    _, _, parent = wanted.partition(".")
    for name in names:
        presented = name.lower().rstrip(".")
        if presented == wanted:
            return True
        star, _, rest = presented.partition(".")
        if star == "*" and rest == parent and rest.count(".") + 1 >= _LEAST_LABELS_UNDER_A_STAR:
            return True
    return False


def without_host_check(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same trust and the same demands on a chain and its dates, whatever host it is for.

    Another context: the one that requests use is never without its check, not for a moment.
    """
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    other.check_hostname = False
    other.verify_mode = ssl.CERT_REQUIRED
    other.verify_flags = context.verify_flags
    other.minimum_version = context.minimum_version
    trusted = b"".join(context.get_ca_certs(binary_form=True))
    if trusted:
        other.load_verify_locations(cadata=trusted)
    return other
