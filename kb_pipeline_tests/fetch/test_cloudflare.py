"""The client of Cloudflare's API against a server that speaks it, and against every way it can fail."""

import asyncio
import json
import logging
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
import structlog

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.errors import (
    BodyTooLarge,
    ConnectionBroken,
    GuardRefused,
    LimitReached,
    TierUnavailable,
    TimedOut,
)
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.budget import BROWSER_CALLS, VISION_CALLS, OwnBudget
from kb_pipeline.fetch.cloudflare import CloudflareRenderer, page_options, why_no_account
from kb_pipeline.fetch.cloudflare_account import Service, account_of
from kb_pipeline.fetch.cloudflare_api import CloudflareApi
from kb_pipeline.fetch.cloudflare_vision import PROMPT, WorkersAiReader, transcribed
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.hops import HopRefused
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.drawn import drawn_page
from kb_pipeline_tests.sites.cloudflare import ACCOUNT, JSON, TOKEN, LoopbackCloudflare, envelope, refusal
from kb_pipeline_tests.sites.replies import Drip, Endless, Raw, Reply, Reset, Stall, WrongLength, bomb

PAGE = "https://site.example/page"
HTML = "<!doctype html><html><head><title>A page</title></head><body><p>words</p></body></html>"
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"


async def public(_host, _port):
    return ["93.184.215.14"]


class Client:
    """A renderer, a reader and the budget that both count on."""

    def __init__(self, api, *, resolver=public, on_redirect=None, turns=None, now=None, **options):
        self.settings = Settings(**(api.settings | options))
        self.budget = OwnBudget()
        self.api = CloudflareApi(self.settings, self.budget, **({} if now is None else {"now": now}))
        guard = Guard(resolver=resolver)
        self.renderer = CloudflareRenderer(self.api, self.settings, guard, on_redirect=on_redirect, turns=turns)
        self.reader = WorkersAiReader(self.api, self.settings)

    def made(self, name=BROWSER_CALLS):
        return sum(count for (_day, counted), count in self.budget._made.items() if counted == name)


def use(api, work, **options):
    """Run `work(client)` with a client of this server, and return what it returns."""

    async def run():
        client = Client(api, **options)
        try:
            return await work(client)
        finally:
            await client.api.aclose()

    return asyncio.run(run())


def content(api, request=None, **options):
    return use(api, lambda client: client.renderer.content(request or PageRequest(PAGE)), **options)


def failing(api, error, work=None, **options):
    """The client after `work` has raised `error`, and the error."""

    async def run(client):
        with pytest.raises(error) as caught:
            await (work(client) if work else client.renderer.content(PageRequest(PAGE)))
        return client, caught.value

    return use(api, run, **options)


def test_content_comes_as_the_browser_rendered_it_with_the_status_of_the_page():
    with LoopbackCloudflare({"content": envelope(HTML, status=203, title="A page")}) as api:
        rendered = content(api)
    assert (rendered.body.decode(), rendered.status, rendered.title) == (HTML, 203, "A page")
    assert (rendered.final_url, rendered.calls, rendered.requests) == (PAGE, 1, 1)
    assert rendered.wire_bytes > len(HTML)


def test_markdown_and_screenshots_come_from_their_own_endpoints():
    with LoopbackCloudflare(
        {"markdown": envelope("# Title"), "screenshot": Reply(PNG, content_type="image/png")}
    ) as api:

        async def both(client):
            request = PageRequest(PAGE)
            return await client.renderer.markdown(request), await client.renderer.screenshot(request), client.made()

        markdown, picture, made = use(api, both)
    assert (markdown.body, picture.body, made) == (b"# Title", PNG, 2)
    assert [request.endpoint for request in api.requests] == ["markdown", "screenshot"]
    assert api.requests[1].body["screenshotOptions"] == {"fullPage": True, "type": "png"}


def test_a_page_is_asked_for_with_the_options_of_its_policy():
    policy = FetchPolicy(
        wait_until="networkidle",
        wait_for="#app > main",
        delay_before_return_html=1.5,
        page_timeout_ms=90_000,
        locale="de-AT",
        user_agent_mode="bot",
        cookies=(("consent", "yes"),),
    )
    settings = Settings(app_name="Acme")
    assert page_options(PageRequest(PAGE, policy=policy), settings) == {
        "url": PAGE,
        "userAgent": settings.bot_user_agent,
        "gotoOptions": {"waitUntil": "networkidle0", "timeout": 60_000},
        "bestAttempt": True,
        "waitForSelector": {"selector": "#app > main", "timeout": 60_000},
        "waitForTimeout": 1500,
        "setExtraHTTPHeaders": {"Accept-Language": "de-AT,de;q=0.9"},
        "cookies": [{"name": "consent", "value": "yes", "url": PAGE, "secure": True}],
    }


