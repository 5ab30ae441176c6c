"""What is read of a page: what scripts write, shadow trees, frames, what loads when it is scrolled to."""

import contextlib
import time

import pytest

from kb_pipeline.core.extract import extract_html
from kb_pipeline.errors import BodyTooLarge, ConnectionBroken, NotADocument, TierUnavailable, TimedOut
from kb_pipeline_tests.fetch.chromium.rendering_desk import desk
from kb_pipeline_tests.sites.replies import Drip, Raw, Reply, Reset, Stall, WrongLength, prose, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

pytestmark = pytest.mark.usefixtures("needs_chromium")


@pytest.fixture(scope="module")
def site():
    with LoopbackSite(name="site.test") as serving:
        yield serving


@pytest.fixture(scope="module")
def renders(site):
    names = {"site.test": "127.0.0.1", "other.test": "127.0.0.1"}
    with desk(names, allow_private=(f"127.0.0.1:{site.port}",), max_html_bytes=300_000) as opened:
        yield opened


def test_what_a_script_writes_is_read(site, renders):
    site.pages["/"] = (
        "<title>Old</title><div id=a></div><script>document.title = 'New & better';"
        "setTimeout(() => { a.innerHTML = '<h1>Écrit</h1><p>par un script &lt;</p>' }, 300)</script>"
    )
    rendered = renders.content(site.url("/"))
    html = rendered.body.decode()
    assert "<title>New &amp; better</title>" in html
    assert "<h1>Écrit</h1><p>par un script &lt;</p>" in html
    assert (rendered.status, rendered.final_url, rendered.degraded) == (200, site.url("/"), "")
    assert rendered.wire_bytes > 100


def test_what_a_script_fetches_is_read(site, renders):
    site.pages["/"] = "<main id=m></main><script>fetch('/d').then(r => r.text()).then(t => m.textContent = t)</script>"
    site.pages["/d"] = Reply("from elsewhere", content_type="text/plain", delay=0.8)
    assert "from elsewhere" in renders.html(site.url("/"))


def test_frames_of_two_hosts_are_read_in_their_places_with_titles_and_addresses(site, renders):
    other = f"http://other.test:{site.port}"
    site.pages["/"] = f"<p>before<iframe src='{other}/outer' title=unused></iframe><p>after<iframe src=/own></iframe>"
    site.pages["/outer"] = "<title>Outer</title><p>outer text <a href=deep>x</a><iframe src=/inner></iframe>"
    site.pages["/inner"] = f"<p>{prose('the inner frame')}"
    site.pages["/own"] = "<p>own text"
    rendered = renders.content(site.url("/"))
    html = rendered.body.decode()
    spots = ["before", "<h2>Outer</h2>", f"{other}/outer</a>", "outer text", f"{other}/inner", "Sentence 0", "after"]
    assert [spot for spot in spots if spot in html] == spots
    assert sorted(spots, key=html.index) == spots
    assert html.index("after") < html.index("own text")
    assert f'href="{other}/deep"' in html
    assert rendered.degraded == ""
    assert "## Outer" in extract_html(html, site.url("/")).markdown


def test_frames_are_left_out_or_only_their_first_level_is_read_where_the_policy_says_so(site, renders):
    site.pages["/"] = "<p>top<iframe src=/a></iframe>"
    site.pages["/a"] = "<p>first<iframe src=/b></iframe>"
    site.pages["/b"] = "<p>second"
    none = renders.html(site.url("/"), process_iframes=False)
    flat = renders.html(site.url("/"), deep_iframe_extraction=False)
    assert ("top" in none, "first" in none, "second" in none) == (True, False, False)
    assert ("top" in flat, "first" in flat, "second" in flat) == (True, True, False)


def test_frames_that_nobody_sees_are_left_out(site, renders):
    site.pages["/"] = (
        "<p>top<iframe src=/t width=1 height=1></iframe><iframe src=/t style='display:none'></iframe>"
        "<iframe src=/t style='visibility:hidden'></iframe>"
        "<iframe src=/t style='position:absolute;left:-9999px'></iframe>"
        "<iframe src=/t id=google_ads_iframe_1></iframe><iframe src=/t title=Advertisement></iframe>"
    )
    site.pages["/t"] = "<p>tracked"
    assert "tracked" not in renders.html(site.url("/"))


@pytest.mark.parametrize("address", ["ws://127.0.0.1:1/", "chrome-extension://aaaa/x"])
def test_what_chromium_shows_in_the_place_of_a_frame_is_no_part_of_the_page(site, renders, address):
    site.pages["/"] = f"<p>top<iframe src='{address}' width=600 height=400></iframe>"
    rendered = renders.content(site.url("/"))
    assert b"top" in rendered.body
    assert b"reached" not in rendered.body
    assert b"blocked" not in rendered.body
    assert "a frame did not come" in rendered.degraded


