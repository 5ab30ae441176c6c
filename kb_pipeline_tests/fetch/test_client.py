"""The client over real sockets: redirects, limits, codings, and every way a server can break off."""

import asyncio
import contextlib
import time

import pytest

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.errors import (
    BodyTooLarge,
    BodyUndecodable,
    ConnectFailed,
    ConnectionBroken,
    GuardRefused,
    NotADocument,
    TimedOut,
    TooManyRedirects,
)
from kb_pipeline.fetch.client import MOST_IN_FLIGHT, HttpClient
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import (
    Drip,
    Endless,
    Raw,
    Reply,
    Reset,
    Stall,
    WrongLength,
    encode,
    encoded,
    redirect,
)
from kb_pipeline_tests.sites.server import LoopbackSite

TEXT = "All work and no play makes Jack a dull boy. " * 50


def get(site, path="/", *, settings=(), **options):
    async def run():
        async with HttpClient(Settings(allow_private=("127.0.0.0/8",), **dict(settings))) as client:
            return await client.get(site.url(path), **({"max_bytes": 1 << 20} | options))

    return asyncio.run(run())


def serve(answer, **more):
    return LoopbackSite({"/": answer, **more})


def test_a_page_comes_with_lower_case_headers_and_its_own_address():
    with serve(Reply(TEXT, headers={"X-Thing": "a", "ETag": '"1"'})) as site:
        response = get(site)
    assert (response.status, response.body.decode()) == (200, TEXT)
    assert (response.headers["x-thing"], response.headers["etag"]) == ("a", '"1"')
    assert response.final_url == response.url == site.url("/")
    assert response.wire_bytes == len(TEXT)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw-deflate", "br", "zstd"])
def test_a_coded_body_is_decoded(coding):
    with serve(encoded(TEXT, coding)) as site:
        response = get(site)
    assert response.body.decode() == TEXT
    assert response.wire_bytes < len(TEXT)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_coded_body_that_was_cut_is_an_error_and_no_page(coding):
    whole = encode(TEXT.encode(), coding)
    cut = Reply(whole[: len(whole) // 2], headers={"Content-Encoding": coding})
    with serve(cut) as site, pytest.raises(BodyUndecodable):
        get(site)


@pytest.mark.parametrize("coding", ["none", "utf-8", "identity", ""])
def test_a_coding_that_is_none_changes_nothing(coding):
    with serve(Reply(TEXT, headers={"Content-Encoding": coding})) as site:
        assert get(site).body.decode() == TEXT


def test_a_body_over_its_limit_is_refused_or_cut_as_asked():
    with serve(Reply(TEXT)) as site:
        with pytest.raises(BodyTooLarge, match="larger than 100 bytes"):
            get(site, max_bytes=100)
        response = get(site, max_bytes=100, truncate=True)
    assert response.truncated
    assert response.body == TEXT[:100].encode()


def test_a_body_of_exactly_its_limit_is_taken():
    with serve(Reply(TEXT)) as site:
        assert len(get(site, max_bytes=len(TEXT)).body) == len(TEXT)


def test_a_limit_may_depend_on_what_comes_and_refuse_it_unread():
    def limit(head, first):
        if head.headers["content-type"] == "video/mp4":
            raise NotADocument
        return 10 if first.startswith(b"<") else 10_000

    with serve(Reply(TEXT), **{"/v": Reply(b"x" * 100, content_type="video/mp4"), "/h": Reply("<p>" * 9)}) as site:
        assert len(get(site, max_bytes=limit).body) == len(TEXT)
        with pytest.raises(NotADocument):
            get(site, "/v", max_bytes=limit)
        with pytest.raises(BodyTooLarge):
            get(site, "/h", max_bytes=limit)


def test_redirects_are_followed_by_hop_and_the_hook_sees_each():
    hops = []

    async def hook(source, target):
        hops.append((source, target))

    pages = {"/": redirect("/b?x=1#y"), "/b?x=1": redirect("c", 302), "/c": Reply("end")}
    with LoopbackSite(pages) as site:
        response = get(site, on_redirect=hook)
        assert response.redirects == (site.url("/b?x=1"), site.url("/c"))
        assert (response.final_url, response.body) == (site.url("/c"), b"end")
        assert hops == [(site.url("/"), site.url("/b?x=1")), (site.url("/b?x=1"), site.url("/c"))]


def test_a_hook_that_raises_ends_the_chain_before_the_hop():
    async def hook(_source, _target):
        raise NotADocument

    with LoopbackSite({"/": redirect("/b"), "/b": "b"}) as site:
        with pytest.raises(NotADocument):
            get(site, on_redirect=hook)
        assert site.count("/b") == 0


@pytest.mark.parametrize("location", ["/", "", "/b"])
def test_a_redirect_loop_ends(location):
    with LoopbackSite({"/": redirect(location), "/b": redirect("/")}) as site, pytest.raises(TooManyRedirects):
        get(site)


def test_the_eleventh_redirect_is_not_followed():
    pages = {f"/{number}": redirect(f"/{number + 1}") for number in range(20)}
    with LoopbackSite(pages) as site, pytest.raises(TooManyRedirects, match="more than 10"):
        get(site, "/0")
    assert len(site.requests) == 11


@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://169.254.169.254/latest", "file:///etc/passwd", "http://[::1]/"]
)
def test_a_redirect_into_a_private_network_ends_the_request(target):
    with LoopbackSite({"/": redirect(target)}) as site, pytest.raises(GuardRefused):
        get(site)


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "mailto:a@b", "data:text/html,x", "http:///", "tel:1", "about:blank", "x:y/z"]
)
def test_a_redirect_to_no_web_address_ends_the_request_and_nothing_else(target):
    with LoopbackSite({"/": redirect(target)}) as site, contextlib.suppress(GuardRefused):
        assert get(site).status == 301


