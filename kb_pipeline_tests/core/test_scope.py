from __future__ import annotations

import time
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.core.patterns import PathPatterns
from kb_pipeline.core.scope import MAX_ADDRESSES_A_PAGE, MAX_VIEWS_A_LIST, Scope, TrapWatch
from kb_pipeline.model import SiteOptions

SITE = "https://www.example.com/"
SCOPE = Scope(SITE, SiteOptions())


def why(path: str, scope: Scope = SCOPE, **options) -> str | None:
    return scope.why_not(f"https://example.com{path}", **options)


@given(st.text(max_size=80))
def test_any_text_gets_an_answer(text):
    assert SCOPE.why_not(text) is not None
    SCOPE.why_not(f"https://example.com/{text}")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/docs/login-api",
        "/docs/login",
        "/v2/docs/auth/login",
        "/blog/shopping-cart-tips",
        "/account/savings",
        "/products/checkout",
        "/search/docs",
        "/docs/search",
        "/?q=node/5",
        "/calendar",
        "/events/12",
        "/events/2024",
        "/events/2026-05-01/annual-gala",
        "/2024/01/01/post-1-1",
        "/2011/11/11",
        "/services/print",
        "/docs/feed",
        "/learn/vue.js",
        "/wiki/File:Map.svg",
        "/manual.pdf",
        "/index.php?id=5",
        "/stats?month=1&year=2020",
        "/news?date=2026-05-01",
        "/go?to=https%3A%2F%2Fother.example%2F%3Fid%3D5",
        "/plot?points=1,1,1,1,1,1",
        "/basket-weaving",
    ],
)
def test_content_is_never_taken_for_a_service_page(path):
    assert why(path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/login", "login"),
        ("/en-us/sign-in?next=/", "login"),
        ("/users/sign_in", "login"),
        ("/wp-login.php", "login"),
        ("/logout", "logout"),
        ("/account/orders", "own account"),
        ("/cart?add=5", "cart"),
        ("/shop/basket", "cart"),
        ("/checkout/step2", "checkout"),
        ("/search?q=a", "search results"),
        ("/?s=word", "search results"),
        ("/calendar/2026/01", "calendar"),
        ("/events/2026-05-01", "calendar"),
        ("/events?month=1&year=2026", "calendar"),
        ("/agenda?view=day&date=2026-05-01", "calendar"),
        ("/blog/my-post/print", "print"),
        ("/post?print=1", "print"),
        ("/post?share=x", "shares"),
        ("/w/index.php?title=A&action=edit", "edits"),
        ("/blog/feed", "feed"),
        ("/photo.JPG", ".jpg file"),
        ("/assets/app.js", ".js file"),
        ("/a/b/a/b/a/b", "trap"),
        ("/x?a=1&a=1", "trap"),
        ("/go?to=%2Fgo%3Fto%3D%252Fgo", "trap"),
        ("/list?tags=new,new,new,new,new", "trap"),
        ("/" + "a" * 2_048, "2,048"),
        ("/" + "/".join("abcdefghijklmnopq"), "16 path segments"),
        ("/x?" + "&".join(f"p{n}=1" for n in range(11)), "10 query parameters"),
    ],
)
def test_what_is_left_out_says_why(path, reason):
    assert reason in (why(path) or "")


def test_other_hosts_and_schemes_are_left_out():
    assert SCOPE.why_not("https://other.org/") == "is on another host"
    assert SCOPE.why_not("mailto:a@example.com") == "is not an http(s) address"
    assert SCOPE.why_not("https://docs.example.com/") == "is on another host"
    assert Scope(SITE, SiteOptions(subdomains=True)).why_not("https://docs.example.com/") is None


def test_the_owners_patterns_decide():
    scope = Scope(SITE, SiteOptions(include=("/docs/*", "*.pdf"), exclude=("/docs/old/",)))
    assert why("/docs/a", scope) is None
    assert why("/Files/Manual.PDF", scope) is None
    assert why("/blog", scope) == "matches none of the site's include patterns"
    assert why("/docs/old/a", scope) == "matches the site's exclude pattern /docs/old/"


def test_an_include_pattern_that_names_a_denied_word_overrules_the_list():
    scope = Scope(SITE, SiteOptions(include=("/calendar/*", "/docs/*")))
    assert why("/calendar/2026/01", scope) is None
    assert why("/docs/search?q=x", scope) is not None


def test_pages_too_deep_are_left_out():
    assert why("/a", depth=5) is None
    assert why("/a", depth=6) == "is more than 5 links away from the start page"


def test_patterns_take_any_text_in_linear_time():
    started = time.process_time()
    patterns = PathPatterns(["*a" * 200 + "b", "[x]*", "docs/?"])
    assert patterns.first_match("/" + "a" * 2_000) is None
    assert patterns.first_match("/docs/1") == "docs/?"
    assert time.process_time() - started < 1


def test_ever_new_addresses_of_one_page_are_a_trap():
    watch = TrapWatch()
    addresses = [f"https://example.com/p?sid={number:032x}" for number in range(MAX_ADDRESSES_A_PAGE + 1)]
    assert [watch.why_not(address) is None for address in addresses] == [True] * MAX_ADDRESSES_A_PAGE + [False]
    assert not any(watch.why_not(f"https://example.com/p?id={number}") for number in range(500))


def test_a_page_whose_parameters_come_in_every_order_is_a_trap():
    watch = TrapWatch()
    orders = ["&".join(order) for order in permutations(["a=1", "b=2", "c=3", "d=4", "e=5"])]
    kept = [order for order in orders if watch.why_not(f"https://example.com/p?{order}") is None]
    assert len(kept) == MAX_ADDRESSES_A_PAGE


def test_filters_that_multiply_are_a_trap_and_pages_of_a_list_are_none():
    watch = TrapWatch()
    shop = [f"?color={number % 7}&size={number // 7}&page={number % 3}" for number in range(MAX_VIEWS_A_LIST + 50)]
    kept = [view for view in shop if watch.why_not(f"https://example.com/shop{view}") is None]
    assert len(kept) == MAX_VIEWS_A_LIST
    other = [f"{view}&id=8" for view in shop]
    assert sum(watch.why_not(f"https://example.com/shop{view}") is None for view in other) == MAX_VIEWS_A_LIST
    forum = [f"?forum={number % 9}&topic={number}&start={number % 3}&sort=new" for number in range(500)]
    assert not any(watch.why_not(f"https://example.com/topic{view}") for view in forum)


def test_pages_that_one_script_shows_by_their_number_are_no_views_of_one_list():
    watch = TrapWatch()
    items = [f"?option=com_k2&view=item&layout=item&id={number}&Itemid=7" for number in range(300)]
    assert not any(watch.why_not(f"https://example.com/index.php{item}") for item in items)
