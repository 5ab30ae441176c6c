from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.links import MAX_LINKS, harvest
from kb_pipeline.core.urls import is_http, without_fragment

URL = "https://example.com/dir/page.html"


@given(st.text(alphabet=st.sampled_from("<>/=\"' abhref#?&;basesvg\0ä"), max_size=200))
def test_any_text_gives_clean_links(html):
    links = harvest(html, URL)
    assert all(is_http(page) and without_fragment(page) == page for page in links.pages)
    assert len(set(links.pages)) == len(links.pages)
    assert URL not in links.pages


def test_links_are_resolved_against_the_first_base_wherever_it_stands():
    html = '<a href="a">x</a><base target=_blank><base href="/x/"><base href="/y/">'
    assert harvest(html, URL).pages == ("https://example.com/x/a",)


def test_only_further_pages_count():
    html = '<a href="#top"></a><a href=""></a><a href="mailto:a@b"></a><a href="/p#1"></a><a href="/p#2"></a>'
    html += '<template><a href="/t"></a></template><!-- <a href="/c"> --><noscript><a href="/n"></a></noscript>'
    assert harvest(html, URL).pages == ("https://example.com/p", "https://example.com/n")


def test_links_marked_nofollow_are_followed_only_when_the_owner_says_so():
    html = '<a href="/n" rel="NoFollow noopener"></a><a href="/s" rel=sponsored></a><a href="/f"></a>'
    assert harvest(html, URL).pages == ("https://example.com/f",)
    assert len(harvest(html, URL, include_nofollow=True).pages) == 3


@pytest.mark.parametrize(
    ("meta", "nofollow", "noindex"),
    [
        ('<meta name="robots" content="noindex, nofollow">', True, True),
        ('<META NAME="Robots" CONTENT="NONE">', True, True),
        ('<meta name="kbbot" content="nofollow">', True, False),
        ('<meta name="googlebot" content="noindex">', False, False),
        ("", False, False),
    ],
)
def test_directives_for_all_crawlers_and_for_ours_are_read(meta, nofollow, noindex):
    links = harvest(f"<head>{meta}</head><a href=/a>x</a>", URL, token="KbBot")
    assert (links.nofollow, links.noindex) == (nofollow, noindex)
    assert links.pages == ("https://example.com/a",)


def test_feeds_and_the_canonical_address_are_found():
    html = """<link rel="canonical" href="/c#x">
    <link rel="alternate" type="application/rss+xml; charset=utf-8" href="/feed">
    <link rel="alternate" hreflang="de" href="/de"><svg><link rel="canonical" href="/wrong"></svg>"""
    links = harvest(html, URL)
    assert links.canonical == "https://example.com/c"
    assert links.feeds == ("https://example.com/feed",)


@pytest.mark.parametrize(
    "html",
    [
        "<a href=x>" * 100_000,
        "<div>" * 300_000,
        "".join(f"<a href={n}>" for n in range(30_000)),
        "<svg><base href=y>" * 20_000,
    ],
    ids=["one link", "depth", "many links", "bases"],
)
def test_hostile_pages_take_no_time(html):
    started = time.process_time()
    assert len(harvest(html, URL).pages) <= MAX_LINKS
    assert time.process_time() - started < 5


def test_nothing_has_no_links():
    assert harvest("", URL).pages == ()
    assert harvest(b"\xff\xfe\x00", URL).pages == ()
