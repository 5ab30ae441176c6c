"""The settings of sites: which entry an address falls under, what is refused, and what of it reaches whom."""

import asyncio
import base64
import contextlib
import json
import logging
import time

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy
from kb_pipeline.core.site_config import SiteConfig
from kb_pipeline.core.site_fields import FIELDS
from kb_pipeline.errors import ConfigError, GuardRefused, TierUnavailable, TimedOut
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.sent import same_origin
from kb_pipeline.settings import Settings, load_settings
from kb_pipeline_tests.sites.replies import Reply, Stall, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

SECRET = "geheim-9f2"


def parse(entries):
    return SiteConfig.parse(json.dumps(entries))


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_without_entries_nothing_is_said_of_any_address(text):
    assert SiteConfig.parse(text).policy_for("https://example.com/") == ANY_PAGE


@pytest.mark.parametrize(
    ("key", "url", "matches"),
    [
        ("example.com", "https://example.com/a", True),
        ("example.com", "http://www.example.com:8080/", True),
        ("example.com", "http://a.b.example.com/", True),
        ("Example.COM", "http://example.com/", True),
        ("example.com", "http://example.com./", True),
        ("example.com", "http://notexample.com/", False),
        ("example.com", "http://example.com.evil.net/", False),
        ("example.com", "http://evil.net/example.com", False),
        ("example.com", "http://evil.net/?q=.example.com", False),
        ("example.com", "http://example.com@evil.net/", False),
        ("bücher.example", "https://xn--bcher-kva.example/", True),
        ("127.0.0.1", "http://127.0.0.1:9/", True),
        ("[::1]", "http://[::1]:9/", True),
        ("localhost:8080", "http://localhost:8080/", True),
        ("localhost:8080", "http://localhost/", False),
        ("*.example.com", "http://docs.example.com/x", True),
        ("*.example.com", "http://example.com/", False),
        ("docs?.example.com", "http://docs2.example.com/", True),
        ("docs?.example.com", "http://docs.example.com/", False),
        ("https://example.com", "https://example.com/a/b", True),
        ("https://example.com/", "https://example.com/a/b", True),
        ("https://example.com", "http://example.com/", False),
        ("https://example.com", "https://example.com:8443/", False),
        ("https://example.com", "https://www.example.com/", False),
        ("https://example.com:*", "https://example.com:8443/", True),
        ("*://example.com/a", "http://example.com/a", True),
        ("example.com/guide/*", "https://example.com/guide/a/b?x=1", True),
        ("example.com/guide/*", "https://example.com/guide", False),
        ("example.com/guide/*", "https://www.example.com/guide/a", False),
        ("example.com/guide", "https://example.com/guide?x=1", True),
        ("example.com/guide", "https://example.com/guide/", False),
        ("example.com/Guide", "https://example.com/guide", False),
        ("example.com/*.pdf", "https://example.com/a/b.pdf", True),
        ("example.com/*/x/*/y", "https://example.com/1/x/2/y", True),
        ("example.com/a?c", "https://example.com/abc", True),
        ("example.com/s?q=*", "https://example.com/s?q=1", True),
        ("https://*.example.com/*", "https://docs.example.com/", True),
        ("https://*.example.com/*", "https://evil.net/.example.com/", False),
        ("*.example.com/x", "https://evil.net/a.example.com/x", False),
        ("*", "https://anything.example/", True),
        ("example.com/a.c", "https://example.com/abc", False),
    ],
)
def test_a_key_is_a_domain_an_origin_or_a_pattern(key, url, matches):
    policy = parse({key: {"locale": "de"}}).policy_for(url)
    assert (policy.locale == "de") is matches


def test_the_most_specific_entry_that_has_a_field_decides_it():
    rules = parse(
        {
            "docs.example.com/guide/*": {"locale": "fr"},
            "example.com": {"locale": "de", "user_agent": "A", "fallback_enabled": False},
            "docs.example.com": {"user_agent": "B", "fallback_enabled": True},
            "*.example.com": {"timezone_id": "Europe/Paris", "user_agent": "C"},
            "https://docs.example.com": {"user_agent": "D"},
        }
    )
    assert rules.policy_for("http://example.com/").user_agent == "A"
    assert rules.policy_for("http://x.example.com/").user_agent == "C"
    assert rules.policy_for("http://docs.example.com/").user_agent == "B"
    policy = rules.policy_for("https://docs.example.com/guide/1")
    assert policy == FetchPolicy(locale="fr", user_agent="D", timezone_id="Europe/Paris", fallback_enabled=True), (
        "each field from the most specific entry that has it"
    )


