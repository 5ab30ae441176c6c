"""What is taken for an HTTP answer: the same as h11 takes for one, however it is cut into pieces; and no more of it is
kept than a page needs."""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
import time

import h11
import httpcore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_pipeline.fetch.connections import Connections, Request
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.http1 import MOST_HEAD_BYTES, MOST_SIZE_LINE, Chunked, read_head, request_head
from kb_pipeline.fetch.streams import AsyncioStream

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = "refused"
TLS = ssl.create_default_context()
TARGET = Guard(["127.0.0.1"]).check_url("http://127.0.0.1/")


class Said(AsyncioStream):
    """A stream of pieces, each a read."""

    def __init__(self, pieces):
        self.pieces = [piece for piece in pieces if piece]

    async def read(self, *_how):
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, *_how):
        pass

    def get_extra_info(self, _info):
        return None

    def watch(self, on_arrival):
        pass

    def abort(self):
        pass


class Saying(httpcore.AsyncNetworkBackend):
    def __init__(self, said):
        self.said = said

    async def connect_tcp(self, *_where):
        return self.said


def connections_to(said):
    return Connections(ssl_context=TLS, network_backend=Saying(said), most=1, most_resting=1, keepalive_seconds=1)


def as_we_read(pieces):
    """(status, header lines, body) of the answer that comes in these pieces, each a read; REFUSED when it is none."""

    async def run():
        try:
            answer = await connections_to(Said(pieces)).send(Request(TARGET, b"GET / HTTP/1.1\r\n\r\n", 1, 1))
            body = b""
            while piece := await answer.read():
                body += piece
        except httpcore.RemoteProtocolError:
            return REFUSED
        return answer.status, without_framing(answer.lines), body

    return asyncio.run(run())


def as_h11_reads(octets):
    wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES)
    wire.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    wire.send(h11.EndOfMessage())
    wire.receive_data(octets)
    status, lines, body = 0, [], b""
    try:
        while not isinstance(event := wire.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                wire.receive_data(b"")
            elif isinstance(event, h11.Response):
                status = event.status_code
                lines = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.ConnectionClosed):
                return REFUSED
    except h11.RemoteProtocolError:
        return REFUSED
    return status, without_framing(lines), body


def without_framing(lines):
    """h11 writes these anew."""
    return [line for line in lines if line[0] not in {"content-length", "transfer-encoding"}]


def test_a_body_that_nobody_wants_is_read_no_further_than_it_was_asked_for():
    said = Said([CHUNKED, *[b"400\r\n" + b"x" * 0x400 + b"\r\n"] * 100])

    async def run():
        connections = connections_to(said)
        answer = await connections.send(Request(TARGET, b"GET / HTTP/1.1\r\n\r\n", 1, 1))
        await answer.drain(16 * 1024)

    asyncio.run(run())
    assert len(said.pieces) == 84


