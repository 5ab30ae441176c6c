"""The tiers that render and read: what they are asked, what they make of it, and which of them there are."""

import asyncio
import importlib.util
from contextlib import AsyncExitStack
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter

from kb_pipeline.core.extract import extract
from kb_pipeline.errors import (
    BodyUndecodable,
    ConfigError,
    ConnectionBroken,
    GuardRefused,
    HostOnHold,
    LimitReached,
    TierUnavailable,
    TimedOut,
)
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.budget import OwnBudget
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.chromium import why_unavailable
from kb_pipeline.fetch.client import HttpClient, Response
from kb_pipeline.fetch.cloudflare_api import CloudflareApi
from kb_pipeline.fetch.cloudflare_vision import WorkersAiReader
from kb_pipeline.fetch.envelope import CONTENT_TYPE, Said, markdown_as_html, wrap
from kb_pipeline.fetch.pdf_pictures import PdfPictures
from kb_pipeline.fetch.rendering import PictureText, Rendered
from kb_pipeline.fetch.tiers import Workshop, default_tiers
from kb_pipeline.fetch.tiers.browser_content import BrowserContent
from kb_pipeline.fetch.tiers.browser_markdown import BrowserMarkdown
from kb_pipeline.fetch.tiers.installed import Installed
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.fetch.tiers.vision import Vision
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.drawn import drawn, png, scanned_pdf
from kb_pipeline_tests.sites.cloudflare import LoopbackCloudflare, envelope, refusal
from kb_pipeline_tests.sites.replies import Reply, page, prose
from kb_pipeline_tests.sites.server import LoopbackSite

PAGE = "https://site.example/page"
SETTINGS = Settings(tiers=())
SHELL = (
    "<!doctype html><html lang=de><head><title>The shell</title><meta name=description content='Of the shell'></head>"
    '<body><div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript>'
    '<script src="/app.js"></script></body></html>'
)
PARAGRAPHS = [prose("ferries"), prose("tides")]
RENDERED = page("Rendered", *PARAGRAPHS).body
MARKDOWN = """\
# Prices & terms

A paragraph with **bold**, *emphasis*, `code` and [a link](https://site.example/terms). It goes on for a while so that
there is enough of it to be taken for the text of a page.

## What is in it

- first of a list
- second of a list
  - nested below the second

1. step one
2. step two

> Somebody said this.

```python
def total(price, count):
    return price * count
```

| Plan | Price |
| --- | --- |
| Small | 10 |
| Large | 20 |
"""


def answered(body, content_type="text/html; charset=utf-8", status=200, **headers):
    """What the site said to the first tier."""
    lines = (("content-type", content_type), *((name.replace("_", "-"), value) for name, value in headers.items()))
    raw = body.encode() if isinstance(body, str) else body
    return Response(PAGE, PAGE, status, dict(lines), raw, header_list=lines)


class Fake:
    """A renderer and a reader that give what they are told to, or raise it."""

    def __init__(self, *, shown=b"", text=(), **rendered):
        self.shown, self.text = shown, text
        self.rendered = {"final_url": PAGE, "status": 200, "calls": 1} | rendered
        self.asked = []
        self.pictures = []

    async def content(self, request):
        self.asked.append(request.url)
        if isinstance(self.shown, Exception):
            raise self.shown
        return Rendered(self.shown, **self.rendered)

    markdown = screenshot = content

    async def read(self, picture):
        self.pictures.append(picture)
        text = self.text[min(len(self.pictures), len(self.text)) - 1] if self.text else PictureText(())
        if isinstance(text, Exception):
            raise text
        return text


def run(tier, request=None):
    return asyncio.run(tier.fetch(request or PageRequest(PAGE)))


def markdown_tier(shown, request=None, **rendered):
    raw = shown.encode() if isinstance(shown, str) else shown
    return run(BrowserMarkdown(Fake(shown=raw, **rendered), SETTINGS), request)


def content_tier(shown, request=None, **rendered):
    raw = shown.encode() if isinstance(shown, str) else shown
    return run(BrowserContent(Fake(shown=raw, **rendered), SETTINGS), request)


def vision_tier(fake, request=None):
    return run(Vision(fake, fake, SETTINGS), request)