def test_a_frame_that_does_not_come_is_said_and_the_rest_is_read(site, renders):
    site.pages["/"] = "<p>top<iframe src=/never></iframe><iframe src=/there></iframe>"
    site.pages["/never"] = Stall()
    site.pages["/there"] = "<p>there"
    rendered = renders.content(site.url("/"), page_timeout_ms=2500)
    assert b"top" in rendered.body
    assert b"there" in rendered.body
    assert rendered.degraded == f"a frame did not come ({site.url('/never')})"


def test_a_frame_whose_host_breaks_off_is_said_and_one_that_is_empty_is_not(site, renders):
    site.pages["/"] = "<p>top<iframe src=/broken></iframe><iframe src=/blank></iframe>"
    site.pages["/broken"] = Reset()
    site.pages["/blank"] = "<p> "
    rendered = renders.content(site.url("/"))
    assert b"top" in rendered.body
    assert rendered.degraded == f"a frame did not come ({site.url('/broken')})"


def test_a_rendered_page_has_the_headers_of_its_document(site, renders):
    site.pages["/"] = Reply("<p>later", status=429, headers={"Retry-After": "90", "X-Robots-Tag": "noindex"})
    headers = renders.content(site.url("/")).headers
    assert (headers["retry-after"], headers["x-robots-tag"]) == ("90", "noindex")


def test_the_visible_words_are_a_last_resort_and_said_to_be_that(site, renders):
    spoilt = "<script>window.Set = window.RegExp = () => { throw new Error('no') }</script>"
    site.pages["/"] = "<p>top<iframe src=/spoilt></iframe>"
    site.pages["/spoilt"] = f"<p>some &amp; <b>words</b><p>more{spoilt}"
    rendered = renders.content(site.url("/"))
    assert b"<p>some &amp; words</p><p>more</p>" in rendered.body
    assert rendered.degraded == f"only the visible words of a frame ({site.url('/spoilt')}) could be had"
    rendered = renders.content(site.url("/spoilt"))
    assert b"<p>some &amp; words</p>" in rendered.body
    assert rendered.degraded == "only the visible words of the page could be had"


def test_frames_without_number_are_read_so_far(site, renders):
    site.pages["/"] = (
        "<p>top<script>for (let i = 0; i < 200; i++) { const f = document.createElement('iframe');"
        " f.srcdoc = '<p>number ' + i; document.body.append(f) }</script>"
    )
    rendered = renders.content(site.url("/"))
    assert (b"number 29<" in rendered.body, b"number 30<" in rendered.body) == (True, False)
    assert "only 30 frames were read" in rendered.degraded


def test_frames_without_an_address_are_read(site, renders):
    site.pages["/"] = (
        "<p>top<iframe srcdoc='<p>in the attribute'></iframe><iframe id=f></iframe>"
        "<script>f.contentDocument.body.innerHTML = '<p>written'</script>"
    )
    html = renders.html(site.url("/"))
    assert "in the attribute" in html
    assert "written" in html


def test_the_frames_of_a_frameset_are_read(site, renders):
    site.pages["/"] = "<frameset cols='30%,70%'><frame src=/menu><frame src=/text></frameset>"
    site.pages["/menu"] = "<a href=/x>menu</a>"
    site.pages["/text"] = "<h1>The text</h1>"
    html = renders.html(site.url("/"))
    assert "menu" in html
    assert "<h1>The text</h1>" in html


def test_shadow_trees_are_read_in_the_order_they_are_shown(site, renders):
    site.pages["/"] = (
        "<x-card><span slot=head>HEAD</span>LIGHT</x-card><x-shut></x-shut>"
        "<div><template shadowrootmode=open><p>DECLARED <slot>FALLBACK</slot></p></template></div>"
        "<script>customElements.define('x-card', class extends HTMLElement { connectedCallback() {"
        " this.attachShadow({mode: 'open'}).innerHTML ="
        " '<style>p{color:red}</style><h2><slot name=head></slot></h2><p>SHADOW</p><slot></slot>' } });"
        "customElements.define('x-shut', class extends HTMLElement { connectedCallback() {"
        " this.attachShadow({mode: 'closed'}).innerHTML = '<p>CLOSED</p>' } });</script>"
    )
    html = renders.html(site.url("/")).partition("<script>")[0]
    spots = ["HEAD", "SHADOW", "LIGHT", "<p>CLOSED</p>", "DECLARED", "FALLBACK"]
    assert [html.count(spot) for spot in spots] == [1] * 6
    assert sorted(spots, key=html.index) == spots
    assert "color:red" not in html


