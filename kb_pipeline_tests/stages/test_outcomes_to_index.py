"""Each row of the table of outcomes, from the wire to the live index: what the ledger says of a page whose copy was
indexed, what the site's owner reads, and whether search still finds it."""

from __future__ import annotations

import pytest

from kb_pipeline.model import Outcome, PageStatus
from kb_pipeline.stages.discover import discover
from kb_pipeline_tests.sites.replies import Reply, Reset, Stall, WrongLength, page, prose, redirect, text
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.stages.harbour import Harbour, Row, walled
from kb_pipeline_tests.stages.whole_site import SITE

LOST = page("Lost at sea", "The tide has taken what was here. " * 8, "Ask the harbour master for the ledger of losses.")
"""What the site shows for any address, with 200 and in no words that anybody knows."""
NOINDEX = "<meta name=robots content=noindex>"
CHECK = "<script>window._cf_chl_opt={}</script>"
WORDY = prose("rope") + " The page you are looking for does not exist, they say."


ROWS = [
    Row("changed", page("Changed", prose("new words")), Outcome.FRESH, "", True),
    Row("same", None, Outcome.UNCHANGED, "", True),
    Row("wordy", page("A page about 404s", WORDY), Outcome.FRESH, "", True),
    Row("gone", Reply("gone", status=410), Outcome.GONE, "We couldn't find this page (410)", False),
    Row("missing", Reply("no", status=404), Outcome.GONE, "We couldn't find this page (404)", False),
    Row("soft", walled("Page not found", "<p>Sorry.</p>"), Outcome.GONE, "The page says that it was not found", False),
    Row("probed", LOST, Outcome.GONE, "is what this site shows for addresses that do not exist", False),
    Row("robots", None, Outcome.FORBIDDEN, "robots.txt", False),
    Row(
        "noindex",
        page("No", prose("no"), head_extra="<meta name=robots content=noindex>"),
        Outcome.FORBIDDEN,
        "noindex",
        False,
    ),
    Row("tagged", page("No", prose("no"), headers={"X-Robots-Tag": "noindex"}), Outcome.FORBIDDEN, "noindex", False),
    Row("moved", redirect("/same"), Outcome.DUPLICATE, "redirects to", False),
    Row("members", walled("Sign in", "<form><input type=password></form>"), Outcome.GATE, "asks for a login", True),
    Row(
        "paywall",
        walled("Rope", "<p>A.</p><div class=paywall>Subscribe to continue reading</div>"),
        Outcome.GATE,
        "paywall",
        True,
    ),
    Row("cookies", walled("We value your privacy", "<button>Accept all</button>"), Outcome.GATE, "cookies", True),
    Row("age", walled("Are you over 18?", "<button>Yes</button>"), Outcome.GATE, "age", True),
    Row("shell", "<div id=root></div><script src=/a.js></script>", Outcome.GATE, "without JavaScript", True),
    Row(
        "challenge",
        walled("Just a moment...", "<script>_cf_chl_opt={}</script>", status=403),
        Outcome.GATE,
        "robot",
        True,
    ),
    Row(
        "challenge-200",
        walled("Performing security verification", "<p>Ray ID: 1. Performance and Security by Cloudflare</p>"),
        Outcome.GATE,
        "robot",
        True,
    ),
    Row("parked", walled("This domain is for sale", ""), Outcome.GATE, "parked", True),
    Row("thin", page("Thin", "Closed today."), Outcome.THIN, "too little text", True),
    Row("refused", Reply("no", status=403), Outcome.UNREACHABLE, "refused", True),
    Row("asked-to-wait", Reply("no", status=429), Outcome.UNREACHABLE, "slow down", True),
    Row("broken", Reply("no", status=503), Outcome.UNREACHABLE, "a problem of its own", True),
    Row("reset", Reset(), Outcome.UNREACHABLE, "connection to the site broke", True),
    Row("cut", WrongLength(b"<p>half", 900), Outcome.UNREACHABLE, "did not come to its end", True),
    Row("torn", Reset(b"<p>half"), Outcome.UNREACHABLE, "did not come to its end", True),
    Row("stalls", Stall(), Outcome.UNREACHABLE, "took too long to answer", True),
    Row("falls-silent", Stall(after_headers=True), Outcome.UNREACHABLE, "did not come to its end", True),
    Row("empty", Reply(b""), Outcome.UNREACHABLE, "came back empty", True),
    Row("loop", redirect("/loop"), Outcome.UNREACHABLE, "redirects without end", True),
    Row("private", redirect("http://10.0.0.1/"), Outcome.UNREACHABLE, "", True),
    Row("elsewhere", redirect("http://other.invalid/"), Outcome.UNREACHABLE, "another site", True),
    Row("leads-in", redirect("/robots-hide-this"), Outcome.UNREACHABLE, "which robots.txt does not allow", True),
]


