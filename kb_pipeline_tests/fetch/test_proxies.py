"""Requests through real proxies: what they are asked for, how one logs in to them, what their failures read like."""

import asyncio
import contextlib
import ssl

import pytest
import structlog
import trustme

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.core.proxy_address import Proxy
from kb_pipeline.errors import (
    CertificateInvalid,
    ConfigError,
    ConnectFailed,
    ConnectionBroken,
    GuardRefused,
    ProxyFailed,
    TimedOut,
)
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.failures import failed
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.robots_gate import Access, RobotsGate
from kb_pipeline.settings import Settings, load_settings
from kb_pipeline_tests.sites.proxies import HttpProxy, SocksProxy
from kb_pipeline_tests.sites.replies import Raw, Reply, Reset, Stall, redirect, text
from kb_pipeline_tests.sites.server import LoopbackSite

IMPATIENT = {"connect_timeout_seconds": 0.5, "read_timeout_seconds": 0.5}
"""For what never answers."""
BOTH = pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
SECRET = "gehe im/nis:@1"
QUOTED = "gehe%20im%2Fnis%3A%401"


async def at_home(_host, _port):
    return ["127.0.0.1"]


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


def server_tls(authority, *names):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def client(proxy_url, mode="proxy", *, trust=None, guard=None, **options):
    context = ssl.create_default_context()
    if trust is not None:
        trust.configure_trust(context)
    settings = Settings(proxy=proxy_url, proxy_mode=mode, **options)
    return HttpClient(settings, guard=guard or Guard(["127.0.0.1"], resolver=at_home), ssl_context=context)


def get(url, proxy_url, mode="proxy", *, policy=None, **options):
    async def run():
        async with client(proxy_url, mode, **options) as http:
            return await http.get(url, max_bytes=100_000, policy=policy)

    return asyncio.run(run())


@BOTH
def test_a_page_comes_through_the_proxy_which_is_asked_for_the_address_that_was_checked(kind):
    with kind() as proxy, LoopbackSite({"/": "there"}, name="site.example") as site:
        assert get(site.url("/"), proxy.url()).body == b"there"
        assert proxy.asked == [f"127.0.0.1:{site.port}"]
        assert site.requests[0].headers["host"] == f"site.example:{site.port}"


@BOTH
def test_tls_is_with_the_site_itself_and_for_its_name(kind, authority):
    tls = server_tls(authority, "secure.example")
    with kind() as proxy, LoopbackSite({"/": "secret"}, tls=tls, name="secure.example") as site:
        assert get(site.url("/"), proxy.url(), trust=authority).body == b"secret"
        with pytest.raises(CertificateInvalid):
            get(site.url("/").replace("secure", "other"), proxy.url(), trust=authority)
    assert set(proxy.asked) == {f"127.0.0.1:{site.port}"}


@pytest.mark.parametrize("site_tls", [True, False])
def test_a_proxy_is_spoken_to_in_tls_and_the_site_within_it(authority, site_tls):
    tls = server_tls(authority, "secure.example") if site_tls else None
    with (
        HttpProxy(tls=server_tls(authority, "127.0.0.1"), credentials=("me", "pw")) as proxy,
        LoopbackSite({"/": Reply("y" * 90_000)}, tls=tls, name="secure.example") as site,
    ):
        assert len(get(site.url("/"), proxy.url("me:pw"), trust=authority).body) == 90_000


def test_a_proxy_whose_certificate_is_not_trusted_gets_no_password(authority):
    with HttpProxy(tls=server_tls(authority, "127.0.0.1"), credentials=("me", "pw")) as proxy:
        with pytest.raises(
            ProxyFailed, match=rf"the proxy at 127\.0\.0\.1:{proxy.port} cannot be reached .*CERTIFICATE"
        ):
            get("http://site.example/", proxy.url("me:pw"))
        assert proxy.logged_in == []


@BOTH
def test_user_and_password_are_given_to_the_proxy_and_never_to_the_site(kind):
    with kind(credentials=("mé", SECRET)) as proxy, LoopbackSite({"/": "in"}) as site:
        assert get(site.url("/"), proxy.url(f"m%C3%A9:{QUOTED}")).body == b"in"
        assert proxy.logged_in == [("mé", SECRET)]
        assert not {"proxy-authorization", "authorization"} & site.requests[0].headers.keys()


