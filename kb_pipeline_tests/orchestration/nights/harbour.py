"""A site that goes through nights, and what can happen in one."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import trustme

from kb_pipeline.cli.why import explain
from kb_pipeline.model import SiteOptions
from kb_pipeline.stages.troubles import why
from kb_pipeline.store.lance import read_rows
from kb_pipeline_tests.sites.replies import Answer, Behaviour, Reply, Reset, WrongLength, page, prose, sitemap, text
from kb_pipeline_tests.sites.server import Fault, LoopbackSite

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

HOST = "harbour.test"
SITE = "harbour"


def walled(title, body, **options):
    """A page of a headline and what stands beneath it."""
    return Reply(f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>", **options)


CHALLENGE = walled("Just a moment...", "<script>window._cf_chl_opt={cType:'managed'}</script>", status=403)
LOGIN = walled("Sign in", "<form><input name=username><input type=password><button>Sign in</button></form>")
PARKED = walled(
    "This domain is for sale!", "<p>Buy this domain.</p><script src='https://img.sedoparking.com/x.js'></script>"
)
NOT_FOUND = Reply("<h1>Not found</h1>", status=404)
HALF = page("Apples", prose("apples", 40)).raw


@dataclass(frozen=True)
class Night:
    """What happens, what is said of it, and what brings it about."""

    what: str
    said: str
    """A pattern."""
    faults: tuple[Fault, ...] = ()
    pages: Mapping[str, Answer] = field(default_factory=dict)
    """What the site answers tonight in place of what it has."""
    is_known: bool = True
    """Whether the site's name leads anywhere."""
    is_trusted: bool = True
    """Whether anybody vouches for its certificate."""
    for_browsers: bool = True
    """Whether a browser is opened on it, and has to do with another thing than on other nights."""
    says_gone: bool = False
    """Whether pages would be removed if it was believed at once."""
    service: Mapping[str, Behaviour] = field(default_factory=dict)
    """What Cloudflare answers tonight, by endpoint."""


def always(behaviour):
    return (Fault(behaviour, everything=True),)


def for_pages(behaviour):
    """What gives the site its list goes on."""
    return (Fault(behaviour),)


NIGHTS = (
    Night("429", "429", always(Reply("slow down", status=429)), for_browsers=False),
    Night("503", "503", always(Reply("later", status=503)), for_browsers=False),
    Night("429 for pages", "slow down", for_pages(Reply("slow down", status=429)), for_browsers=False),
    Night("resets", "connection to the site broke", for_pages(Reset())),
    Night("a challenge", "not a robot", for_pages(CHALLENGE)),
    Night("a login wall", "asks for a login", for_pages(LOGIN)),
    Night("a broken certificate", "certificate", is_trusted=False, for_browsers=False),
    Night("no name", "Name or service not known", is_known=False),
    Night("an empty page", "came back empty", for_pages(Reply(b""))),
    Night(
        "nothing but empty answers", "came back empty|only 1 pages were found", always(Reply(b"")), for_browsers=False
    ),
    Night("a parked domain", "parked", always(PARKED), for_browsers=False),
    Night("404 for everything", "404", always(NOT_FOUND), for_browsers=False, says_gone=True),
    Night("404 for pages", "gone", for_pages(NOT_FOUND), says_gone=True),
    Night("no robots.txt", "robots.txt", pages={"/robots.txt": Reply("", status=500)}),
    Night("a page whose connection is reset within it", "did not come to its end", for_pages(Reset(HALF))),
    Night("a page that breaks off", "did not come to its end", for_pages(WrongLength(HALF, len(HALF) * 2))),
)
"""Of any site. The last ones are what the table of refreshes still shows."""


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


@dataclass(frozen=True)
class Certificates:
    """The certificate that the site shows: one that is trusted, or one that nobody vouches for."""

    context: ssl.SSLContext
    authority: trustme.CA

    def show(self, *, trusted):
        authority = self.authority if trusted else trustme.CA()
        authority.issue_cert(HOST).configure_cert(self.context)


@dataclass
class Harbour:
    """A site on loopback, the job that refreshes it, and what it has come to."""

    served: LoopbackSite
    stores: object
    run: object
    resolver: Resolver
    certificates: Certificates | None = None
    """None: the site speaks http."""
    result: object = None

    def open(self, pages):
        """Put pages on the site and into its sitemap, and register it. Paths that end in `.js` are no pages."""
        self.served.pages.update(pages)
        listed = [self.served.url(path) for path in pages if not path.endswith(".js")]
        self.served.pages["/sitemap.xml"] = sitemap(*listed)
        self.served.pages["/robots.txt"] = text("User-agent: *\nDisallow: /private\n")
        self.stores.sites.add(SITE, self.served.url("/"), options=SiteOptions(auto_approve_pages=100))

    def refresh(self):
        """Let a day pass. A robots.txt that was read longer than a day ago serves no more."""
        files, origin = self.stores.robots_files, self.served.origin
        if read := files.get(origin):
            files.put(origin, read.status, read.body, read.fetched_at - timedelta(days=2))
        self.result = self.run("refresh", SITE)
        return self.stores.refreshes.latest(SITE)

    def spend(self, night):
        """One night, after which the site is as it was."""
        usual = dict(self.served.pages)
        self.served.pages.update(night.pages)
        self.served.faults = list(night.faults)
        self.resolver.known = night.is_known
        if self.certificates is not None:
            self.certificates.show(trusted=night.is_trusted)
        try:
            return self.refresh()
        finally:
            self.served.pages, self.served.faults, self.resolver.known = usual, [], True
            if self.certificates is not None:
                self.certificates.show(trusted=True)

    def shown_in_the_ui(self, asset):
        """The table of refreshes that is with the asset."""
        events = self.result.get_asset_materialization_events()
        [shown] = [event.materialization for event in events if event.asset_key.to_user_string() == asset]
        return shown.metadata["history"].value

    def live(self):
        """Every row of what search reads, to the last bit of its vector."""
        publication = self.stores.publications.live(SITE)
        table = self.stores.site(SITE).table(publication.table_name)
        table.checkout("live")
        return publication, sorted(json.dumps(row, default=str) for row in read_rows(table).to_pylist())

    def told(self, path):
        """What `kb why` says of a page."""
        url = self.served.url(path)
        return next(told for told in explain(self.stores, url, SITE) if told.page.url == url)


def untold_of(night, refresh):
    """What the table of refreshes says of a night, where it does not say what happened; else None."""
    said = why(refresh)
    return None if refresh.outcome is not None and re.search(night.said, said) else (night.what, refresh.outcome, said)
