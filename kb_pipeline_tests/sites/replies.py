"""What the loopback server can answer: honest replies, and every way to misbehave that a crawler meets.
Each behaviour writes to a socket and says whether the connection may be used again."""

from __future__ import annotations

import gzip
import socket
import struct
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kb_pipeline_tests.sites.server import Request

HTML = "text/html; charset=utf-8"
CHUNK = 64 * 1024


class Wire(Protocol):
    """The server's side of one connection."""

    def send(self, data: bytes) -> None:
        """Write everything, or raise OSError."""

    def wait(self, seconds: float) -> bool:
        """Sleep, and return False as soon as the server is closed."""

    def reset(self) -> None:
        """Close with RST instead of FIN."""


class Behaviour(Protocol):
    """How one request is answered. `status` is what goes to the access log (0: no status line was sent)."""

    @property
    def status(self) -> int: ...

    def answer(self, wire: Wire, request: Request, /) -> bool:
        """Return True when the connection can take another request."""


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """A status line and headers, ready to send."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(frozen=True)
class Reply:
    """An honest answer. With `etag` or `last_modified`, a conditional request that matches gets 304.

    `delay` (seconds) passes before the status line, as on a busy host.
    """

    body: bytes | str = b""
    status: int = 200
    content_type: str | None = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    etag: str | None = None
    last_modified: str | None = None
    delay: float = 0.0

    @property
    def raw(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body

    def effective_status(self, request: Request) -> int:
        sent_etag, sent_date = request.headers.get("if-none-match"), request.headers.get("if-modified-since")
        if sent_etag is not None:
            return 304 if self.etag and self.etag in [part.strip() for part in sent_etag.split(",")] else self.status
        return 304 if self.last_modified and sent_date == self.last_modified else self.status

    def answer(self, wire: Wire, request: Request) -> bool:
        if self.delay and not wire.wait(self.delay):
            return False
        status = self.effective_status(request)
        body = b"" if status == 304 else self.raw
        headers = {"Content-Length": str(len(body))} if status != 304 else {}
        if self.content_type and status != 304:
            headers["Content-Type"] = self.content_type
        if self.etag:
            headers["ETag"] = self.etag
        if self.last_modified:
            headers["Last-Modified"] = self.last_modified
        wire.send(head(status, headers | dict(self.headers)) + (b"" if request.method == "HEAD" else body))
        return True


@dataclass(frozen=True)
class Raw:
    """These bytes, then the end of the connection."""

    data: bytes
    status: int = 0

    def answer(self, wire: Wire, _request: Request) -> bool:
        wire.send(self.data)
        return False


@dataclass(frozen=True)
class Reset:
    """RST: at once, or after `body` of a longer declared one."""

    body: bytes = b""
    status: int = 0

    def answer(self, wire: Wire, _request: Request) -> bool:
        if self.body:
            wire.send(head(200, {"Content-Type": HTML, "Content-Length": str(len(self.body) + 1000)}) + self.body)
            wire.wait(0.05)
        wire.reset()
        return False


@dataclass(frozen=True)
class Stall:
    """Nothing for `seconds` (until the server closes, for all practical purposes), perhaps after the headers."""

    seconds: float = 600.0
    after_headers: bool = False
    status: int = 0

    def answer(self, wire: Wire, _request: Request) -> bool:
        if self.after_headers:
            wire.send(head(200, {"Content-Type": HTML, "Content-Length": "1000"}))
        wire.wait(self.seconds)
        return False


@dataclass(frozen=True)
class Drip:
    """One byte every `interval` seconds: the body, or everything from the status line on (`headers_too`)."""

    body: bytes = b"<p>slow</p>" * 100
    interval: float = 1.0
    headers_too: bool = False
    status: int = 200

    def answer(self, wire: Wire, _request: Request) -> bool:
        top = head(200, {"Content-Type": HTML, "Content-Length": str(len(self.body))})
        if not self.headers_too:
            wire.send(top)
        for byte in (top + self.body) if self.headers_too else self.body:
            wire.send(bytes([byte]))
            if not wire.wait(self.interval):
                return False
        return True


@dataclass(frozen=True)
class Endless:
    """Headers or a body without end, as fast as the client reads."""

    headers: bool = False
    chunked: bool = False
    status: int = 200

    def answer(self, wire: Wire, _request: Request) -> bool:
        if self.headers:
            wire.send(b"HTTP/1.1 200 OK\r\n")
            while wire.wait(0):
                wire.send(b"".join(b"X-Filler-%d: %s\r\n" % (number, b"x" * 50) for number in range(50)))
        piece = b"<p>and more</p>" * (CHUNK // 15)
        coding = {"Transfer-Encoding": "chunked"} if self.chunked else {"Connection": "close"}
        wire.send(head(200, {"Content-Type": HTML} | coding))
        while wire.wait(0):
            wire.send(b"%x\r\n%s\r\n" % (len(piece), piece) if self.chunked else piece)
        return False


@dataclass(frozen=True)
class WrongLength:
    """Declares `declared` bytes, sends `body`, and closes."""

    body: bytes
    declared: int
    status: int = 200

    def answer(self, wire: Wire, _request: Request) -> bool:
        wire.send(head(200, {"Content-Type": HTML, "Content-Length": str(self.declared)}) + self.body)
        return False


Single = Behaviour | str | bytes
Answer = Single | Callable[["Request"], Single] | Sequence[Single]
"""What a page may be: a behaviour; the HTML itself; a function of the request; or a list of those, one a
request, the last one repeated."""


def page(title: str, *paragraphs: str, links: Sequence[str] = (), head_extra: str = "", **options: object) -> Reply:
    """An HTML page that clears the 200-character threshold when its paragraphs do."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    anchors = "".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    html = (
        f"<!doctype html><html lang=en><head><title>{title}</title>{head_extra}</head>"
        f"<body><main><h1>{title}</h1>{text}{anchors}</main></body></html>"
    )
    return Reply(html, **options)  # type: ignore[arg-type]