def read(*paragraphs, calls=1, degraded=""):
    return PictureText(paragraphs, calls, degraded)


def test_markdown_in_its_envelope_gives_the_same_markdown_back():
    body = wrap(markdown_as_html(MARKDOWN), Said(), "Prices & terms")
    text = extract(body, CONTENT_TYPE, PAGE)
    assert text.title == "Prices & terms"
    assert text.markdown.split() == MARKDOWN.split()
    assert text.markdown.splitlines()[-4:] == MARKDOWN.splitlines()[-4:]


def test_html_in_markdown_is_text_and_a_link_that_is_none_is_none():
    hostile = (
        "# Title </title><script>alert(1)</script>\n\n<script>alert(2)</script>\n\n<img src=x onerror=alert(3)>\n\n"
        "[click](javascript:alert(4)) ![x](data:text/html,<script>) </main></body>\n\n" + prose("ferries")
    )
    result = markdown_tier(hostile)
    html = result.response.body.decode().lower()
    assert result.answer is Answer.DOCUMENT
    assert "<script" not in html
    assert "onerror=alert(3)>" not in html
    assert 'href="javascript' not in html
    assert html.count("</main>") == html.count("</title>") == 1


@pytest.mark.parametrize(
    "markdown", ["> " * 5000 + "deep", "[" * 20_000, "*a " * 20_000, "- " * 3000, "`" * 9999, "|" * 9999]
)
def test_markdown_that_is_made_to_be_slow_is_read_all_the_same(markdown):
    assert isinstance(markdown_as_html(markdown), str)


@pytest.mark.parametrize(
    ("markdown", "title", "first", "expected"),
    [
        (MARKDOWN, "Told beside", SHELL, "Told beside"),
        (MARKDOWN, "", SHELL, "Prices & terms"),
        (PARAGRAPHS[0], "", SHELL, "The shell"),
        (PARAGRAPHS[0], "", None, PAGE),
    ],
)
def test_the_title_is_the_one_told_else_the_heading_else_what_the_site_said_at_first(markdown, title, first, expected):
    request = PageRequest(PAGE, answered=first and answered(first))
    assert markdown_tier(markdown, request, title=title).text.title == expected


def test_what_the_site_said_beside_the_text_stays_with_it():
    text = markdown_tier(PARAGRAPHS[0], PageRequest(PAGE, answered=answered(SHELL))).text
    assert (text.language, text.description) == ("de", "Of the shell")


NOINDEX = SHELL.replace("<title>", "<meta name=robots content=noindex><title>")
TIERS = {
    "browser_markdown": lambda request: markdown_tier(PARAGRAPHS[0], request),
    "browser_content": lambda request: content_tier(RENDERED, request),
    "vision": lambda request: vision_tier(Fake(shown=b"picture", text=[read(*PARAGRAPHS)]), request),
}


@pytest.mark.parametrize("tier", TIERS)
def test_a_page_whose_first_answer_forbids_indexing_by_its_header_is_not_indexed_by_way_of_a_browser(tier):
    request = PageRequest(PAGE, answered=answered(SHELL, x_robots_tag="noindex"))
    assert TIERS[tier](request).answer is Answer.NOINDEX


@pytest.mark.parametrize("tier", ["browser_markdown", "vision"])
def test_nor_is_one_that_forbids_it_in_its_head_which_these_tiers_never_see(tier):
    assert TIERS[tier](PageRequest(PAGE, answered=answered(NOINDEX))).answer is Answer.NOINDEX


def test_what_a_rendered_document_itself_says_by_its_headers_holds():
    for headers, answer in [({"x-robots-tag": "max-snippet: 5\nkbpipelinebot: noindex"}, Answer.NOINDEX), ({}, None)]:
        result = content_tier(f"<p>{PARAGRAPHS[0]}", PageRequest(PAGE, answered=answered(SHELL)), headers=headers)
        assert (result.answer is Answer.NOINDEX) is (answer is Answer.NOINDEX)
    strained = content_tier("<p>slow down", status=429, headers={"retry-after": "90"})
    assert (strained.answer, strained.retry_after) == (Answer.RATE_LIMITED, 90.0)