@BOTH
@pytest.mark.parametrize("userinfo", ["", f"me:{QUOTED}"])
def test_a_proxy_that_wants_other_credentials_is_named_without_ours(kind, userinfo):
    with kind(credentials=("me", "other")) as proxy, LoopbackSite({"/": "in"}) as site:
        with pytest.raises(ProxyFailed, match=rf"the proxy at 127\.0\.0\.1:{proxy.port} refused: ") as caught:
            get(site.url("/"), proxy.url(userinfo))
        assert site.connections_accepted == 0
    assert "gehe" not in str(caught.value)
    assert failed("plain_http", caught.value, 0.0).answer.value == "tier out of order"


@BOTH
def test_a_reply_that_comes_octet_by_octet_is_read_all_the_same(kind):
    credentials = ("me", "pw")
    with kind(credentials=credentials, piecemeal=True) as proxy, LoopbackSite({"/": "in"}) as site:
        assert get(site.url("/"), proxy.url("me:pw")).body == b"in"


@BOTH
@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://inside.example/", "http://[::ffff:169.254.169.254]/"])
def test_a_private_target_is_refused_and_the_proxy_sees_nothing(kind, url):
    async def inside(_host, _port):
        return ["10.1.2.3"]

    with kind() as proxy:
        with pytest.raises(GuardRefused):
            get(url, proxy.url(), guard=Guard(["127.0.0.1"], resolver=inside))
        assert proxy.connections == 0


@BOTH
def test_a_redirect_into_a_private_network_is_refused_behind_a_proxy_too(kind):
    with kind() as proxy, LoopbackSite({"/": redirect("http://169.254.169.254/latest")}) as site:
        with pytest.raises(GuardRefused):
            get(site.url("/"), proxy.url())
        assert proxy.asked == [f"127.0.0.1:{site.port}"]


@BOTH
def test_a_site_that_the_proxy_cannot_reach_is_the_sites_trouble(kind):
    dead = LoopbackSite()
    dead.close()
    with kind() as proxy, pytest.raises(ConnectFailed, match="could not reach it"):
        get(dead.url("/"), proxy.url())


@pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
def test_a_proxy_that_is_down_is_named(kind):
    proxy = kind()
    proxy.close()
    with pytest.raises(ProxyFailed, match=rf"the proxy at 127\.0\.0\.1:{proxy.port} cannot be reached") as caught:
        get("http://site.example/", proxy.url("me:geheim"))
    assert "geheim" not in str(caught.value)


def test_a_proxy_that_says_our_password_back_is_not_quoted():
    with HttpProxy(says=b"HTTP/1.1 407 Not Geheim\r\n\r\n") as proxy, pytest.raises(ProxyFailed) as caught:
        get("http://site.example/", proxy.url("me:geheim"))
    assert "refused: 407 (it wants" in str(caught.value)
    assert "geheim" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("proxy", "error", "words"),
    [
        (HttpProxy(says=b"HTTP/1.1 403 Forbidden\r\n\r\n"), ProxyFailed, "refused: 403 Forbidden"),
        (HttpProxy(says=b"HTTP/1.1 301 Moved\r\nLocation: http://x/\r\n\r\n"), ProxyFailed, "refused: 301"),
        (HttpProxy(says=b"HTTP/1.1 503 Busy\r\n\r\n"), ConnectFailed, "could not reach it: 503 Busy"),
        (HttpProxy(says=b"SSH-2.0-OpenSSH_9.6\r\n"), ProxyFailed, "does not speak HTTP"),
        (HttpProxy(says=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000), ProxyFailed, "does not speak HTTP"),
        (HttpProxy(says=b"HTTP/1.1 100 C\r\n\r\n" * 1000), ProxyFailed, "without an answer"),
        (HttpProxy(says=b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), ProxyFailed, "spoke before"),
        (HttpProxy(says=b""), ProxyFailed, "without an answer"),
        (HttpProxy(resets=True), ProxyFailed, "broke the connection off"),
        (HttpProxy(silent=True), TimedOut, "gave no connection within the time limit"),
        (SocksProxy(says=b"HTTP/1.1 400 Bad Request\r\n\r\n"), ProxyFailed, "does not speak SOCKS5"),
        (SocksProxy(says=b"\x05\x00\x05\x02\x00\x01" + bytes(6)), ProxyFailed, "not allowed by its rules"),
        (SocksProxy(says=b"\x05\x00\x05\x63\x00\x01" + bytes(6)), ConnectFailed, "reply 99"),
        (SocksProxy(says=b"\x05\x00\x05\x00\x00\x09" + bytes(6)), ProxyFailed, "does not speak SOCKS5"),
        (SocksProxy(says=b"\x05\x00\x04\x00\x00\x01" + bytes(6)), ProxyFailed, "does not speak SOCKS5"),
        (SocksProxy(says=b"\x05"), ProxyFailed, "without an answer"),
        (SocksProxy(resets=True), ProxyFailed, "broke the connection off"),
        (SocksProxy(silent=True), TimedOut, "gave no connection within the time limit"),
    ],
)
def test_whatever_a_proxy_answers_ends_in_one_error_that_names_it(proxy, error, words):
    with proxy, pytest.raises(error, match=f"the proxy at 127\\.0\\.0\\.1:{proxy.port} .*{words}"):
        get("http://site.example/", proxy.url(), **(IMPATIENT if error is TimedOut else {}))


