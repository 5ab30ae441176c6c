"""Twelve bad nights in a row leave a site's index exactly as it was, and each tells what happened."""

from __future__ import annotations

import json
import re
import socket
import ssl
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
import trustme

from kb_pipeline.cli.site_page import read_site_page
from kb_pipeline.model import RefreshOutcome, SiteOptions
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.stages.troubles import why
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.sites.replies import Reply, Reset, WrongLength, page, prose, sitemap
from kb_pipeline_tests.sites.server import Fault, LoopbackSite

HOST = "harbour.test"
CHALLENGE = Reply(
    "<html><head><title>Just a moment...</title></head><body><h1>harbour.test</h1>"
    "<script>window._cf_chl_opt={cType:'managed'}</script></body></html>",
    status=403,
)
LOGIN = Reply(
    "<html><head><title>Sign in</title></head><body><h1>Sign in</h1><form><input name=username>"
    "<input type=password><button>Sign in</button></form></body></html>"
)
PARKED = Reply(
    "<html><head><title>harbour.test</title></head><body><h1>This domain is for sale!</h1><p>Buy this domain.</p>"
    "<script src='https://img.sedoparking.com/x.js'></script></body></html>"
)


@dataclass
class Resolver:
    """The system's resolver, to which the site's name is known or not."""

    known: bool = True
    system: object = field(default=socket.getaddrinfo)

    def __call__(self, host, *arguments, **options):
        name = host.decode() if isinstance(host, bytes) else host
        if name == HOST:
            if not self.known:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            name = "127.0.0.1"
        return self.system(name, *arguments, **options)


@pytest.fixture
def resolver(monkeypatch):
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    return resolver


@pytest.fixture
def settings(settings):
    """No waits at all; the site's name may lead to loopback."""
    return settings.model_copy(
        update={
            "allow_private": (HOST,),
            "retry_delays_seconds": (0.0,),
            "retry_after_refresh_minutes": 1e-6,
            "host_connections": 8,
        }
    )


@dataclass(frozen=True)
class Certificates:
    """The certificate that the site shows: one that is trusted, or one that nobody vouches for."""

    context: ssl.SSLContext
    authority: trustme.CA

    def show(self, *, trusted):
        authority = self.authority if trusted else trustme.CA()
        authority.issue_cert(HOST).configure_cert(self.context)


@pytest.fixture
def certificates(tmp_path, monkeypatch):
    made = Certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), trustme.CA())
    made.authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    made.show(trusted=True)
    return made


class Harbour:
    """A site that goes through nights."""

    def __init__(self, served, stores, run, names):
        self.served, self.stores, self.run, self.result = served, stores, run, None
        for name in names:
            served.pages[f"/{name}"] = page(name.title(), prose(name))
        served.pages["/sitemap.xml"] = sitemap(*[served.url(f"/{name}") for name in names])
        served.pages["/robots.txt"] = Reply("User-agent: *\nDisallow: /private\n", content_type="text/plain")
        stores.sites.add("harbour", served.url("/"), options=SiteOptions(auto_approve_pages=100))

    def refresh(self):
        """One night. A robots.txt that was read longer than a day ago serves no more."""
        files, origin = self.stores.robots_files, self.served.origin
        if read := files.get(origin):
            files.put(origin, read.status, read.body, read.fetched_at - timedelta(days=2))
        self.result = self.run("refresh", "harbour")
        return self.stores.refreshes.latest("harbour")

    def shown_in_the_ui(self, asset):
        """The table of refreshes that is with the asset."""
        events = self.result.get_asset_materialization_events()
        [shown] = [event.materialization for event in events if event.asset_key.to_user_string() == asset]
        return shown.metadata["history"].value

    def live(self):
        """Every row of what search reads, to the last bit of its vector."""
        publication = self.stores.publications.live("harbour")
        table = self.stores.site("harbour").table(publication.table_name)
        table.checkout("live")
        return publication, sorted(json.dumps(row, default=str) for row in read_rows(table).to_pylist())


def always(behaviour):
    return [Fault(behaviour, everything=True)]


def for_pages(behaviour):
    """What gives the site its list goes on."""
    return [Fault(behaviour)]


HALF = page("Apples", prose("apples", 40)).raw
NIGHTS = [
    ("429", always(Reply("slow down", status=429)), "429"),
    ("503", always(Reply("later", status=503)), "503"),
    ("429 for pages", for_pages(Reply("slow down", status=429)), "slow down"),
    ("resets", for_pages(Reset()), "connection to the site broke"),
    ("a challenge", for_pages(CHALLENGE), "not a robot"),
    ("a login wall", for_pages(LOGIN), "asks for a login"),
    ("a broken certificate", [], "certificate"),
    ("no name", [], "Name or service not known"),
    ("an empty page", for_pages(Reply(b"")), "came back empty"),
    ("nothing but empty answers", always(Reply(b"")), "came back empty|only 1 pages were found"),
    ("a parked domain", always(PARKED), "parked"),
    ("404 for everything", always(Reply("<h1>Not found</h1>", status=404)), "404"),
    ("404 for pages", for_pages(Reply("<h1>Not found</h1>", status=404)), "gone"),
    ("no robots.txt", [], "robots.txt"),
    ("a page that breaks off", for_pages(WrongLength(HALF, len(HALF) * 2)), "connection to the site broke"),
]
"""What happens, what brings it about, and what is said of it."""


# Sixteen refreshes: a busy machine takes minutes for them.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("size", [6, 26])
def test_bad_nights_of_every_kind_in_a_row_leave_the_index_as_it_was(
    run, stores, settings, resolver, certificates, size
):
    with LoopbackSite({"/": page("Home", prose("home"))}, name=HOST, tls=certificates.context) as served:
        harbour = Harbour(served, stores, run, [f"pier-{number}" for number in range(size)])
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        before, good_robots = harbour.live(), served.pages["/robots.txt"]
        failed = []
        for what, faults, said in NIGHTS:
            served.faults = faults
            resolver.known = what != "no name"
            certificates.show(trusted=what != "a broken certificate")
            served.pages["/robots.txt"] = Reply("", status=500) if what == "no robots.txt" else good_robots
            night = harbour.refresh()
            assert harbour.live() == before, what
            if night.outcome is None or not re.search(said, why(night)):
                failed.append((what, night.outcome, why(night)))
        assert failed == []
        served.faults, served.pages["/robots.txt"] = [], good_robots
        served.pages["/pier-0"] = page("New", prose("a new lamp"))
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        assert search(stores, settings, "harbour", "lamp", mode=SearchMode.TEXT)[0].url == served.url("/pier-0")
        told = read_site_page(stores, "harbour")
        assert [why(refresh) == "" for refresh in told.refreshes] == [True] + [False] * (len(told.refreshes) - 1)
        for asset in ("fetched_pages", "live_index"):
            shown = harbour.shown_in_the_ui(asset)
            assert [said for what, _, said in NIGHTS[3:] if not re.search(said, shown)] == [], asset
