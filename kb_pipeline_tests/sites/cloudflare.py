"""A loopback server that speaks as much of Cloudflare's REST API as the client asks for, and fails on request."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from kb_pipeline_tests.sites.replies import Behaviour, Reply, linger_reset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

ACCOUNT = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
TOKEN = "cf-Secret_token-that-nobody-may-see-0123456789"
JSON = "application/json"


def envelope(result: object, **meta: object) -> Reply:
    """A success."""
    written = {"success": True, "errors": [], "result": result} | ({"meta": meta} if meta else {})
    return Reply(json.dumps(written), content_type=JSON)


def refusal(status: int, code: int | None, message: str, **headers: str) -> Reply:
    """A failure in the documented form."""
    error = {"message": message} | ({} if code is None else {"code": code})
    body = json.dumps({"success": False, "errors": [error], "messages": [], "result": None})
    return Reply(body, status, JSON, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True)
class ApiRequest:
    """One line of the log: `endpoint` is what stands behind the account, `at` is in monotonic seconds."""

    endpoint: str
    body: Any
    at: float


@dataclass
class LoopbackCloudflare:
    """`with LoopbackCloudflare() as api:` serves. `answers` maps an endpoint (`content`, `markdown`, `screenshot`,
    `ai`) to a behaviour, to a list of them, one a request, the last repeated, or to a function of the request."""

    answers: dict[str, Behaviour | Sequence[Behaviour] | Callable[[ApiRequest], Behaviour]] = field(
        default_factory=dict
    )
    requests: list[ApiRequest] = field(default_factory=list)
    token: str = TOKEN

    def __enter__(self) -> Self:
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/client/v4"

    @property
    def settings(self) -> dict[str, Any]:
        """What a Settings needs to use this account."""
        return {
            "cloudflare_api_url": self.url,
            "cloudflare_account_id": ACCOUNT,
            "cloudflare_api_token": TOKEN,
            "cloudflare_requests_a_minute": 1e6,
        }

    def count(self, endpoint: str) -> int:
        return sum(request.endpoint.startswith(endpoint) for request in list(self.requests))

    def behaviour_for(self, path: str, authorization: str | None, body: Any) -> Behaviour:
        prefix = f"/client/v4/accounts/{ACCOUNT}/"
        if not path.startswith(prefix):
            return refusal(404, 7003, f"Could not route to {path}, perhaps your object identifier is invalid?")
        endpoint = path.removeprefix(prefix).removeprefix("browser-rendering/")
        request = ApiRequest(endpoint, body, time.monotonic())
        with self._lock:
            number = self.count(endpoint)
            self.requests.append(request)
        if authorization != f"Bearer {self.token}":
            return refusal(401, 10000, "Authentication error")
        answer = self.answers.get("ai" if endpoint.startswith("ai/") else endpoint)
        if isinstance(answer, list | tuple):
            answer = answer[min(number, len(answer) - 1)]
        if answer is None:
            return refusal(400, None, f"nothing is set for {endpoint}")
        return answer(request) if callable(answer) else answer


def _handler_of(api: LoopbackCloudflare) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            behaviour = api.behaviour_for(self.path, self.headers.get("Authorization"), json.loads(raw))
            self.method, self.close_connection = "POST", True
            with contextlib.suppress(OSError):  # the client went away
                self.close_connection = not behaviour.answer(self, self)  # type: ignore[arg-type]

        # The server's side of a connection, as replies.Wire has it.
        def send(self, data: bytes) -> None:
            self.wfile.write(data)

        def wait(self, seconds: float) -> bool:
            return not api._closed.wait(seconds)

        def reset(self) -> None:
            linger_reset(self.connection)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