@pytest.fixture
def served():
    with LoopbackSite({"/": page("Home", prose("home"))}, fallback=LOST) as server:
        yield server


@pytest.fixture
def hurried(settings):
    return settings.model_copy(update={"retry_delays_seconds": (0.0,), "read_timeout_seconds": 3.0})


def test_each_row_of_the_table_of_outcomes_from_the_wire_to_the_live_index(stores, hurried, served):
    site = Harbour(stores, hurried, served, [row.name for row in ROWS])
    site.refresh()
    assert [row.name for row in ROWS if not site.is_found(row.name)] == []
    for row in ROWS:
        if row.answer is not None:
            served.pages[f"/{row.name}"] = row.answer
    served.pages["/robots.txt"] = text("User-agent: *\nDisallow: /robots\n")
    stores.robots_files.put(served.origin, 200, b"", stores.now().replace(year=2000))
    site.refresh()
    wrong = []
    for row in ROWS:
        told = site.told(row.name)
        finds_old = site.is_found(row.name)
        stays = row.stays and row.outcome is not Outcome.FRESH
        seen = (told.page.state, row.says in told.verdict, told.indexed, finds_old)
        if seen != (PageStatus(row.outcome.value), True, row.stays, stays):
            wrong.append((row.name, *seen, told.verdict))
    assert wrong == []


def test_what_the_time_limit_leaves_over_is_deferred_and_stays(stores, settings, served):
    names = [f"p{number}" for number in range(6)]
    site = Harbour(
        stores, settings.model_copy(update={"host_connections": 1}), served, names, time_limit_minutes=1 / 120
    )
    site.refresh()
    for name in names:
        served.pages[f"/{name}"] = page(name, prose("another"), delay=0.4)
    site.refresh()
    deferred = [name for name in names if site.told(name).page.state is PageStatus.DEFERRED]
    assert deferred
    assert all("time limit" in site.told(name).verdict and site.is_found(name) for name in deferred)


NAMES = [f"p{number}" for number in range(6)]


def test_a_site_that_shows_its_not_found_page_for_everything_tonight_loses_nothing(stores, hurried, served):
    site = Harbour(stores, hurried, served, NAMES)
    site.refresh()
    served.pages = {path: reply for path, reply in served.pages.items() if path in {"/sitemap.xml", "/robots.txt"}}
    discover(stores, hurried, SITE)
    assert stores.not_found_probes.get(SITE).useless == "the start page, or a page of the list, looks the same"
    site.finish()
    assert all(site.told(name).indexed for name in NAMES)


def test_all_pages_but_the_start_page_turning_into_the_not_found_page_are_held(stores, hurried, served):
    site = Harbour(stores, hurried, served, NAMES)
    site.refresh()
    for name in NAMES:
        del served.pages[f"/{name}"]
    discover(stores, hurried, SITE)
    report = site.finish()
    assert (report.outcomes[Outcome.GONE], report.removals_held, report.removed) == (6, 6, 0)
    assert all(site.is_found(name) for name in NAMES)
    site.refresh()
    assert not any(site.is_found(name) for name in NAMES), "the next refresh that finds the same believes it"


def test_a_night_on_which_every_page_leads_to_a_login_that_robots_txt_forbids_leaves_the_index_as_it_is(
    stores, hurried, served
):
    site = Harbour(stores, hurried, served, NAMES[:4])
    served.pages["/robots.txt"] = text("User-agent: *\nDisallow: /login\n")
    site.refresh()
    before = site.held()
    for name in NAMES[:4]:
        served.pages[f"/{name}"] = redirect(f"/login?next=/{name}")
    served.pages["/login"] = walled("Sign in", "<form><input type=password></form>")
    for _ in range(2):  # what a first night is held for, a second one would confirm
        report = site.refresh()
        assert (report.outcomes[Outcome.UNREACHABLE], report.removed, report.removals_held) == (4, 0, 0)
        assert site.held() == before
    assert site.told("p0").verdict.count("robots.txt does not allow") == 1


WAIT = "Loading the application, please wait a moment. If this takes long, write to the harbour office. " * 4
SHELL = Reply(f"<title>Harbour</title><div id=root><p>{WAIT}</p></div><script src=/app.js></script>")
FRAME = Reply(f"<title>Harbour</title><article><p>{WAIT}</p></article><script src=/app.js></script>")


