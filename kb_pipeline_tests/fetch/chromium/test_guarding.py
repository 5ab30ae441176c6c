"""Where a rendered page may lead and what it may ask for: nothing private, nothing off its site, and secrets for its
own origin alone."""

import base64
import contextlib
import hashlib
import socket
import ssl
import threading

import pytest
import trustme

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.errors import (
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    GuardRefused,
    NameNotResolved,
    TimedOut,
    TooManyRedirects,
)
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.client import Response
from kb_pipeline.fetch.hops import HopRefused
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.chromium.rendering_desk import desk
from kb_pipeline_tests.sites.proxies import HttpProxy, SocksProxy
from kb_pipeline_tests.sites.replies import Reply, Reset, Stall, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

pytestmark = pytest.mark.usefixtures("needs_chromium")


@pytest.fixture(scope="module")
def site():
    with LoopbackSite(name="site.test") as serving:
        yield serving


@pytest.fixture(scope="module")
def inside():
    """A server that nobody outside may reach."""
    with LoopbackSite({"/": Reply("secret", headers={"Access-Control-Allow-Origin": "*"})}) as serving:
        yield serving


@pytest.fixture(scope="module")
def names():
    return {"site.test": "127.0.0.1", "other.test": "127.0.0.1", "inside.test": "127.0.0.1"}


@pytest.fixture(scope="module")
def module_renders(site, names):
    with desk(names, allow_private=(f"127.0.0.1:{site.port}",), connect_timeout_seconds=3) as opened:
        yield opened


@pytest.fixture
def renders(module_renders, site):
    site.forget()
    module_renders.hops.clear()
    yield module_renders
    module_renders.on_redirect = None


def only_on_site(source, target):
    """A hop hook that keeps pages on site.test."""

    async def check(_source, _target):
        if "other.test" in _target:
            message = "redirects to another site, other.test"
            raise HopRefused(Answer.OFF_SITE, message)

    return check(source, target)


def test_a_page_that_asks_for_private_addresses_in_every_way_gets_none_and_is_read(site, inside, names, renders):
    port = inside.port
    with LoopbackSite(address="127.0.0.2", port=site.port) as rebound:
        names["rebind.test"] = ["127.0.0.1", "127.0.0.2"]
        site.pages["/away"] = redirect(inside.url("/"))
        site.pages["/first"] = Reply("1", headers={"Access-Control-Allow-Origin": "*", "Connection": "close"})
        site.pages["/"] = (
            f"<p id=p>text</p><img src=http://127.0.0.1:{port}/a><img src=http://inside.test:{port}/b>"
            f"<img src=http://[::ffff:127.0.0.1]:{port}/c><img src=http://2130706433:{port}/d><img src=/away>"
            f"<link rel=stylesheet href=http://127.1:{port}/e><iframe src=http://localhost:{port}/f></iframe>"
            f"<link rel=preconnect href=http://127.0.0.1:{port}><link rel=prefetch href=http://127.0.0.1:{port}/g>"
            f"<script>const later = [];"
            f"for (const u of ['http://127.0.0.1:{port}/', 'http://inside.test:{port}/', 'https://127.0.0.1:{port}/'])"
            f" later.push(fetch(u, {{mode: 'no-cors'}}).then(() => 0, () => 1));"
            f"later.push(new Promise(r => {{ const s = new WebSocket('ws://127.0.0.1:{port}/');"
            f" s.onopen = () => r(0); s.onerror = () => r(1) }}));"
            f"const b = 'http://rebind.test:{site.port}/first';"
            f"later.push(fetch(b).then(r => r.text()).then(() => fetch(b)).then(() => 0, () => 1));"
            f"navigator.sendBeacon('http://127.0.0.1:{port}/beacon', 'x');"
            f"new Worker(URL.createObjectURL(new Blob([`fetch('http://127.0.0.1:{port}/worker')`])));"
            f"Promise.all(later).then(all => p.textContent = 'refused ' + all.join(''))</script>"
        )
        rendered = renders.content(site.url("/"))
        assert rebound.connections_accepted == 0
    assert inside.connections_accepted == 0
    assert b"refused 001" in rendered.body  # an opaque answer of the proxy's own tells a page nothing
    assert "requests to addresses that are not public were refused" in rendered.degraded
    assert site.count("/first") == 1