@pytest.mark.parametrize("target", ["http://x:99999/", "http://[::g]/", "http://a b/", "//", "http://%zz/"])
def test_a_redirect_to_an_address_that_cannot_be_read_is_no_redirect(target):
    with LoopbackSite({"/": redirect(target)}) as site:
        assert get(site).status == 301


@pytest.mark.parametrize("target", ["/e\tn\td", "  /end  ", "\\end", "./x/../end", "///127.0.0.1:{port}/end"])
def test_a_location_is_read_as_browsers_read_it(target):
    with LoopbackSite({"/end": "there"}) as site:
        site.pages["/"] = redirect(target.format(port=site.port))
        assert get(site).body == b"there"


def test_a_cookie_lives_for_one_chain_and_no_longer():
    def gate(request):
        if "seen=1" in request.headers.get("cookie", ""):
            return Reply("in")
        return Reply(b"", status=302, headers={"Location": "/", "Set-Cookie": "seen=1; Path=/"})

    async def twice(site):
        async with HttpClient(Settings(allow_private=("127.0.0.1",))) as client:
            first = await client.get(site.url("/"), max_bytes=1000)
            await client.get(site.url("/other"), max_bytes=1000)
            return first

    with LoopbackSite({"/": gate, "/other": "o"}) as site:
        assert asyncio.run(twice(site)).body == b"in"
        assert "cookie" not in site.requests[-1].headers


def test_the_path_is_requested_as_it_was_published():
    path = "/a|b/(c)/%7Ed/'e'?q=[1]&r=ü"
    with LoopbackSite(fallback="ok") as site:
        get(site, path)
        assert site.requests[0].target == "/a|b/(c)/%7Ed/'e'?q=[1]&r=%C3%BC"


@pytest.mark.parametrize("declared", [b"HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8bjunk"])
def test_a_broken_body_does_not_change_an_error_status(declared):
    with serve(Raw(declared)) as site:
        assert get(site).status == 404


def test_an_endless_error_page_is_read_no_further_than_it_helps():
    reply = Reply(b"x" * 600_000, status=404)
    with serve(reply) as site:
        response = get(site)
    assert response.status == 404
    assert len(response.body) == 256 * 1024


FAST = {"connect_timeout_seconds": 0.3, "read_timeout_seconds": 0.3, "page_timeout_seconds": 0.9}.items()


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Reset(), ConnectionBroken),
        (Reset(b"<p>half"), ConnectionBroken),
        (WrongLength(b"<p>short", 5000), ConnectionBroken),
        (Raw(b""), ConnectionBroken),
        (Raw(b"SSH-2.0-OpenSSH_9.6\r\n"), ConnectionBroken),
        (Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), ConnectionBroken),
        (Raw(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n"), ConnectionBroken),
        (Stall(), TimedOut),
        (Stall(after_headers=True), TimedOut),
        (Drip(interval=0.1), TimedOut),
        (Drip(interval=0.1, headers_too=True), TimedOut),
        (Endless(headers=True), ConnectionBroken),
        (Endless(), BodyTooLarge),
        (Endless(chunked=True), BodyTooLarge),
    ],
)
def test_a_server_that_misbehaves_costs_one_error_and_little_time(behaviour, error):
    started = time.monotonic()
    with serve(behaviour) as site, pytest.raises(error) as caught:
        get(site, settings=FAST)
    assert time.monotonic() - started < 20, "most of these would go on for ever"
    assert str(caught.value)


def test_nobody_listening_is_a_failed_connection():
    site = LoopbackSite()
    site.close()
    with pytest.raises(ConnectFailed, match="not accepted"):
        get(site)


def test_the_wall_clock_limit_is_over_all_hops():
    pages = {
        f"/{number}": Reply(b"", status=302, headers={"Location": f"/{number + 1}"}, delay=0.2) for number in range(9)
    }
    with LoopbackSite(pages) as site, pytest.raises(TimedOut):
        get(site, "/0", settings=FAST)  # no single hop takes that long


def test_a_page_that_waited_for_slow_ones_of_other_hosts_has_all_its_own_time():
    stalls = FetchPolicy(page_timeout_ms=1500)

    async def run(site):
        settings = Settings(allow_private=("127.0.0.1",), read_timeout_seconds=1, page_timeout_seconds=1)
        async with HttpClient(settings) as client:
            slow = [
                asyncio.ensure_future(client.get(site.url("/slow"), max_bytes=1 << 20, policy=stalls))
                for _ in range(MOST_IN_FLIGHT)
            ]
            await asyncio.sleep(0)
            assert (await client.get(site.url("/"), max_bytes=1 << 20)).body == b"healthy"
            return await asyncio.gather(*slow, return_exceptions=True)

    with serve(Reply("healthy"), **{"/slow": Drip(interval=0.5)}) as site:
        assert {type(error) for error in asyncio.run(run(site))} == {TimedOut}
