"""A real HTTP/1.1 server on loopback that serves a dict of pages, misbehaves on request, and keeps an access
log. One thread a connection; what it can answer is in replies.py."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from kb_pipeline_tests.sites.replies import Answer, Behaviour, Reply, linger_reset, now

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, MutableMapping
    from types import TracebackType

MAX_HEAD_BYTES = 256 * 1024
NOT_FOUND = Reply("<html><head><title>Not found</title></head><body><h1>Not found</h1></body></html>", status=404)


@dataclass(frozen=True)
class Request:
    """One line of the access log. `at` and `answered_at` are monotonic seconds; `status` 0: no status line."""

    method: str
    target: str
    headers: Mapping[str, str]
    at: float
    status: int = 0
    answered_at: float = 0.0

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def user_agent(self) -> str:
        return self.headers.get("user-agent", "")


@dataclass
class Fault:
    """A behaviour that takes the place of the page for a share of the URLs (the same ones each time), or of the
    `times` first requests for each of them. robots.txt and sitemaps are spared unless `everything`."""

    behaviour: Behaviour
    share: float = 1.0
    times: int | None = None
    everything: bool = False
    salt: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    def takes(self, request: Request) -> bool:
        infrastructure = request.path == "/robots.txt" or "sitemap" in request.path
        if infrastructure and not self.everything:
            return False
        digest = hashlib.sha256(f"{self.salt}{request.target}".encode()).digest()
        if int.from_bytes(digest[:6], "big") / 2**48 >= self.share:
            return False
        self.seen[request.target] += 1
        return self.times is None or self.seen[request.target] <= self.times


class LoopbackSite:
    """`with LoopbackSite({"/": "<html>…"}) as site:` serves until the block ends.

    `pages` may be changed at any time. A key is a path with its query; without an exact match the path alone
    is tried, then `fallback`. `faults` come before pages, the first that takes a request wins.
    """

    def __init__(
        self,
        pages: Mapping[str, Answer] | None = None,
        *,
        fallback: Answer = NOT_FOUND,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        name: str | None = None,
    ) -> None:
        self.pages: MutableMapping[str, Answer] = dict(pages or {})
        self.fallback = fallback
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.connections_accepted = 0
        self.most_at_once = 0
        self._tls = tls
        self._served: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._open: set[socket.socket] = set()
        self._in_flight = 0
        self._listener = socket.create_server((address, port), backlog=256)
        self.address, self.port = self._listener.getsockname()[:2]
        self._name = name or self.address
        self._acceptor = threading.Thread(target=self._accept, daemon=True, name=f"site-{self.port}")
        self._threads: list[threading.Thread] = []

    @property
    def origin(self) -> str:
        """`scheme://host:port`, without a slash."""
        return f"{'https' if self._tls else 'http'}://{self._name}:{self.port}"

    def url(self, path: str = "/") -> str:
        """Absolute address of a path."""
        return self.origin + path

    def count(self, target: str, method: str = "GET") -> int:
        """How often a target (path and query) was asked for."""
        return sum(1 for request in list(self.requests) if request.target == target and request.method == method)

    def statuses(self) -> Counter[int]:
        """Answers by status code."""
        return Counter(request.status for request in list(self.requests))

    def forget(self) -> None:
        """Empty the access log, and start sequences and faults afresh."""
        with self._lock:
            self.requests.clear()
            self._served.clear()
            for fault in self.faults:
                fault.seen.clear()

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving: the port is free and every connection is ended when this returns."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        if self._acceptor.ident is not None:
            self._acceptor.join(5)
        for thread in self._threads:
            thread.join(5)

    def behaviour_for(self, request: Request) -> Behaviour:
        """What answers this request; sequences move on by one."""
        with self._lock:
            for fault in self.faults:
                if fault.takes(request):
                    return fault.behaviour
            answer = self.pages.get(request.target, self.pages.get(request.path, self.fallback))
            number = self._served[request.target]
            self._served[request.target] += 1
        if isinstance(answer, list | tuple):
            answer = answer[min(number, len(answer) - 1)]
        if callable(answer):
            answer = answer(request)
        return Reply(answer) if isinstance(answer, str | bytes) else answer

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections_accepted += 1
                self._open.add(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads = (
                [known for known in self._threads if known.is_alive()] if len(self._threads) > 64 else self._threads
            )
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        current = connection
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls:
                current = self._tls.wrap_socket(connection, server_side=True)
                with self._lock:
                    self._open.add(current)
            wire = _Wire(current, self._closed)
            while self._one_request(wire):
                pass
        except OSError:
            pass  # the client went away, or the site is closing
        finally:
            with self._lock:
                self._open -= {connection, current}
            with contextlib.suppress(OSError):
                current.shutdown(socket.SHUT_RDWR)
            current.close()
            connection.close()

    def _one_request(self, wire: _Wire) -> bool:
        request = wire.read_request()
        if request is None:
            return False
        with self._lock:
            self._in_flight += 1
            self.most_at_once = max(self.most_at_once, self._in_flight)
        behaviour = self.behaviour_for(request)
        status = behaviour.effective_status(request) if isinstance(behaviour, Reply) else behaviour.status
        slot = self._log(request, status)
        try:
            reusable = behaviour.answer(wire, request)
        finally:
            with self._lock:
                self._in_flight -= 1
                if slot < len(self.requests):
                    self.requests[slot] = Request(
                        request.method, request.target, request.headers, request.at, status, now()
                    )
        return reusable and request.headers.get("connection", "").lower() != "close"

    def _log(self, request: Request, status: int) -> int:
        with self._lock:
            self.requests.append(Request(request.method, request.target, request.headers, request.at, status))
            return len(self.requests) - 1


class _Wire:
    """One connection, as behaviours see it."""

    def __init__(self, connection: socket.socket, closed: threading.Event) -> None:
        self._connection = connection
        self._closed = closed
        self._buffer = b""

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def wait(self, seconds: float) -> bool:
        return not self._closed.wait(seconds) if seconds else not self._closed.is_set()

    def reset(self) -> None:
        linger_reset(self._connection)

    def read_request(self) -> Request | None:
        while b"\r\n\r\n" not in self._buffer:
            received = self._connection.recv(65536)
            if not received or len(self._buffer) > MAX_HEAD_BYTES:
                return None
            self._buffer += received
        top, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        first, *lines = top.decode("latin-1").split("\r\n")
        method, target, _version = first.split(" ", 2)
        fields = (line.partition(":") for line in lines)
        return Request(method, target, {name.strip().lower(): value.strip() for name, _, value in fields}, now())