@pytest.mark.parametrize("policy", [FetchPolicy(headers=(("X-Key", "k"),)), FetchPolicy(basic_auth=("me", "secret"))])
def test_a_page_whose_secrets_would_go_to_every_host_it_loads_from_is_not_handed_over(policy):
    with LoopbackCloudflare({"content": envelope(HTML)}) as api:
        client, error = failing(
            api, TierUnavailable, lambda client: client.renderer.content(PageRequest(PAGE, policy=policy))
        )
    assert "not handed to Cloudflare" in str(error)
    assert (api.requests, client.made()) == ([], 0)


@pytest.mark.parametrize("address", ["10.0.0.7", "169.254.169.254", "::1"])
def test_an_address_that_is_not_public_never_reaches_cloudflare(address):
    async def private(_host, _port):
        return [address]

    with LoopbackCloudflare({"content": envelope(HTML)}) as api:
        client, _ = failing(api, GuardRefused, resolver=private)
    assert (api.requests, client.made()) == ([], 0)


def test_a_page_of_the_operators_own_network_is_not_handed_to_cloudflare_itself():
    settings = Settings(cloudflare_account_id=ACCOUNT, cloudflare_api_token=TOKEN)

    async def run():
        renderer = CloudflareRenderer(CloudflareApi(settings, OwnBudget()), settings, Guard(["192.168.1.9"]))
        with pytest.raises(TierUnavailable, match="a network of your own"):
            await renderer.content(PageRequest("http://192.168.1.9/wiki"))

    asyncio.run(run())


def test_an_answer_that_names_another_address_is_asked_about_as_a_redirect():
    hops = []

    async def on_redirect(source, target):
        hops.append((source, target))
        if "elsewhere" in target:
            raise HopRefused(Answer.OFF_SITE, "redirects to another site")

    answers = [envelope(HTML, url="https://site.example/new"), envelope(HTML, url="https://elsewhere.example/")]
    with LoopbackCloudflare({"content": answers}) as api:
        assert content(api, on_redirect=on_redirect).final_url == "https://site.example/new"
        _, error = failing(api, HopRefused, on_redirect=on_redirect)
    assert error.calls == 1, "the call was made, whatever became of it"
    assert hops == [(PAGE, "https://site.example/new"), (PAGE, "https://elsewhere.example/")]


def test_a_page_waits_for_its_turn_at_the_host_which_hears_of_a_429():
    told = []

    class Turn:
        def answered(self, status, _headers, _seconds):
            told.append(status)

    class Turns:
        @asynccontextmanager
        async def turn(self, url):
            told.append(url)
            yield Turn()

    with LoopbackCloudflare({"content": [envelope(HTML, status=200), envelope(HTML, status=429)]}) as api:
        content(api, turns=Turns())
        content(api, turns=Turns())
    assert told == [PAGE, PAGE, 429]


@pytest.mark.parametrize(
    "answer",
    [
        refusal(401, 10000, "Authentication error"),
        refusal(403, 9109, "Unauthorized to access requested resource"),
        refusal(400, 6003, "Invalid request headers"),
        refusal(404, 7003, "Could not route to /accounts/x, perhaps your object identifier is invalid?"),
        refusal(403, None, "no"),
    ],
)
def test_a_rejected_account_is_said_once_and_not_asked_again(answer):
    async def ten_pages(client):
        for _ in range(10):
            with pytest.raises(TierUnavailable):
                await client.renderer.content(PageRequest(PAGE))
        return client.made()

    with LoopbackCloudflare({"content": answer}) as api, structlog.testing.capture_logs() as logs:
        assert use(api, ten_pages) == 1
    assert api.count("content") == 1
    assert [line["event"] for line in logs if line["log_level"] == "warning"] == ["cloudflare.left_alone"]


def test_another_token_is_tried_at_once():
    with LoopbackCloudflare({"content": envelope(HTML)}, token="the-new-one") as api:
        failing(api, TierUnavailable)
        assert content(api, cloudflare_api_token="the-new-one").body == HTML.encode()


