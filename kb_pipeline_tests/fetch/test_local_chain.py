"""The tiers of this machine together: a real Chromium renders, RapidOCR reads."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.budget import OwnBudget
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.tiers import Workshop, default_tiers
from kb_pipeline.fetch.tiers.installed import installed
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.drawn import drawn, scanned_pdf
from kb_pipeline_tests.sites.replies import Reply
from kb_pipeline_tests.sites.server import LoopbackSite

MISSING = installed(Settings(tiers=())).why_not("vision")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

LINES = [
    "The northern pier is closed until the end of April",
    "while the timber of its deck is being replaced.",
    "Ferries leave from the southern pier instead, at the",
    "times that are printed on every ticket. Bicycles may",
    "be taken along at no charge before nine and after four.",
]
CANVAS = f"""<!doctype html><html><head><title>Pier notice</title></head>
<body><canvas id=c width=760 height=260></canvas>
<script>
const pen = document.getElementById("c").getContext("2d");
pen.font = "24px sans-serif";
{LINES!r}.forEach((line, row) => pen.fillText(line, 20, 40 + 40 * row));
</script></body></html>"""


def fetch(site, path):
    async def run():
        settings = Settings(tiers=(), allow_private=("127.0.0.1",))
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(HttpClient(settings))
            chain = Chain(default_tiers(Workshop(client, settings, stack, OwnBudget())))
            return await chain.fetch(PageRequest(site.url(path)))

    return asyncio.run(run())


def words(text):
    return " ".join(text.replace("-", " ").split()).lower()


def test_a_page_that_is_drawn_on_a_canvas_is_read_from_its_picture():
    with LoopbackSite({"/": CANVAS}) as site:
        result = fetch(site, "/")
    assert [attempt.tier for attempt in result.attempts] == ["plain_http", "browser_content", "vision"]
    assert (result.best.tier, result.best.answer, result.best.text.title) == ("vision", Answer.DOCUMENT, "Pier notice")
    read = words(result.best.text.markdown)
    assert "bicycles may be taken along at no charge" in read
    assert "northern pier is closed until the end of april while the timber" in read


def test_a_scanned_pdf_of_a_site_is_read_without_a_browser():
    scan = scanned_pdf(drawn(LINES, width=900, height=400, size=26, pitch=44))
    with LoopbackSite({"/notice.pdf": Reply(scan, content_type="application/pdf")}) as site:
        result = fetch(site, "/notice.pdf")
        asked = site.count("/notice.pdf")
    assert [attempt.answer for attempt in result.attempts] == [Answer.UNREADABLE, Answer.PASSED_OVER, Answer.DOCUMENT]
    assert asked == 1
    assert "at no charge before nine" in words(result.best.text.markdown)
