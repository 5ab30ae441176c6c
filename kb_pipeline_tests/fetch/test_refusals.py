"""A refusal whose body breaks off or never comes is that refusal all the same; a redirect is told by its head alone."""

import asyncio

import pytest

from kb_pipeline.errors import ConnectionBroken, TimedOut
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.replies import Raw, Reply
from kb_pipeline_tests.sites.server import LoopbackSite

FAST = {"read_timeout_seconds": 0.5, "page_timeout_seconds": 1.5}
LENGTH = "Content-Length: 900\r\n"


class Breaks:
    """A head, the beginning of a body, and then a reset, silence, or an octet at a time without end."""

    def __init__(self, status, fields=LENGTH, body=b"<p>no", *, how="end"):
        self.status = status
        self._octets = f"HTTP/1.1 {status} No\r\nRetry-After: 30\r\n{fields}\r\n".encode() + body
        self._how = how

    def answer(self, wire, _request):
        wire.send(self._octets)
        if self._how == "reset":
            wire.wait(0.05)
            wire.reset()
        elif self._how == "silence":
            wire.wait(60)
        while self._how == "drip" and wire.wait(0.05):
            wire.send(b"x")
        return self._how == "rest"


BROKEN = {
    "cut": {},
    "reset": {"how": "reset"},
    "stalled": {"how": "silence"},
    "stalled at once": {"how": "silence", "body": b""},
    "without end": {"how": "drip"},
    "cut in a chunk": {"fields": "Transfer-Encoding: chunked\r\n", "body": b"5\r\n<p>no\r\n9\r\n"},
    "in chunks that are none": {"fields": "Transfer-Encoding: chunked\r\n", "body": b"5\r\n<p>no\r\nnoise\r\n"},
}


def get(site, path="/", **settings):
    async def run():
        async with HttpClient(Settings(allow_private=("127.0.0.1",), **settings)) as client:
            return await client.get(site.url(path), max_bytes=1 << 20)

    return asyncio.run(run())


def ask(site, **settings):
    async def run():
        options = Settings(allow_private=("127.0.0.1",), **settings)
        async with HttpClient(options) as client:
            return (await Chain((PlainHttp(client, options),)).fetch(PageRequest(site.url("/")))).best

    return asyncio.run(run())


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_refusal_whose_body_does_not_come_to_its_end_is_that_refusal(status, how):
    with LoopbackSite({"/": Breaks(status, **BROKEN[how])}) as site:
        response = get(site, **FAST)
    assert (response.status, response.headers["retry-after"]) == (status, "30")
    assert response.body.startswith(b"" if how in {"stalled at once", "in chunks that are none"} else b"<p>no")


@pytest.mark.parametrize("coding", ["compress", "br, br, br, br, br"])
def test_a_refusal_in_a_coding_that_is_not_read_is_that_refusal(coding):
    with LoopbackSite({"/": Breaks(403, f"Content-Encoding: {coding}\r\n")}) as site:
        response = get(site)
    assert (response.status, response.body) == (403, b"")


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize(
    ("how", "error"), [("cut", ConnectionBroken), ("stalled", TimedOut), ("without end", TimedOut)]
)
def test_half_a_word_that_a_page_is_gone_is_no_answer(status, how, error):
    with LoopbackSite({"/": Breaks(status, **BROKEN[how])}) as site, pytest.raises(error) as caught:
        get(site, **FAST)
    assert caught.value.began


@pytest.mark.parametrize("how", ["cut", "reset", "stalled"])
@pytest.mark.parametrize(
    ("status", "answer"), [(403, Answer.REFUSED), (429, Answer.RATE_LIMITED), (503, Answer.SERVER_ERROR)]
)
def test_such_a_refusal_is_judged_by_its_status_and_names_its_time(how, status, answer):
    with LoopbackSite({"/": Breaks(status, **BROKEN[how])}) as site:
        best = ask(site, **FAST)
        assert len(site.requests) == 1
    assert (best.answer, best.retry_after) == (answer, 30)


def test_such_a_refusal_is_asked_once_more_under_our_own_name():
    page = Reply("<p>" + "Words that make a page. " * 40)
    shield = Raw(b"HTTP/1.1 403 No\r\nContent-Length: 900\r\n\r\nno")
    with LoopbackSite({"/": [shield, page]}) as site:
        assert ask(site).answer is Answer.DOCUMENT
        assert [request.user_agent.partition("/")[0] for request in site.requests] == ["Mozilla", "KbPipelineBot"]


REDIRECTS = {
    "a body that never comes": (LENGTH, b"", "silence"),
    "a body that is cut": (LENGTH, b"half", "end"),
    "a body that is reset": (LENGTH, b"half", "reset"),
    "a body that drips": (LENGTH, b"half", "drip"),
    "chunks that never come": ("Transfer-Encoding: chunked\r\n", b"", "silence"),
    "chunks that are none": ("Transfer-Encoding: chunked\r\n", b"noise\r\n", "end"),
    "a body that is large": ("Content-Length: 9999999\r\n", b"x" * 99_999, "silence"),
    "a body without a length": ("", b"half", "silence"),
}


@pytest.mark.parametrize("how", REDIRECTS)
def test_a_redirect_leads_on_whatever_becomes_of_its_body(how):
    fields, body, then = REDIRECTS[how]
    with LoopbackSite({"/": Breaks(302, f"Location: /there\r\n{fields}", body, how=then), "/there": "there"}) as site:
        assert get(site).body == b"there"
        assert site.connections_accepted == 2


@pytest.mark.parametrize("length", ["", "Content-Length: 10\r\n"])
def test_a_redirect_whose_chunks_never_end_is_not_read_to_its_end(length):
    sent = 0

    class Endless:
        status = 302

        def answer(self, wire, _request):
            nonlocal sent
            wire.send(f"HTTP/1.1 302 On\r\nLocation: /there\r\n{length}Transfer-Encoding: chunked\r\n\r\n".encode())
            while wire.wait(0):
                wire.send(b"400\r\n" + b"x" * 0x400 + b"\r\n")
                sent += 0x400
            return False

    with LoopbackSite({"/": Endless(), "/there": "there"}) as site:
        assert get(site).body == b"there"
    assert sent < 64 << 20, "what the system's buffers take, and no more"


@pytest.mark.parametrize(
    ("fields", "body"),
    [
        ("Content-Length: 0\r\n", b""),
        ("Content-Length: 5\r\n", b"moved"),
        ("Transfer-Encoding: chunked\r\n", b"5\r\nmoved\r\n0\r\n\r\n"),
    ],
)
def test_a_redirect_whose_body_is_small_leads_on_over_the_same_connection(fields, body):
    first = Breaks(302, f"Location: /there\r\n{fields}", body, how="rest")
    with LoopbackSite({"/": first, "/there": "there"}) as site:
        assert get(site).body == b"there"
        assert site.connections_accepted == 1


def test_the_pages_own_clock_runs_on_while_the_body_of_a_redirect_is_waited_for():
    pages = {f"/{n}": Breaks(302, f"Location: /{n + 1}\r\n{LENGTH}", b"", how="silence") for n in range(9)}
    with LoopbackSite(pages) as site, pytest.raises(TimedOut, match="no complete answer"):
        get(site, "/0", page_timeout_seconds=1.5)