def test_a_rate_limit_that_names_a_short_time_is_waited_out_and_counted_once():
    answers = [refusal(429, 2001, "Rate limit exceeded", Retry_After="1"), envelope(HTML)]
    with LoopbackCloudflare({"content": answers}) as api:

        async def run(client):
            rendered = await client.renderer.content(PageRequest(PAGE))
            return rendered, client.made()

        rendered, made = use(api, run)
    first, second = api.requests
    assert second.at - first.at >= 1.0
    assert (rendered.calls, made) == (1, 1)


def test_who_waits_for_a_slot_already_obeys_the_retry_after_too():
    started = []

    async def request(service):
        await service.turn(0.1)
        started.append(time.monotonic())

    async def one_is_told_to_wait():
        service = Service("of this test")
        await service.turn(0.1)
        others = [asyncio.create_task(request(service)) for _ in range(3)]
        await asyncio.sleep(0)
        told = time.monotonic()
        service.hold(0.4)
        await asyncio.gather(*others)
        return told

    told = asyncio.run(one_is_told_to_wait())
    assert len(started) == 3
    assert min(started) - told >= 0.4


def test_a_rate_limit_that_takes_long_makes_the_tier_step_aside_and_leaves_the_account_alone():
    with LoopbackCloudflare({"content": refusal(429, None, "Rate limit exceeded", Retry_After="300")}) as api:

        async def twice(client):
            for _ in range(2):
                with pytest.raises(TierUnavailable, match="fewer requests"):
                    await client.renderer.content(PageRequest(PAGE))

        use(api, twice)
    assert api.count("content") == 1


def test_requests_are_evenly_spaced_whoever_makes_them():
    started = []

    async def request(service):
        await service.turn(0.05)
        started.append(time.monotonic())

    async def two_chains():
        settings = Settings(cloudflare_account_id="of-this-test", cloudflare_api_token=TOKEN)
        services = [account_of(settings).browser, account_of(settings).browser]
        await asyncio.gather(*(request(service) for service in services * 3))

    before = time.monotonic()
    asyncio.run(two_chains())
    assert all(at - before >= number * 0.05 for number, at in enumerate(sorted(started)))


@pytest.mark.parametrize("wording", ["Browser time limit exceeded for today", "You have used up your daily allocation"])
def test_the_days_browser_time_of_the_plan_used_up_is_a_limit_until_tomorrow(wording):
    message = f"Unable to create new browser: code: 429: message: {wording}"
    evening = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    with LoopbackCloudflare({"content": [refusal(429, None, message, Retry_After="20"), envelope(HTML)]}) as api:

        async def over_midnight(client):
            for _ in range(3):
                with pytest.raises(LimitReached):
                    await client.renderer.content(PageRequest(PAGE))
            await asyncio.sleep(1.1)
            return await client.renderer.content(PageRequest(PAGE))

        assert use(api, over_midnight, now=lambda: evening).body == HTML.encode()
    assert api.count("content") == 2


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        (5005, "net::ERR_NAME_NOT_RESOLVED at https://site.example/", ConnectionBroken),
        (5006, "net::ERR_CONNECTION_RESET", ConnectionBroken),
        (5002, "net::ERR_CONNECTION_TIMED_OUT", TimedOut),
        (6002, "TimeoutError: Navigation timeout of 30000 ms exceeded", TimedOut),
        (None, "Waiting for selector `#x` failed: Waiting failed: 1000ms exceeded", TimedOut),
        (None, "Page crashed!", ConnectionBroken),
    ],
)
def test_a_page_that_could_not_be_rendered_says_so_of_the_page_and_not_of_the_account(code, message, error):
    with LoopbackCloudflare({"content": refusal(422, code, message)}) as api:

        async def seven(client):
            for _ in range(7):
                with pytest.raises(error) as caught:
                    await client.renderer.content(PageRequest(PAGE))
                assert caught.value.calls == 1

        use(api, seven)
    assert api.count("content") == 7, "the next page is asked for all the same"