END = st.sampled_from([b"\r\n", b"\r\n", b"\n", b"\r\r\n", b"\n\r", b""])
STATUS_LINES = st.sampled_from(
    [
        *[b"HTTP/1.1 %d OK" % status for status in (100, 103, 200, 204, 304, 404, 999, 99, 1000)],
        *[b"HTTP/%s 200 OK" % version for version in (b"1.0", b"2.0", b"0.9", b"1.1.1", b"11")],
        *[
            b"HTTP/1.1 200",
            b"HTTP/1.1 200 ",
            b"HTTP/1.1  200 OK",
            b"HTTP/1.1 200OK",
            b"http/1.1 200 OK",
            b" HTTP/1.1 200",
        ],
        *[b"HTTP/1.1 200 \xe9t\xe9", b"HTTP/1.1 200 a\x00b", b"HTTP/1.1 200 a\x0bb", b"HTTP/1.1\t200 OK", b""],
    ]
)
FIELD_LINES = st.sampled_from(
    [
        *[b"Content-Length: %s" % size for size in (b"0", b"3", b"5", b"3, 3", b"3,5", b"+3", b"3 3", b"", b"9" * 21)],
        *[b"Transfer-Encoding: %s" % coding for coding in (b"chunked", b"Chunked", b"gzip", b"gzip, chunked", b"")],
        *[b"Connection: close", b"X-A: b", b"x-a:b", b"X-A: \t b \t", b"X-A:", b" folded", b"\tfolded", b"  "],
        *[b"X-A: \xe9", b"X-A: a\x00b", b"X-A: a\x0cb", b"X-A: a\rb", b"X A: b", b"X-A : b", b": b", b"no colon"],
        *[b"X\xe9: b", b"X-A: a\x1fb\x7f", b"!#$%&'*+-.^_`|~09: b", b"X-A: a\x85b"],
    ]
)
CHUNKS = st.sampled_from(
    [
        *[
            b"3\r\nabc\r\n",
            b"3;x=y\r\nabc\r\n",
            b"3 \t\r\nabc\r\n",
            b"03\r\nabc\r\n",
            b"a\r\n0123456789\r\n",
            b"0\r\n\r\n",
        ],
        *[
            b"3\nabc\n",
            b"3\r\nabcd\r\n",
            b"4\r\nabc\r\n",
            b"-3\r\nabc\r\n",
            b"0x3\r\nabc\r\n",
            b"zz\r\n",
            b"\r\n",
            b"3;\r\n",
        ],
        *[
            b"0\r\nX-T: v\r\n\r\n",
            b"0\r\nX T: v\r\n\r\n",
            b"0\n\n",
            b"0\r\n\n",
            b"0;a\r\nX-T: v\n\n",
            b"F" * 21 + b"\r\n",
        ],
        *[b" 3\r\nabc\r\n", b"3\r\nabc", b"abc", b""],
    ]
)


@st.composite
def answers(draw):
    head = draw(STATUS_LINES) + draw(END)
    for line in draw(st.lists(FIELD_LINES, max_size=4)):
        head += line + draw(END)
    if draw(st.integers(0, 4)) == 0:
        head = b"HTTP/1.1 100 Continue\r\n\r\n" + head
    return head + draw(st.sampled_from([b"\r\n", b"\n"])) + b"".join(draw(st.lists(CHUNKS, max_size=5)))


@st.composite
def answers_with_a_body(draw):
    framing = draw(st.sampled_from([b"Transfer-Encoding: chunked\r\n", b"Content-Length: 9\r\n", b""]))
    return OK + framing + b"\r\n" + b"".join(draw(st.lists(CHUNKS, max_size=6)))


