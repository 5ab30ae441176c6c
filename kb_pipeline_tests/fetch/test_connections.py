"""Connections are kept and used again, and one that was lost while it rested costs no page."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading

import httpcore
import pytest
import trustme

from kb_pipeline.errors import FetchError
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.connections import Connections, Request
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.http1 import request_head
from kb_pipeline.fetch.streams import AsyncioBackend
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import Raw, Reply, Reset, Stall
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.sites.talker import Talker


def pool(most=4, context=None, keepalive_seconds=15):
    return Connections(
        ssl_context=context or ssl.create_default_context(),
        network_backend=AsyncioBackend(),
        most=most,
        most_resting=most,
        keepalive_seconds=keepalive_seconds,
    )


def request(url):
    target = Guard(["127.0.0.1"]).check_url(url)
    return Request(target, request_head(target.path, [("Host", target.authority)]), connect_seconds=5, read_seconds=5)


async def body_of(connections, url):
    async with connections.slot():
        answer = await connections.send(request(url))
        try:
            return b"".join([piece async for piece in pieces_of(answer)])
        finally:
            await answer.aclose()


async def pieces_of(answer):
    while piece := await answer.read():
        yield piece


def test_one_connection_serves_requests_that_follow_each_other():
    async def run(site):
        connections = pool()
        bodies = [await body_of(connections, site.url("/a")) for _ in range(5)]
        await connections.aclose()
        return bodies

    with LoopbackSite({"/a": Reply("text")}) as site:
        assert asyncio.run(run(site)) == [b"text"] * 5
        assert site.connections_accepted == 1


def test_no_more_requests_are_in_flight_than_there_are_slots():
    async def run(site):
        connections = pool(most=3)
        await asyncio.gather(*(body_of(connections, site.url("/a")) for _ in range(20)))
        await connections.aclose()

    with LoopbackSite({"/a": Reply("text", delay=0.01)}) as site:
        asyncio.run(run(site))
        assert site.most_at_once == 3
        assert site.connections_accepted == 3


def test_a_slot_is_waited_for_and_comes_back_when_its_request_is_cancelled():
    async def run(site):
        connections = pool(most=1)
        stalled = asyncio.create_task(body_of(connections, site.url("/stalls")))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(body_of(connections, site.url("/a")))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        stalled.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stalled
        found = await waiting
        await connections.aclose()
        return found

    with LoopbackSite({"/a": Reply("text"), "/stalls": Stall()}) as site:
        assert asyncio.run(run(site)) == b"text"


@pytest.mark.parametrize("behaviour", [Reset(), Reset(b"half a body")])
def test_slots_come_back_from_requests_that_failed(behaviour):
    async def run(site):
        connections = pool(most=2)
        for _ in range(5):
            with pytest.raises((httpcore.NetworkError, httpcore.ProtocolError)):
                await body_of(connections, site.url("/broken"))
        found = await body_of(connections, site.url("/a"))
        await connections.aclose()
        return found

    with LoopbackSite({"/a": Reply("text"), "/broken": behaviour}) as site:
        assert asyncio.run(run(site)) == b"text"


class _HangsUp:
    """Answers the first request of each connection, reads the second, and closes without a word."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                with connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                    connection.recv(65536)


def test_a_connection_that_the_site_closed_while_it_rested_costs_no_page():
    async def run(server):
        connections = pool()
        found = [await body_of(connections, server.url) for _ in range(3)]
        await connections.aclose()
        return found

    with _HangsUp() as server:
        assert asyncio.run(run(server)) == [b"ok"] * 3
        assert server.connections == 3


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (Reply("text"), 1),
        ([Reset(), Reply("text")], 2),
        (Reset(), 2),
        (Raw(b"HTTP/1.1 20"), 1),
        (Raw(b"noise\r\n\r\n"), 1),
    ],
)
def test_a_request_is_sent_again_when_no_word_of_an_answer_came_and_counts_twice(second, expected):
    async def run(site):
        async with HttpClient(Settings(allow_private=("127.0.0.1",))) as client:
            await client.get(site.url("/first"), max_bytes=1000)
            try:
                return (await client.get(site.url("/second"), max_bytes=1000)).requests
            except FetchError as error:
                return error.requests

    with LoopbackSite({"/first": Reply("text"), "/second": second}) as site:
        counted = asyncio.run(run(site))
        assert counted == site.count("/second") == expected


@pytest.mark.parametrize(
    ("first", "connections"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext", 1),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n", 1),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n", 1),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ntext", 2),
        (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n", 2),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
            2,
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 1),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n", 2),
        (b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: x, Close\r\n\r\ntext", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext and more", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", 2),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntext", 2),
    ],
)
def test_a_connection_is_used_again_when_its_answer_ended_where_it_said(first, connections):
    async def run(site):
        pooled = pool()
        async with pooled.slot():
            answer = await pooled.send(request(site.url("/")))
            await answer.read()
            await answer.aclose()
        found = await body_of(pooled, site.url("/b"))
        await pooled.aclose()
        return found

    with LoopbackSite({"/": _KeptOpen(first), "/b": "second"}) as site:
        assert asyncio.run(run(site)) == b"second"
        assert site.connections_accepted == connections