def test_of_two_equally_specific_entries_the_later_one_counts():
    assert parse({"a?.x": {"locale": "de"}, "?a.x": {"locale": "fr"}}).policy_for("http://aa.x/").locale == "fr"


def test_every_field_comes_out_as_the_policy_holds_it():
    entry = {
        "wait_until": "networkidle",
        "wait_for": "main > .ready",
        "delay_before_return_html": 1.5,
        "page_timeout_ms": 30000,
        "process_iframes": True,
        "deep_iframe_extraction": False,
        "locale": "de_DE",
        "timezone_id": "America/Argentina/Buenos_Aires",
        "user_agent": "Reader/1.0 (+https://example.com)",
        "user_agent_mode": "bot",
        "fallback_enabled": True,
        "fallback_on_empty": False,
        "fallback_on_blocked": True,
        "headers": {"X-Key": "k"},
        "cookies": {"session": "s"},
        "basic_auth": {"username": "u", "password": "p"},
    }
    assert entry.keys() == set(FIELDS)
    expected = entry | {
        "locale": "de-DE",
        "headers": (("X-Key", "k"),),
        "cookies": (("session", "s"),),
        "basic_auth": ("u", "p"),
    }
    assert parse({"a.example": entry}).policy_for("http://a.example/") == FetchPolicy(**expected)


@pytest.mark.parametrize("value", [["u", "p:q"], "u:p:q", {"username": "u", "password": "p:q"}])
def test_credentials_may_be_written_in_three_ways(value):
    assert parse({"a.example": {"basic_auth": value}}).policy_for("http://a.example/").basic_auth == ("u", "p:q")


def test_blanks_around_a_text_are_not_part_of_it():
    policy = parse({"a.example": {"user_agent": " Reader/1 ", "wait_for": " main "}}).policy_for("http://a.example/")
    assert (policy.user_agent, policy.wait_for) == ("Reader/1", "main")


def test_what_is_null_is_not_said():
    policy = parse({"x.example": {"locale": "de"}, "a.x.example": {"locale": None}}).policy_for("http://a.x.example/")
    assert policy.locale == "de"


