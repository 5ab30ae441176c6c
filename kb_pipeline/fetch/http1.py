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
"""Of a head, of a chunk's size with its extensions, and of trailers."""
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
_STATUS_LINE: Final = re.compile(rb"HTTP/([0-9]\.[0-9]) ([1-9][0-9]{2})(?: [^\x00\r\n\f\v]*+)?\r?\n")
_END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,20})(?:;[^\r\n]*+|[ \t]*+)\r\n")
_TARGET: Final = re.compile(r"[\x21-\x7e]+")
_WITHOUT_BODY: Final = frozenset({204, 304})


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
    return f"GET {target} HTTP/1.1\r\n{block}\r\n".encode("latin-1", "replace")


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
    version, status = first.groups()
    keeps_alive = version >= b"1.1" and "close" not in _listed(headers.get("connection", ""))
    return ReceivedHead(int(status), headers, lines, keeps_alive), end


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
        self._left = size
        self.ended = size == 0
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        if len(octets) > self._left:
            octets, self.rest = octets[: self._left], octets[self._left :]
        self._left -= len(octets)
        self.ended = not self._left
        return [octets]

    def close(self) -> None:
        """See Framing."""
        if not self.ended:
            _fail("peer closed connection before the end of the body")


class UntilClose:
    """A body that ends with its connection."""

    def __init__(self) -> None:
        self.ended = False
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        return [octets]

    def close(self) -> None:
        """See Framing."""
        self.ended = True


class Chunked:
    """A body in chunks (RFC 9112 §7.1). Extensions and trailers are read past."""

    def __init__(self) -> None:
        self._held = b""
        """The beginning of something that is no body: a size, an end of line, trailers."""
        self._left = 0
        """Octets of the chunk at hand."""
        self._between = b""
        """What stands between the chunk before and the next size."""
        self._in_trailers = False
        self.ended = False
        self.rest = b""

    def feed(self, octets: bytes) -> list[bytes]:
        """See Framing."""
        octets, at, pieces = self._held + octets, 0, []
        while at < len(octets) and not self._in_trailers:
            if self._left:
                pieces.append(octets[at : at + self._left])
                at += len(pieces[-1])
                self._left -= len(pieces[-1])
                continue
            after = self._size(octets, at)
            if after is None:
                break
            at = after
        self._held = octets[at:]
        if self._in_trailers:
            self._read_trailers()
        return pieces

    def _size(self, octets: bytes, at: int) -> int | None:
        """Read the line before a chunk; where it ends, or None when it has not come yet."""
        begin = at + len(self._between)
        if not self._between.startswith(octets[at:begin]):
            _fail("illegal end of a chunk", octets[at:begin])
        line = _CHUNK_SIZE.match(octets, begin)
        if line is None:
            self._check_unfinished(octets, begin)
            return None
        self._left, self._between = int(line[1], 16), b"\r\n"
        self._in_trailers = not self._left
        return line.end()

    def _check_unfinished(self, octets: bytes, begin: int) -> None:
        if octets.find(b"\r\n", begin) >= 0:
            _fail("illegal size of a chunk", octets[begin:])
        if len(octets) - begin > MOST_HEAD_BYTES:
            _fail("the size of a chunk is too long")

    def _read_trailers(self) -> None:
        octets = self._held
        found = re.match(rb"\r?\n", octets)
        if not found and (found := _END_OF_HEAD.search(octets)):
            _lines(octets[: found.start() + 1].decode("latin-1"))
        if len(octets if not found else octets[: found.end()]) > MOST_HEAD_BYTES:
            _fail("the trailers are too long")
        if found:
            self.ended, self.rest, self._held = True, octets[found.end() :], b""

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