def cut(octets, places):
    ends = [*sorted(place % (len(octets) + 1) for place in places), len(octets)]
    return [octets[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@settings(max_examples=600)
@given(octets=st.one_of(answers(), answers_with_a_body()), places=st.lists(st.integers(0, 400), max_size=6))
def test_an_answer_is_read_as_h11_reads_it_however_it_is_cut(octets, places):
    assert as_we_read(cut(octets, places)) == as_h11_reads(octets)


@pytest.mark.parametrize(
    "octets",
    [
        CHUNKED + b"1\r\nx\r\n" * 9000 + b"0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 9000 + OK + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_what_comes_in_thousands_of_parts_is_read_as_one(octets):
    status, _, body = as_we_read([octets])
    assert (status, body) == (200, b"x" * octets.count(b"\r\nx\r\n"))


@pytest.mark.parametrize(
    ("first", "most"),
    [(b"", MOST_SIZE_LINE), (b"5;", MOST_SIZE_LINE), (b"0\r\n", MOST_HEAD_BYTES), (b"0\r\nX-T: ", MOST_HEAD_BYTES)],
)
def test_what_is_no_body_is_kept_up_to_a_limit(first, most):
    chunked = Chunked()
    chunked.feed(first + b"0" * (most - 100))
    with pytest.raises(httpcore.RemoteProtocolError, match="too long"):
        chunked.feed(b"0" * 200)


@pytest.mark.parametrize(("octets", "is_taken"), [(0, True), (1, False)])
@pytest.mark.parametrize("places", [(), (200,), (4000,), range(60, 4300)])
def test_the_line_of_a_chunks_size_has_a_limit_wherever_it_is_cut(octets, is_taken, places):
    line = b"5;" + b"x" * (MOST_SIZE_LINE - len(b"5;\r\n") + octets) + b"\r\n"
    came = as_we_read(cut(CHUNKED + line + b"whole\r\n0\r\n\r\n", places))
    assert (came != REFUSED) is is_taken


@pytest.mark.parametrize("blank", [b" ", b"\t", b" \t "])
@pytest.mark.parametrize("places", [(), range(400)])
def test_a_blank_before_an_extension_is_read_as_the_standard_has_it(blank, places):
    octets = CHUNKED + b"5" + blank + b";x=y\r\nwhole\r\n0" + blank + b";z\r\n\r\n"
    assert as_we_read(cut(octets, places))[2] == b"whole"


def test_a_size_line_that_comes_octet_by_octet_is_read_once():
    looks = 0

    def count(_frame, event, called):
        nonlocal looks
        looks += event == "c_call" and isinstance(getattr(called, "__self__", None), re.Pattern)

    chunked = Chunked()
    sys.setprofile(count)
    try:
        for octet in b"5;" + b"x" * 3000 + b"\r\n":
            chunked.feed(bytes([octet]))
    finally:
        sys.setprofile(None)
    assert chunked.left == 5
    assert looks == 1


def test_trailers_that_come_octet_by_octet_are_not_read_anew_with_each():
    chunked = Chunked()
    chunked.feed(b"0\r\n")
    started = time.process_time()
    for _ in range(MOST_HEAD_BYTES // 8):
        chunked.feed(b"X")
        chunked.feed(b"\n")
    assert time.process_time() - started < 2, "a twentieth is usual, and to search all of them again takes ten seconds"
    with pytest.raises(httpcore.RemoteProtocolError, match="header lines"):
        chunked.feed(b"\r\n")


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_head_is_taken_up_to_a_limit_whether_or_not_it_ends(end):
    line = b"X-A: " + b"a" * (MOST_HEAD_BYTES - len(OK) - len(b"X-A: \r\n\r\n"))
    assert read_head(OK + line + b"\r\n\r\n", 0, 0) is not None
    with pytest.raises(httpcore.RemoteProtocolError, match="too long"):
        read_head(OK + line + b"aaaaa" + end, 0, 0)


@pytest.mark.parametrize(("lines", "is_taken"), [(256, True), (257, False)])
def test_header_lines_are_counted(lines, is_taken):
    assert (as_we_read([OK + b"X-A: b\r\n" * lines + b"\r\n"]) != REFUSED) is is_taken


def test_a_request_is_written_octet_by_octet():
    written = request_head("/a|b?'[x]", [("Host", "x.example"), ("If-None-Match", '"\xe9\x01"')])
    assert written == b'GET /a|b?\'[x] HTTP/1.1\r\nHost: x.example\r\nIf-None-Match: "\xe9\x01"\r\n\r\n'


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("/ HTTP/1.1\r\nX:", "X-A", "b"),
        ("/a b", "X-A", "b"),
        ("/\xe9", "X-A", "b"),
        ("", "X-A", "b"),
        ("/", "X-A", "b\r\nX-Evil: 1"),
        ("/", "X-A", "b\nX-Evil: 1"),
        ("/", "X-A", "b\r"),
        ("/", "X-A", "b\r\n\r\nGET / HTTP/1.1"),
        ("/", "X-A", "b\x00"),
        ("/", "X A", "b"),
        ("/", "X-A: b\r\nX-Evil", "1"),
        ("/", "X-☃", "b"),
        ("/", "X-A", "☃"),
        ("/", "", "b"),
    ],
)
def test_what_would_be_more_than_one_request_is_not_written(target, name, value):
    with pytest.raises(httpcore.LocalProtocolError):
        request_head(target, [("Host", "x"), (name, value)])
