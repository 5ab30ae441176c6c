"""What a response is. Taking content for an error costs a page, so most of these are about what stays content."""

from __future__ import annotations

import pytest

from kb_pipeline.core.page_state import classify
from kb_pipeline.model import PageState
from kb_pipeline_tests.core import pages_kept, pages_not_kept

URL = "https://shop.example/things/1"
FRAME = "<header><nav><a href=/>Home</a> <a href=/shop>Shop</a></nav></header>"
PROSE = "<p>" + "The gasket sits between the flange and the housing, and is replaced once a year. " * 20 + "</p>"


def state(body, *, status=200, headers=None, title="", url=URL, head=""):
    html = f"<html><head><title>{title}</title>{head}</head><body>{FRAME}{body}<footer>(c) 2026</footer></body></html>"
    return classify(status, headers or {}, html, url)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (404, PageState.NOT_FOUND),
        (410, PageState.NOT_FOUND),
        (401, PageState.LOGIN_WALL),
        (403, PageState.BLOCKED),
        (451, PageState.BLOCKED),
        (999, PageState.BLOCKED),
        (429, PageState.RATE_LIMITED),
        (500, PageState.UNAVAILABLE),
        (302, PageState.REDIRECT),
        (200, PageState.OK),
    ],
)
def test_the_status_decides_whatever_the_page_says(status, expected):
    assert state(f"<h1>Gaskets</h1>{PROSE}", status=status) is expected


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("404 Not Found", "<h1>Not Found</h1><p>The requested URL was not found on this server.</p>"),
        ("Shop", "<h1>Oops! That page can\u2019t be found.</h1><p>Try a search?</p>"),
        ("Seite nicht gefunden | Laden", "<p>Tut uns leid.</p>"),
        ("Laden", "<h1>Page introuvable</h1>"),
        (
            "Shop",
            "<h1>This product is no longer available</h1><ul>" + "<li><a href=/x>Another thing</a>" * 50 + "</ul>",
        ),
        ("Shop", "<h1>Hm</h1><p>Sorry, the page you are looking for does not exist.</p>"),
    ],
)
def test_a_page_that_says_next_to_nothing_but_that_it_was_not_found_is_a_soft_404(title, body):
    assert state(body, title=title) is PageState.SOFT_404


@pytest.mark.parametrize(
    "headline",
    [
        "404 Not Found",
        "Page not found",
        "Just a moment...",
        "Checking your browser before accessing",
        "Access denied",
        "Sign in",
        "Too many requests",
        "We'll be back soon",
        "This domain is for sale",
        "Are you over 18?",
        "We value your privacy",
        "Subscribe to continue reading",
        "Please enable JavaScript",
        "Redirecting...",
    ],
)
def test_a_page_about_such_pages_is_content(headline):
    body = (
        f"<h1>{headline}</h1>{PROSE}<p>The page you are looking for does not exist. Ray ID, captcha, cf-turnstile.</p>"
    )
    assert state(body, title=headline) is PageState.OK


@pytest.mark.parametrize(
    "headline",
    [
        "Peugeot 404 history",
        "How to build a 404 page",
        "Handling 'file not found' errors",
        "Signing in with a key card",
    ],
)
def test_even_a_short_page_whose_headline_only_mentions_it_is_content(headline):
    assert state(f"<h1>{headline}</h1><p>It was built from 1960 to 1975 in Sochaux.</p>") is PageState.OK


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("<p>Wait</p><script>window._cf_chl_opt={}</script>", {}, 403),
        ("<p>Wait</p>", {"cf-mitigated": "challenge"}, 403),
        (
            "<h2>Performing security verification</h2><p>Ray ID: 8f</p><p>Performance and Security by Cloudflare</p>",
            {},
            200,
        ),
        ("<div id='px-captcha'></div><p>Press & Hold to confirm you are a human</p>", {}, 403),
        ("<h1>One more step</h1><div class='cf-turnstile'></div>", {}, 403),
    ],
)
def test_a_bot_wall_is_known_by_its_vendor(body, headers, status):
    assert state(body, headers=headers, status=status) is PageState.CHALLENGE