def test_what_stands_under_a_refusal_is_not_about_the_page():
    request = PageRequest(PAGE, answered=answered(NOINDEX, status=403, x_robots_tag="noindex"))
    result = markdown_tier(PARAGRAPHS[0], request)
    assert (result.answer, result.text.title) == (Answer.DOCUMENT, PAGE)


@pytest.mark.parametrize("tier", TIERS)
def test_a_rendered_page_is_never_asked_for_conditionally(tier):
    response = TIERS[tier](PageRequest(PAGE, answered=answered(SHELL, etag='"1"', last_modified="Mon"))).response
    assert set(response.headers) == {"content-type"}
    assert response.content_type == CONTENT_TYPE


@pytest.mark.parametrize(
    ("body", "status", "answer"),
    [
        (RENDERED, 200, Answer.DOCUMENT),
        (RENDERED, 404, Answer.NOT_FOUND),
        (RENDERED, 503, Answer.SERVER_ERROR),
        (RENDERED, 403, Answer.REFUSED),
        (SHELL, 200, Answer.JS_SHELL),
        ("<html><body><main><p>Hello there.</p></main></body></html>", 200, Answer.THIN),
        ("  ", 200, Answer.EMPTY),
    ],
)
def test_a_rendered_page_is_judged_like_any_other(body, status, answer):
    assert content_tier(body, status=status).answer is answer


def test_what_a_page_cost_and_where_it_was_is_told():
    result = content_tier(RENDERED, final_url=PAGE + "?x=1", requests=7, wire_bytes=1234, calls=1, degraded="a frame")
    assert (result.requests, result.wire_bytes, result.calls, result.degraded) == (7, 1234, 1, "a frame")
    assert (result.response.final_url, result.response.redirects) == (PAGE + "?x=1", (PAGE + "?x=1",))
    assert result.text.degraded


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (TierUnavailable("no browser"), Answer.TIER_FAILED),
        (LimitReached("used up"), Answer.STEPPED_ASIDE),
        (GuardRefused("private"), Answer.NOT_PUBLIC),
        (TimedOut("slow"), Answer.TIMED_OUT),
        (ConnectionBroken("reset"), Answer.BROKEN),
        (HostOnHold("later", seconds=9.0), Answer.ON_HOLD),
    ],
)
@pytest.mark.parametrize("tier", [BrowserMarkdown, BrowserContent, lambda fake, settings: Vision(fake, fake, settings)])
def test_whatever_the_renderer_meets_is_a_result(tier, error, answer):
    error.calls = 1
    result = run(tier(Fake(shown=error), SETTINGS))
    assert (result.answer, result.why, result.calls) == (answer, str(error), 1)


def test_a_bug_is_not_taken_for_an_answer():
    with pytest.raises(ZeroDivisionError):
        run(BrowserContent(Fake(shown=ZeroDivisionError()), SETTINGS))


@pytest.mark.parametrize(
    ("body", "content_type", "what"),
    [
        (b"%PDF-1.7\n", "application/pdf", "a PDF"),
        (b"%PDF-1.7\n", "text/html", "a PDF"),
        (b"words", "text/plain", "text"),
    ],
)
def test_what_is_no_web_page_is_passed_over_by_browsers(body, content_type, what):
    request = PageRequest(PAGE, answered=answered(body, content_type))
    for tier in (BrowserMarkdown, BrowserContent):
        fake = Fake(shown=b"never")
        result = run(tier(fake, SETTINGS), request)
        assert (result.answer, result.why, fake.asked) == (Answer.PASSED_OVER, f"{what} is not for a browser", [])


def test_what_a_refusal_is_written_in_does_not_keep_browsers_away():
    request = PageRequest(PAGE, answered=answered(b"Forbidden", "text/plain", status=403))
    assert run(BrowserContent(Fake(shown=RENDERED.encode()), SETTINGS), request).answer is Answer.DOCUMENT


def test_each_paragraph_of_a_picture_is_one_of_the_page_and_the_title_is_kept():
    fake = Fake(shown=b"picture", text=[read(*PARAGRAPHS, "a < b & c", calls=3)], title="Canvas", requests=2)
    result = vision_tier(fake)
    assert (result.answer, result.text.title, result.calls, result.requests) == (Answer.DOCUMENT, "Canvas", 4, 2)
    assert result.response.body.count(b"<p>") == 3
    assert "a < b & c" in result.text.markdown.replace("\\", "")
    assert fake.pictures == [b"picture"]


