"""Serves the demo site on loopback, with the validators that conditional requests need (RFC 9110 §8.8, §13)."""

from __future__ import annotations

import errno
import hashlib
import threading
from contextlib import contextmanager
from email.utils import format_datetime, parsedate_to_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final

from kb_pipeline.demo.site import DemoSite, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

DEFAULT_PORT: Final = 8319
"""The demo's usual port, so that its addresses stay the same from one run to the next."""


class DemoServer(ThreadingHTTPServer):
    """A threaded server that answers from a DemoSite."""

    daemon_threads = True
    block_on_close = False  # idle keep-alive connections must not hold up the end of the program

    def __init__(self, site: DemoSite, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.site = site

    @property
    def origin(self) -> str:
        """`http://127.0.0.1:<port>`, without a trailing slash."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer; unbuffered, headers and body meet the delayed ACK
    timeout = 30
    server: DemoServer

    def do_GET(self) -> None:
        reply = self.server.site.reply(self.path, self.server.origin)
        tag = '"' + hashlib.sha256(reply.body).hexdigest()[:16] + '"'
        unchanged = reply.status == HTTPStatus.OK and self._has_current_copy(tag, reply.modified)
        status = HTTPStatus.NOT_MODIFIED if unchanged else reply.status
        self.server.site.answered[status] += 1
        self._send(reply, status, tag)

    do_HEAD = do_GET  # noqa: N815 - named by http.server

    def _send(self, reply: Reply, status: int, tag: str) -> None:
        self.send_response(status)
        if reply.status == HTTPStatus.OK:
            self.send_header("ETag", tag)
            if reply.modified is not None:
                self.send_header("Last-Modified", format_datetime(reply.modified, usegmt=True))
        if reply.location is not None:
            self.send_header("Location", reply.location)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if status != HTTPStatus.NOT_MODIFIED and self.command != "HEAD":
            self.wfile.write(reply.body)

    def _has_current_copy(self, tag: str, modified: datetime | None) -> bool:
        """If-None-Match decides alone when it is there; only without it does If-Modified-Since (RFC 9110 §13.2.2)."""
        tags = self.headers.get("If-None-Match")
        if tags is not None:
            return any(part.strip().removeprefix("W/") in {tag, "*"} for part in tags.split(","))
        since = self.headers.get("If-Modified-Since")
        if since is None or modified is None:
            return False
        try:
            return modified <= parsedate_to_datetime(since)
        except (TypeError, ValueError):  # a date that is none, or one without a zone
            return False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing: the demo's own output is what is to be read."""


@contextmanager
def serve_demo_site(site: DemoSite | None = None, *, port: int = DEFAULT_PORT) -> Iterator[DemoServer]:
    """Serve on 127.0.0.1 until the block ends. A port that is taken falls back to a free one; 0 asks for one.

    Raises OSError when not even a free port can be bound.
    """
    server = _bind(site or DemoSite(), port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="demo-site", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bind(site: DemoSite, port: int) -> DemoServer:
    try:
        return DemoServer(site, port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE or port == 0:
            raise
        return DemoServer(site, 0)
