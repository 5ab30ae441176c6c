"""Connections that the guard has pinned, and the translation of what goes wrong on them into our errors."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

import httpcore

from kb_pipeline.errors import (
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    FetchError,
    HostnameMismatch,
    TierUnavailable,
    TimedOut,
)
from kb_pipeline.fetch.connections import Connections
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline.fetch.proxies import ThroughProxyError, ThroughProxyTimeoutError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from kb_pipeline.fetch.connections import Answer, Request

KEEPALIVE_SECONDS: Final = 15.0
_MOST_RESTING: Final = 64
"""Connections: as many as one host may be given."""
_MOST_SAID: Final = 200
"""Characters of a protocol error that are passed on."""
_HOSTNAME_MISMATCH: Final = frozenset({62, 63, 64})
"""OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and its relatives for mail and IP addresses."""


class GuardedTransport:
    """Sends requests over connections that the guard opened, or had opened by `dialler`. No environment, HTTP/1.1."""

    def __init__(
        self,
        guard: Guard,
        *,
        ssl_context: ssl.SSLContext,
        connections: int,
        dialler: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self.backend = PinnedBackend(guard, dialler)
        ssl_context.set_alpn_protocols(["http/1.1"])
        self._pool = Connections(
            ssl_context=ssl_context,
            network_backend=self.backend,
            most=connections,
            most_resting=_MOST_RESTING,
            keepalive_seconds=KEEPALIVE_SECONDS,
        )

    def slot(self) -> AbstractAsyncContextManager[None]:
        """One of the requests that may be in flight at once, to all hosts together."""
        return self._pool.slot()

    async def send(self, request: Request) -> Answer:
        """Send one request, in a slot; the caller reads the body of the answer. Raises FetchError."""
        with translated_errors():
            return await self._pool.send(request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class translated_errors:  # noqa: N801 - used as a function is; as a generator it would take longer
    """Raise FetchErrors, with words for a site's owner, in place of what httpcore raises."""

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise the translation of `error`, when it has one."""
        if error is not None and (translation := _translation(error)) is not None:
            raise translation from error


def _translation(error: BaseException) -> FetchError | None:
    match error:
        case ThroughProxyTimeoutError():
            return TimedOut(str(error))
        case ThroughProxyError():
            return ConnectFailed(str(error))
        case httpcore.TimeoutException():
            return TimedOut(_TIMEOUTS.get(type(error), "the site did not answer in time"))
        case httpcore.ConnectError():
            return _connect_error(error)
        case httpcore.NetworkError() | httpcore.ProtocolError():
            return _broken(error)
    return None


_TIMEOUTS: Final[dict[type[Exception], str]] = {
    httpcore.ConnectTimeout: "no connection within the time limit",
    httpcore.ReadTimeout: "the site stopped sending",
    httpcore.WriteTimeout: "the site stopped reading the request",
}


def _connect_error(error: Exception) -> FetchError:
    cause = _tls_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        if cause.verify_code in _HOSTNAME_MISMATCH:
            return HostnameMismatch(f"the certificate is for another host ({cause.verify_message})")
        return CertificateInvalid(f"bad certificate ({cause.verify_message})")
    if cause is not None:
        return CertificateInvalid(f"TLS could not be agreed ({cause.reason or cause})")
    if error.args and error.args[0]:
        return ConnectFailed(f"the connection was not accepted ({error.args[0]})")
    return ConnectFailed("the connection was closed before TLS was agreed")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """The TLS library's own error, however often it was wrapped on its way."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _broken(error: Exception) -> FetchError:
    if isinstance(error, httpcore.LocalProtocolError):
        # The site is not to blame. Without the error's own words: they hold the header, which may be a secret.
        return TierUnavailable("the request cannot be written as HTTP")
    return ConnectionBroken(_how_it_broke(error))


def _how_it_broke(error: Exception) -> str:
    said = str(error.args[0]) if error.args and error.args[0] else ""
    if isinstance(error, httpcore.NetworkError):
        return "the site reset the connection"
    if "disconnected without" in said:
        return "the site closed the connection without an answer"
    if "disconnected in the head" in said:
        return "the site closed the connection in the head of its answer"
    if "peer closed connection" in said:
        return "the site closed the connection in the middle of the page"
    # Often with the noise itself in it.
    return f"the answer is not proper HTTP: {said[:_MOST_SAID] or type(error).__name__}"
