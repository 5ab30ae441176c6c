"""Servers that mean harm, or speak nothing like HTTP: each ends by its limit, with its own reason, and costs little."""

import asyncio
import contextlib
import gzip
import re
import subprocess
import sys
import zlib

import brotli
import pytest
import zstandard

from kb_pipeline.errors import (
    BodyTooLarge,
    BodyUndecodable,
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    TimedOut,
    TooManyRedirects,
)
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import Raw, Reply, encode, redirect
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.sites.talker import Talker, for_ever, says, silence

FAST = {"read_timeout_seconds": 0.6, "page_timeout_seconds": 1.2}
"""For servers that never come to an end: all others may take the time that a busy machine takes."""
OK = b"HTTP/1.1 200 OK\r\n"


def get(*urls, resolver=None, **settings):
    """The last of the pages, by one client."""

    async def run():
        guard = None if resolver is None else Guard(["127.0.0.0/8"], resolver=resolver)
        async with HttpClient(Settings(allow_private=("127.0.0.0/8",), **settings), guard=guard) as client:
            for url in urls:
                response = await client.get(url, max_bytes=1 << 20)
            return response

    return asyncio.run(run())


async def at_home(_host, _port):
    return ["127.0.0.1"]


def slowly(octets, pause=0.05):
    return says(*(bytes([octet]) for octet in octets), pause=pause)


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        (silence, TimedOut, "the site stopped sending"),
        (slowly(OK * 99), TimedOut, "no complete answer within 1.2 s"),
        (slowly(OK + b"X-Name: value\r\n" * 99), TimedOut, "no complete answer within 1.2 s"),
        (for_ever(b"X-Name: value\r\n" * 999, OK), ConnectionBroken, "too long"),
        (for_ever(b"x" * 9999, OK + b"X-Name: "), ConnectionBroken, "too long"),
        (for_ever(b"x" * 9999, b"HTTP/1.1 200 "), ConnectionBroken, "too long"),
        (for_ever(b"x" * 9999), ConnectionBroken, "not proper HTTP"),
        (for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 99), TimedOut, "no complete answer within 1.2 s"),
        (for_ever(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 99), TimedOut, "no complete answer"),
        (says(OK + b"Set-Cookie: n=v\r\n" * 10_000 + b"\r\n"), ConnectionBroken, "too long"),
        (says(OK + b"Set-Cookie: n=" + b"x" * (4 << 20) + b"\r\n\r\n"), ConnectionBroken, "too long"),
        (says(OK + b"X: y\r\n" * 300 + b"\r\n"), ConnectionBroken, "300 header lines; that is no web page's"),
        (says(b"<html>hello</html>\r\n\r\n"), ConnectionBroken, "not proper HTTP: illegal status line"),
        (says(b"hello"), ConnectionBroken, "not proper HTTP: illegal status line: b'hello'"),
        (says(b"HTT"), ConnectionBroken, "closed the connection in the head of its answer"),
        (says(b"\x00\xff\x16\x03\x01\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(b"HTTP/1.1 abc\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(b"HTTP/1.1 99999 no\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"Bad Name: x\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"X: a\x00b\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nnoise"), ConnectionBroken, "not proper HTTP"),
        (says(b""), ConnectionBroken, "closed the connection without an answer"),
        (says(OK), ConnectionBroken, "closed the connection in the head of its answer"),
        (says(b"HTTP/1.1 103 Early Hints\r\n\r\n"), ConnectionBroken, "closed the connection without an answer"),
        (says(OK + b"Content-Length: 10\r\n\r\nshort"), ConnectionBroken, "in the middle of the page"),
        (says(OK + b"Content-Length: -1\r\n\r\nx"), ConnectionBroken, "not proper HTTP: bad Content-Length"),
        (says(OK + b"Content-Length: +5\r\n\r\nhello"), ConnectionBroken, "bad Content-Length"),
        (says(OK + b"Content-Length: 5, 6\r\n\r\nhello"), ConnectionBroken, "conflicting Content-Length"),
        (says(OK + b"Content-Length: " + b"9" * 400 + b"\r\n\r\nhello"), ConnectionBroken, "bad Content-Length"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 40 + b"\r\n"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX"), ConnectionBroken, "not proper HTTP"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe"), ConnectionBroken, "in the middle of the page"),
        (says(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), ConnectionBroken, "in the middle"),
        (says(OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), ConnectionBroken, "not proper HTTP"),
        (for_ever(b"x" * 9999, OK + b"Transfer-Encoding: chunked\r\n\r\n5;"), ConnectionBroken, "too long"),
        (for_ever(b"X: y\r\n" * 999, OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"), ConnectionBroken, "too long"),
        # Extensions, so that no machine is fast enough to come to the limit of the body first.
        (
            for_ever(b"1;" + b"x" * 500 + b"\r\nx\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n"),
            TimedOut,
            "no complete",
        ),
        (says(OK + b"\r\n", *[b"x"] * 60, pause=0.05), TimedOut, "no complete answer within 1.2 s"),
        (for_ever(b"x" * 9999, OK + b"\r\n"), BodyTooLarge, "larger than 1,048,576 bytes"),
        (says(OK + b"Content-Encoding: br, br, br, br, br\r\n\r\nx"), BodyUndecodable, "wrapped in 5 codings"),
        (says(OK + b"Content-Encoding: compress\r\n\r\nx"), BodyUndecodable, "does not read"),
    ],
)
def test_what_is_no_answer_ends_by_its_limit_with_its_reason(script, error, words):
    with Talker(script) as port, pytest.raises(error, match=words) as caught:
        get(port.url(), **(FAST if error is TimedOut else {}))
    assert len(str(caught.value)) < 300, "reasons are kept with the page, noise is not"
    assert port.connections == 1


