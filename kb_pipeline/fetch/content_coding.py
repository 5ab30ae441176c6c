"""Content codings (RFC 9110 §8.4.1), undone piece by piece under an output limit, so that a bomb never unfolds."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import brotli
import zstandard

from kb_pipeline.errors import BodyTooLarge, BodyUndecodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"

_PIECE: Final = 64 * 1024
_MOST_CODINGS: Final = 4
_MOST_BETWEEN: Final = 32 * 2**20
"""Bytes between two codings of one body. A document that needs more of them is beyond any limit of its own."""
_SNIFFED: Final = 1024
"""Bytes after which a limit that depends on the body is asked for; a shorter body is asked for at its end."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_SLICE: Final = 256
"""A zstd block of 4 bytes can stand for 128 KiB: this much input gives at most 8 MiB at once."""
_ZSTD_WINDOW: Final = 8 * 2**20
"""RFC 9659: a content coding needs no larger window."""
_UNREADABLE: Final = frozenset({"compress", "x-compress", "aes128gcm", "exi", "pack200-gzip", "dcb", "dcz"})
"""Registered codings that are not undone here. A name that is no coding at all ("none", "utf-8") changes nothing,
as browsers read it."""


Limit = int | Callable[[bytes], int]


class Decoder(Protocol):
    """One coding, undone incrementally."""

    def feed(self, encoded: bytes) -> Iterator[bytes]:
        """Yield what `encoded` decodes to, in pieces of bounded size. Raises BodyUndecodable."""
        ...

    def finished(self) -> bool:
        """Whether the stream has ended where its format says it ends; true as well when nothing was fed."""
        ...


class Body:
    """Collects a body: codings undone, at most `limit` bytes. A limit that is a function is asked once, with the
    first kilobyte or so, and may raise to refuse the rest.

    With `cut`, a longer body is cut there, and a damaged one ends where the damage starts, instead of raising.
    """

    def __init__(self, codings: str | None, limit: Limit, *, cut: bool = False) -> None:
        self._decoders = decoders_for(codings)
        self._limit = limit
        self._cut = cut
        # One buffer: a list of what comes octet by octet takes fifty times the memory.
        self._body = bytearray()
        self.full = False
        """The body was cut: reading on is of no use."""

    def feed(self, encoded: bytes) -> None:
        """Take bytes off the wire. Raises BodyTooLarge or BodyUndecodable."""
        if self.full:
            return
        try:
            for piece in _through(self._decoders, encoded):
                if self._append(piece):
                    return
        except BodyUndecodable:
            if not self._cut:
                raise
            self.full = True

    def finish(self) -> bytes:
        """Return the body. Raises BodyUndecodable when a coding was cut short, BodyTooLarge."""
        if not self._cut and not all(decoder.finished() for decoder in self._decoders):
            message = "the compressed body ends too early"
            raise BodyUndecodable(message)
        body = bytes(self._body)
        if not isinstance(self._limit, int):
            self._limit = self._limit(body) if body else 0
            self._over(self._limit)
        return body[: self._limit]

    def _append(self, piece: bytes) -> bool:
        """Keep a piece; True when no more is wanted."""
        self._body += piece
        if not isinstance(self._limit, int):
            if len(self._body) < _SNIFFED:
                return False
            self._limit = self._limit(bytes(self._body))
        return self._over(self._limit)

    def _over(self, limit: int) -> bool:
        if len(self._body) > limit:
            if not self._cut:
                message = f"the body is larger than {limit:,} bytes"
                raise BodyTooLarge(message)
            self.full = True
        return self.full


def decoders_for(codings: str | None) -> list[Decoder]:
    """Give the decoders for a Content-Encoding header, in the order they apply. Raises BodyUndecodable."""
    names = [name for part in (codings or "").split(",") if (name := part.strip().lower())]
    if len(names) > _MOST_CODINGS:
        message = f"the body is wrapped in {len(names)} codings"
        raise BodyUndecodable(message)
    if unreadable := _UNREADABLE.intersection(names):
        message = f"the body is coded as {min(unreadable)!r}, which this program does not read"
        raise BodyUndecodable(message)
    decoders = [_DECODERS[name]() for name in reversed(names) if name in _DECODERS]
    return [*(_Between(decoder) for decoder in decoders[:-1]), *decoders[-1:]]


def _through(decoders: list[Decoder], encoded: bytes) -> Iterable[bytes]:
    """Feed a chain of decoders lazily: no layer runs ahead of the limit that stops the last one."""
    if not decoders:
        return (encoded,)
    first, *others = decoders
    pieces = first.feed(encoded)
    return (end for piece in pieces for end in _through(others, piece)) if others else pieces


