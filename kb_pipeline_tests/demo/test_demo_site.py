"""The demo site is a real site with the awkward pages of one, and can be asked conditionally."""

from __future__ import annotations

import gzip
import re

import httpx
import pytest

from kb_pipeline.demo import ADDED_PATH, CHANGED_PATH, DELETED_PATH, DemoSite, serve_demo_site
from kb_pipeline.demo.pages import CONTENT, first_act
from kb_pipeline.demo.security_overview import make_pdf
from kb_pipeline.demo.site import DUPLICATES, MISSING_PATH, PDF_PATH


@pytest.fixture
def site():
    return DemoSite()


@pytest.fixture
def browser(site):
    with serve_demo_site(site, port=0) as server, httpx.Client(base_url=server.origin) as client:
        yield client


def listed(browser) -> list[str]:
    """Paths of every URL of every part of the sitemap."""
    parts = re.findall("<loc>(.*?)</loc>", browser.get("/sitemap.xml").text)
    found: list[str] = []
    for part in parts:
        body = browser.get(part).content
        text = gzip.decompress(body) if part.endswith(".gz") else body
        found += re.findall("<loc>(.*?)</loc>", text.decode())
    origin = str(browser.base_url).rstrip("/")
    return [url.removeprefix(origin) for url in found]


def test_it_has_about_thirty_pages_and_every_one_is_in_the_sitemap(browser):
    assert 30 <= len(first_act()) <= 40
    assert set(first_act()) <= set(listed(browser))


def test_the_sitemap_also_lists_what_real_sitemaps_should_not(browser):
    statuses = {path: browser.get(path).status_code for path in listed(browser)}
    assert statuses[MISSING_PATH] == 404
    assert statuses["/docs/getting-started"] == 301
    assert {statuses[path] for path in DUPLICATES} == {200}
    assert sum(status == 200 for status in statuses.values()) == len(statuses) - 2


def test_every_internal_link_of_a_page_leads_somewhere(browser):
    known = set(first_act()) | {PDF_PATH, "/docs/getting-started"}
    # Behind the login, or made by scripts: no page of the site.
    elsewhere = {"/login", "/search", "/session", "/password/reset"}
    for path in first_act():
        links = set(re.findall(r'(?:href|action)="(/[^"#?]*)', browser.get(path).text))
        assert links <= known | elsewhere, path


def test_a_current_copy_is_answered_with_304_and_no_body(browser):
    first = browser.get("/pricing")
    by_tag = browser.get("/pricing", headers={"If-None-Match": first.headers["ETag"]})
    by_date = browser.get("/pricing", headers={"If-Modified-Since": first.headers["Last-Modified"]})
    assert [(answer.status_code, answer.content) for answer in (by_tag, by_date)] == [(304, b"")] * 2


def test_an_old_tag_wins_over_a_current_date(browser):
    first = browser.get("/pricing")
    headers = {"If-None-Match": '"old"', "If-Modified-Since": first.headers["Last-Modified"]}
    assert browser.get("/pricing", headers=headers).status_code == 200


@pytest.mark.parametrize("value", ["yesterday", "", "Wed, 21 Oct 2015 07:28:00"])
def test_a_date_that_cannot_be_read_is_ignored(browser, value):
    assert browser.get("/pricing", headers={"If-Modified-Since": value}).status_code == 200


def test_the_second_act_changes_one_page_deletes_one_and_adds_one(site, browser):
    before = {path: browser.get(path) for path in listed(browser)}
    site.begin_second_act()
    after = {path: browser.get(path) for path in listed(browser)}
    changed = {path for path in before.keys() & after.keys() if before[path].content != after[path].content}
    assert changed == {CHANGED_PATH}
    assert before[CHANGED_PATH].headers["Last-Modified"] != after[CHANGED_PATH].headers["Last-Modified"]
    assert before.keys() - after.keys() == {DELETED_PATH}
    assert browser.get(DELETED_PATH).status_code == 404
    assert after.keys() - before.keys() == {ADDED_PATH}


def test_reset_brings_the_first_act_back(site, browser):
    before = browser.get(CHANGED_PATH).content
    site.begin_second_act()
    site.reset()
    assert browser.get(CHANGED_PATH).content == before
    assert browser.get(DELETED_PATH).status_code == 200
    assert browser.get(ADDED_PATH).status_code == 404


def test_a_port_that_is_taken_falls_back_to_another():
    with serve_demo_site(port=0) as first, serve_demo_site(port=first.server_address[1]) as second:
        assert second.origin != first.origin
        assert httpx.get(second.origin + "/robots.txt").text.count(second.origin) == 1


def test_head_answers_like_get_without_the_body(browser):
    head, get = browser.head("/features"), browser.get("/features")
    assert head.content == b""
    assert head.headers["Content-Length"] == str(len(get.content))


def test_the_pdf_in_the_package_is_what_its_script_makes(tmp_path):
    make_pdf(tmp_path / "made.pdf")
    assert (tmp_path / "made.pdf").read_bytes() == (CONTENT / PDF_PATH.lstrip("/")).read_bytes()
