"""The first tier over real sockets: which name it gives, what it makes of PDFs, and what an owner reads of it."""

import asyncio
import io

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from kb_pipeline.core.fetch_policy import ANY_PAGE, FetchPolicy
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.outcome import judge
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.model import Outcome
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.proxies import HttpProxy
from kb_pipeline_tests.sites.replies import Raw, Reply, Reset, Stall, WrongLength, encoded, page, prose, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

GOOD = page("Pumps", prose("pumps"))
BOT = "KbPipelineBot/1.0"


def ask(site, path="/", *, policy=ANY_PAGE, request=None, **options):
    async def run():
        settings = Settings(allow_private=("127.0.0.1",), **options)
        async with HttpClient(settings) as client:
            tier = PlainHttp(client, settings)
            return await Chain((tier,)).fetch(request or PageRequest(site.url(path), policy=policy))

    return asyncio.run(run())


def names(site):
    return [request.user_agent.partition(" ")[0] for request in site.requests]


def test_a_page_is_asked_for_once_as_a_browser_would():
    with LoopbackSite({"/": GOOD}) as site:
        result = ask(site)
        assert names(site) == ["Mozilla/5.0"]
        assert {"accept", "accept-language", "accept-encoding"} <= site.requests[0].headers.keys()
    assert result.best.answer is Answer.DOCUMENT


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (WrongLength(b"<p>half", 900), Answer.BROKE_OFF),
        (Reset(b"<p>half"), Answer.BROKE_OFF),
        (Stall(after_headers=True), Answer.BROKE_OFF),
        (Reply("<p>a part", status=206, headers={"Content-Range": "bytes 0-7/9000"}), Answer.BROKE_OFF),
        (Reset(), Answer.BROKEN),
        (Stall(), Answer.TIMED_OUT),
    ],
)
def test_a_page_that_stops_in_its_middle_is_told_from_one_that_never_began(reply, answer):
    with LoopbackSite({"/": redirect("/page"), "/page": reply}) as site:
        assert ask(site, page_timeout_seconds=2, read_timeout_seconds=0.5).best.answer is answer


@pytest.mark.parametrize("status", [403, 429])
def test_a_refusal_is_asked_once_more_under_our_own_name(status):
    def shy(request):
        return GOOD if request.user_agent.startswith(BOT) else Reply("no", status=status)

    with LoopbackSite({"/": shy}) as site:
        result = ask(site)
        assert names(site) == ["Mozilla/5.0", BOT]
    assert (result.best.answer, result.best.requests) == (Answer.DOCUMENT, 2)


@pytest.mark.parametrize("status", [401, 404, 410, 418, 500, 503])
def test_no_other_status_is_asked_twice(status):
    with LoopbackSite({"/": Reply("no", status=status)}) as site:
        ask(site)
        assert names(site) == ["Mozilla/5.0"]


def test_a_429_that_names_a_time_is_not_answered_with_another_request():
    with LoopbackSite({"/": Reply("no", status=429, headers={"Retry-After": "30"})}) as site:
        result = ask(site)
        assert len(site.requests) == 1
    assert result.best.retry_after == 30


@pytest.mark.parametrize(
    ("policy", "name"),
    [
        (FetchPolicy(fallback_enabled=False), "Mozilla/5.0"),
        (FetchPolicy(user_agent="Reader/2"), "Reader/2"),
        (FetchPolicy(user_agent="Reader/2", user_agent_mode="bot"), "Reader/2"),
        (FetchPolicy(user_agent_mode="bot"), BOT),
        (FetchPolicy(user_agent_mode="browser"), "Mozilla/5.0"),
    ],
)
def test_a_policy_that_names_the_agent_or_wants_no_fallback_is_asked_once(policy, name):
    with LoopbackSite({"/": Reply("no", status=403)}) as site:
        ask(site, policy=policy)
        assert names(site) == [name]


def test_when_both_names_are_refused_the_first_answer_stands_and_both_are_counted():
    with LoopbackSite({"/": [Reply("no", status=403), Reply("slow down", status=429)]}) as site:
        result = ask(site)
    assert (result.best.answer, result.best.requests, result.best.why) == (Answer.REFUSED, 2, "status 403")


def test_each_name_goes_directly_and_then_by_the_proxy():
    with HttpProxy() as proxy, LoopbackSite({"/": Reply("no", status=403)}) as site:
        result = ask(site, proxy=proxy.url(), proxy_mode="fallback")
        assert names(site) == ["Mozilla/5.0", "Mozilla/5.0", BOT, BOT]
        assert len(proxy.asked) in {1, 2}, "the second may use the first one's connection"
    assert result.best.requests == 4


def test_credentials_and_validators_are_sent_and_a_304_is_believed():
    policy = FetchPolicy(basic_auth=("u", "p"))
    with LoopbackSite({"/": Reply("x", etag='"1"')}) as site:
        result = ask(site, request=PageRequest(site.url("/"), etag='"1"', policy=policy))
        assert site.requests[0].headers["authorization"] == "Basic dTpw"
    assert result.best.answer is Answer.NOT_MODIFIED


