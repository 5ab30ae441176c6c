"""Bad nights with a real Chromium and OCR. The site speaks http: Chromium has a list of authorities of its own, which a
test adds none to. A broken certificate ends with the first tier anyhow, as test_plain shows."""

from __future__ import annotations

import re

import pytest

from kb_pipeline.fetch.chromium.finding import chromium_path
from kb_pipeline.fetch.tiers.installed import installed
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
)
from kb_pipeline_tests.sites.replies import Reply, page, prose
from kb_pipeline_tests.sites.scripted import by_script, on_canvas, shown_by_script
from kb_pipeline_tests.sites.server import LoopbackSite

MISSING = installed(Settings(tiers=())).why_not("vision")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

TIERS = ("plain_http", "browser_content", "vision")
OUT_OF_ORDER = "a browser out of order"


def scripts(reply):
    return {"/app.js": reply, "/chart.js": reply}


OWN_NIGHTS = (
    Night("scripts that do not come", "without JavaScript", pages=scripts(Reply("no", status=503))),
    Night("scripts that show a login", "asks for a login", pages=scripts(shown_by_script(LOGIN))),
    Night("scripts that show a challenge", "not a robot", pages=scripts(shown_by_script(CHALLENGE))),
    Night(OUT_OF_ORDER, "out of order .*Chromium"),
)


class Browser:
    """A Chromium that works, or does not."""

    def __init__(self, path):
        self.path, self.real = path, chromium_path(Settings())
        self.works(well=True)

    def works(self, *, well):
        self.path.write_text(f'#!/bin/sh\nexec {self.real} "$@"\n' if well else "#!/bin/sh\nexit 1\n")
        self.path.chmod(0o755)


@pytest.fixture
def browser(tmp_path):
    return Browser(tmp_path / "chromium")


@pytest.fixture
def settings(settings, browser):
    short = {"render_timeout_seconds": 15.0, "retry_delays_seconds": (), "browsers": 1}
    return settings.model_copy(update={"tiers": TIERS, "chromium": str(browser.path)} | short)


@pytest.mark.timeout(600)
def test_bad_nights_leave_what_chromium_rendered_as_it_was(run, stores, settings, resolver, browser):
    with LoopbackSite({"/": page("Home", prose("home"))}, name=HOST) as served:
        harbour = Harbour(served, stores, run, resolver)
        harbour.open(by_script("app") | on_canvas("chart"))
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        before = harbour.live()
        assert tuple(harbour.told(path).page.tier for path in ("/", "/app", "/chart")) == TIERS
        untold = []
        for night in (*(night for night in NIGHTS if night.for_browsers), *OWN_NIGHTS):
            browser.works(well=night.what != OUT_OF_ORDER)
            refresh = harbour.spend(night)
            assert harbour.live() == before, night.what
            untold.append(untold_of(night, refresh))
            if night in OWN_NIGHTS:
                assert re.search(night.said, harbour.told("/app").verdict), night.what
        assert [night for night in untold if night] == []
        served.pages |= by_script("app", f"<h1>New</h1><p>{prose('a new buoy')}</p>")
        browser.works(well=True)
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        assert search(stores, settings, SITE, "buoy", mode=SearchMode.TEXT)[0].url == served.url("/app")
