"""HTTP/1.1 as a client speaks it (RFC 9112), without a socket: a request as octets, the head of an answer, and the
framings of a body. Whatever may take memory is bounded while it comes.

What is taken for HTTP is what h11 takes for it, which has met more servers than the standard knows of: lines that end
without a carriage return, folded ones, no reason phrase. h11 itself looks at each line on its way through a state
machine in Python, and that took most of the time of a small page; here one pattern looks at a whole head.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

import httpcore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_HEAD_BYTES: Final = 128 * 1024
"""Of a head, and of trailers."""
MOST_SIZE_LINE: Final = 4 * 1024
"""Octets of a chunk's size with its extensions, for which nobody has found a use."""
_MOST_LINES: Final = 256
"""Of a head."""
_MOST_DIGITS: Final = 20
"""Of a Content-Length."""
_MOST_SHOWN: Final = 80

_NAME: Final = r"[-!#$%&'*+.^_`|~0-9a-zA-Z]++"
_FIELD_LINE: Final = rf"{_NAME}:[^\x00\r\n\f\v]*+\r?\n"
_FIELD_LINES: Final = re.compile(rf"(?:{_FIELD_LINE})*+")
_FOLD: Final = re.compile(r"\r?\n[ \t]+")
"""An end of line that is none (RFC 9112 §5.2)."""
_HTTP: Final = b"HTTP/"
_STATUS_LINE: Final = re.compile(rb"HTTP/([0-9]\.[0-9]) ([1-9][0-9]{2})(?: [^\x00\r\n\f\v]*+)?\r?\n")
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
_NO_TRAILERS: Final = re.compile(rb"\r?\n")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,20})[ \t]*+(?:;[^\r\n]*+)?\r\n")
"""Blanks before an extension are read (RFC 9112 §7.1.1, BWS); h11 reads none."""
_TARGET: Final = re.compile(r"[\x21-\x7e]+")
_WITHOUT_BODY: Final = frozenset({204, 304})
_NO_CONTENT: Final = 204


@dataclass(frozen=True, slots=True)
class ReceivedHead:
    """An answer before its body."""

    status: int
    headers: Mapping[str, str]
    """Lower-case names; repeated headers joined by ", "."""
    lines: tuple[tuple[str, str], ...]
    """Every header line in order, lower-case names."""
    keeps_alive: bool
    """Whether the connection may be used again once the body has ended where its framing says."""


class Framing(Protocol):
    """Where a body ends (RFC 9112 §6.3)."""

    ended: bool
    left: int
    """Octets of the body that are still to come, as far as that is known."""
    rest: bytes
    """What came behind the end."""

    def feed(self, octets: bytes) -> list[bytes]:
        """Give what of `octets` is body, in the pieces it came in. Raises httpcore.RemoteProtocolError."""
        ...

    def close(self) -> None:
        """Take the end of the stream. Raises httpcore.RemoteProtocolError when the body ends later."""
        ...


