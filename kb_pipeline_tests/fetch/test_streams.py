"""Connections of asyncio's transports as httpcore has them: what arrives, what is kept of it, and how they end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading

import httpcore
import pytest

from kb_pipeline.fetch.streams import AsyncioBackend
from kb_pipeline_tests.sites.talker import Talker, says, silence


def reset_after(octets):
    def script(connection, sleep):
        connection.recv(65536)
        connection.sendall(octets)
        sleep(0.2)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return script


@contextlib.asynccontextmanager
async def connected(port):
    stream = await AsyncioBackend().connect_tcp("127.0.0.1", port.port, 5)
    try:
        yield stream
    finally:
        await stream.aclose()


def with_stream(script, use):
    async def run(port):
        async with connected(port) as stream:
            return await use(stream)

    with Talker(script) as port:
        return asyncio.run(run(port))


async def until_readable(stream):
    async with asyncio.timeout(5):
        while not stream.get_extra_info("is_readable"):  # noqa: ASYNC110 - what is asked is whether it shows
            await asyncio.sleep(0.01)


def test_a_read_gives_what_has_arrived_as_far_as_it_was_asked_for():
    async def use(stream):
        await stream.write(b"?", 5)
        first = await stream.read(3, 5)
        rest = b""
        while piece := await stream.read(65536, 5):
            rest += piece
        return first, rest, await stream.read(10, 5)

    assert with_stream(says(b"abcdef", b"ghi", pause=0.05), use) == (b"abc", b"defghi", b"")


def test_what_nobody_reads_is_not_taken_from_the_wire():
    sent = 0

    def script(connection, sleep):
        nonlocal sent
        connection.recv(65536)
        connection.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            while sleep(0) and sent < 1 << 27:
                sent += connection.send(b"x" * 65536)

    async def use(stream):
        await stream.write(b"?", 5)
        await stream.read(1, 5)
        await asyncio.sleep(1.5)  # The server gives up meanwhile: nobody takes what it sends.
        before = sent
        taken = 0
        while piece := await stream.read(65536, 5):
            taken += len(piece)
        return before, taken

    before, taken = with_stream(script, use)
    assert before < 32 << 20
    assert taken == sent - 1, "and reading on gives all of it"


def test_what_arrived_before_a_reset_is_read_and_then_the_reset():
    async def use(stream):
        await stream.write(b"?", 5)
        await until_readable(stream)
        await asyncio.sleep(0.5)
        assert await stream.read(100, 5) == b"half"
        with pytest.raises(httpcore.ReadError, match="reset"):
            await stream.read(100, 5)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"more", 5)

    with_stream(reset_after(b"half"), use)


def test_a_read_that_ended_by_its_limit_or_was_cancelled_loses_nothing():
    async def use(stream):
        await stream.write(b"?", 5)
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(100, 0.05)
        reading = asyncio.create_task(stream.read(100, 5))
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return await stream.read(100, 5)

    assert with_stream(says(b"late", pause=0.5), use) == b"late"


def test_writing_to_one_who_does_not_read_ends_by_its_limit():
    async def use(stream):
        with pytest.raises(httpcore.WriteTimeout):
            await stream.write(b"x" * (64 << 20), 0.3)

    with_stream(silence, use)


def test_what_is_half_closed_can_be_written_to():
    heard, was_heard = [], threading.Event()

    def script(connection, _sleep):
        connection.shutdown(socket.SHUT_WR)
        heard.append(connection.recv(100))
        was_heard.set()

    async def use(stream):
        assert await stream.read(100, 5) == b""
        await stream.write(b"still here", 5)
        await asyncio.to_thread(was_heard.wait, 10)

    with_stream(script, use)
    assert heard == [b"still here"]


def test_what_was_said_before_tls_is_never_the_sites_word():
    heard, was_heard = [], threading.Event()

    def speaks_first(connection, _sleep):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
        heard.append(connection.recv(100))
        was_heard.set()

    async def use(stream):
        await until_readable(stream)
        with pytest.raises(httpcore.ConnectError, match="before TLS"):
            await stream.start_tls(ssl.create_default_context(), "x.example", 5)
        await asyncio.to_thread(was_heard.wait, 10)
        assert heard == [b""], "the connection has ended, and nothing was said to whoever spoke"

    with_stream(speaks_first, use)