def test_what_loads_when_it_is_scrolled_to_is_read(site, renders):
    site.pages["/"] = (
        "<div style='height:3000px'>top</div><div id=b style='height:1500px'></div><div id=c>end</div><script>"
        "const see = (e, f) => new IntersectionObserver((s, o) => s[0].isIntersecting &&"
        " (o.disconnect(), f())).observe(e);"
        "see(b, () => fetch('/lazy').then(r => r.text()).then(t => b.append(t)));"
        "see(c, () => c.append(' was seen'));</script>"
    )
    site.pages["/lazy"] = Reply("came late", content_type="text/plain", delay=0.3)
    html = renders.html(site.url("/"))
    assert "came late" in html
    assert "end was seen" in html


def test_a_page_that_scrolls_for_ever_is_read_as_far_as_it_got(site, renders):
    site.pages["/"] = (
        "<div id=l></div><script>let n = 0; const more = () => { for (let i = 0; i < 60; i++) l.append(Object.assign("
        "document.createElement('p'), {textContent: 'item ' + n++ + '.'})) }; more();"
        "addEventListener('scroll', more)</script>"
    )
    html = renders.html(site.url("/"))
    assert "item 119." in html


def test_a_page_that_never_stops_loading_is_read_at_its_time_limit(site, renders):
    site.pages["/"] = "<h1>Here</h1><img src=/never><script src=/never2 async></script><p id=p>text</p>"
    site.pages["/never"] = site.pages["/never2"] = Stall()
    started = time.monotonic()
    assert "<h1>Here</h1>" in renders.html(site.url("/"), page_timeout_ms=1500)
    assert time.monotonic() - started < 15


@pytest.mark.parametrize(
    "half",
    [
        Reset(b"<h1>Prices</h1>" + b"<p>the first half of it</p>" * 50),
        WrongLength(b"<h1>Prices</h1>" + b"<p>the first half of it</p>" * 50, 9_000),
        Raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<h1>P\r\n"),
    ],
    ids=["reset", "too short", "no last chunk"],
)
@pytest.mark.parametrize("how", ["html", "screenshot"])
def test_half_a_document_is_no_page(site, renders, half, how):
    site.pages["/"] = half
    with pytest.raises(ConnectionBroken):
        getattr(renders, how)(site.url("/"))


def test_a_document_that_stalls_in_its_middle_is_no_page(site, renders):
    site.pages["/"] = Drip(b"<h1>Prices</h1>" + b"<p>the first half of it</p>" * 50, interval=0.2)
    with pytest.raises(TimedOut):
        renders.html(site.url("/"), page_timeout_ms=1500)


def test_a_document_that_never_ends_is_read_at_its_time_limit(site, renders):
    site.pages["/"] = "<h1>Here</h1><script src=/never></script><p>after"
    site.pages["/never"] = Stall()
    html = renders.html(site.url("/"), page_timeout_ms=1500)
    assert "<h1>Here</h1>" in html


def test_scripts_that_leave_no_time_for_reading_are_stopped(site, renders):
    site.pages["/"] = "<h1>Here</h1><script>setTimeout(() => { for (;;); }, 200)</script>"
    rendered = renders.content(site.url("/"), page_timeout_ms=1500)
    assert b"<h1>Here</h1>" in rendered.body
    assert "scripts were stopped" in rendered.degraded


def test_dialogs_pop_ups_and_questions_do_not_stop_a_page(site, renders):
    site.pages["/"] = (
        "<p id=p>start</p><a id=a href=/pop target=_blank>x</a><script>onbeforeunload = () => 'stay';"
        "alert(1); const y = confirm('?'); const t = prompt('?'); print(); const w = open('/pop'); a.click();"
        "Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => 0);"
        "p.textContent = [y, t, w].join()</script>"
    )
    site.pages["/pop"] = "<p>pop"
    assert "false,," in renders.html(site.url("/"))
    assert "false,," in renders.html(site.url("/"))


def test_a_selector_that_the_policy_waits_for_is_waited_for(site, renders):
    site.pages["/"] = "<p>first<script>setTimeout(() => document.body.append('late'), 2500);</script>"
    site.pages["/sign"] = (
        "<p>first<script>setTimeout(() => document.body.innerHTML += '<b class=ready>late</b>', 2500)</script>"
    )
    assert ">late</b>" in renders.html(site.url("/sign"), wait_for=".ready")
    rendered = renders.content(site.url("/"), wait_for=".ready", page_timeout_ms=1200)
    assert "did not appear" in rendered.degraded
    assert b"first" in rendered.body


def test_a_delay_of_the_policy_is_waited_out(site, renders):
    site.pages["/"] = "<p>first<script>setTimeout(() => document.body.append('l'+'ate'), 2200);</script>"
    assert "late" not in renders.html(site.url("/"), wait_until="domcontentloaded")
    assert "late" in renders.html(site.url("/"), wait_until="load", delay_before_return_html=2.4)


