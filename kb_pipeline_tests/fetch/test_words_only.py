"""A picture's words, and Markdown, do not show what can be pressed, nor the status a page came with: no wall and no
refusal is read as the page behind it."""

from __future__ import annotations

import asyncio

import pytest

from kb_pipeline.fetch.answers import BLOCKED, WALLED, Answer, PageRequest, TierResult
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.rendering import PictureText, Rendered
from kb_pipeline.fetch.tiers.browser_markdown import BrowserMarkdown
from kb_pipeline.fetch.tiers.vision import Vision
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.scripted import Scripted

URL = "https://example.com/page"
COOKIES = (
    "We value your privacy",
    (
        "We and our 812 partners store and access information on your device, such as cookies, and process personal"
        " data, such as unique identifiers, for personalised advertising and content, and audience research."
    ),
    "With your permission we and our partners may use precise geolocation data.",
    "Accept all",
    "Reject all",
)
AGE = (
    "Are you over 18?",
    (
        "This website contains information about alcoholic beverages and is meant for adults only. By entering you"
        " confirm that you are of legal drinking age in the country where you live and that you accept our terms."
    ),
    "Yes, enter",
    "No, leave",
)
LOGIN = (
    "Log in",
    (
        "Please sign in to your account to see this page. Ask the administrator of your organisation for an invitation"
        " if you have none yet; accounts are made within a working day, and the password is sent by mail."
    ),
    "Email",
    "Password",
    "Log in",
)
ARTICLE = (
    "How harbours are lit",
    "The lamps of a harbour are lit from the pier outwards, one for each mooring, and put out in that order at dawn.",
    "Older harbours kept a keeper for each lamp; the names of some of them are still to be read on walls of the sheds.",
)


class Shown:
    """A renderer and a reader of pictures that bring what they are told."""

    calls_a_picture = 1

    def __init__(self, paragraphs, status):
        self.paragraphs, self.status, self.asked = paragraphs, status, 0

    async def screenshot(self, request):
        self.asked += 1
        return Rendered(b"picture", request.url, self.status, title=self.paragraphs[0], calls=1)

    async def markdown(self, request):
        self.asked += 1
        title, *rest = self.paragraphs
        text = "\n\n".join([f"# {title}", *rest])
        return Rendered(text.encode(), request.url, self.status, title=title, calls=1)

    async def read(self, _picture):
        return PictureText(self.paragraphs)


def tier(kind, shown):
    settings = Settings()
    return Vision(shown, shown, settings) if kind == "vision" else BrowserMarkdown(shown, settings)


def fetch(first, kind, shown):
    chain = Chain([Scripted("plain_http", TierResult("plain_http", first)), tier(kind, shown)])
    return asyncio.run(chain.fetch(PageRequest(URL)))


KINDS = pytest.mark.parametrize("kind", ["vision", "browser_markdown"])


@KINDS
@pytest.mark.parametrize("wall", sorted(WALLED))
def test_no_tier_that_keeps_words_alone_is_asked_behind_a_wall(kind, wall):
    shown = Shown(ARTICLE, 200)
    result = fetch(wall, kind, shown)
    assert result.best.answer is wall
    assert result.attempts[-1].answer is Answer.PASSED_OVER
    assert shown.asked == 0


@KINDS
@pytest.mark.parametrize("words", [COOKIES, AGE, LOGIN], ids=["cookies", "age", "login"])
def test_words_that_could_be_those_of_a_wall_are_no_page(kind, words):
    result = fetch(Answer.JS_SHELL, kind, Shown(words, 200))
    assert result.best.text is None
    assert result.attempts[-1].answer in {Answer.THIN, *WALLED, Answer.LOGIN_WALL}


@KINDS
def test_the_words_of_a_page_are_a_page(kind):
    assert fetch(Answer.JS_SHELL, kind, Shown(ARTICLE, 200)).best.answer is Answer.DOCUMENT


@KINDS
@pytest.mark.parametrize("refusal", sorted(BLOCKED - WALLED))
def test_after_a_refusal_a_page_of_an_unknown_status_counts_for_nothing(kind, refusal):
    result = fetch(refusal, kind, Shown(ARTICLE, None))
    assert result.best.answer is refusal
    assert "under which status" in result.attempts[-1].why
    assert result.attempts[-1].calls == 1


@KINDS
def test_after_a_refusal_a_page_that_a_browser_was_served_counts(kind):
    assert fetch(Answer.REFUSED, kind, Shown(ARTICLE, 200)).best.answer is Answer.DOCUMENT
    assert fetch(Answer.REFUSED, kind, Shown(ARTICLE, 403)).best.answer is Answer.REFUSED