def test_what_does_not_go_by_http_does_not_leave_either(site, renders):
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.3)
        port = udp.getsockname()[1]
        site.pages["/f"] = "<p>frame"
        site.pages["/"] = (
            f"<link rel=dns-prefetch href=//hint.test><link rel=preconnect href=//hint.test>"
            f"<iframe id=f src=/f></iframe><p>text<script>f.onload = () => {{"
            f" const R = window.RTCPeerConnection || f.contentWindow.RTCPeerConnection;"
            f" document.body.append(R ? 'has RTC' : 'no RTC');"
            f" if (R) {{ const c = new R({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});"
            f" c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o)) }}"
            f" try {{ new WebTransport('https://127.0.0.1:{port}/') }} catch (e) {{ }} }}"
            f"</script>"
        )
        renders.looked_up.clear()
        html = renders.html(site.url("/"))
        with pytest.raises(TimeoutError):
            udp.recv(1)
    assert "text" in html
    assert "no RTC" in html.rpartition("</script>")[2]
    assert set(renders.looked_up) <= {"site.test", "hint.test"}  # by us, who check the answer


def test_web_sockets_to_admitted_hosts_work(site):
    with echoing_web_socket() as port, desk({}, allow_private=("127.0.0.1",)) as other:
        site.pages["/"] = (
            f"<p id=p>no</p><script>const s = new WebSocket('ws://127.0.0.1:{port}/');"
            f"s.onmessage = e => p.textContent = 'said ' + e.data</script>"
        )
        html = other.html(site.url("/").replace("site.test", "127.0.0.1"))
    assert "said hello" in html


@contextlib.contextmanager
def echoing_web_socket():
    """Greets whoever opens a WebSocket (RFC 6455)."""

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(4096)
                key = next(
                    line.split(b": ")[1]
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"sec-websocket-key")
                )
                accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
                connection.sendall(
                    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n\x81\x05hello"
                )
                open_ones.append(connection)

    open_ones = []
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in open_ones:
            connection.close()
        thread.join(5)


@pytest.mark.parametrize("way", ["http", "script", "meta", "late script"])
def test_a_page_that_leads_to_a_private_address_is_refused(site, inside, renders, way):
    site.pages["/"] = leads_to(inside.url("/"), way)
    with pytest.raises(GuardRefused):
        renders.content(site.url("/"))
    assert inside.connections_accepted == 0


@pytest.mark.parametrize("way", ["http", "script", "meta", "late script"])
def test_a_page_that_leads_off_its_site_is_refused_before_it_goes_there(site, renders, way):
    off = f"http://other.test:{site.port}/off"
    site.pages["/"] = leads_to(off, way)
    renders.on_redirect = only_on_site
    with pytest.raises(HopRefused, match=r"another site, other\.test"):
        renders.content(site.url("/"))
    assert site.count("/off") == 0
    assert renders.hops == [(site.url("/"), off)]


def leads_to(target, way):
    return {
        "http": redirect(target),
        "script": f"<p>x<script>location.replace('{target}')</script>",
        "meta": f"<meta http-equiv=refresh content='0;url={target}'><p>x",
        "late script": f"<p>x<script>setTimeout(() => location = '{target}', 200)</script>",
    }[way]


def test_a_frame_may_lead_off_the_site(site, renders):
    site.pages["/"] = f"<p>top<iframe src=http://other.test:{site.port}/f></iframe>"
    site.pages["/f"] = "<p>framed"
    renders.on_redirect = only_on_site
    assert "framed" in renders.html(site.url("/"))
    assert renders.hops == []


def test_an_address_that_a_script_only_shows_is_checked_too(site, renders):
    site.pages["/"] = "<p>x<script>history.pushState({}, '', '/shown')</script>"
    assert renders.content(site.url("/")).final_url == site.url("/shown")
    assert renders.hops == [(site.url("/"), site.url("/shown"))]