@pytest.mark.parametrize(
    "script", [silence, says(b"\x16\x03\x03\x00\x40"), says(b"\x16\x03\x03\x40\x00" + b"\x00" * 9, b"\x00", pause=0.2)]
)
def test_tls_that_stalls_in_the_handshake_ends_at_the_connect_limit(script):
    with Talker(script) as port, pytest.raises((TimedOut, ConnectFailed, CertificateInvalid)) as caught:
        get(port.url(scheme="https"), connect_timeout_seconds=0.3)
    assert re.search("within the time limit|TLS", str(caught.value))


def test_a_page_without_a_length_ends_with_its_connection():
    with Talker(says(OK + b"\r\n<p>whole")) as port:
        assert get(port.url()).body == b"<p>whole"


def test_what_a_server_sends_beyond_its_answer_is_never_another_pages():
    forged = b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\nforged"
    first = Raw(OK + b"Content-Length: 5\r\n\r\nfirst" + forged)

    class KeepsOn:
        status = 200

        def answer(self, wire, _request):
            wire.send(first.data)
            return True

    with LoopbackSite({"/": KeepsOn(), "/b": "second"}) as site:
        response = get(site.url("/"), site.url("/b"))
    assert (response.status, response.body) == (200, b"second")


def test_redirects_over_eleven_hosts_end_at_the_eleventh():
    with LoopbackSite(fallback=lambda request: redirect(onward(request))) as site:

        def onward(request):
            number = int(request.headers["host"].removeprefix("h").partition(".")[0])
            return f"http://h{number + 1}.example:{site.port}/"

        with pytest.raises(TooManyRedirects, match="more than 10 redirects"):
            get(f"http://h0.example:{site.port}/", resolver=at_home)
        assert len(site.requests) == 11


def test_a_loop_over_two_hosts_ends_when_it_comes_round():
    with LoopbackSite() as site:
        one, two = (f"http://{name}.example:{site.port}/" for name in ("one", "two"))
        site.fallback = lambda request: redirect(two if request.headers["host"].startswith("one") else one)
        with pytest.raises(TooManyRedirects, match="loop at http://one"):
            get(one, resolver=at_home)
        assert len(site.requests) == 2


def cookie_line(name, size):
    return b"Set-Cookie: " + name + b"=" + b"x" * size + b"\r\n"