@pytest.mark.parametrize(
    "answer",
    [
        refusal(500, 2000, "Internal Error"),
        refusal(503, None, "No browser available. Please try again in a few minutes."),
        Reply("<html>502 Bad Gateway</html>", status=502),
        Reply("{not json", content_type=JSON),
        Reply("[" * 100_000, content_type=JSON),
        Reply('["a list"]', content_type=JSON),
        Reply("", content_type=JSON),
        Reply('{"success": true}', content_type=JSON),
        Reply('{"success": true, "result": {"html": "x"}}', content_type=JSON),
        Reply('{"success": false, "errors": "odd"}', content_type=JSON),
        refusal(200, None, "failed although the status says 200"),
        Reply("moved", status=302, headers={"Location": "https://elsewhere.example/"}),
        WrongLength(b'{"success": tr', 5000),
        Reset(),
        Raw(b"SSH-2.0-OpenSSH_9.6\r\n"),
        Reply(b"\x1f\x8b damaged", headers={"Content-Encoding": "gzip"}),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_whatever_else_goes_wrong_at_cloudflare_is_the_tiers_fault(answer):
    with LoopbackCloudflare({"content": answer}) as api:
        client, error = failing(api, TierUnavailable)
    assert (client.made(), error.calls) == (1, 1)
    assert len(str(error)) < 400


def test_a_service_that_keeps_failing_is_left_alone_for_a_while():
    with LoopbackCloudflare({"content": refusal(500, 2000, "Internal Error")}) as api:

        async def thirty(client):
            for _ in range(30):
                with pytest.raises(TierUnavailable):
                    await client.renderer.content(PageRequest(PAGE))

        use(api, thirty)
    assert api.count("content") == 5


@pytest.mark.parametrize("answer", [Stall(), Stall(after_headers=True), Drip(interval=0.05)])
def test_an_answer_that_does_not_come_in_time_ends_by_the_limit(answer):
    with LoopbackCloudflare({"content": answer}) as api:
        failing(api, TimedOut, render_timeout_seconds=0.3)


@pytest.mark.parametrize("answer", [Endless(chunked=True), Endless(), bomb("gzip", 64 << 20)])
def test_an_answer_without_end_ends_by_its_size(answer):
    with LoopbackCloudflare({"content": answer}) as api:
        failing(api, BodyTooLarge, max_html_bytes=1 << 20)


def test_nobody_at_the_address_is_the_tiers_fault():
    with LoopbackCloudflare() as api:
        options = api.settings
    client = Settings(**options)

    async def run():
        calls = CloudflareApi(client, OwnBudget())
        with pytest.raises(TierUnavailable, match="could not be reached"):
            await CloudflareRenderer(calls, client, Guard(resolver=public)).content(PageRequest(PAGE))
        await calls.aclose()

    asyncio.run(run())


def test_the_days_cap_is_shared_by_the_browser_endpoints_and_apart_from_reading():
    answers = {"content": envelope(HTML), "markdown": envelope("x"), "ai": envelope({"response": "read"})}
    with LoopbackCloudflare(answers) as api:

        async def run(client):
            request = PageRequest(PAGE)
            await client.renderer.content(request)
            await client.renderer.markdown(request)
            with pytest.raises(LimitReached, match="2 calls of Browser Rendering a day"):
                await client.renderer.screenshot(request)
            await client.reader.read(drawn_page(["some words"]))
            return client.made(), client.made(VISION_CALLS)

        assert use(api, run, cloudflare_browser_daily_limit=2, cloudflare_vision_daily_limit=1) == (2, 1)
    assert len(api.requests) == 3


@pytest.mark.parametrize("answer", [refusal(401, 10000, f"bad token {TOKEN}"), Reply(f"you sent Bearer {TOKEN}", 500)])
def test_the_token_is_in_no_log_line_error_or_repr(answer, caplog):
    caplog.set_level(logging.DEBUG)
    with LoopbackCloudflare({"content": answer}) as api, structlog.testing.capture_logs() as logs:
        client, error = failing(api, TierUnavailable)
    everything = [
        caplog.text,
        json.dumps(logs, default=str),
        repr(error),
        str(error.__cause__),
        repr(error.__context__),
    ]
    everything += [repr(client.settings), repr(client.api.__dict__), repr(account_of(client.settings))]
    assert not [text for text in everything if TOKEN in text]


@pytest.mark.parametrize("token", ["two\nlines", "with blank", "gr\u00fc\u00df", " "])
def test_a_token_that_no_header_can_hold_is_refused_without_being_quoted(token):
    with LoopbackCloudflare() as api:
        _, error = failing(api, TierUnavailable, cloudflare_api_token=token)
    assert "CLOUDFLARE_API_TOKEN" in str(error)
    assert token.strip() in {"", *str(error).split("never")} or token not in str(error)
    assert api.requests == []


def test_without_an_account_it_is_said_what_is_missing():
    assert why_no_account(Settings()) == "CLOUDFLARE_ACCOUNT_ID is not set"
    assert why_no_account(Settings(cloudflare_account_id=ACCOUNT)) == "CLOUDFLARE_API_TOKEN is not set"
    assert why_no_account(Settings(cloudflare_account_id=ACCOUNT, cloudflare_api_token=TOKEN)) == ""


def read(api, picture, **options):
    return use(api, lambda client: client.reader.read(picture), **options)


def test_a_picture_is_read_in_the_documented_form_with_a_prompt_that_asks_for_text_alone():
    with LoopbackCloudflare({"ai": envelope({"response": "First paragraph,\nsecond line.\n\nSecond."})}) as api:
        text = read(api, drawn_page(["anything"]))
    assert (text.paragraphs, text.calls) == (("First paragraph, second line.", "Second."), 1)
    assert api.requests[0].endpoint == "ai/run/@cf/meta/llama-3.2-11b-vision-instruct"
    body = api.requests[0].body
    assert body["prompt"] == PROMPT
    assert bytes(body["image"]).startswith(b"\x89PNG")


def test_a_model_of_the_other_kind_gets_messages_with_the_picture_in_them():
    with LoopbackCloudflare({"ai": envelope({"response": "Words."})}) as api:
        read(api, drawn_page(["anything"]), cloudflare_vision_model="@cf/meta/llama-4-scout-17b-16e-instruct")
    _text, picture = api.requests[0].body["messages"][0]["content"]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_model_that_does_not_take_one_form_is_asked_in_the_other_and_that_is_remembered():
    def picky(request):
        if "image" in request.body:
            return refusal(400, 5006, "Error: Type mismatch of '/image', 'string' not in 'array'")
        return envelope({"response": "Words."})

    with LoopbackCloudflare({"ai": picky}) as api:

        async def twice(client):
            picture = drawn_page(["anything"])
            return await client.reader.read(picture), await client.reader.read(picture)

        first, second = use(api, twice, cloudflare_vision_model="@cf/llava-hf/llava-of-this-test")
    assert (first.paragraphs, first.calls, second.calls) == (("Words.",), 2, 1)


def test_a_tall_picture_is_read_in_bands_that_are_cut_between_lines_and_blank_ones_cost_nothing():
    lines = [f"Line {number}" for number in range(40)]
    with LoopbackCloudflare({"ai": lambda request: envelope({"response": f"band of {len(request.body)} "})}) as api:
        text = read(api, drawn_page(lines, height=5000))
    assert 1 <= text.calls == api.count("ai") < 5000 // 1120
    assert text.degraded == ""


def test_when_the_days_calls_end_within_a_picture_what_was_read_of_it_counts():
    tall = drawn_page([f"Line {number}" for number in range(100)])

    async def run(client):
        text = await client.reader.read(tall)
        with pytest.raises(LimitReached):
            await client.reader.read(tall)
        return text

    with LoopbackCloudflare({"ai": envelope({"response": "Some words."})}) as api:
        text = use(api, run, cloudflare_vision_daily_limit=1)
    assert (text.paragraphs, text.calls) == (("Some words.",), 1)
    assert text.degraded == "the day's calls ended before the whole picture was read"


def test_a_licence_that_was_not_agreed_to_is_said_with_what_to_do():
    message = "Model Agreement: Prior to using this model, you must submit the prompt 'agree'."
    with LoopbackCloudflare({"ai": refusal(403, 5016, message)}) as api:
        _, error = failing(api, TierUnavailable, lambda client: client.reader.read(drawn_page(["x"])))
    assert "send it the prompt 'agree' once" in str(error)


def test_the_days_free_allocation_used_up_is_a_limit():
    message = "you have used up your daily free allocation of 10,000 neurons"
    with LoopbackCloudflare({"ai": refusal(429, 3036, message)}) as api:
        failing(api, LimitReached, lambda client: client.reader.read(drawn_page(["x"])))


@pytest.mark.parametrize(
    ("answer", "paragraphs"),
    [
        ("", []),
        ("NO TEXT", []),
        ("There is no text in the image.", []),
        ("I'm sorry, but I can't assist with transcribing this image.", []),
        ("The image shows a red square.", []),
        ("Here is the text from the image:\n\nOpening hours", ["Opening hours"]),
        ("```\nOpening hours\n```", ["Opening hours"]),
        (
            "I can't recommend this hotel enough. We stayed a week.",
            ["I can't recommend this hotel enough. We stayed a week."],
        ),
        ("again\n\n" * 500, ["again"] * 3),
    ],
)
def test_an_answer_gives_its_text_and_neither_small_talk_nor_inventions(answer, paragraphs):
    assert transcribed(answer) == paragraphs