def test_redirects_without_end_are_given_up(site, renders):
    site.pages["/"] = redirect("/a")
    site.fallback = redirect("/again")
    try:
        with pytest.raises(TooManyRedirects):
            renders.content(site.url("/"))
        site.pages["/"] = "<script>location = '/l' + Math.random()</script>"
        site.fallback = Reply("<script>location = '/l' + Math.random()</script>")
        with pytest.raises(TooManyRedirects):
            renders.content(site.url("/"))
    finally:
        site.fallback = Reply("", status=404)


def test_headers_cookies_and_passwords_go_to_the_pages_own_origin_alone(site, renders):
    other = f"http://other.test:{site.port}"
    site.pages["/"] = (
        f"<p>x<img src=/own.png><img src={other}/foreign.png><iframe src={other}/frame></iframe><img src=/moved.png>"
        f"<script>fetch('{other}/fetched', {{mode: 'no-cors', credentials: 'include'}})</script>"
    )
    site.pages["/moved.png"] = redirect(f"{other}/moved")
    site.pages["/frame"] = f"<img src={other}/within.png>"
    renders.content(
        site.url("/"), headers=(("X-Key", "hush"),), cookies=(("session", "hush"),), basic_auth=("me", "hush")
    )
    sent = {request.target: request.headers for request in site.requests}
    assert {"/foreign.png", "/frame", "/fetched", "/moved", "/within.png"} <= set(sent)
    assert "site.test" in sent["/own.png"]["host"]
    for headers in sent.values():
        ours = headers["host"].startswith("site.test")
        assert (headers.get("x-key"), "hush" in headers.get("cookie", "")) == (
            ("hush", True) if ours else (None, False)
        )
        assert "authorization" not in headers  # nobody asked for it


def test_a_password_is_given_to_its_own_origin_when_it_asks(site, renders):
    def locked(request):
        if "authorization" in request.headers:
            return Reply(f"<p>in {request.headers['authorization']}<img src=http://other.test:{site.port}/locked.png>")
        return Reply("<p>out", status=401, headers={"WWW-Authenticate": "Basic realm=x"})

    site.pages["/"] = locked
    site.pages["/locked.png"] = locked
    rendered = renders.content(site.url("/"), basic_auth=("me", "hush"))
    assert rendered.status == 200
    assert base64.b64encode(b"me:hush") in rendered.body
    assert all("authorization" not in request.headers for request in site.requests if request.target == "/locked.png")


@pytest.mark.parametrize("kind", [HttpProxy, SocksProxy])
def test_browsers_go_by_the_operators_proxy_and_the_guard_stands_before_it(site, inside, kind):
    site.pages["/"] = f"<p>by proxy<img src=/i><img src=http://127.0.0.1:{inside.port}/>"
    with (
        kind() as proxy,
        desk(
            {"site.test": "127.0.0.1"}, allow_private=(f"127.0.0.1:{site.port}",), proxy=proxy.url(), proxy_mode="proxy"
        ) as renders,
    ):
        rendered = renders.content(site.url("/"))
        asked = set(proxy.asked)
    assert b"by proxy" in rendered.body
    assert asked == {f"127.0.0.1:{site.port}"}
    assert inside.connections_accepted == 0


@pytest.mark.parametrize(
    ("came_by", "before", "by_proxy"),
    [
        (None, (), False),
        ("directly", (Answer.JS_SHELL,), False),
        ("proxy", (Answer.JS_SHELL,), True),
        (None, (Answer.BROKEN,), True),
    ],
)
def test_after_trouble_on_the_direct_way_a_browser_goes_the_way_that_the_page_came(site, came_by, before, by_proxy):
    site.pages["/"] = "<p>shown"
    url = site.url("/")
    answered = Response(url, url, 200, {}, b"<p>shell", by_proxy=came_by == "proxy") if came_by else None
    request = PageRequest(url, answered=answered, before=before)
    with (
        HttpProxy() as proxy,
        desk(
            {"site.test": "127.0.0.1"}, allow_private=("127.0.0.1",), proxy=proxy.url(), proxy_mode="fallback"
        ) as renders,
    ):
        assert b"shown" in renders.run(renders.renderer.content(request)).body
        assert bool(proxy.asked) is by_proxy


def test_pages_share_no_cookies(site, renders):
    site.pages["/"] = lambda request: Reply(f"<p>{request.headers.get('cookie')}", headers={"Set-Cookie": "a=1"})
    assert "None" in renders.html(site.url("/"))
    assert "None" in renders.html(site.url("/"))


