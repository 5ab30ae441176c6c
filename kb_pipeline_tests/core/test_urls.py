from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.urls import (
    canonical,
    host_of,
    normalize,
    normalize_escapes,
    origin_of,
    resolve,
    same_site,
    url_key,
)

path_text = st.text(
    alphabet=string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/%äß\u4e2d {}|\\^`\"<>", max_size=40
)
addresses = st.builds(
    lambda scheme, host, port, path, query: f"{scheme}://{host}{port}/{path}" + (f"?{query}" if query else ""),
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["example.com", "WWW.Example.com", "docs.example.com", "bücher.example", "127.0.0.1"]),
    st.sampled_from(["", ":80", ":443", ":8080"]),
    path_text.map(str.strip),
    path_text.map(str.strip),
)


@given(addresses)
def test_the_normal_form_is_stable(url):
    assert normalize(normalize(url)) == normalize(url)
    assert canonical(canonical(url)) == canonical(url)
    assert url_key(url_key(url)) == url_key(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://;jsessionid=1/a",
        "http://a(S(01234567890123456789))/b",
        "http://example.com/a/..;jsessionid=1/b",
        "http://example.com/a;jsession;jsessionid=1id=2",
        "http://./a",
        "http://www.www.example.com/a",
        "http://example../a",
        "http://example.com/(S(01234567890123456789))/(S(01234567890123456789))",
    ],
)
def test_strange_hosts_and_sessions_have_a_key_that_is_an_address(url):
    assert canonical(canonical(url)) == canonical(url)
    assert url_key(url_key(url)) == url_key(url)
    assert host_of(url_key(url))


@given(addresses)
def test_a_normalised_address_still_names_the_same_host_and_port(url):
    assert origin_of(normalize(url)) == origin_of(url)


@given(addresses)
def test_the_key_of_an_address_is_the_key_of_its_normal_form(url):
    assert url_key(normalize(url)) == url_key(url)


@given(addresses, st.sampled_from(["utm_source", "UTM_Medium", "gclid", "fbclid", "msclkid", "%75tm_campaign"]))
def test_a_tracking_parameter_never_makes_another_page(url, name):
    joined = f"{url}{'&' if '?' in url else '?'}{name}=x1"
    assert url_key(joined) == url_key(url)


@given(addresses, st.text(alphabet=string.ascii_lowercase, min_size=3, max_size=8).map("x_{}".format))
def test_a_parameter_that_is_not_known_always_makes_another_page(url, name):
    joined = f"{url}{'&' if '?' in url else '?'}{name}=1"
    assert url_key(joined) != url_key(url)


@given(st.text(max_size=60), st.text(max_size=60))
def test_resolution_never_raises(base, ref):
    resolve(base, ref)
    resolve(None, ref)


@given(st.text(alphabet="%0123456789abcdefABCDEF/x", max_size=30))
def test_normal_escapes_are_stable(text):
    assert normalize_escapes(normalize_escapes(text)) == normalize_escapes(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP://Example.COM/a", "https://example.com/a"),
        ("https://www.example.com/a", "https://example.com/a"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://example.com:443/a#top", "https://example.com/a"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/%7Ejoe/%c3%a4", "https://example.com/~joe/ä"),
        ("https://example.com/a;jsessionid=0123456789ABCDEF", "https://example.com/a"),
        ("https://example.com/a?PHPSESSID=0123456789abcdef0123456789abcdef&x=1", "https://example.com/a?x=1"),
        ("https://example.com/a?", "https://example.com/a"),
    ],
)
def test_different_spellings_of_one_page_have_one_key(one, other):
    assert url_key(one) == url_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.com/a", "https://example.com/a/"),
        ("https://example.com/", "https://example.com/index.html"),
        ("https://example.com/A", "https://example.com/a"),
        ("https://example.com/a?page=1", "https://example.com/a?page=2"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
        ("https://example.com/a?sid=7", "https://example.com/a?sid=8"),
        ("https://example.com/a?b=1&a=2", "https://example.com/a?a=2&b=1"),
        ("https://www2.example.com/", "https://example.com/"),
        ("http://example.com:8080/", "https://example.com:8080/"),
    ],
)
def test_what_may_be_two_pages_has_two_keys(one, other):
    assert url_key(one) != url_key(other)


def test_the_key_of_what_is_no_address_is_refused():
    with pytest.raises(ValueError, match="not an absolute URL"):
        url_key("/relative")


def test_a_site_takes_its_www_twin_and_the_other_scheme_but_no_other_port():
    assert same_site("http://www.example.com/x", "https://example.com/")
    assert same_site("https://example.com/x", "https://www.example.com/")
    assert not same_site("https://example.com:8443/x", "https://example.com/")
    assert not same_site("https://example.com.evil.org/x", "https://example.com/")
    assert not same_site("ftp://example.com/x", "https://example.com/")
    assert same_site("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/")


def test_subdomains_count_only_when_asked_for():
    assert not same_site("https://docs.example.com/", "https://www.example.com/")
    assert same_site("https://docs.example.com/", "https://www.example.com/", subdomains=True)
    assert not same_site("https://notexample.com/", "https://example.com/", subdomains=True)


def test_origin_and_host_are_spelled_out():
    assert origin_of("https://Example.com/a") == "https://example.com:443"
    assert origin_of("http://[::1]:81/") == "http://[::1]:81"
    assert host_of("https://BÜCHER.example/x") == "xn--bcher-kva.example"
    assert host_of("no address") == ""
