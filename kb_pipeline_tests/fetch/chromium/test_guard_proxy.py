"""The proxy by itself, over sockets: who may use it, where to, and how much of it. No browser."""

import asyncio
import base64
import contextlib
import logging

import pytest

from kb_pipeline.errors import ConnectFailed, GuardRefused, NameNotResolved
from kb_pipeline.fetch.chromium.guard_proxy import FAILED, GuardProxy
from kb_pipeline.fetch.chromium.traffic import MAX_REQUESTS, PageTraffic
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline_tests.sites.replies import Endless, Reply, Reset, Stall
from kb_pipeline_tests.sites.server import LoopbackSite


@contextlib.asynccontextmanager
async def proxy_of(site, **limits):
    async def resolve(host, _port):
        if host == "nowhere.test":
            raise OSError(-2, "Name or service not known")
        return ["127.0.0.1"]

    guard = Guard((f"127.0.0.1:{site.port}",), resolver=resolve)
    proxy = GuardProxy(guard, PinnedBackend(guard), connect_seconds=2, idle_seconds=1)
    await proxy.start()
    traffic = PageTraffic(**limits)
    try:
        async with proxy.page(traffic):
            yield proxy, traffic
    finally:
        await proxy.aclose()


async def ask(proxy, request, traffic=None, *, then=b""):
    """Send a request, and what follows it once it is answered; everything that comes back until the end."""
    host, port = proxy.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(with_credentials(request, traffic))
        if not then:
            writer.write_eof()
            return await reader.read()
        first = await reader.readuntil(b"\r\n\r\n")
        writer.write(then)
        return first + await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def with_credentials(request, traffic):
    if traffic is None:
        return request
    known = base64.b64encode(f"{traffic.user}:{traffic.password}".encode())
    return request.replace(b"\r\n\r\n", b"\r\nProxy-Authorization: Basic " + known + b"\r\n\r\n", 1)


def get(target, more=b""):
    return b"GET " + target.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + more + b"\r\n"


def status_of(answer):
    return int(answer.split(b" ", 2)[1])


def test_a_request_is_sent_on_without_what_is_the_proxys_and_its_answer_comes_back():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            answer = await ask(proxy, get(site.url("/a?b"), b"X-A: 1\r\nProxy-Connection: keep-alive\r\n"), traffic)
            return answer, traffic

    with LoopbackSite({"/a": Reply("hello", headers={"X-B": "2"})}) as site:
        answer, traffic = asyncio.run(run())
    assert (status_of(answer), b"hello" in answer, b"X-B: 2" in answer) == (200, True, True)
    sent = site.requests[0]
    assert (sent.target, sent.headers["x-a"]) == ("/a?b", "1")
    assert not [name for name in sent.headers if name.startswith("proxy-")]
    assert traffic.received == 5


def test_whoever_cannot_name_a_page_gets_nothing():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            wrong = PageTraffic(user=traffic.user)
            requests = [get(site.url("/")), f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()]
            return [status_of(await ask(proxy, request, who)) for request in requests for who in (None, wrong)]

    with LoopbackSite({"/": "x"}) as site:
        assert asyncio.run(run()) == [407] * 4
    assert site.connections_accepted == 0


def test_a_page_that_is_over_gets_nothing():
    async def run():
        async with proxy_of(site) as (proxy, _):
            late = PageTraffic()
            async with proxy.page(late):
                before = status_of(await ask(proxy, get(site.url("/")), late))
            return before, status_of(await ask(proxy, get(site.url("/")), late))

    with LoopbackSite({"/": "x"}) as site:
        assert asyncio.run(run()) == (200, 407)


@pytest.mark.parametrize(
    ("target", "status", "error"),
    [
        ("http://127.0.0.1:1/", 403, None),
        ("http://10.0.0.1/", 403, None),
        ("http://[::1]/", 403, None),
        ("ftp://127.0.0.1/", 403, None),
        ("/relative", 403, None),
        ("http://inside.test/", 502, GuardRefused),
        ("http://nowhere.test/", 502, NameNotResolved),
    ],
)
def test_a_target_that_the_guard_refuses_is_not_dialled(target, status, error):
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            answer = await ask(proxy, get(target), traffic)
            return answer, traffic

    with LoopbackSite({"/": "x"}) as site:
        answer, traffic = asyncio.run(run())
    assert status_of(answer) == status
    assert f"{FAILED}: {traffic.mark}".encode() in answer
    assert [type(failure) for failure in traffic.failures.values()] == ([error] if error else [])
    assert traffic.refused == (error is not NameNotResolved)
    assert site.connections_accepted == 0


