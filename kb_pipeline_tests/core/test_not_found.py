"""What a site shows for addresses that do not exist, told from pages that only resemble it."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from kb_pipeline.core.extract import extract_html
from kb_pipeline.core.not_found import is_above, is_same, look_of, made_up_address, may_be_same

SITE = "https://www.example.org"
PROBE = f"{SITE}/docs/bcdfghjkmnpqrs"
LOST = "<p>The tide has taken what was here. Look along the beach, or ask the harbour master for the ledger.</p>"


def shown(url, body=LOST, *, title="Lost at sea | Aldermere", extra=""):
    html = (
        f"<html><head><title>{title}</title></head><body><nav><a href=/>Home</a></nav><main><h1>Lost at sea</h1>{body}"
        f"{extra}</main><footer>2026</footer></body></html>"
    )
    return look_of(extract_html(html, url), html, url)


def same(page):
    return is_same(page, shown(PROBE))


def test_the_page_that_is_shown_for_any_address_is_known_at_each():
    assert same(shown(f"{SITE}/docs/old-guide"))
    assert same(shown(f"{SITE}/elsewhere/deep/down.html"))


@pytest.mark.parametrize(
    "varying",
    [
        "<p>Request 8f3a1c9e0b77</p>",
        "<p>Time 2026-11-30 04:05:06, number 918273</p>",
        "<small>trace 4bf92f3577b34da6a3ce929d0e0e4736</small>",
    ],
)
def test_what_changes_from_one_answer_to_the_next_is_no_difference(varying):
    other = varying.translate(str.maketrans("0123456789", "5678901234"))
    assert is_same(shown(f"{SITE}/x", extra=varying), shown(PROBE, extra=other))


def test_the_address_that_the_page_repeats_is_no_difference():
    def told(url):
        return shown(url, body=f"{LOST}<p>You asked for {urlsplit(url).path}.</p>", title=f"No {url.split('/')[-1]}")

    assert is_same(told(f"{SITE}/docs/old-guide"), told(PROBE))


@pytest.mark.parametrize(
    ("extra", "scripted", "unfinished"),
    [
        ("", False, False),
        ("<div id=root>Loading, please wait.</div>", False, False),
        ("<script>count()</script>", True, False),
        ('<script type="application/ld+json">{}</script><div id=root></div>', False, False),
        ("<div id=root>Loading, please wait.</div><script type=module src=/app.js></script>", True, True),
        ("<my-app>Loading</my-app><script src=/app.js></script>", True, True),
    ],
)
def test_a_page_that_scripts_may_write_another_one_into_is_unfinished(extra, scripted, unfinished):
    look = shown(PROBE, extra=extra)
    assert (look.scripted, look.unfinished) == (scripted, unfinished)


def test_short_pages_of_one_template_are_not_the_same():
    def part(name, words):
        return shown(f"{SITE}/parts/{name}", body=f"<p>Part {name}: {words}. Ask the harbour master for the price.</p>")

    assert not is_same(part("a12", "brass, 12 mm"), part("b77", "steel, 14 mm"))
    assert not is_same(part("a12", "brass"), part("b77", "steel"))


def test_a_long_page_that_differs_in_one_sentence_is_not_the_same():
    frame = f"<p>{'Boats go out at high water and come back before dark unless the wind is from the north. ' * 10}</p>"
    assert not is_same(
        shown(f"{SITE}/a", body=frame + "<p>Bread is baked on Tuesday mornings.</p>"), shown(PROBE, body=frame)
    )


def test_the_same_words_under_another_title_are_not_the_same():
    assert not same(shown(f"{SITE}/a", title="A poem | Aldermere"))


def test_the_same_words_in_another_build_are_not_the_same():
    assert not same(shown(f"{SITE}/a", body=f"<table>{'<tr><td></td></tr>' * 20}</table>{LOST}"))


def test_a_page_that_says_next_to_nothing_cannot_be_compared():
    html = "<html><body><p>Gone.</p></body></html>"
    assert look_of(extract_html(html, SITE), html, SITE) is None


def test_a_page_much_longer_is_not_even_looked_at():
    long = extract_html(f"<main><p>{'A word for each boat in the harbour. ' * 60}</p></main>", SITE)
    assert not may_be_same(long, shown(PROBE))


def test_a_made_up_address_is_in_the_folder_that_most_pages_are_in():
    pages = [f"{SITE}/docs/{name}" for name in ("a", "b", "c")] + [f"{SITE}/blog/a", f"{SITE}/"]
    assert urlsplit(made_up_address(f"{SITE}/", "site 4", pages)).path.startswith("/docs/")
    assert urlsplit(made_up_address(f"{SITE}/", "site 4")).path.count("/") == 1


def test_a_made_up_address_is_the_same_for_one_refresh_and_another_for_the_next():
    assert made_up_address(f"{SITE}/", "site 4") == made_up_address(f"{SITE}/", "site 4")
    assert made_up_address(f"{SITE}/", "site 4") != made_up_address(f"{SITE}/", "site 5")


@pytest.mark.parametrize(
    ("path", "above"),
    [
        *(("/", True), ("", True), ("/docs/", True), ("/docs", True), ("/docs/index.html", True)),
        *(("/docs/a", False), ("/doc", False), ("/blog/", False), ("/docs/?page=2", False)),
    ],
)
def test_the_start_page_of_a_folder_may_be_what_is_shown_for_what_the_folder_lacks(path, above):
    assert is_above(f"{SITE}{path}", PROBE) is above