class _KeptOpen:
    """Says its octets, and is ready for another request."""

    status = 200

    def __init__(self, octets):
        self._octets = octets

    def answer(self, wire, _request):
        wire.send(self._octets)
        return True


def test_connections_that_rest_are_bounded():
    async def run(sites):
        connections = pool(most=2)
        for site in sites:
            await body_of(connections, site.url("/a"))
        resting = len(connections._resting)
        await connections.aclose()
        return resting

    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(LoopbackSite({"/a": Reply("text")})) for _ in range(4)]
        assert asyncio.run(run(sites)) == 2


class Rests:
    """Answers one request on each connection, says `more` once it may rest, and tells when its client has ended it."""

    def __init__(self, more=None):
        self._more = more
        self.may_go_on = threading.Event()
        self.has_ended = threading.Event()

    def __call__(self, connection, _sleep):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        self.may_go_on.wait(10)
        if self._more == b"":
            connection.shutdown(socket.SHUT_WR)
        elif self._more is not None:
            connection.sendall(self._more)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(100) == b""
        self.has_ended.set()


def rest_once(rests, keepalive_seconds, then=None):
    """Whether the connection that rests is ended, nobody asking for it again; and what the loop still has to do."""

    async def run(port):
        connections = pool(keepalive_seconds=keepalive_seconds)
        assert await body_of(connections, port.url()) == b"ok"
        assert len(connections._resting) == 1
        rests.may_go_on.set()
        if then is not None:
            await then(connections)
        ended = await asyncio.to_thread(rests.has_ended.wait, 10)
        assert not connections._resting
        assert not connections._by_origin
        assert len(asyncio.all_tasks()) == 1
        sweep = connections._sweep
        await connections.aclose()
        assert connections._sweep is None
        return ended, sweep

    with Talker(rests) as port:
        return asyncio.run(run(port))


@pytest.mark.parametrize("more", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_a_connection_that_rests_is_ended_at_the_first_word_or_the_end_that_comes(more):
    assert rest_once(Rests(more), keepalive_seconds=600)[0]


def test_a_connection_that_has_rested_long_enough_is_ended_and_nothing_waits_for_more():
    assert rest_once(Rests(), keepalive_seconds=0.3) == (True, None)


def test_closing_ends_those_that_rest_and_leaves_nothing_to_be_done():
    assert rest_once(Rests(), keepalive_seconds=600, then=Connections.aclose) == (True, None)


@pytest.mark.parametrize("held", [0, 1])
def test_each_connection_rests_for_its_own_time_whether_or_not_a_sweep_passes_while_it_works(held):
    async def run(site):
        connections = pool(keepalive_seconds=1)
        await body_of(connections, site.url("/"))
        await asyncio.sleep(0.1)
        answer = await connections.send(request(site.url("/")))
        await asyncio.sleep(held)
        await answer.aclose()
        first = len(connections._resting)
        async with asyncio.timeout(10):
            while connections._resting:  # noqa: ASYNC110 - what is asked is whether it ends
                await asyncio.sleep(0.01)
        await connections.aclose()
        return first

    with LoopbackSite({"/": _KeptOpen(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")}) as site:
        assert asyncio.run(run(site)) == 1
        assert site.connections_accepted == 1


def test_octets_that_nobody_asked_for_end_a_connection_that_rests_in_tls():
    authority = trustme.CA()
    context, server_side = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.configure_trust(context)
    authority.issue_cert("127.0.0.1").configure_cert(server_side)
    ended = asyncio.Event()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await asyncio.sleep(0.3)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
        with contextlib.suppress(OSError):
            await reader.read()
        ended.set()
        writer.close()

    async def run():
        connections = pool(context=context)
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_side)
        async with server, asyncio.timeout(10):
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            assert await body_of(connections, url) == b"ok"
            await ended.wait()
        await connections.aclose()

    asyncio.run(run())


def test_http_1_1_is_what_tls_is_agreed_for():
    authority = trustme.CA()
    context, server_side = ssl.create_default_context(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.configure_trust(context)
    authority.issue_cert("127.0.0.1").configure_cert(server_side)
    server_side.set_alpn_protocols(["h2", "http/1.1"])
    agreed = []

    async def serve(reader, writer):
        agreed.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_side)
        async with server, HttpClient(Settings(allow_private=("127.0.0.1",)), ssl_context=context) as client:
            await client.get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/", max_bytes=100)

    asyncio.run(run())
    assert agreed == ["http/1.1"]


def test_tls_inside_tls_is_agreed_as_through_a_proxy_that_speaks_it():
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    outer, inner = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2))
    authority.issue_cert("outer.test").configure_cert(outer)
    authority.issue_cert("inner.test").configure_cert(inner)

    async def serve(reader, writer):
        await writer.start_tls(inner)
        writer.write(b"said inside:" + await reader.read(100))
        await writer.drain()
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=outer)
        async with server:
            stream = await AsyncioBackend().connect_tcp("127.0.0.1", server.sockets[0].getsockname()[1], timeout=5)
            stream = await stream.start_tls(context, "outer.test", 5)
            stream = await stream.start_tls(context, "inner.test", 5)
            await stream.write(b"hello", 5)
            said = await stream.read(100, 5)
            await stream.aclose()
            return said

    assert asyncio.run(run()) == b"said inside:hello"