def pdf(*pages, encrypt=None):
    file = io.BytesIO()
    canvas = Canvas(file, encrypt=encrypt)
    for lines in pages:
        for number, text in enumerate(lines):
            canvas.drawString(72, 700 - 20 * number, text)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def scanned():
    file = io.BytesIO()
    Image.new("RGB", (60, 60), "white").save(file, "PDF")
    return file.getvalue()


MANUAL = pdf([f"Line {number} of the manual tells how the pump is oiled." for number in range(12)])


@pytest.mark.parametrize(
    "answer",
    [
        Reply(MANUAL, content_type="application/pdf"),
        Reply(MANUAL, content_type="application/octet-stream"),
        Reply(MANUAL, content_type="text/html"),
        Reply(MANUAL, content_type=None),
        Reply(b"\xef\xbb\xbf\r\n" + MANUAL, content_type="application/x-pdf"),
        encoded(MANUAL, "gzip", content_type="application/pdf"),
    ],
)
def test_a_pdf_is_known_by_its_type_or_its_first_bytes_behind_a_redirect_too(answer):
    with LoopbackSite({"/": redirect("/download?id=7"), "/download?id=7": answer}) as site:
        result = ask(site)
        assert result.best.response.final_url == site.url("/download?id=7")
    assert result.best.answer is Answer.DOCUMENT
    assert "how the pump is oiled" in result.best.text.markdown


UNREAD = [
    (Reply(pdf(["x"], encrypt="secret"), content_type="application/pdf"), Outcome.THIN, "encrypted and asks for a"),
    (Reply(scanned(), content_type="application/pdf"), Outcome.THIN, "are pictures without text (scanned)"),
    (Reply(pdf([]), content_type="application/pdf"), Outcome.THIN, "hold no text"),
    (Reply(MANUAL[:200], content_type="application/pdf"), Outcome.THIN, "the PDF is broken"),
    (Reply(b"%PDF-1.7\nnothing", content_type="text/html"), Outcome.THIN, "the PDF is broken"),
    (
        Reply(b"\x01\x02junk" * 99, content_type="application/pdf"),
        Outcome.THIN,
        "called a PDF, and does not begin like",
    ),
    (Reply(MANUAL + b"\0" * 300_000, content_type="application/pdf"), Outcome.UNREACHABLE, "larger than 200,000 bytes"),
    (Reply(b"\x89PNG\r\n\x1a\n" + b"\0" * 99, content_type="image/png"), Outcome.THIN, "this is image/png, no page"),
    (Reply(b"\0" * 9_999 + b"x", content_type="video/" + "x" * 9_999), Outcome.THIN, "xxx, no page"),
]


@pytest.mark.parametrize(("answer", "outcome", "words"), UNREAD)
def test_why_a_file_gives_no_text_is_for_its_owner_to_read(answer, outcome, words):
    with LoopbackSite({"/": answer}) as site:
        result = ask(site, max_pdf_bytes=200_000)
    judgement = judge(result)
    assert judgement.outcome is outcome
    assert words in judgement.reason
    assert words in str(result.best.record()["why"]), "what the ledger keeps"
    assert len(judgement.reason) < 300


def test_every_reason_is_another():
    assert len({words for _, _, words in UNREAD}) == len(UNREAD) - 1, "the two broken ones read alike"


def test_a_web_page_that_is_called_a_pdf_is_read_as_what_it_is():
    with LoopbackSite({"/": Reply(GOOD.body, content_type="application/pdf")}) as site:
        assert ask(site).best.answer is Answer.DOCUMENT


@pytest.mark.parametrize("size", [1, 5])
def test_the_limit_of_a_file_is_that_of_its_kind(size):
    body = (GOOD.body + "<p>more</p>" * 1000 * size).encode()
    with LoopbackSite({"/": Reply(body)}) as site:
        answer = ask(site, max_html_bytes=30_000, max_pdf_bytes=200_000).best.answer
    assert answer is (Answer.DOCUMENT if size == 1 else Answer.TOO_LARGE)


def test_a_reason_holds_little_of_what_a_stranger_sent():
    noise = Raw(b"HTTP/1.1 " + b"\xff<script>" * 2000 + b"\r\n\r\n")
    away, loop = redirect("http://10.0.0.1/" + "a" * 9_000), redirect("/?" + "a" * 9_000)
    with LoopbackSite({"/": noise, "/away": away}) as site:
        site.pages["/?" + "a" * 9_000] = loop
        for path in ("/", "/away", "/?" + "a" * 9_000):
            assert len(ask(site, path).best.why) < 400


def test_a_site_that_refuses_a_page_is_not_believed_when_it_then_denies_that_there_is_one():
    def shield(request):
        return Reply("", status=404 if "Bot/" in request.headers["user-agent"] else 403)

    with LoopbackSite({"/page": shield}) as site:
        best = ask(site, "/page").best
    assert (best.answer, best.requests) == (Answer.REFUSED, 2)
