"""Bad nights with all tiers of a Cloudflare account, whose browser shows what the site serves that night; and nights on
which the account itself is the trouble."""

from __future__ import annotations

import re
from collections import ChainMap

import pytest

from kb_pipeline.fetch import cloudflare_account
from kb_pipeline.model import RefreshOutcome
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.settings import Settings
from kb_pipeline_tests.orchestration.nights.harbour import (
    CHALLENGE,
    HOST,
    LOGIN,
    NIGHTS,
    SITE,
    Harbour,
    Night,
    untold_of,
    walled,
)
from kb_pipeline_tests.sites.cloudflare import LoopbackCloudflare, refusal
from kb_pipeline_tests.sites.cloudflare_browser import CloudflareBrowser
from kb_pipeline_tests.sites.replies import Reply, Reset, page, prose
from kb_pipeline_tests.sites.scripted import by_script, on_canvas, shown_by_script, written_by_script
from kb_pipeline_tests.sites.server import LoopbackSite

TIERS = ("plain_http", "browser_markdown", "browser_content", "vision")
SCRIPTED = ("app-0", "app-1", "app-2", "members", "chart")
"""Pages that only rendering shows, the last one as a picture alone."""
MEMBERS = (
    "<h1>Log in</h1><p>Members of the club read the tide tables here. The harbour master gives each of them a card,"
    " which opens the gate of the pier and stands for the name of the boat; it is lost together with the mooring.</p>"
    "<p>Boats</p>"
)
"""In words alone it could be a wall: the browser's HTML is what tells that it is none."""


def scripts(reply):
    """Every script of the site answers so."""
    return {f"/{name}.js": reply for name in SCRIPTED}


def service(*refused, **headers):
    """Every endpoint of the account answers so."""
    return dict.fromkeys(("markdown", "content", "screenshot", "ai"), refusal(*refused, **headers))


OWN_NIGHTS = (
    Night("scripts that do not come", "without JavaScript", pages=scripts(Reply("no", status=503))),
    Night("scripts that break off", "without JavaScript", pages=scripts(Reset())),
    Night("scripts that show a login", "asks for a login", pages=scripts(shown_by_script(LOGIN))),
    Night("scripts that show a challenge", "not a robot", pages=scripts(shown_by_script(CHALLENGE))),
    Night("scripts that show nothing", "too little text", pages=scripts(written_by_script("<p></p>"))),
    Night(
        "an account asked to wait",
        "out of order .*fewer requests",
        service=service(429, 2001, "Rate limit exceeded", Retry_After="300"),
    ),
    Night("a broken service", "out of order .*status 500", service=service(500, 2000, "Internal Error")),
    Night(
        "a rejected token", "out of order .*refuses this account", service=service(401, 10000, "Authentication error")
    ),
    Night(
        "a service that cuts off",
        "out of order .*could not be reached",
        service=dict.fromkeys(("markdown", "content", "screenshot"), Reset()),
    ),
    Night("a plan's day used up", "day's limit", service=service(429, None, "Browser time limit exceeded for today")),
    Night(
        "scripts that show missing pages",
        "not found",
        pages=scripts(shown_by_script(walled("Page not found", "<p>Sorry.</p>"))),
    ),
    Night("no model", "out of order .*status 500", service={"ai": refusal(500, 3040, "Capacity temporarily exceeded")}),
)


@pytest.fixture
def api():
    with LoopbackCloudflare(CloudflareBrowser().answers) as api:
        yield api


@pytest.fixture
def settings(settings, api):
    return Settings(**(settings.model_dump() | api.settings | {"tiers": TIERS, "retry_delays_seconds": ()}))


def forget_account():
    """What a process learnt of an account: each run is a process of its own, and its end is what forgets."""
    cloudflare_account._ACCOUNTS.clear()


def spend(harbour, api, night, before):
    """One night, and what was not told of it."""
    forget_account()
    api.answers = CloudflareBrowser().answers | night.service
    refresh = harbour.spend(night)
    assert harbour.live() == before, night.what
    return untold_of(night, refresh)


@pytest.mark.timeout(1200)
def test_bad_nights_leave_what_an_account_rendered_as_it_was(run, stores, settings, resolver, certificates, api):
    with LoopbackSite({"/": page("Home", prose("home"))}, name=HOST, tls=certificates.context) as served:
        harbour = Harbour(served, stores, run, resolver, certificates)
        apps = [by_script(name) for name in SCRIPTED[:3]]
        harbour.open(dict(ChainMap(*apps, by_script("members", MEMBERS), on_canvas("chart"))))
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        before = harbour.live()
        assert tuple(harbour.told(path).page.tier for path in ("/", "/app-0", "/members", "/chart")) == TIERS
        untold = [spend(harbour, api, night, before) for night in NIGHTS]
        api.answers = CloudflareBrowser().answers
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED, (
            "or the removals that were held would be confirmed"
        )
        assert harbour.live() == before
        for night in OWN_NIGHTS:
            untold.append(spend(harbour, api, night, before))
            assert re.search(night.said, harbour.told("/chart").verdict), night.what
        assert [night for night in untold if night] == []
        served.pages |= by_script("app-0", f"<h1>New</h1><p>{prose('a new buoy')}</p>")
        forget_account()
        api.answers = CloudflareBrowser().answers
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        assert search(stores, settings, SITE, "buoy", mode=SearchMode.TEXT)[0].url == served.url("/app-0")
