from __future__ import annotations

import gzip
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.feeds import parse_llms_txt
from kb_pipeline.core.listings import MAX_ENTRIES, parse_date
from kb_pipeline.core.sitemaps import may_list, parse_sitemap

URL = "https://example.com/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urls(body: bytes | str, **options) -> list[str]:
    return [
        entry.url for entry in parse_sitemap(body.encode() if isinstance(body, str) else body, URL, **options).pages
    ]


def urlset(*locations: str) -> str:
    return f"<urlset {NAMESPACE}>" + "".join(f"<url><loc>{loc}</loc></url>" for loc in locations) + "</urlset>"


@given(st.binary(max_size=600))
def test_any_bytes_are_read_without_an_error(body):
    parse_sitemap(body, URL)
    parse_sitemap(b"<urlset><url>" + body, URL)
    parse_llms_txt(body, URL)


@given(st.integers(min_value=0, max_value=2_000))
def test_a_truncated_sitemap_gives_its_whole_addresses_and_says_that_it_was_cut(length):
    whole = urlset(*(f"https://example.com/page-{number}" for number in range(20))).encode()
    sitemap = parse_sitemap(whole[:length], URL)
    found = [entry.url for entry in sitemap.pages]
    assert found == [f"https://example.com/page-{number}" for number in range(len(found))]
    assert bool(sitemap.problems) == (length < len(whole))


@given(st.integers(min_value=20, max_value=300))
def test_a_truncated_gzip_gives_what_could_be_inflated(length):
    whole = gzip.compress(urlset(*(f"https://example.com/{number * 7919}" for number in range(60))).encode())
    sitemap = parse_sitemap(whole[:length], URL)
    assert all(entry.url.startswith("https://example.com/") for entry in sitemap.pages)
    assert sitemap.problems or length >= len(whole)


def test_dates_priorities_and_translations_are_kept():
    body = f"""<urlset {NAMESPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>https://example.com/a</loc>
    <lastmod>2024-05-06T07:08:09+02:00</lastmod><priority>0.8</priority>
    <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/a"/></url></urlset>"""
    (entry,) = parse_sitemap(body.encode(), URL).pages
    assert entry.lastmod == datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC)
    assert entry.priority == 0.8
    assert entry.alternates == (("de", "https://example.com/de/a"),)


def test_an_index_names_sitemaps_and_no_pages():
    body = "<sitemapindex><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>b.xml.gz</loc></sitemap></sitemapindex>"
    sitemap = parse_sitemap(body.encode(), URL)
    assert sitemap.sitemaps == ("https://example.com/a.xml", "https://example.com/b.xml.gz")
    assert not sitemap.pages


def test_gzip_is_known_by_its_content():
    body = gzip.compress(gzip.compress(urlset("https://example.com/a").encode()))
    assert urls(body, content_type="text/plain") == ["https://example.com/a"]


def test_common_damage_loses_no_page():
    body = (
        "\n \ufeff<?xml version='1.0' encoding='UTF-8'?><urlset><url><loc>https://example.com/a?x=1&y=2</loc></url>\x01"
    )
    body += (
        "<url><loc> https://example.com/b\u00a0</loc><image:loc>https://example.com/i.png</image:loc></url></urlset>"
    )
    assert urls(body) == ["https://example.com/a?x=1&y=2", "https://example.com/b"]


def test_entities_are_never_expanded():
    body = '<!DOCTYPE u [<!ENTITY x "https://example.com/from-entity"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body += urlset("&x;", "https://example.com/&f;", "https://example.com/plain")
    sitemap = parse_sitemap(body.encode(), URL)
    assert [entry.url for entry in sitemap.pages] == ["https://example.com/plain"]
    assert any("entities" in problem for problem in sitemap.problems)


