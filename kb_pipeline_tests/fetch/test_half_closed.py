"""Servers that close one direction of a connection and hold the other open: each ends by its limit with its reason, or
as the page that it gave in full, and the next request is not lost by it."""

import asyncio
import socket

import pytest

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy
from kb_pipeline.errors import ConnectionBroken, FetchError, TimedOut
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.talker import Talker

OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"Content-Length: 5\r\n\r\nwhole"
SHORT = FetchPolicy(page_timeout_ms=600)
"""For what never comes to an end: all else may take the time that a busy machine takes."""


def ask(port, times, short=()):
    """What each of some requests by one client came to: a body, or an error. Those whose numbers are in `short` have
    little time."""

    async def run():
        async with HttpClient(Settings(allow_private=("127.0.0.1",))) as client:
            return [await came_of(client, SHORT if number in short else ANY_PAGE) for number in range(times)]

    async def came_of(client, policy):
        try:
            return (await client.get(port.url(), max_bytes=1 << 20, policy=policy)).body
        except FetchError as error:
            return error

    return asyncio.run(run())


def hears(connection):
    """Read one request; False when the client has gone."""
    heard = b""
    while b"\r\n\r\n" not in heard:
        received = connection.recv(65536)
        if not received:
            return False
        heard += received
    return True


def stops_sending_after(answer):
    """Says so much, ends its own direction with FIN, and goes on listening."""

    def script(connection, sleep):
        hears(connection)
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_WR)
        sleep(60)

    return script


def stops_listening(*, before):
    """Shuts its reading side, before the request comes or after it, and never answers."""

    def script(connection, sleep):
        if not before:
            hears(connection)
        connection.shutdown(socket.SHUT_RD)
        sleep(60)

    return script


def answers(connection, _sleep):
    while hears(connection):
        connection.sendall(WHOLE)


def at_first(script):
    """The script on the first connection, and honest answers on every other."""
    scripts = iter([script])

    def turn(connection, sleep):
        next(scripts, answers)(connection, sleep)

    return turn


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        (stops_sending_after(b""), ConnectionBroken, "closed the connection without an answer"),
        (stops_sending_after(b"HTTP/1.1 2"), ConnectionBroken, "closed the connection in the head of its answer"),
        (stops_sending_after(OK + b"Content-Le"), ConnectionBroken, "closed the connection in the head of its answer"),
        (stops_sending_after(OK + b"Content-Length: 5\r\n\r\n"), ConnectionBroken, "in the middle of the page"),
        (stops_sending_after(WHOLE[:-2]), ConnectionBroken, "in the middle of the page"),
        (stops_sending_after(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nwh"), ConnectionBroken, "in the middle"),
        (stops_listening(before=True), TimedOut, "no complete answer within 0.6 s"),
        (stops_listening(before=False), TimedOut, "no complete answer within 0.6 s"),
    ],
    ids=[
        "before the answer",
        "in the status line",
        "in the headers",
        "before the body",
        "in the body",
        "in a chunk",
        "deaf from the start",
        "deaf to what follows",
    ],
)
def test_a_half_closed_connection_without_a_whole_answer_ends_with_its_reason(script, error, words):
    with Talker(at_first(script)) as port:
        first, second = ask(port, 2, short={0} if error is TimedOut else ())
    assert type(first) is error, first
    assert words in str(first)
    assert second == b"whole", "the next request is not lost by it"
    assert port.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE,
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n",
        OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nwhole",
        OK + b"\r\nwhole",
    ],
    ids=["by its length", "by its last chunk", "and says so", "by its end"],
)
def test_a_whole_answer_on_a_connection_that_stays_half_open_is_a_page_and_the_next_request_gets_another(answer):
    with Talker(stops_sending_after(answer)) as port:
        assert ask(port, 3) == [b"whole"] * 3
        assert port.connections == 3


def test_a_connection_that_is_half_closed_as_the_next_request_comes_costs_that_request_nothing():
    def script(connection, sleep):
        hears(connection)
        connection.sendall(WHOLE)
        hears(connection)
        connection.shutdown(socket.SHUT_WR)
        sleep(60)

    with Talker(at_first(script)) as port:
        assert ask(port, 3) == [b"whole"] * 3
        assert port.connections == 2


def test_a_server_that_is_deaf_to_the_second_request_on_a_connection_costs_that_one_its_limit_and_no_other():
    def script(connection, sleep):
        hears(connection)
        connection.sendall(WHOLE)
        connection.shutdown(socket.SHUT_RD)
        sleep(60)

    with Talker(at_first(script)) as port:
        first, second, third = ask(port, 3, short={1})
    assert (first, type(second), third) == (b"whole", TimedOut, b"whole")