def test_the_policy_says_who_we_are_and_where(site, renders):
    site.pages["/"] = (
        "<p id=p></p><script>p.textContent = [navigator.language, new Date().getTimezoneOffset(),"
        " navigator.userAgent].join()</script>"
    )
    assert "Safari/537.36" in renders.html(site.url("/"))
    assert f"{renders.settings.bot_user_agent}" in renders.html(site.url("/"), user_agent_mode="bot")
    html = renders.html(site.url("/"), user_agent="Me/1", locale="de-DE", timezone_id="Asia/Tokyo")
    assert "de-DE,-540,Me/1" in html
    assert site.requests[-1].user_agent == "Me/1"
    assert site.requests[-1].headers["accept-language"].startswith("de-DE")


def test_our_browser_name_agrees_with_the_browsers_version_unless_the_operator_chose_it():
    from kb_pipeline.fetch.chromium.context import user_agent  # noqa: PLC0415 - needs Playwright

    default, chosen = Settings(), Settings(browser_user_agent="Mozilla/5.0 Chrome/99.0.0.0")
    assert "Chrome/156.0.0.0 " in user_agent(FetchPolicy(), default, "156.0.8078.114")
    assert user_agent(FetchPolicy(), chosen, "156.0.8078.114") == chosen.browser_user_agent
    assert user_agent(FetchPolicy(user_agent="Me/1"), default, "156.0.8078.114") == "Me/1"
    assert user_agent(FetchPolicy(user_agent_mode="bot"), default, "156.0.8078.114") == default.bot_user_agent


def test_media_fonts_and_icons_are_not_asked_for(site, renders):
    site.pages["/"] = (
        "<style>@font-face { font-family: f; src: url(/f.woff2) } p { font-family: f }</style>"
        "<p>x<video src=/v.mp4 autoplay></video><audio src=/a.mp3 autoplay></audio><img src=/i.png>"
        "<script>const w = new Worker('/w.js'); w.onmessage = e => document.body.append(e.data)</script>"
    )
    site.pages["/w.js"] = Reply("postMessage('worked')", content_type="text/javascript")
    assert "worked" in renders.html(site.url("/"), delay_before_return_html=0.5)
    assert {request.target for request in site.requests} == {"/", "/i.png", "/w.js"}


def test_why_a_site_was_not_reached_is_told_as_by_any_other_request(site, inside, renders):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = unused.getsockname()[1]
    renders.names["closed.test"] = "127.0.0.1"
    with pytest.raises(NameNotResolved, match=r"nowhere\.test"):
        renders.content("http://nowhere.test/")
    with pytest.raises(NameNotResolved, match=r"nowhere\.test"):
        renders.content("https://nowhere.test/")
    with pytest.raises(GuardRefused, match="not a public address"):
        renders.content(f"http://inside.test:{inside.port}/")
    with pytest.raises(GuardRefused, match="not a public address"):
        renders.content(f"https://inside.test:{inside.port}/")
    with pytest.raises(GuardRefused, match="not a public address"):
        renders.content(f"http://127.0.0.1:{closed}/")
    assert inside.connections_accepted == 0
    site.pages["/"] = Reset()
    with pytest.raises(ConnectionBroken):
        renders.content(site.url("/"))
    assert renders.turns.has_failed
    site.pages["/"] = Stall()
    with pytest.raises(TimedOut):
        renders.content(site.url("/"), page_timeout_ms=500)


def test_a_closed_port_and_a_bad_certificate_are_told():
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("secure.test").configure_cert(tls)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = unused.getsockname()[1]
    with (
        LoopbackSite({"/": "x"}, tls=tls, name="secure.test") as secure,
        desk({"secure.test": "127.0.0.1"}, allow_private=("127.0.0.1",)) as renders,
    ):
        with pytest.raises(ConnectFailed):
            renders.content(f"http://secure.test:{closed}/")
        with pytest.raises(ConnectFailed):
            renders.content(f"https://secure.test:{closed}/")
        with pytest.raises(CertificateInvalid, match="AUTHORITY"):
            renders.content(secure.url("/"))