def test_a_raw_less_than_sign_is_part_of_its_address():
    assert urls(urlset("https://example.com/a<b", "https://example.com/1<2", "https://example.com/c")) == [
        "https://example.com/a<b",
        "https://example.com/1<2",
        "https://example.com/c",
    ]


def test_what_is_right_in_comments_and_cdata_is_left_as_it_is():
    body = urlset("<![CDATA[https://example.com/a?x=1&y=<2]]>", "https://example.com/b<!-- <loc> & < -->c")
    assert urls(body) == ["https://example.com/a?x=1&y=<2", "https://example.com/bc"]


def test_an_address_that_is_not_closed_is_read_and_so_is_the_next_page():
    body = "<urlset><url><loc>https://example.com/a</url><url><loc>https://example.com/b<lastmod>2024-01-02</lastmod></url>"
    assert urls(body + "<url><loc>https://example.com/c</loc></url></urlset>") == [
        "https://example.com/a",
        "https://example.com/b",
        "https://example.com/c",
    ]


def test_a_prefix_that_is_not_declared_hides_nothing():
    assert urls("<s:urlset><s:url><s:loc>https://example.com/a</s:loc></s:url></s:urlset>") == ["https://example.com/a"]


@pytest.mark.parametrize("reference", ["&#xD800;", "&#55296;", "&#xFFFE;", "&#0;", "&#x110000;", "&#&#xD800;xD800;"])
def test_a_reference_to_no_character_is_no_error(reference):
    (address,) = urls(urlset(f"https://example.com/a{reference}b"))
    assert address.startswith("https://example.com/a")


def test_warnings_before_the_list_are_passed_over_and_said():
    warning = "<br />\n<b>Warning</b>: Undefined variable in <b>/map.php</b> on line <b>3</b><br />\n"
    sitemap = parse_sitemap((warning + "<?xml version='1.0'?>" + urlset("https://example.com/a")).encode(), URL)
    assert [entry.url for entry in sitemap.pages] == ["https://example.com/a"]
    assert "before the list" in sitemap.problems[0]


@pytest.mark.parametrize(
    ("declared", "written"),
    [("utf-16", "utf-8"), ("UTF-8", "cp1252"), ("ISO-8859-1", "latin-1"), ("UTF-16", "utf-16"), ("bogus", "utf-8")],
)
def test_the_encoding_is_the_one_that_the_file_is_written_in(declared, written):
    body = f"<?xml version='1.0' encoding='{declared}'?>" + urlset("https://example.com/\u00fc")
    assert urls(body.encode(written)) == ["https://example.com/\u00fc"]


@pytest.mark.parametrize("damage", [slice(-8, -4), slice(-40, -39)], ids=["checksum", "inside"])
def test_what_comes_before_the_damage_of_a_gzip_is_read(damage):
    body = bytearray(gzip.compress(urlset(*(f"https://example.com/{n * 7919}" for n in range(9_000))).encode()))
    body[damage] = bytes(octet ^ 0x55 for octet in body[damage])
    sitemap = parse_sitemap(bytes(body), URL)
    assert len(sitemap.pages) > 8_900
    assert "damaged gzip" in sitemap.problems[0]


@pytest.mark.parametrize(
    "body",
    ["<!DOCTYPE html><html><body><a href='/a'>a</a></body></html>", "<?xml version='1.0'?>\n<!-- x --><html></html>"],
)
def test_a_page_that_is_served_as_a_sitemap_is_a_problem_and_no_list(body):
    sitemap = parse_sitemap(body.encode(), URL, "application/xml")
    assert not sitemap.pages
    assert sitemap.problems == ("an HTML page, not a sitemap",)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "empty"),
        ("Not Found", "neither XML nor"),
        ("<Error><Code>1</Code></Error>", "root element"),
        ("{}", "JSON"),
    ],
)
def test_what_is_no_sitemap_says_what_it_is(body, problem):
    sitemap = parse_sitemap(body.encode(), URL)
    assert not sitemap.pages
    assert problem in sitemap.problems[0]


