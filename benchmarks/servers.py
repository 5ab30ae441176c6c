"""Serves a web root on loopback: nginx as a healthy site, and a server of our own that fails as it is told to. Both
take turns on one address, send the same validators, and say which requests they answered."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import http.server
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = "127.0.0.1"
NGINX_CONF = """
worker_processes 1; pid {state}/pid; error_log {state}/error.log; daemon off; {user}
events {{ worker_connections 512; }}
http {{
  types {{ text/html html; text/css css; application/xml xml; text/plain txt; }}
  default_type application/octet-stream;
  log_format requests escape=json '{{"path":"$request_uri","status":$status,"sent":$body_bytes_sent,'
    '"conditional":"$http_if_none_match$http_if_modified_since","agent":"$http_user_agent"}}';
  access_log {state}/access.log requests;
  sendfile on; gzip on; gzip_types application/xml; etag on;
  client_body_temp_path {state}/t1; proxy_temp_path {state}/t2; fastcgi_temp_path {state}/t3;
  uwsgi_temp_path {state}/t4; scgi_temp_path {state}/t5;
  server {{ listen {host}:{port}; root {root}; index index.html; }}
}}
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One line of an access log."""

    path: str
    status: int
    """0 when the connection was reset or left hanging."""
    sent: int
    """Bytes of body on the wire."""
    conditional: bool

    @property
    def is_page(self) -> bool:
        """Whether a page was asked for, as opposed to robots.txt, a sitemap or a guess at one."""
        return self.path.endswith(".html")


@dataclass(frozen=True, slots=True)
class Faults:
    """Shares of pages, chosen by their path so that a page fails every time; robots.txt and sitemaps stay well."""

    unavailable: float = 0.0
    reset: float = 0.0
    stall: float = 0.0
    missing: float = 0.0
    whole_host: bool = False
    """Everything is missing, robots.txt and sitemaps too."""

    def of(self, path: str) -> str | None:
        if self.whole_host:
            return "missing"
        if not path.endswith(".html"):
            return None
        place = int.from_bytes(hashlib.sha256(path.encode()).digest()[:4], "big") / 2**32
        for fault in ("unavailable", "reset", "stall", "missing"):
            share = getattr(self, fault)
            if place < share:
                return fault
            place -= share
        return None


class AccessLog:
    """Requests that were answered since the last look."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._requests: list[Request] = []
        self._seen = 0

    def add(self, request: Request) -> None:
        self._requests.append(request)

    def new(self) -> list[Request]:
        if self._path is not None:
            lines = self._path.read_text().splitlines()
            self._requests = [_parse(line) for line in lines]
        fresh = self._requests[self._seen :]
        self._seen += len(fresh)
        return fresh


def _parse(line: str) -> Request:
    row = json.loads(line)
    return Request(urlsplit(row["path"]).path, row["status"], row["sent"], bool(row["conditional"]))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def nginx(root: Path, port: int, state: Path) -> Iterator[AccessLog]:
    """Serve `root` with nginx until the block ends. Raises FileNotFoundError when nginx is not installed."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
    if program is None:
        message = "nginx is missing; on Debian: apt-get install nginx-light"
        raise FileNotFoundError(message)
    state.mkdir(parents=True, exist_ok=True)
    log = state / "access.log"
    log.write_text("")
    user = "user root;" if os.geteuid() == 0 else ""
    conf = state / "nginx.conf"
    conf.write_text(NGINX_CONF.format(state=state, root=root, port=port, host=HOST, user=user))
    child = subprocess.Popen([program, "-c", str(conf), "-e", str(state / "error.log")])
    try:
        _await_port(port, child)
        yield AccessLog(log)
    finally:
        child.terminate()
        child.wait(timeout=10)


@contextlib.contextmanager
def faulty(root: Path, port: int, faults: Faults) -> Iterator[AccessLog]:
    """Serve `root` with faults until the block ends."""
    server = _FaultyServer((HOST, port), _Handler)
    server.root, server.faults, server.log, server.closing = root, faults, AccessLog(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.log
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _await_port(port: int, child: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and child.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.02)
    message = f"nginx does not answer on port {port}"
    raise TimeoutError(message)


class _FaultyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    root: Path
    faults: Faults
    log: AccessLog
    closing: threading.Event


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _FaultyServer
    protocol_version = "HTTP/1.1"
    server_version = "benchmark"
    sys_version = ""
    disable_nagle_algorithm = True
    types: ClassVar = {".html": "text/html", ".xml": "application/xml", ".txt": "text/plain", ".css": "text/css"}

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        fault = self.server.faults.of(path)
        if fault == "unavailable":
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"<h1>Service unavailable</h1>")
        elif fault == "reset":
            self._note(0, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault == "stall":
            self._note(0, 0)
            self.server.closing.wait(600)
            self.close_connection = True
        elif fault == "missing":
            self._answer(HTTPStatus.NOT_FOUND, b"<h1>Not Found</h1>")
        else:
            self._serve(unquote(path).lstrip("/") or "index.html")

    def _serve(self, name: str) -> None:
        path = self.server.root / name
        if not path.resolve().is_relative_to(self.server.root.resolve()) or not path.is_file():
            self._answer(HTTPStatus.NOT_FOUND, b"<h1>Not Found</h1>")
            return
        stat = path.stat()
        tag = f'"{int(stat.st_mtime):x}-{stat.st_size:x}"'  # as nginx writes it
        moment = email.utils.formatdate(int(stat.st_mtime), usegmt=True)
        validators = {"ETag": tag, "Last-Modified": moment}
        asked = self.headers.get("If-None-Match")
        same = tag in asked if asked else self.headers.get("If-Modified-Since") == moment
        if same:
            self._answer(HTTPStatus.NOT_MODIFIED, b"", validators)
            return
        kind = self.types.get(path.suffix, "application/octet-stream")
        self._answer(HTTPStatus.OK, path.read_bytes(), {**validators, "Content-Type": kind})

    def _answer(self, status: HTTPStatus, body: bytes, headers: dict[str, str] | None = None) -> None:
        self._note(status, len(body))
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **(headers or {})}.items():
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _note(self, status: int, sent: int) -> None:
        asked = self.headers.get("If-None-Match") or self.headers.get("If-Modified-Since")
        self.server.log.add(Request(urlsplit(self.path).path, status, sent, bool(asked)))

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: the access log is what is read."""

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