WRONG = [
    ("wait_until", "loaded"),
    ("wait_until", 1),
    ("wait_for", ""),
    ("wait_for", ["main"]),
    ("delay_before_return_html", -1),
    ("delay_before_return_html", 61),
    ("delay_before_return_html", "1"),
    ("delay_before_return_html", True),
    ("page_timeout_ms", 0),
    ("page_timeout_ms", 1.5),
    ("page_timeout_ms", 900_001),
    ("process_iframes", "true"),
    ("deep_iframe_extraction", 1),
    ("locale", "de\r\nX: y"),
    ("locale", "german please"),
    ("timezone_id", "Europe/../etc"),
    ("user_agent", "a\r\nX-Evil: 1"),
    ("user_agent", ""),
    ("user_agent", " "),
    ("user_agent", "Käse"),
    ("user_agent_mode", "both"),
    ("fallback_enabled", "no"),
    ("fallback_on_empty", 0),
    ("fallback_on_blocked", []),
    ("headers", ["X: y"]),
    ("headers", {"X-A": 1}),
    ("headers", {"X A": "y"}),
    ("headers", {"": "y"}),
    ("headers", {"X-A\r\nX-B": "y"}),
    ("headers", {"X-A": f"{SECRET}\r\nX-B: 1"}),
    ("headers", {"X-A": f"{SECRET}\x00"}),
    ("headers", {"X-A": f"{SECRET}\u2603"}),
    ("headers", {"X-A": "a", "x-a": "b"}),
    *(("headers", {name: SECRET}) for name in ("Host", "cookie", "User-Agent", "Content-Length", "Connection")),
    *(("headers", {name: SECRET}) for name in ("Transfer-Encoding", "Accept-Encoding", "Proxy-Authorization", "Range")),
    ("cookies", "a=b"),
    ("cookies", {"a": f"{SECRET}; b=c"}),
    ("cookies", {"a": f"{SECRET}\n"}),
    ("cookies", {"a b": SECRET}),
    ("cookies", {"a": None}),
    ("basic_auth", SECRET),
    ("basic_auth", [SECRET]),
    ("basic_auth", ["u:v", SECRET]),
    ("basic_auth", ["", SECRET]),
    ("basic_auth", ["u", f"{SECRET}\n"]),
    ("basic_auth", {"user": "u", "password": SECRET}),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_wrong_value_is_refused_with_key_and_field_and_without_the_value(field, value):
    text = json.dumps({"good.example": {"locale": "de"}, "a.example": {field: value}})
    with pytest.raises(ConfigError, match=f"WEB_SCRAPER_SITE_CONFIG, 'a.example', {field}: .*takes ") as caught:
        SiteConfig.parse(text)
    assert SECRET not in str(caught.value)
    with pytest.raises(ConfigError, match="WEB_SCRAPER_SITE_CONFIG"):
        load_settings(site_config=text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a.example": {"basic_auth": "u:' + SECRET, "is no JSON: .*line 1"),
        ("[" * 100_000, "is no JSON"),
        (f'["{SECRET}"]', "takes a JSON object"),
        (f'{{"a.example": "{SECRET}"}}', "'a.example': takes an object of fields: wait_until, "),
        ('{"a.example": {}, "a.example": {}}', "'a.example' stands twice"),
        ('{"": {}}', "takes a domain"),
        ('{"a b.example": {}}', "takes a domain"),
        ('{"ftp:a.example": {}}', "takes a domain"),
        ('{"a.example:port": {}}', "takes a domain"),
        ('{"http://": {}}', "takes a domain"),
        (
            f'{{"a.example": {{"basic_auth": "u:{SECRET}", "headers": {{"authorization": "{SECRET}"}}}}}}',
            "takes basic_auth or a header Authorization, not both",
        ),
    ],
)
def test_a_configuration_that_cannot_be_read_says_where_and_shows_no_secret(text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        SiteConfig.parse(text)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_fields_that_are_not_known_are_named_once_and_ignored():
    with structlog.testing.capture_logs() as lines:
        rules = parse({"a.example": {"lokale": SECRET, "locale": "de"}, "b.example": {"lokale": 1, "js": SECRET}})
        policies = [rules.policy_for("http://a.example/") for _ in range(3)]
    assert {policy.locale for policy in policies} == {"de"}
    assert [(line["event"], line["field"]) for line in lines] == [
        ("crawler.site_config.unknown_field", "js"),
        ("crawler.site_config.unknown_field", "lokale"),
    ]
    assert SECRET not in str(lines)


def test_an_address_made_for_a_pattern_costs_no_more_than_its_length():
    rules = parse({"example.com/*a*a*a*a*a*a*b": {"locale": "de"}})
    started = time.monotonic()
    assert rules.policy_for("http://example.com/" + "a" * 50_000).locale is None
    assert time.monotonic() - started < 5, "a naive pattern would take years"


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(ConfigError):
        SiteConfig.read(text).policy_for("https://example.com/")


@given(st.text(min_size=1), st.text())
def test_any_key_is_read_or_refused_and_any_address_is_looked_up(key, url):
    with contextlib.suppress(ConfigError):
        SiteConfig.read(json.dumps({key: {"locale": "de"}})).policy_for(url)


def rules_for(site):
    return json.dumps(
        {
            f"{site.address}:{site.port}": {
                "headers": {"X-Key": SECRET},
                "cookies": {"key": SECRET},
                "basic_auth": ["üser", SECRET],
            }
        }
    )


def get(url, *, site_config="", policy=None, resolver=None, **options):
    async def run():
        settings = Settings(allow_private=("127.0.0.0/8",), site_config=site_config, **options)
        guard = None if resolver is None else Guard(["127.0.0.0/8"], resolver=resolver)
        async with HttpClient(settings, guard=guard) as client:
            return await client.get(url, max_bytes=10_000, policy=policy)

    return asyncio.run(run())


def secrets_in(request):
    return {name for name, value in request.headers.items() if SECRET in value or name == "authorization"}


def test_headers_cookies_and_credentials_are_sent_to_the_page():
    with LoopbackSite({"/": "in"}) as site:
        get(site.url("/"), site_config=rules_for(site))
        headers = site.requests[0].headers
    assert headers["x-key"] == SECRET
    assert headers["cookie"] == f"key={SECRET}"
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode() == f"üser:{SECRET}"


def test_they_are_sent_on_at_the_same_origin():
    with LoopbackSite({"/": redirect("/b"), "/b": "b"}) as site:
        get(site.url("/"), site_config=rules_for(site))
        assert [len(secrets_in(request)) for request in site.requests] == [3, 3]


@pytest.mark.parametrize("name", [None, "localhost.example"])
def test_another_origin_gets_none_of_them_and_nobody_after_it_does(name):
    async def at_home(_host, _port):
        return ["127.0.0.1"]

    with LoopbackSite() as home, LoopbackSite(name=name) as other:
        home.pages.update({"/": redirect(other.url("/away")), "/back": "back"})
        other.pages["/away"] = redirect(home.url("/back"))
        assert get(home.url("/"), site_config=rules_for(home), resolver=at_home).body == b"back"
        assert [len(secrets_in(request)) for request in home.requests] == [3, 0]
        assert [len(secrets_in(request)) for request in other.requests] == [0]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("http://a.example:80/x", True),
        ("http://A.example/", True),
        ("https://a.example/", False),
        ("http://a.example:8080/", False),
        ("http://www.a.example/", False),
        ("http://a.example.evil.net/", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(other, same):
    assert same_origin("http://a.example/", other) is same


def test_a_site_may_set_a_cookie_of_the_same_name_anew():
    first = Reply(b"", status=302, headers={"Location": "/b", "Set-Cookie": "key=theirs"})
    with LoopbackSite({"/": first, "/b": "b"}) as site:
        get(site.url("/"), policy=FetchPolicy(cookies=(("key", "ours"), ("more", "1"))))
        assert site.requests[1].headers["cookie"] == "more=1; key=theirs"


def test_no_log_line_holds_a_secret(caplog):
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines, LoopbackSite({"/": redirect("/b"), "/b": Stall()}) as site:
        with pytest.raises(TimedOut) as caught:
            get(site.url("/"), site_config=rules_for(site), page_timeout_seconds=0.3)
        policy = SiteConfig.parse(rules_for(site)).policy_for(site.url("/"))
    encoded = base64.b64encode(f"üser:{SECRET}".encode()).decode()
    for text in (caplog.text, str(lines), str(caught.value), repr(policy), repr(SiteConfig.parse(rules_for(site)))):
        assert SECRET not in text
        assert encoded not in text


def test_the_policys_language_name_and_time_are_the_requests():
    with LoopbackSite({"/": "in", "/slow": Stall()}) as site:
        get(site.url("/"), policy=FetchPolicy(locale="de-AT", user_agent="Reader/1.0"))
        get(site.url("/"), policy=FetchPolicy(locale="fr", user_agent_mode="bot"))
        get(site.url("/"), policy=FetchPolicy(headers=(("accept-language", "tlh"), ("ACCEPT", "text/html"))))
        with pytest.raises(TimedOut):
            get(site.url("/slow"), policy=FetchPolicy(page_timeout_ms=200))
        first, second, third, _ = (request.headers for request in site.requests)
    assert (first["accept-language"], first["user-agent"]) == ("de-AT,de;q=0.9,*;q=0.5", "Reader/1.0")
    assert second["accept-language"] == "fr,*;q=0.5"
    assert second["user-agent"].startswith("KbPipelineBot/1.0")
    assert (third["accept-language"], third["accept"]) == ("tlh", "text/html")


@pytest.mark.parametrize("end", ["\n", "☃"])
def test_a_header_that_cannot_be_sent_is_not_shown_and_no_fault_of_the_sites(end):
    with LoopbackSite({"/": "in"}) as site, pytest.raises(TierUnavailable) as caught:
        get(site.url("/"), policy=FetchPolicy(headers=(("X-Key", f"{SECRET}{end}"),)))
    assert str(caught.value) == "the request cannot be written as HTTP"
    assert site.requests == []


def test_a_redirect_that_carries_credentials_is_refused():
    with LoopbackSite() as site:
        site.pages["/"] = redirect(f"http://user:{SECRET}@127.0.0.1:{site.port}/")
        with pytest.raises(GuardRefused, match="carries a user name or a password") as caught:
            get(site.url("/"))
    assert SECRET not in str(caught.value)


def test_a_policy_shows_what_is_set_and_no_secret():
    shown = repr(FetchPolicy(fallback_enabled=False, locale="de", basic_auth=("u", SECRET), headers=(("A", SECRET),)))
    assert shown == "FetchPolicy(locale='de', fallback_enabled=False)"