def prose(subject: str, sentences: int = 6) -> str:
    """A paragraph about `subject`, about 65 characters a sentence: six clear the threshold."""
    return " ".join(
        f"Sentence {number} says something of its own about {subject} and how it is used."
        for number in range(sentences)
    )


def text(body: str, **options: object) -> Reply:
    """A text/plain reply, for robots.txt and llms.txt."""
    return Reply(body, content_type="text/plain; charset=utf-8", **options)  # type: ignore[arg-type]


def xml(body: str | bytes, **options: object) -> Reply:
    """An application/xml reply, for sitemaps and feeds."""
    return Reply(body, content_type="application/xml", **options)  # type: ignore[arg-type]


def sitemap(*urls: str) -> Reply:
    """A urlset of absolute addresses."""
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return xml(f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>')


def redirect(location: str, status: int = 301) -> Reply:
    """A redirect to `location`, relative or absolute."""
    return Reply(b"", status=status, headers={"Location": location})


def encoded(body: bytes | str, coding: str, **options: object) -> Reply:
    """The body in a content coding: gzip, deflate, raw-deflate (sent as deflate), br or zstd."""
    raw = body.encode() if isinstance(body, str) else body
    name = "deflate" if coding == "raw-deflate" else coding
    return Reply(encode(raw, coding), headers={"Content-Encoding": name}, **options)  # type: ignore[arg-type]


def encode(raw: bytes, coding: str) -> bytes:
    """`raw` in one content coding."""
    if coding == "gzip":
        return gzip.compress(raw, 6)
    if coding == "deflate":
        return zlib.compress(raw)
    if coding == "raw-deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(raw) + packer.flush()
    if coding == "br":
        import brotli  # noqa: PLC0415 - only the tests of codings need it

        return bytes(brotli.compress(raw, quality=5))
    import zstandard  # noqa: PLC0415 - only the tests of codings need it

    return bytes(zstandard.ZstdCompressor().compress(raw))


def bomb(coding: str = "gzip", size: int = 1 << 30, *, layers: int = 1) -> Reply:
    """A small body that inflates to `size` bytes of HTML; `layers` > 1 packs a gzip bomb again."""
    packed = _gzip_bomb(size) if coding == "gzip" else _stream_bomb(coding, size)
    for _ in range(layers - 1):
        packed = gzip.compress(packed, 9)
    return Reply(packed, headers={"Content-Encoding": ", ".join([coding] + ["gzip"] * (layers - 1))})


_FILLER = b"<p>boom, boom!</p>".ljust(32) * (1 << 15)


def _gzip_bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    piece = _FILLER
    return b"".join(packer.compress(piece) for _ in range(size >> 20)) + packer.flush()


def _stream_bomb(coding: str, size: int) -> bytes:
    piece = _FILLER
    if coding == "br":
        import brotli  # noqa: PLC0415 - only the tests of bombs need it

        packer = brotli.Compressor(quality=5)
        return b"".join(packer.process(piece) for _ in range(size >> 20)) + bytes(packer.finish())
    import zstandard  # noqa: PLC0415 - only the tests of bombs need it

    stream = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(stream.compress(piece) for _ in range(size >> 20)) + bytes(stream.flush())


def linger_reset(connection: socket.socket) -> None:
    """Close so that the peer sees RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def now() -> float:
    """Monotonic seconds, the clock of the access log."""
    return time.monotonic()