def test_a_picture_without_text_is_an_empty_page():
    assert vision_tier(Fake(shown=b"picture", text=[read()])).answer is Answer.EMPTY


def test_what_could_not_be_read_of_page_or_picture_is_said():
    fake = Fake(shown=b"picture", degraded="only the upper half", text=[read(*PARAGRAPHS, degraded="not all bands")])
    assert vision_tier(fake).degraded == "only the upper half; not all bands"


def test_a_reader_that_fails_does_not_hide_what_the_screenshot_cost():
    error = LimitReached("used up")
    error.calls = 2
    result = vision_tier(Fake(shown=b"picture", text=[error]))
    assert (result.answer, result.calls) == (Answer.STEPPED_ASIDE, 3)


def scan(*texts):
    return answered(scanned_pdf(*(drawn([text], width=600, height=800) for text in texts)), "application/pdf")


def test_a_scanned_pdf_is_read_from_its_pages_without_asking_the_site_again():
    fake = Fake(text=[read(PARAGRAPHS[0]), read(PARAGRAPHS[1])])
    result = vision_tier(fake, PageRequest(PAGE, answered=scan("one", "two")))
    assert (result.answer, result.requests, result.calls, fake.asked) == (Answer.DOCUMENT, 0, 2, [])
    assert all(picture.startswith(b"\x89PNG") for picture in fake.pictures)
    assert [line for line in result.text.markdown.splitlines() if line.startswith("#")] == [
        "###### Page 1",
        "###### Page 2",
    ]
    assert [anchor for _, anchor in result.text.anchors] == ["page=1", "page=2"]


def test_of_a_long_scanned_pdf_the_first_pages_are_read_and_that_is_said():
    fake = Fake(text=[read("Some words on this page.")])
    pages = scanned_pdf(*(drawn([], width=60, height=80) for _ in range(22)))
    result = vision_tier(fake, PageRequest(PAGE, answered=answered(pages, "application/pdf")))
    assert len(fake.pictures) == 20
    assert result.degraded == "only 20 of 22 pages were read"


def test_an_encrypted_or_broken_pdf_is_passed_over():
    locked = PdfWriter(clone_from=PdfReader(BytesIO(scan("secret").body)))
    locked.encrypt("a password")
    written = BytesIO()
    locked.write(written)
    for body, why in ((written.getvalue(), "encrypted"), (b"%PDF-1.7\nnothing more", "broken")):
        fake = Fake()
        result = vision_tier(fake, PageRequest(PAGE, answered=answered(body, "application/pdf")))
        assert (result.answer, fake.asked, fake.pictures) == (Answer.PASSED_OVER, [], [])
        assert why in result.why


def test_a_failure_in_the_middle_of_a_pdf_tells_the_calls_before_it():
    error = TierUnavailable("down")
    error.calls = 1
    result = vision_tier(Fake(text=[read("one"), error]), PageRequest(PAGE, answered=scan("one", "two", "three")))
    assert (result.answer, result.calls) == (Answer.TIER_FAILED, 2)


def test_when_the_days_calls_end_within_a_pdf_the_pages_before_count():
    fake = Fake(text=[read(PARAGRAPHS[0]), LimitReached("used up")])
    result = vision_tier(fake, PageRequest(PAGE, answered=scan("one", "two", "three")))
    assert (result.answer, result.calls, result.degraded) == (Answer.DOCUMENT, 1, "only 1 of 3 pages were read")