def test_what_a_proxy_repeats_of_our_request_is_not_told():
    echo = b"HTTP/1.1 502 CONNECT site.example:80 Proxy-Authorization: Basic dTpTRUNSRVRQVw\r\n\r\n"
    with HttpProxy(says=echo) as proxy, pytest.raises(ConnectFailed, match=r"could not reach it: 502$"):
        get("http://site.example/", proxy.url())


def test_a_proxy_that_fails_is_no_sign_of_strain_at_the_host():
    told = []

    class Told:
        @contextlib.asynccontextmanager
        async def turn(self, _url):
            yield self

        def answered(self, *_answer):
            told.append("answered")

        def failed(self):
            told.append("failed")

    async def run(proxy_url, url):
        settings = Settings(proxy=proxy_url, proxy_mode="proxy")
        async with HttpClient(settings, guard=Guard(["127.0.0.1"]), turns=Told()) as http:
            with contextlib.suppress(ProxyFailed, ConnectionBroken):
                await http.get(url, max_bytes=100)

    with LoopbackSite({"/": Reset()}) as site:
        with HttpProxy(credentials=("me", "pw")) as proxy:
            asyncio.run(run(proxy.url(), site.url("/")))
        assert told == []
        with HttpProxy() as proxy:
            asyncio.run(run(proxy.url(), site.url("/")))
        assert told == ["failed"]


def test_robots_txt_is_asked_for_through_the_proxy_too():
    class NoFiles:
        def get(self, _origin):
            return None

        def put(self, *_file):
            pass

    async def run(url, proxy_url):
        async with client(proxy_url) as http:
            gate = RobotsGate(http, NoFiles(), token="KbPipelineBot", user_agent="KbPipelineBot/1.0")
            return await gate.verdict(url)

    with HttpProxy() as proxy, LoopbackSite({"/robots.txt": text("User-agent: *\nDisallow: /x")}) as site:
        assert asyncio.run(run(site.url("/x"), proxy.url())).access is Access.FORBIDDEN
        assert proxy.asked == [f"127.0.0.1:{site.port}"]


def test_without_a_mode_no_proxy_is_asked():
    with HttpProxy() as proxy, LoopbackSite({"/": "there"}) as site:
        assert get(site.url("/"), proxy.url(), "none").body == b"there"
        assert proxy.connections == 0


def test_direct_is_an_old_name_of_proxy():
    with HttpProxy() as proxy, LoopbackSite({"/": "there"}) as site:
        get(site.url("/"), proxy.url(), "direct")
        assert proxy.asked == [f"127.0.0.1:{site.port}"]


@pytest.mark.parametrize(
    "trouble", [Reply("no", status=403), Reply("slow", status=429), Reply("oh", status=500), Reset(), Raw(b""), Stall()]
)
@BOTH
def test_after_trouble_the_page_comes_by_the_proxy(kind, trouble):
    with kind() as proxy, LoopbackSite({"/": [trouble, "by proxy"]}) as site:
        response = get(site.url("/"), proxy.url(), "fallback", **(IMPATIENT if isinstance(trouble, Stall) else {}))
        assert (response.body, response.requests) == (b"by proxy", 2)
        assert proxy.asked == [f"127.0.0.1:{site.port}"]