def test_a_page_that_moves_on_by_script_is_read_where_it_gets_to(site, renders):
    site.pages["/"] = "<p>old<script>setTimeout(() => location.href = '/new', 300)</script>"
    site.pages["/new"] = "<p>new"
    site.pages["/meta"] = "<meta http-equiv=refresh content='0;url=/hop'>"
    site.pages["/hop"] = redirect("/new")
    renders.hops.clear()
    rendered = renders.content(site.url("/"))
    assert (b"<p>new" in rendered.body, rendered.final_url) == (True, site.url("/new"))
    assert renders.content(site.url("/meta")).final_url == site.url("/new")
    assert renders.hops == [
        (site.url("/"), site.url("/new")),
        (site.url("/meta"), site.url("/hop")),
        (site.url("/hop"), site.url("/new")),
    ]


def test_a_page_larger_than_the_limit_is_refused(site, renders):
    site.pages["/"] = "<p id=p></p><script>p.textContent = 'x'.repeat(400_000)</script>"
    with pytest.raises(BodyTooLarge, match="300,000"):
        renders.content(site.url("/"))
    site.pages["/"] = "<p id=p></p><script>p.textContent = 'é'.repeat(200_000)</script>"
    with pytest.raises(BodyTooLarge, match="bytes"):
        renders.content(site.url("/"))


def test_a_page_that_nests_without_end_is_read(site, renders):
    site.pages["/"] = (
        "<div id=d></div><script>let e = d; for (let i = 0; i < 1_000; i++) e = e.appendChild("
        "document.createElement('i')); e.append('the bottom')</script>"
    )
    assert "the bottom" in renders.html(site.url("/"))


def test_a_page_that_replaces_what_reading_needs_is_still_only_a_page(site, renders):
    site.pages["/"] = (
        "<p>text<script>String.prototype.replace = () => 'y'.repeat(1e6); document.__defineGetter__('title', () => "
        "'z'.repeat(1e6)); Set.prototype.has = () => { throw 1 }</script>"
    )
    with contextlib.suppress(BodyTooLarge, TierUnavailable):
        assert len(renders.content(site.url("/")).body) <= 300_000


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Reply("%PDF-1.7", content_type="application/pdf"), "application/pdf"),
        (Reply(b"\x89PNG\r\n\x1a\n", content_type="image/png"), "image/png"),
        (Reply(b"PK\3\4", content_type="application/zip"), "download"),
        (Reply("text", headers={"Content-Disposition": "attachment; filename=a.html"}), "download"),
        (Reply("<a><b/></a>", content_type="application/xml"), "xml"),
    ],
    ids=["pdf", "picture", "archive", "attachment", "xml"],
)
def test_what_is_no_page_is_refused(site, renders, answer, message):
    site.pages["/"] = answer
    with pytest.raises(NotADocument, match=message):
        renders.content(site.url("/"))


def test_plain_text_is_read(site, renders):
    site.pages["/"] = Reply("1 < 2\nand so on", content_type="text/plain")
    assert "1 &lt; 2" in renders.html(site.url("/"))


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (Reply("<p>gone", status=404), 404, b"gone"),
        (Reply("<p>wait", status=429), 429, b"wait"),
        (Reply("", status=503), 503, b""),
        (Reply("", status=204), 204, b""),
    ],
    ids=["404", "429", "503 without a body", "204"],
)
def test_the_status_of_the_document_is_told(site, renders, answer, status, said):
    site.pages["/"] = answer
    rendered = renders.content(site.url("/"))
    assert rendered.status == status
    assert said in rendered.body
    assert renders.turns.status == status


def test_a_short_page_is_pictured_sharply(site, renders):
    site.pages["/"] = (
        "<body style='margin:0'><div style='height:1500px;background:linear-gradient(red,blue)'>text</div>"
    )
    rendered = renders.screenshot(site.url("/"))
    assert rendered.body.startswith(b"\x89PNG")
    assert (size_of(rendered.body), rendered.degraded, rendered.status) == ((2560, 3000), "", 200)


def test_a_picture_has_the_title_that_a_script_gave_the_page(site, renders):
    site.pages["/"] = "<title>loading</title><canvas></canvas><script>document.title = 'Prices of 2026'</script>"
    assert renders.screenshot(site.url("/")).title == "Prices of 2026"


def test_a_tall_page_is_pictured_down_to_a_limit(site, renders):
    site.pages["/"] = "<body style='margin:0'><div style='height:40000px'>text</div>"
    rendered = renders.screenshot(site.url("/"))
    assert size_of(rendered.body) == (1280, 16_384)
    assert "16,384 pixels" in rendered.degraded


def size_of(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