class _Between:
    """A coding within another. The limit of the body does not see what it unfolds to: a kilobyte of brotli can stand
    for a gigabyte of gzip that stands for nothing at all, and so on, and would keep this process busy for ever."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._left = _MOST_BETWEEN

    def feed(self, encoded: bytes) -> Iterator[bytes]:
        for piece in self._decoder.feed(encoded):
            self._left -= len(piece)
            if self._left < 0:
                message = f"one of the body's codings unfolds to more than {_MOST_BETWEEN:,} bytes of another"
                raise BodyUndecodable(message)
            yield piece

    def finished(self) -> bool:
        return self._decoder.finished()


class _Zlib:
    """gzip (RFC 1952, one member or several) and deflate (RFC 1950, or bare RFC 1951 as some servers send)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._head = b""
        self._inflater: zlib._Decompress | None = None
        self._plain = False
        self._ended = False
        """What follows is padding."""
        self._after = b""
        """The first octet behind a member, which may begin another."""

    def feed(self, encoded: bytes) -> Iterator[bytes]:
        if self._plain:
            yield encoded
            return
        if self._inflater is None:
            self._head += encoded
            if len(self._head) < 2:  # noqa: PLR2004 - both headers are told by two bytes
                return
            encoded, self._head = self._head, b""
            self._plain = self._gzip and not encoded.startswith(_GZIP_MAGIC)
            if self._plain:  # says gzip and is plain: a broken proxy's work, and the text is there to read
                yield encoded
                return
            self._inflater = zlib.decompressobj(31 if self._gzip else _deflate_window(encoded))
        yield from self._inflate(encoded)

    def _inflate(self, encoded: bytes) -> Iterator[bytes]:
        while encoded and self._inflater is not None and not self._ended:
            if self._inflater.eof:
                encoded = self._next_member(encoded)
                continue
            try:
                piece = self._inflater.decompress(encoded, _PIECE)
            except zlib.error as error:
                message = f"the compressed body is damaged ({error})"
                raise BodyUndecodable(message) from error
            if piece:
                yield piece
            encoded = self._inflater.unconsumed_tail or self._inflater.unused_data

    def _next_member(self, rest: bytes) -> bytes:
        """Start the next gzip member; anything else after the end is padding, and is dropped, or zlib would keep it."""
        rest, self._after = self._after + rest, b""
        if self._gzip and rest.startswith(_GZIP_MAGIC):
            self._inflater = zlib.decompressobj(31)
            return rest
        if self._gzip and rest == _GZIP_MAGIC[:1]:
            self._after = rest
        else:
            self._ended = True
        return b""

    def finished(self) -> bool:
        return self._plain or (not self._head and (self._inflater is None or self._inflater.eof))


class _Brotli:
    """RFC 7932."""

    def __init__(self) -> None:
        self._decompressor = brotli.Decompressor()
        self._fed = False

    def feed(self, encoded: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(encoded)
        while not self._decompressor.is_finished():
            try:
                piece = self._decompressor.process(encoded, output_buffer_limit=_PIECE)
            except brotli.error as error:
                message = f"the compressed body is damaged ({error})"
                raise BodyUndecodable(message) from error
            encoded = b""
            if piece:
                yield piece
            if self._decompressor.can_accept_more_data():
                return

    def finished(self) -> bool:
        return not self._fed or bool(self._decompressor.is_finished())


class _Zstandard:
    """RFC 8878, one frame or several."""

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame = self._context.decompressobj()
        self._fed = False

    def feed(self, encoded: bytes) -> Iterator[bytes]:
        self._fed = self._fed or bool(encoded)
        for start in range(0, len(encoded), _ZSTD_SLICE):
            yield from self._decompress(encoded[start : start + _ZSTD_SLICE])

    def _decompress(self, encoded: bytes) -> Iterator[bytes]:
        while encoded:
            if self._frame.eof:
                self._frame = self._context.decompressobj()
            try:
                piece = self._frame.decompress(encoded)
            except zstandard.ZstdError as error:
                message = f"the compressed body is damaged ({error})"
                raise BodyUndecodable(message) from error
            if piece:
                yield piece
            encoded = self._frame.unused_data if self._frame.eof else b""

    def finished(self) -> bool:
        return not self._fed or self._frame.eof


def _deflate_window(head: bytes) -> int:
    zlib_header = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS


_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": lambda: _Zlib(gzip=True),
    "x-gzip": lambda: _Zlib(gzip=True),
    "deflate": lambda: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstandard,
}