def hop_with(cookies, location):
    return Raw(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n" + cookies + b"Content-Length: 0\r\n\r\n")


def test_cookies_that_grow_with_each_hop_stay_within_what_a_header_may_hold():
    pages = {
        f"/{hop}": hop_with(b"".join(cookie_line(b"c%d-%d" % (hop, n), 3000) for n in range(20)), b"/%d" % (hop + 1))
        for hop in range(9)
    }
    with LoopbackSite(pages | {"/9": "end"}) as site:
        assert get(site.url("/0")).body == b"end"
        sent = [len(request.headers.get("cookie", "")) for request in site.requests]
    assert sent[0] == 0
    assert 0 < max(sent) < 10_000


def test_a_cookie_beyond_what_browsers_keep_is_not_sent_back():
    with LoopbackSite({"/": hop_with(cookie_line(b"big", 5000) + cookie_line(b"ok", 1), b"/b"), "/b": "b"}) as site:
        get(site.url("/"))
        assert site.requests[1].headers["cookie"] == "ok=x"


@pytest.mark.parametrize(
    ("attributes", "target", "sent"),
    [
        ("", "a.shop.example", True),
        ("", "b.shop.example", False),
        ("Domain=shop.example", "b.shop.example", True),
        ("Domain=example", "b.shop.example", False),
        ("Domain=b.shop.example", "b.shop.example", False),
        ("Domain=other.example", "other.example", False),
        ("Path=/elsewhere", "a.shop.example", False),
        ("Secure", "a.shop.example", False),
        ("Max-Age=0", "a.shop.example", False),
        ("Max-Age=60", "a.shop.example", True),
        ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a.shop.example", True),
        ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", "a.shop.example", False),
        ("Path=/there", "a.shop.example", True),
        ("Path=/the", "a.shop.example", False),
        ("Path=/", "a.shop.example", True),
        ("Domain=.a.shop.example", "a.shop.example", True),
        ("Domain=hop.example", "b.hop.example", False),
    ],
)
def test_a_cookie_goes_where_its_domain_path_and_scheme_let_it(attributes, target, sent):
    with LoopbackSite({"/there": "there"}) as site:
        head = f"HTTP/1.1 302 Found\r\nLocation: http://{target}:{site.port}/there\r\nSet-Cookie: k=v; {attributes}\r\n"
        site.pages["/"] = Raw(head.encode() + b"Content-Length: 0\r\n\r\n")
        get(f"http://a.shop.example:{site.port}/", resolver=at_home)
        assert ("cookie" in site.requests[-1].headers) is sent


def test_a_cookie_is_taken_back_by_one_that_is_over():
    pages = {
        "/": hop_with(b"Set-Cookie: k=v\r\nSet-Cookie: l=w\r\n", b"/b"),
        "/b": hop_with(b"Set-Cookie: k=; Max-Age=0\r\n", b"/c"),
    }
    with LoopbackSite(pages | {"/c": "end"}) as site:
        get(site.url("/"))
        assert [request.headers.get("cookie") for request in site.requests] == [None, "k=v; l=w", "l=w"]


def test_no_cookie_is_for_all_of_a_country():
    with LoopbackSite({"/there": "there"}) as site:
        head = f"HTTP/1.1 302 Found\r\nLocation: http://b.co.uk:{site.port}/there\r\nSet-Cookie: k=v; Domain=co.uk\r\n"
        site.pages["/"] = Raw(head.encode() + b"Content-Length: 0\r\n\r\n")
        get(f"http://a.co.uk:{site.port}/", resolver=at_home)
        assert "cookie" not in site.requests[-1].headers


@pytest.mark.parametrize(
    "cookie",
    [
        b"=",
        b";",
        b"k",
        b"\xff=\xfe",
        b"k=" + b" ," * 2000,
        b'k="' + b"\\" * 4000,
        b"k=v; " + b"a=" * 3000,
        b"k=v" + b";a" * 3000,
        b"k=v; Expires=" + b"9" * 5000,
        b"k=v; Expires=" + b"9" * 900,
        b"k=v; Expires=" + b"Thu, 01 Jan 1970 " * 50,
        b"k=v; Expires=Thu, 99 Zzz 99999 99:99:99 +9999",
        b"k=v; Max-Age=" + b"9" * 900,
        b"k=v; Max-Age=-" + b"9" * 900,
        b"k=v; Domain=...",
        b"k=v; Path=" + b"/" * 900,
        b"k=v; Version=x; Port=" + b"1," * 300,
    ],
)
def test_a_cookie_that_makes_no_sense_costs_no_page(cookie):
    with LoopbackSite({"/": hop_with(b"Set-Cookie: " + cookie + b"\r\n", b"/b"), "/b": "b"}) as site:
        assert get(site.url("/")).body == b"b"


@pytest.mark.parametrize(
    "location",
    [
        b"/b\x0bX-Evil: 1",
        b"/b\tX-Evil: 1",
        b"/b%0d%0aX-Evil:%201",
        b"/b HTTP/1.1",
        b"/b#\xff\xfe",
        b"/\xe2\x98\x83?\xe2\x98\x83",
        b"//127.0.0.1:PORT/b",
        b"/" + b"b" * 60_000,
    ],
)
def test_a_location_never_adds_a_line_to_the_next_request(location):
    with LoopbackSite(fallback="end") as site:
        location = location.replace(b"PORT", str(site.port).encode())
        site.pages["/"] = Raw(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n")
        with contextlib.suppress(ConnectionBroken):
            get(site.url("/"))
        for request in site.requests:
            assert "x-evil" not in request.headers
            assert request.headers["host"] == f"127.0.0.1:{site.port}"


def test_a_refresh_header_is_not_followed():
    with LoopbackSite({"/": Reply("here", headers={"Refresh": "0; url=/b"}), "/b": "b"}) as site:
        assert get(site.url("/")).body == b"here"
        assert site.count("/b") == 0


def test_a_brotli_stream_that_was_cut_in_half_is_an_error_and_no_empty_page():
    for text in ("All work and no play. " * 99, ""):
        whole = encode(text.encode(), "br") * 1
        for cut in range(1, len(whole), max(1, len(whole) // 9)):
            reply = Reply(whole[:cut], headers={"Content-Encoding": "br"})
            with LoopbackSite({"/": reply}) as site, pytest.raises(BodyUndecodable):
                get(site.url("/"))


GIBIBYTE = 1 << 30


def repeated(pieces, times, end):
    """Once a packer has settled, each flushed piece of zeros is the same octets: a gigabyte without packing one."""
    *first, last = pieces
    assert first[-1] == last
    return b"".join(first) + last * (times - len(first)) + end


def brotli_bomb():
    size = 1 << 24
    packer = brotli.Compressor(quality=5, lgwin=24)
    pieces = [packer.process(bytes(size)) + packer.flush() for _ in range(5)]
    return repeated(pieces, GIBIBYTE // size, packer.finish())


def gzip_bomb():
    size = 1 << 20
    packer = zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(bytes(size)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(3)]
    return repeated(pieces, GIBIBYTE // size, packer.flush())


def zstd_bomb():
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(GIBIBYTE >> 20)) + packer.flush()


def packed_nothing(codings):
    """Gzip of empty blocks without end, packed again: it never gives an octet, and no limit of a body sees it."""
    packer = brotli.Compressor(quality=5, lgwin=24)
    start = packer.process(bytes.fromhex("1f8b08000000000000ff")) + packer.flush()
    pieces = [packer.process(b"\0\0\0\xff\xff" * (1 << 20)) + packer.flush() for _ in range(4)]
    return (
        start + repeated(pieces, 1 << 14, b"")
        if codings == 2
        else gzip.compress(start + repeated(pieces, 1 << 14, b""))
    )


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(("codings", "names"), [(2, "gzip, br"), (3, "gzip, br, gzip")])
def test_codings_that_unfold_to_nothing_without_end_come_to_one(status, codings, names):
    packed = packed_nothing(codings)
    assert len(packed) < 250_000
    with LoopbackSite({"/": Reply(packed, status=status, headers={"Content-Encoding": names})}) as site:
        if status == 200:
            with pytest.raises(BodyUndecodable, match="unfolds to more than"):
                get(site.url("/"))
        else:
            assert get(site.url("/")).body == b"", "the status is the answer"


BOMBER = """
import asyncio, resource, sys
from kb_pipeline.errors import BodyTooLarge
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.settings import Settings

async def run(small, bomb):
    async with HttpClient(Settings(allow_private=("127.0.0.1",))) as client:
        await client.get(small, max_bytes=10 << 20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            await client.get(bomb, max_bytes=10 << 20)
        except BodyTooLarge:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(run(*sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("make", "codings", "most"),
    [
        (brotli_bomb, "br", 2048),
        (zstd_bomb, "zstd", 40_000),
        (gzip_bomb, "gzip", 1_200_000),
        (lambda: gzip.compress(gzip_bomb(), 9), "gzip, gzip", 4096),
        (lambda: gzip.compress(brotli_bomb(), 9), "br, gzip", 2048),
    ],
)
def test_a_gigabyte_in_one_packet_stays_within_fifty_megabytes(make, codings, most):
    packed = make()
    assert len(packed) < most
    with LoopbackSite({"/": "small", "/bomb": Reply(packed, headers={"Content-Encoding": codings})}) as site:
        ran = subprocess.run(
            [sys.executable, "-c", BOMBER, site.url("/"), site.url("/bomb")],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    assert int(ran.stdout) < 50 * 1024, "KiB more than before"