def test_a_pdf_that_cannot_be_drawn_ends_the_process_that_draws_and_nothing_else():
    async def draw(body):
        async with PdfPictures(body) as pictures:
            return [picture async for picture in pictures.pages()]

    with pytest.raises(BodyUndecodable):
        asyncio.run(draw(b"%PDF-1.7\n" + b"\0" * 1000))
    drawn_pages = asyncio.run(draw(scanned_pdf(drawn(["x"], width=4000, height=300))))
    assert drawn_pages[0].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(600)",
        "import os; os.abort()",
        "import sys; sys.stdout.buffer.write(b'\\xff' * 4); sys.stdout.flush(); import time; time.sleep(600)",
        "import sys; sys.stdout.buffer.write(b'\\0\\0\\0\\x09{\"pages\"'); sys.stdout.flush()",
    ],
)
def test_whatever_a_pdf_does_to_the_process_that_draws_it_no_process_is_left(program, tmp_path):
    child = tmp_path / "child.py"
    child.write_text(program)
    pictures = PdfPictures(b"%PDF-" + b"x" * 300_000, seconds=1.0, child=child)

    async def draw():
        with pytest.raises(BodyUndecodable):
            await pictures.__aenter__()

    asyncio.run(draw())
    assert pictures._child.returncode is not None


def test_without_the_extra_a_scanned_pdf_is_left_alone_and_a_picture_is_read_in_one_piece(monkeypatch):
    real = importlib.util.find_spec
    missing = {"pypdfium2", "PIL"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else real(name))
    result = vision_tier(Fake(), PageRequest(PAGE, answered=scan("one")))
    assert (result.answer, "extra `ocr`" in result.why) == (Answer.TIER_FAILED, True)
    with LoopbackCloudflare({"ai": envelope({"response": "Words."})}) as api:
        settings = Settings(**api.settings)

        async def read_tall_picture():
            calls = CloudflareApi(settings, OwnBudget())
            text = await WorkersAiReader(calls, settings).read(png(drawn(["x"], height=5000)))
            await calls.aclose()
            return text

        text = asyncio.run(read_tall_picture())
    assert (text.calls, text.degraded.startswith("the picture was read in one piece")) == (1, True)


def workshop(settings, stack):
    return Workshop(HttpClient(settings), settings, stack, OwnBudget())


def tiers_of(settings):
    async def make():
        async with AsyncExitStack() as stack:
            shop = workshop(settings, stack)
            stack.push_async_callback(shop.client.aclose)
            return default_tiers(shop)

    return asyncio.run(make())


def names_of(settings):
    return tuple(tier.name for tier in tiers_of(settings))


@pytest.mark.parametrize(
    ("account", "chromium", "ocr", "tiers"),
    [
        (True, True, True, ("plain_http", "browser_markdown", "browser_content", "vision")),
        (True, False, False, ("plain_http", "browser_markdown", "browser_content", "vision")),
        (False, True, True, ("plain_http", "browser_content", "vision")),
        (False, True, False, ("plain_http", "browser_content")),
        (False, False, True, ("plain_http",)),
        (False, False, False, ("plain_http",)),
    ],
)
def test_there_are_the_tiers_that_the_installation_has(account, chromium, ocr, tiers):
    found = Installed("" if account else "no account", "" if chromium else "no Chromium", "" if ocr else "no OCR")
    assert found.tiers == tiers
    assert [bool(found.why_not(tier)) for tier in ("browser_markdown", "browser_content", "vision")] == [
        tier not in tiers for tier in ("browser_markdown", "browser_content", "vision")
    ]


def test_an_account_alone_makes_the_whole_chain_and_half_an_account_makes_none(tmp_path):
    nothing_here = {"chromium": str(tmp_path / "none")}
    account = {"cloudflare_account_id": "a", "cloudflare_api_token": "t"}
    whole = ("plain_http", "browser_markdown", "browser_content", "vision")
    assert names_of(Settings(tiers=(), **nothing_here, **account)) == whole
    assert names_of(Settings(tiers=(), **nothing_here, cloudflare_account_id="a")) == ("plain_http",)
    assert names_of(Settings(tiers=(), **nothing_here)) == ("plain_http",)


def tier_of_an_operator(shop):
    """As KB_TIERS binds it in the test below."""

    class SelfHosted:
        name = "self_hosted"
        budget = shop.budget

        async def fetch(self, request):
            raise NotImplementedError(request)

    return SelfHosted()


def test_an_operator_names_tiers_their_order_and_some_of_their_own():
    own = f"{__name__}:tier_of_an_operator"
    account = {"cloudflare_account_id": "a", "cloudflare_api_token": "t"}
    assert names_of(Settings(tiers=f"vision, {own}, plain_http", **account)) == ("vision", "self_hosted", "plain_http")