def test_a_tunnel_to_a_place_that_the_guard_refuses_is_not_opened():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            places = ["127.0.0.1:1", "10.0.0.1:443", "[::1]:443", "inside.test:443", "127.0.0.1:22", "x@127.0.0.1:443"]
            requests = [f"CONNECT {place} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for place in places]
            return [status_of(await ask(proxy, request, traffic)) for request in requests], traffic

    with LoopbackSite({"/": "x"}) as site:
        statuses, traffic = asyncio.run(run())
    assert statuses == [403, 403, 403, 502, 403, 403]
    assert traffic.refused == 6
    assert site.connections_accepted == 0


def test_a_tunnel_carries_bytes_both_ways():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            request = f"CONNECT site.test:{site.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            answer = await ask(proxy, request, traffic, then=get("/t"))
            return answer, traffic

    with LoopbackSite({"/t": "through"}) as site:
        answer, traffic = asyncio.run(run())
    assert status_of(answer) == 200
    assert answer.endswith(b"through")
    assert traffic.received > len("through")


@pytest.mark.parametrize("tunnel", [False, True])
def test_a_page_gets_so_many_bytes_and_no_more(tunnel):
    async def run():
        async with proxy_of(site, max_bytes=300_000) as (proxy, traffic):
            if tunnel:
                request = f"CONNECT site.test:{site.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                answer = await ask(proxy, request, traffic, then=get("/"))
            else:
                answer = await ask(proxy, get(site.url("/")), traffic)
            with contextlib.suppress(OSError):
                assert await ask(proxy, get(site.url("/")), traffic) == b""
            return answer, traffic

    with LoopbackSite({"/": Endless()}) as site:
        answer, traffic = asyncio.run(run())
    assert len(answer) < 400_000
    assert traffic.exhausted


def test_a_page_gets_so_many_requests_and_no_more():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            traffic.requests = MAX_REQUESTS - 1
            return [await ask(proxy, get(site.url("/")), traffic) for _ in range(2)], traffic.exhausted

    with LoopbackSite({"/": "x"}) as site:
        answers, exhausted = asyncio.run(run())
    assert (status_of(answers[0]), answers[1]) == (200, b"")
    assert exhausted == "more than 2,000 requests"


def test_a_connection_that_is_not_accepted_or_breaks_is_answered_for():
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            broken = await ask(proxy, get(site.url("/")), traffic)
            silent = await ask(proxy, get(site.url("/silent")), traffic)
            site.close()
            closed = await ask(proxy, get(site.url("/")), traffic)
            return [status_of(answer) for answer in (broken, silent, closed)], traffic

    with LoopbackSite({"/": Reset(), "/silent": Stall()}) as site:
        statuses, traffic = asyncio.run(run())
    assert statuses == [502, 502, 502]
    assert isinstance(traffic.failures["127.0.0.1", site.port], ConnectFailed)


@pytest.mark.parametrize(
    "noise",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, b"\r\n\r\n", b""],
    ids=["TLS", "endless head", "blank lines", "nothing"],
)
def test_noise_ends_its_connection_and_nothing_else(noise, caplog):
    async def run():
        async with proxy_of(site) as (proxy, traffic):
            with contextlib.suppress(OSError):
                await ask(proxy, noise)
            return status_of(await ask(proxy, get(site.url("/")), traffic))

    with LoopbackSite({"/": "x"}) as site, caplog.at_level(logging.ERROR):
        assert asyncio.run(run()) == 200
    assert caplog.records == []


def test_one_connection_carries_requests_for_several_places_each_to_its_own():
    async def run():
        async with proxy_of(one) as (proxy, traffic):
            host, port = proxy.address.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            statuses = []
            for target in (one.url("/"), two.url("/"), one.url("/again")):
                request = f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
                writer.write(with_credentials(request, traffic))
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                statuses.append(status_of(head))
            writer.close()
            await writer.wait_closed()
            return statuses

    with LoopbackSite({"/": "1", "/again": "1"}) as one, LoopbackSite({"/": "2"}) as two:
        assert asyncio.run(run()) == [200, 403, 200]
    assert two.connections_accepted == 0