@pytest.mark.parametrize("answer", [Reply("here"), Reply("gone", status=404), Reply("", status=204), redirect("/b")])
def test_an_answer_that_is_no_trouble_is_taken_as_it_is(answer):
    with HttpProxy() as proxy, LoopbackSite({"/": answer, "/b": "b"}) as site:
        get(site.url("/"), proxy.url(), "fallback")
        assert proxy.connections == 0


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "ftp://site.example/", "http://site.example:22/"])
def test_what_the_guard_refuses_is_no_matter_of_the_way_there(url):
    with HttpProxy() as proxy:
        with pytest.raises(GuardRefused):
            get(url, proxy.url(), "fallback")
        assert proxy.connections == 0


def test_a_bad_certificate_is_bad_by_any_way(authority):
    tls = server_tls(authority, "other.example")
    with HttpProxy() as proxy, LoopbackSite({"/": "x"}, tls=tls, name="secure.example") as site:
        with pytest.raises(CertificateInvalid):
            get(site.url("/"), proxy.url(), "fallback", trust=authority)
        assert proxy.connections == 0


@pytest.mark.parametrize("trouble", [Reply("no", status=403), Reset()])
def test_a_page_without_fallbacks_is_not_asked_for_twice(trouble):
    with HttpProxy() as proxy, LoopbackSite({"/": trouble}) as site:
        with contextlib.suppress(ConnectionBroken):
            get(site.url("/"), proxy.url(), "fallback", policy=FetchPolicy(fallback_enabled=False))
        assert (proxy.connections, site.count("/")) == (0, 1)


def test_when_both_ways_are_refused_the_sites_own_answer_stands():
    with HttpProxy() as proxy, LoopbackSite({"/": [Reply("no", status=403), Reply("busy", status=503)]}) as site:
        response = get(site.url("/"), proxy.url(), "fallback")
    assert (response.status, response.requests, response.by_proxy) == (403, 2, False)


def test_what_the_proxy_brought_after_trouble_says_so():
    for trouble in (Reply("no", status=403), Reset()):
        with HttpProxy() as proxy, LoopbackSite({"/": [trouble, Reply("<p>shown")]}) as site:
            response = get(site.url("/"), proxy.url(), "fallback")
        assert (response.status, response.by_proxy) == (200, True)


def test_when_both_ways_fail_the_error_is_the_sites_and_says_what_the_proxy_did():
    proxy = HttpProxy()
    proxy.close()
    words = rf"reset the connection; then by the proxy: the proxy at 127\.0\.0\.1:{proxy.port} cannot be reached"
    with LoopbackSite({"/": Reset()}) as site, pytest.raises(ConnectionBroken, match=words):
        get(site.url("/"), proxy.url("me:geheim"), "fallback")
    with LoopbackSite({"/": Reply("no", status=503)}) as site, structlog.testing.capture_logs() as lines:
        assert get(site.url("/"), proxy.url("me:geheim"), "fallback").status == 503
    assert [line["event"] for line in lines] == ["crawler.proxy.fallback", "crawler.proxy.failed"]
    assert "geheim" not in str(lines)


@pytest.mark.parametrize(
    "value",
    [
        "proxy.example:3128",
        "ftp://h:1",
        "socks4://h",
        "http:h",
        "http://",
        "http://h:0",
        "http://h:99999",
        "http://a b:1",
        "http://[::g]:1",
        "http://u:geheim#x@h:1",
        "http://u:geheim@h/path",
        "http://u:ge%0Aheim@h",
        "http://u%3Av:geheim@h",
        "socks5://:geheim@h",
        f"socks5://u:{'geheim' * 50}@h",
    ],
)
def test_a_proxy_that_cannot_be_read_is_refused_at_the_start_without_its_password(value):
    with pytest.raises(ConfigError, match="WEBSCRAPER_PROXY takes http://host:port") as caught:
        load_settings(proxy=value, proxy_mode="proxy")
    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://h", "h:80"),
        ("https://h", "h:443"),
        ("socks5h://H.example", "h.example:1080"),
        ("socks5://u:geheim@[::1]:9", "[::1]:9"),
        (" http://u:geheim@h:3128/ ", "h:3128"),
    ],
)
def test_a_proxy_is_shown_without_its_credentials(value, shown):
    assert Proxy.parse(value).shown == shown
    assert "geheim" not in repr(Proxy.parse(value))