@pytest.mark.parametrize(
    "body",
    [
        "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>" + PROSE,
        f"<form><div class='g-recaptcha'></div><textarea></textarea></form>{PROSE}",
        f"<pre>window._cf_chl_opt = {{}}; /_Incapsula_Resource</pre>{PROSE}",
        f"<form action=/login><input name=u><input type=password></form><h1>Gaskets</h1>{PROSE}",
        f"<h1>Gaskets</h1>{PROSE}<div id=cookies><p>We use cookies</p><button>Accept all</button></div>",
        f"<noscript>You need to enable JavaScript to run this app.</noscript><div id=root>{PROSE}</div>",
        "<p>Thank you, your order has been received.</p>",
        "<table>" + "<tr><td>Part<td>12<td>EUR 3.50" * 30 + "</table>",
        "<main><ul>" + "<li><a href=/x>A thing that we sell</a>" * 40 + "</ul></main>",
    ],
)
def test_vendors_and_forms_on_a_normal_page_change_nothing(body):
    assert state(body) is PageState.OK


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h1>Sign in</h1><form><input type=email><input type=password><button>Sign in</button></form>", "login_wall"),
        ("<h1>Anmelden</h1><form><input name=user><input type=password></form>", "login_wall"),
        (
            "<h1>We value your privacy</h1><p>We and our partners store data.</p><button>Accept all</button>",
            "cookie_wall",
        ),
        ("<h1>Are you over 18?</h1><button>Yes</button><button>No</button>", "age_gate"),
        ("<p>The valve stuck.</p><div class=paywall>Subscribe to continue reading</div>", "paywall"),
        ("<h1>Sorry, this content is not available in your country</h1>", "blocked"),
        ("<h1>Rate limit exceeded</h1>", "rate_limited"),
        ("<h1>Down for maintenance</h1>", "unavailable"),
        ("<h1>Account Suspended</h1>", "parked"),
        ("<div id=root></div><script src=/app.js></script>", "js_shell"),
        ("<p>Please enable JavaScript to view this page.</p><script src=/app.js></script>", "js_shell"),
        ("", "empty"),
    ],
)
def test_walls_and_shells_are_told_apart(body, expected):
    assert state(body) == expected


def test_a_page_that_refreshes_at_once_is_a_redirect_and_one_that_reloads_later_is_not():
    assert state("<p>Moved</p>", head="<meta http-equiv=refresh content='0; url=/new'>") is PageState.REDIRECT
    assert state("<p>Live scores</p>", head="<meta http-equiv=refresh content='60; url=/live'>") is PageState.OK


def test_a_single_sign_on_host_is_a_login_wall():
    body = "<h1>Choose an account</h1><input type=email name=loginfmt>"
    assert state(body, url="https://login.corp.example/authorize?client_id=1") is PageState.LOGIN_WALL


def test_plain_text_is_content():
    assert classify(200, {}, "No markup here, only words about gaskets. " * 10, URL) is PageState.OK


@pytest.mark.parametrize(("html", "path"), [case[1:] for case in pages_kept.ALL], ids=[c[0] for c in pages_kept.ALL])
def test_a_page_that_only_resembles_a_wall_or_an_error_is_content(html, path):
    assert classify(200, {}, html, f"https://www.example.org{path}") is PageState.OK


@pytest.mark.parametrize(
    ("status", "headers", "html", "path", "states"),
    [case[1:] for case in pages_not_kept.ALL],
    ids=[case[0] for case in pages_not_kept.ALL],
)
def test_a_wall_or_an_error_is_known_for_what_it_is(status, headers, html, path, states):
    assert classify(status, headers, html, f"https://www.example.org{path}").value in states.split()


def test_a_headline_made_to_be_slow_is_read_as_fast_as_any_other():
    html = "".join(
        f"<title>{word * 60}</title><h1>{word * 60}</h1>" for word in ("error ", "404 ", "sorry, ", "a-a.", "page ")
    )
    assert state(html) is not PageState.SOFT_404


def test_elements_within_elements_are_not_read_at_each_level():
    deep = "<div id=root role=button>" * 390 + "<p>We use cookies.</p><button>Accept</button>" + "A boat. " * 200_000
    assert state(deep) is PageState.OK
