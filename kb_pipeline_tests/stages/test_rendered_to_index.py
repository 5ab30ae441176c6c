"""Rows of the table of outcomes that a browser or a picture decides, from the wire to the live index: by the browser
and the model of a Cloudflare account, and by a real Chromium with OCR."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kb_pipeline.errors import ConfigError
from kb_pipeline.fetch.chromium.finding import chromium_path
from kb_pipeline.fetch.tiers.installed import installed
from kb_pipeline.model import Outcome, PageStatus
from kb_pipeline.settings import Settings
from kb_pipeline_tests.sites.cloudflare import LoopbackCloudflare
from kb_pipeline_tests.sites.cloudflare_browser import CloudflareBrowser
from kb_pipeline_tests.sites.replies import Reply, Reset, page, prose
from kb_pipeline_tests.sites.scripted import by_script, on_canvas, script, shown_by_script, written_by_script
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.stages.harbour import Harbour, walled

MISSING = installed(Settings(tiers=())).why_not("vision")
LOCAL = ("plain_http", "browser_content", "vision")
NEEDS_BROWSER = pytest.mark.skipif(bool(MISSING), reason=MISSING)
CHALLENGE = "<script>window._cf_chl_opt={}</script>"
COOKIES = walled("We value your privacy", "<p>We store cookies.</p><button>Accept all</button><button>Reject</button>")

WITHDRAWS = (
    "document.head.insertAdjacentHTML('beforeend', '<meta name=robots content=noindex>');"
    f" document.body.textContent = {prose('what is withdrawn')!r};"
)


@dataclass(frozen=True)
class ScriptedRow:
    """What becomes of a page that a script makes, and what comes of it."""

    name: str
    tonight: object
    """What answers for the script, or for the page where it is a dict."""
    outcome: Outcome
    says: str
    stays: bool = True
    runs_any_script: bool = False
    """Whether only a browser that runs whatever it is given can show it."""


def leads_to(address):
    return script(f"location.replace({address!r});")


def shielded(request):
    """What gives a page to browsers, and to nobody else."""
    seen = "sec-fetch-mode" in request.headers
    return page("Shielded", prose("words behind a shield")) if seen else Reply("no", status=403)


ROWS = (
    ScriptedRow("same", None, Outcome.UNCHANGED, ""),
    ScriptedRow("changed", written_by_script(f"<h1>New</h1><p>{prose('new words')}</p>"), Outcome.FRESH, ""),
    ScriptedRow("shielded", {"/shielded": shielded}, Outcome.FRESH, ""),
    ScriptedRow("plain", {"/plain": page("Plain", prose("plain words"))}, Outcome.FRESH, ""),
    ScriptedRow(
        "members", shown_by_script(walled("Sign in", "<form><input type=password></form>")), Outcome.GATE, "for a login"
    ),
    ScriptedRow("challenge", shown_by_script(walled("Just a moment...", CHALLENGE)), Outcome.GATE, "not a robot"),
    ScriptedRow("cookies", shown_by_script(COOKIES), Outcome.GATE, "before cookies are accepted"),
    ScriptedRow("shell", Reply("no", status=503), Outcome.GATE, "without JavaScript"),
    ScriptedRow("blank", written_by_script("<p></p>"), Outcome.THIN, "too little text"),
    ScriptedRow("short", written_by_script("<h1>Closed</h1><p>Back in May.</p>"), Outcome.THIN, "too little text"),
    ScriptedRow(
        "missing",
        shown_by_script(walled("Page not found", "<p>Sorry.</p>")),
        Outcome.GONE,
        "was not found",
        stays=False,
    ),
    ScriptedRow("reset", {"/reset": Reset()}, Outcome.UNREACHABLE, "connection to the site broke"),
    ScriptedRow("empty", {"/empty": Reply(b"")}, Outcome.UNREACHABLE, "came back empty"),
    ScriptedRow(
        "elsewhere", leads_to("http://other.invalid/"), Outcome.UNREACHABLE, "another site", runs_any_script=True
    ),
    ScriptedRow("hidden", leads_to("/private-things/1"), Outcome.UNREACHABLE, "does not allow", runs_any_script=True),
    ScriptedRow("moved", leads_to("/same"), Outcome.DUPLICATE, "redirects to", stays=False, runs_any_script=True),
    ScriptedRow("withdrawn", script(WITHDRAWS), Outcome.FORBIDDEN, "noindex", stays=False, runs_any_script=True),
    ScriptedRow("chart", {"/chart.js": Reply("no", status=404)}, Outcome.GATE, "without JavaScript"),
)


@pytest.fixture
def account(settings):
    """Settings of an account, and its service."""
    with LoopbackCloudflare(CloudflareBrowser().answers) as api:
        quick = {"tiers": (), "retry_delays_seconds": ()}
        yield Settings(**(settings.model_dump() | api.settings | quick)), api


@pytest.fixture
def local(settings):
    """Settings of a chain that renders here."""
    short = {"render_timeout_seconds": 15.0, "retry_delays_seconds": ()}
    return settings.model_copy(update={"tiers": LOCAL} | short)


@pytest.fixture
def served():
    with LoopbackSite({"/": page("Home", prose("home"))}) as server:
        yield server


def opened(stores, settings, served, rows):
    """A site that was imported, page by page as a script makes it; `chart` is one that a script draws."""
    site = Harbour(stores, settings, served, [row.name for row in rows])
    for row in rows:
        served.pages.update(on_canvas(row.name) if row.name == "chart" else by_script(row.name))
    site.refresh()
    return site


def becomes(site, rows):
    """Let the second night come, and tell what is wrong of each row."""
    before = {row.name: site.vectors(row.name) for row in rows}
    for row in rows:
        if row.tonight is not None:
            site.server.pages.update(row.tonight if isinstance(row.tonight, dict) else {f"/{row.name}.js": row.tonight})
    site.refresh()
    wrong = []
    for row in rows:
        told, now = site.told(row.name), site.vectors(row.name)
        kept = now == before[row.name] if row.outcome is not Outcome.FRESH else now not in ([], before[row.name])
        seen = (told.page.state, row.says in told.verdict, told.indexed, kept if row.stays else now == [])
        if seen != (PageStatus(row.outcome.value), True, row.stays, True):
            wrong.append((row.name, *seen, told.verdict, told.tiers))
    return wrong


def test_each_row_that_an_account_decides_from_the_wire_to_the_live_index(stores, account, served):
    rows = [row for row in ROWS if not row.runs_any_script]
    site = opened(stores, account[0], served, rows)
    assert {site.told(row.name).page.tier for row in rows if row.name != "chart"} == {"browser_markdown"}
    assert site.told("chart").page.tier == "vision"
    assert becomes(site, rows) == []


@NEEDS_BROWSER
def test_each_row_that_chromium_decides_from_the_wire_to_the_live_index(stores, local, served):
    site = opened(stores, local, served, ROWS)
    assert {site.told(row.name).page.tier for row in ROWS if row.name != "chart"} == {"browser_content"}
    assert site.told("chart").page.tier == "vision"
    assert becomes(site, ROWS) == []
    assert [tried["tier"] for tried in site.told("chart").tiers] == list(LOCAL)


def test_the_days_cap_defers_what_it_does_not_reach_and_keeps_it(stores, account, served):
    settings, api = account
    rows = [
        ScriptedRow(name, None, Outcome.DEFERRED, "The day's limit of calls is used up") for name in ("a", "b", "chart")
    ]
    site = opened(stores, settings, served, rows)
    asked = len(api.requests)
    site.settings = settings.model_copy(update={"cloudflare_browser_daily_limit": 1})
    assert becomes(site, rows) == []
    assert len(api.requests) == asked


@NEEDS_BROWSER
def test_a_browser_that_is_out_of_order_costs_no_page(stores, local, served, tmp_path):
    program = tmp_path / "chromium"
    program.symlink_to(chromium_path(local))
    settings = local.model_copy(update={"chromium": str(program)})
    rows = [
        ScriptedRow(name, None, Outcome.GATE, "what might have read it was out of order (Chromium")
        for name in ("a", "b")
    ]
    site = opened(stores, settings, served, rows)
    program.unlink()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    assert becomes(site, rows) == []
    assert [tried["answer"] for tried in site.told("a").tiers][1:] == ["tier out of order"] * 2


@NEEDS_BROWSER
def test_a_browser_that_is_gone_costs_no_page(stores, local, served, tmp_path):
    rows = [ScriptedRow(name, None, Outcome.GATE, "without JavaScript") for name in ("a", "b")]
    site = opened(stores, local, served, rows)
    gone = {"chromium": str(tmp_path / "gone")}
    site.settings = local.model_copy(update=gone | {"tiers": ()})
    assert becomes(site, rows) == []
    before = site.vectors("a")
    site.settings = local.model_copy(update=gone)
    with pytest.raises(ConfigError, match="KB_CHROMIUM"):
        site.refresh()
    assert site.vectors("a") == before