def test_a_text_sitemap_is_one_address_a_line():
    body = "\ufeffhttps://example.com/a\r\nhttps://example.com/b\rftp://example.com/c\n\nhttps://example.com/a\n"
    sitemap = parse_sitemap(body.encode(), URL)
    assert [entry.url for entry in sitemap.pages] == ["https://example.com/a", "https://example.com/b"]
    assert sitemap.problems == ("1 lines are no http(s) address: left out",)


def test_no_more_is_read_than_the_protocol_allows():
    body = "".join(f"https://example.com/{number}\n" for number in range(MAX_ENTRIES + 10))
    sitemap = parse_sitemap(body.encode(), URL)
    assert len(sitemap.pages) == MAX_ENTRIES
    assert "50,000" in sitemap.problems[-1]


def test_a_bomb_stops_at_the_limit():
    body = gzip.compress(b"<urlset>" + b" " * (64 * 2**20))
    started = time.process_time()
    sitemap = parse_sitemap(body, URL, max_bytes=2**20)
    assert not sitemap.pages
    assert "inflates to more" in sitemap.problems[0]
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    "body",
    [b"<urlset>" + b"<![CDATA[" * 200_000, b"<!DOCTYPE " * 200_000, b"<!-- -->" * 400 + b"x", b"<a>" * 500_000],
    ids=["open CDATA", "open DOCTYPE", "comments", "depth"],
)
def test_hostile_markup_takes_no_time(body):
    started = time.process_time()
    parse_sitemap(body, URL)
    assert time.process_time() - started < 3


RSS = b"""<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>https://example.com/</link>
<atom:link href="https://example.com/feed" rel="self"/>
<item><title>Tom & Jerry &nbsp;</title><link>https://example.com/a</link>
<pubDate>Sun, 06 Sep 2009 16:20:00 +0000</pubDate></item>
<item><guid>https://example.com/b</guid></item><item><guid isPermaLink="false">https://example.com/id</guid></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.com/blog/"><link href="/"/>
<entry><link rel="enclosure" href="x.mp3"/><link href="post"/><updated>2024-01-02T03:04:05Z</updated></entry></feed>"""
JSON_FEED = (
    b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "/j", "date_published": "2024-01-02"}, 7]}'
)


def test_feeds_of_every_kind_are_lists_of_pages():
    assert [(entry.url, entry.lastmod and entry.lastmod.year) for entry in parse_sitemap(RSS, URL).pages] == [
        ("https://example.com/a", 2009),
        ("https://example.com/b", None),
    ]
    assert [(entry.url, entry.lastmod) for entry in parse_sitemap(ATOM, URL).pages] == [
        ("https://example.com/blog/post", datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC))
    ]
    assert [entry.url for entry in parse_sitemap(JSON_FEED, URL).pages] == ["https://example.com/j"]


def test_llms_txt_gives_its_links():
    body = b"# Product\n> summary\n- [Docs](/docs): all\n- [Wiki](https://example.com/Foo_(bar))\n- [again](/docs)\n"
    entries = parse_llms_txt(body, "https://example.com/llms.txt")
    assert [entry.url for entry in entries] == ["https://example.com/docs", "https://example.com/Foo_(bar)"]
    assert parse_llms_txt(b"<!doctype html><a href='/x'>[x](/y)</a>", "https://example.com/llms.txt") == ()


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13-45", "0000-00-00", "1683356889", "-1", "9" * 5000])
def test_what_is_no_date_is_none(text):
    assert parse_date(text) is None


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_none(text):
    parse_date(text)


def test_the_protocols_own_rule_on_locations():
    assert may_list("https://example.com/catalog/sitemap.xml", "https://example.com/catalog/a")
    assert not may_list("https://example.com/catalog/sitemap.xml", "https://example.com/other")
    assert not may_list("https://example.com/sitemap.xml", "http://example.com/a")