@pytest.mark.parametrize("shell", [SHELL, FRAME], ids=["an element to fill", "scripts alone"])
def test_an_application_whose_start_page_alone_is_written_by_the_server_loses_no_page(stores, hurried, served, shell):
    site = Harbour(stores, hurried, served, NAMES[:4])
    site.refresh()
    served.fallback = shell
    served.pages.update({f"/{name}": shell for name in NAMES[:4]})
    for _ in range(2):
        report = site.refresh()
        assert (report.outcomes[Outcome.GATE], report.removed, report.removals_held) == (4, 0, 0)
    assert all(site.is_found(name) for name in NAMES[:4])


def test_a_missing_page_of_a_site_with_scripts_is_missed_while_its_other_pages_look_otherwise(stores, hurried, served):
    served.fallback = FRAME
    site = Harbour(stores, hurried, served, NAMES[:4])
    site.refresh()
    served.pages["/p3"] = FRAME
    before = len(served.requests)
    discover(stores, hurried, SITE)
    asked = [request.path for request in served.requests[before:] if request.path.strip("/") in NAMES]
    assert len(asked) == len(set(asked)) <= 2 + 1, "two more requests a full refresh, and one without a start page"
    site.finish()
    assert site.told("p3").page.state is PageStatus.GONE
    assert site.is_found("p2")


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        (page("Home", prose("home")), "looks the same"),
        (walled("Sign in", "<form><input type=password></form>"), "login_wall"),
        (walled("Just a moment...", "<script>_cf_chl_opt={}</script>"), "challenge"),
        (Reply("<div id=root></div><script src=/a.js></script>"), "js_shell"),
        (Reply(b""), "no page"),
        (Reply("<p>Gone.</p>"), "too little"),
        (page("All boats", prose("boats", 40)), "says so much"),
        (Reply("broken", status=500), "status 500"),
        (redirect("/p1"), "leads to another address"),
        (text("nothing here"), "no page"),
    ],
)
def test_an_answer_to_a_made_up_address_that_tells_nothing_is_not_used(stores, hurried, served, shown, why):
    served.fallback = shown
    Harbour(stores, hurried, served, NAMES)
    discover(stores, hurried, SITE)
    assert why in stores.not_found_probes.get(SITE).useless


def test_a_site_that_forbids_or_breaks_off_the_made_up_address_has_none(stores, hurried, served):
    Harbour(stores, hurried, served, NAMES)
    served.fallback = Reset()
    discover(stores, hurried, SITE)
    assert stores.not_found_probes.get(SITE) is None


def test_the_made_up_address_is_one_request_a_full_refresh_and_obeys_robots_txt(stores, hurried, served):
    site = Harbour(stores, hurried, served, NAMES)
    allowed = "".join(f"Allow: {path}\n" for path in ["/sitemap", "/$", *(f"/{name}$" for name in NAMES)])
    served.pages["/robots.txt"] = text(f"User-agent: *\n{allowed}Disallow: /\n")
    site.refresh()
    asked = {request.path for request in served.requests}
    assert asked <= {"/robots.txt", "/sitemap.xml", "/sitemap.txt", "/sitemap-index.xml", "/sitemap_index.xml"} | {
        "/sitemap.xml.gz",
        "/",
        *(f"/{name}" for name in NAMES),
    }
    assert stores.not_found_probes.get(SITE) is None


def test_the_body_of_an_honest_404_that_comes_with_200_is_a_missing_page(stores, hurried, served):
    served.fallback = Reply(LOST.body, status=404)
    site = Harbour(stores, hurried, served, NAMES)
    site.refresh()
    served.pages["/p3"] = LOST
    site.refresh()
    assert site.told("p3").page.state is PageStatus.GONE
    assert site.is_found("p2")


def test_a_page_that_was_imported_before_the_not_found_page_was_known_is_looked_at_again(stores, hurried, served):
    served.fallback = Reset()
    site = Harbour(stores, hurried, served, NAMES)
    served.pages["/p3"] = Reply(LOST.body, etag='"lost"')
    site.refresh()
    assert site.told("p3").page.state is PageStatus.FRESH
    served.fallback = LOST
    site.refresh()
    assert site.told("p3").page.state is PageStatus.GONE


def test_a_long_start_page_tells_the_not_found_page_apart(stores, hurried, served):
    served.pages["/"] = page("Home", prose("home", 80))
    Harbour(stores, hurried, served, NAMES)
    discover(stores, hurried, SITE)
    assert stores.not_found_probes.get(SITE).useless is None


def test_the_start_page_of_a_folder_that_is_shown_for_what_the_folder_lacks_stays(stores, hurried, served):
    names = ["docs/", *(f"docs/p{number}" for number in range(5))]
    site = Harbour(stores, hurried, served, names)
    served.pages["/docs/"] = LOST
    site.refresh()
    assert stores.not_found_probes.get(SITE).useless is None
    assert site.told("docs/").page.state is PageStatus.FRESH