@pytest.mark.parametrize(
    ("tiers", "words"),
    [
        ("plain_htp", "it takes plain_http, browser_markdown"),
        ("nowhere.at.all:tier", "cannot be imported"),
        (f"{__name__}:nothing", "cannot be imported"),
        ("os:getcwd", "makes no tier of a Workshop"),
        ("os:path", "makes no tier of a Workshop"),
        ("builtins:repr", "a tier has a name and a fetch"),
        ("browser_markdown", "CLOUDFLARE_ACCOUNT_ID is not set"),
        ("plain_http,vision", "KB_CHROMIUM=/nowhere"),
    ],
)
def test_a_tier_that_is_named_in_vain_is_an_error_that_says_why(tiers, words):
    with pytest.raises(ConfigError, match="KB_TIERS") as caught:
        tiers_of(Settings(tiers=tiers, chromium="/nowhere"))
    assert words in str(caught.value)


def fetch_by_chain(site, api, path="/", budget=None, **options):
    async def run():
        settings = Settings(tiers=(), allow_private=("127.0.0.1",), **(api.settings | options))
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(HttpClient(settings))
            shop = Workshop(client, settings, stack, budget or OwnBudget())
            return await Chain(default_tiers(shop)).fetch(PageRequest(site.url(path)))

    return asyncio.run(run())


def test_a_page_of_scripts_goes_down_the_chain_until_a_tier_reads_it():
    picture = png(drawn(["anything"]))
    answers = {
        "markdown": refusal(422, 6002, "Navigation timeout of 30000 ms exceeded"),
        "content": envelope(SHELL, status=200, title="x"),
        "screenshot": Reply(picture, content_type="image/png"),
        "ai": envelope({"response": "\n\n".join(PARAGRAPHS)}),
    }
    with LoopbackSite({"/": SHELL}) as site, LoopbackCloudflare(answers) as api:
        result = fetch_by_chain(site, api)
    assert [(attempt.tier, attempt.answer) for attempt in result.attempts] == [
        ("plain_http", Answer.JS_SHELL),
        ("browser_markdown", Answer.TIMED_OUT),
        ("browser_content", Answer.JS_SHELL),
        ("vision", Answer.DOCUMENT),
    ]
    assert [attempt.calls for attempt in result.attempts] == [0, 1, 1, 2]
    assert result.best.tier == "vision"
    assert site.count("/") == 1


def test_a_page_that_needs_more_calls_than_the_day_has_waits_for_tomorrow():
    answers = {"markdown": envelope("thin"), "content": envelope(RENDERED)}
    with LoopbackSite({"/": SHELL}) as site, LoopbackCloudflare(answers) as api:
        result = fetch_by_chain(site, api, cloudflare_browser_daily_limit=1)
    assert result.best.answer is Answer.STEPPED_ASIDE
    assert [attempt.answer for attempt in result.attempts][2:] == [Answer.STEPPED_ASIDE] * 2
    assert len(api.requests) == 1


def test_a_rejected_account_costs_a_page_nothing_that_its_first_tier_could_read():
    with LoopbackSite({"/": page("Home", prose("home"))}) as site, LoopbackCloudflare(token="another") as api:
        assert fetch_by_chain(site, api).best.answer is Answer.DOCUMENT
        assert api.requests == []
        site.pages["/"] = page("Home", "Few words.")
        result = fetch_by_chain(site, api)
    assert (result.best.tier, result.best.answer) == ("plain_http", Answer.THIN)
    assert len(api.requests) == 1, "the account that refused one tier is not asked by the next"


@pytest.mark.skipif(bool(why_unavailable(SETTINGS)), reason=str(why_unavailable(SETTINGS)))
def test_without_an_account_the_tiers_of_this_machine_serve():
    assert names_of(Settings(tiers=()))[:2] == ("plain_http", "browser_content")


def test_the_child_that_draws_pdfs_imports_nothing_of_the_project():
    source = Path(__file__).parents[2] / "kb_pipeline/fetch/pdf_pictures_child.py"
    assert "kb_pipeline" not in source.read_text()


def test_a_tier_list_of_one_is_plain_http():
    (tier,) = tiers_of(Settings(tiers="plain_http"))
    assert isinstance(tier, PlainHttp)