def request_head(target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """A GET, without a body. Header values may hold any octet as a character of Latin-1: a site's own ETag is sent back
    octet by octet. Raises httpcore.LocalProtocolError for what cannot be written as HTTP."""
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    block = "".join(lines)
    # The pattern takes a value with a line feed in it for two lines.
    if not (_TARGET.fullmatch(target) and _FIELD_LINES.fullmatch(block)) or block.count("\n") != len(lines):
        raise httpcore.LocalProtocolError
    try:
        return f"GET {target} HTTP/1.1\r\n{block}\r\n".encode("latin-1")
    except UnicodeEncodeError:
        raise httpcore.LocalProtocolError from None  # The error holds the whole head, and secrets with it.


def read_head(octets: bytes, start: int, searched: int) -> tuple[ReceivedHead, int] | None:
    """The head that begins at `start`, and where it ends; None when it has not come yet. No end is looked for before
    `searched`. Raises httpcore.RemoteProtocolError."""
    found = _END_OF_HEAD.search(octets, max(start, searched))
    end = found.end() if found else len(octets)
    if end - start > MOST_HEAD_BYTES:
        _fail("the head is too long")
    if not found:
        return None
    first = _STATUS_LINE.match(octets, start)
    if first is None:
        _fail("illegal status line", octets[start:end])
    block = octets[first.end() : found.start() + 1].decode("latin-1")
    lines = _lines(block)
    headers: dict[str, str] = {}
    for name, value in lines:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    version, status = first[1], int(first[2])
    keeps_alive = version >= b"1.1" and "close" not in _listed(headers.get("connection", ""))
    return ReceivedHead(status, headers, lines, keeps_alive and _is_surely_framed(status, headers)), end


def end_in_head(octets: bytes) -> NoReturn:
    """Tell what a stream that has ended before a whole head has said, as an httpcore.RemoteProtocolError."""
    if not octets:
        _fail("disconnected without an answer")
    if _HTTP.startswith(octets[: len(_HTTP)]):
        _fail("disconnected in the head of the answer")
    _fail("illegal status line", octets)


def _is_surely_framed(status: int, headers: Mapping[str, str]) -> bool:
    """Whether every reader finds the end of the body in the same place. With both headers, somebody on the way may have
    gone by the other one (RFC 9112 §6.3), and a 204 has neither: what follows may be anybody's."""
    coded, counted = "transfer-encoding" in headers, "content-length" in headers
    return not (coded or counted) if status == _NO_CONTENT else not (coded and counted)


def framing_of(head: ReceivedHead) -> Framing:
    """How the body under a head is framed. Raises httpcore.RemoteProtocolError."""
    coding, length = head.headers.get("transfer-encoding"), head.headers.get("content-length")
    if coding is not None and coding.lower() != "chunked":
        _fail("a Transfer-Encoding other than chunked")
    size = None if length is None else _size(length)
    if head.status in _WITHOUT_BODY:
        return Counted(0)
    if coding is not None:
        return Chunked()
    return UntilClose() if size is None else Counted(size)


class Counted:
    """A body of a Content-Length."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.ended = size == 0
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        if len(octets) > self.left:
            octets, self.rest = octets[: self.left], octets[self.left :]
        self.left -= len(octets)
        self.ended = not self.left
        return [octets]

    def close(self) -> None:
        """See Framing."""
        if not self.ended:
            _fail("peer closed connection before the end of the body")


class UntilClose:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self.ended = False
        self.left = 0
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        return [octets]

    def close(self) -> None:
        """See Framing."""
        self.ended = True


class Chunked:
    """A body in chunks (RFC 9112 §7.1). Extensions and trailers are read past, and none of them is looked at twice,
    however it is cut: octet by octet, that would take the square of its length."""

    def __init__(self) -> None:
        self._held = b""
        """The beginning of a size line, with what stands before it."""
        self._searched = 0
        """Octets of it that no end of a line begins in."""
        self._between = b""
        """What stands between the chunk before and the next size."""
        self._trailers: bytearray | None = None
        """None before the last chunk."""
        self.left = 0
        """Octets of the chunk at hand."""
        self.ended = False
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        octets, at, pieces = self._held + octets, 0, []
        self._held = b""
        while at < len(octets) and self._trailers is None:
            if self.left:
                pieces.append(octets[at : at + self.left])
                at += len(pieces[-1])
                self.left -= len(pieces[-1])
                continue
            after = self._size(octets, at)
            if after is None:
                self._held, self._searched = octets[at:], len(octets) - at - 1
                return pieces
            at, self._searched = after, 0
        if self._trailers is not None:
            self._read_trailers(self._trailers, octets[at:])
        return pieces

    def _size(self, octets: bytes, at: int) -> int | None:
        """Read the line before a chunk; where it ends, or None when it has not come yet."""
        begin = at + len(self._between)
        if not self._between.startswith(octets[at:begin]):
            _fail("illegal end of a chunk", octets[at:begin])
        end = octets.find(b"\r\n", max(begin, self._searched), begin + MOST_SIZE_LINE)
        if end < 0:
            if len(octets) - begin >= MOST_SIZE_LINE:
                _fail("the size of a chunk is too long")
            return None
        line = _CHUNK_SIZE.fullmatch(octets, begin, end + 2)
        if line is None:
            _fail("illegal size of a chunk", octets[begin:])
        self.left, self._between = int(line[1], 16), b"\r\n"
        if not self.left:
            self._trailers = bytearray()
        return line.end()

    def _read_trailers(self, trailers: bytearray, octets: bytes) -> None:
        searched = max(0, len(trailers) - len(b"\n\r"))
        trailers += octets
        found = _NO_TRAILERS.match(trailers) or _END_OF_HEAD.search(trailers, searched)
        if (found.end() if found else len(trailers)) > MOST_HEAD_BYTES:
            _fail("the trailers are too long")
        if found:
            _lines(trailers[: found.start() + 1].decode("latin-1") if found.start() else "")
            self.ended, self.rest = True, bytes(trailers[found.end() :])

    def close(self) -> None:
        """See Framing."""
        if not self.ended:
            _fail("peer closed connection before the end of the body")


def _lines(block: str) -> tuple[tuple[str, str], ...]:
    """The header lines of a block, in which each ends with a line feed."""
    if block.count("\n") > _MOST_LINES:
        # They are joined by name, which takes the square of their number in time.
        _fail(f"{block.count(chr(10))} header lines; that is no web page's")
    if not _FIELD_LINES.fullmatch(block):
        block = _FOLD.sub(" ", block)
        if not _FIELD_LINES.fullmatch(block):
            _fail("illegal header line", _FIELD_LINES.sub("", block, count=1).encode("latin-1"))
    parts = [line.partition(":") for line in block.split("\n")[:-1]]
    return tuple([(name.lower(), value.strip(" \t\r")) for name, _, value in parts])


def _size(length: str) -> int:
    sizes = {part.strip(" \t") for part in length.split(",")}
    if len(sizes) > 1:
        _fail("conflicting Content-Length headers")
    size = sizes.pop()
    if not (size.isascii() and size.isdigit()) or len(size) > _MOST_DIGITS:
        _fail("bad Content-Length")
    return int(size)


def _listed(value: str) -> list[str]:
    return [part.strip(" \t") for part in value.lower().split(",")]


def _fail(what: str, octets: bytes = b"") -> NoReturn:
    shown = octets.partition(b"\n")[0][:_MOST_SHOWN]
    raise httpcore.RemoteProtocolError(f"{what}: {shown!r}" if shown else what)
