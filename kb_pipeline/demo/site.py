"""What the demo site answers to a path, in its first and its second act. Sockets and HTTP validators are in
`server.py`.

Besides its ordinary pages the site has, on purpose: a 404 and a redirect in the sitemap, a not-found page that
answers 200, a folder that robots.txt forbids, a login gate, a page with almost no text, one page under three
addresses, a PDF, and a sitemap index with a gzipped part.
"""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from kb_pipeline.demo.pages import CONTENT, ContentPage, first_act, render, second_act

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CHANGED_PATH: Final = "/docs/limits"
_CHANGED_TEXT: Final = ("may be up to 256 KiB", "may be up to 512 KiB")
DELETED_PATH: Final = "/docs/relay-agent"
ADDED_PATH: Final = "/blog/dead-letter-inspector"
_SECOND_ACT_AT: Final = datetime(2026, 5, 19, tzinfo=UTC)

PDF_PATH: Final = "/files/ferrywire-security-overview.pdf"
_PDF_AT: Final = datetime(2026, 2, 18, tzinfo=UTC)
MISSING_PATH: Final = "/docs/webhooks-v1"
REDIRECTS: Final = {"/docs/getting-started": "/docs/quickstart", "/docs": "/docs/", "/blog": "/blog/"}
DUPLICATES: Final = ("/pricing?currency=eur", "/pricing?currency=usd")
FORBIDDEN_FOLDER: Final = "/internal/"

_PAGES_SITEMAP: Final = "/sitemaps/pages.xml"
_DOCS_SITEMAP: Final = "/sitemaps/docs.xml.gz"
_BLOG_SITEMAP: Final = "/sitemaps/blog.xml"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer before HTTP validators are added."""

    status: int
    content_type: str
    body: bytes
    modified: datetime | None = None
    location: str | None = None


@dataclass(slots=True)
class DemoSite:
    """The site's state. An act is swapped in one assignment, so that every answer is of one act."""

    pages: Mapping[str, ContentPage] = field(default_factory=first_act)
    answered: Counter[int] = field(default_factory=Counter)
    """How many answers had which status, for those who want to see what a crawl cost the site."""

    def reset(self) -> None:
        """Go back to the first act."""
        self.pages = first_act()

    def begin_second_act(self) -> None:
        """Change one page by one word, delete one, add one."""
        pages = first_act() | second_act()
        del pages[DELETED_PATH]
        page = pages[CHANGED_PATH]
        pages[CHANGED_PATH] = replace(page, body=page.body.replace(*_CHANGED_TEXT), lastmod=_SECOND_ACT_AT)
        self.pages = pages

    def reply(self, target: str, origin: str) -> Reply:
        """Answer a request target (path and query). `origin` is the site's own, without a trailing slash."""
        path = target.partition("?")[0]
        if path == "/robots.txt":
            return Reply(200, "text/plain; charset=utf-8", _robots(origin).encode())
        if path in {"/sitemap.xml", _PAGES_SITEMAP, _DOCS_SITEMAP, _BLOG_SITEMAP}:
            return self._sitemap(path, origin)
        if path == PDF_PATH:
            return Reply(200, "application/pdf", (CONTENT / PDF_PATH.lstrip("/")).read_bytes(), _PDF_AT)
        if path in REDIRECTS:
            return Reply(301, "text/plain; charset=utf-8", b"Moved.\n", location=origin + REDIRECTS[path])
        page = self.pages.get(path)
        if page is None:
            return Reply(404, "text/html; charset=utf-8", _NOT_FOUND)
        return Reply(200, "text/html; charset=utf-8", render(page, origin), page.lastmod)

    def _sitemap(self, path: str, origin: str) -> Reply:
        if path == "/sitemap.xml":
            body = _sitemap_index(origin, (_PAGES_SITEMAP, _DOCS_SITEMAP, _BLOG_SITEMAP))
            return Reply(200, "application/xml", body)
        entries = [
            (page.path, page.lastmod, page.priority) for page in self.pages.values() if _sitemap_of(page.path) == path
        ]
        entries += _AWKWARD_ENTRIES.get(path, ())
        body = _urlset(origin, entries)
        if path == _DOCS_SITEMAP:
            return Reply(200, "application/gzip", gzip.compress(body, mtime=0))
        return Reply(200, "application/xml", body)


_NOT_FOUND: Final = b"<!doctype html><title>Not found</title><h1>404</h1><p>There is no page at this address.</p>\n"

# Listed although they are not pages of their own, as sitemaps of real sites do.
_AWKWARD_ENTRIES: Final = {
    _PAGES_SITEMAP: [
        *((path, datetime(2026, 4, 20, tzinfo=UTC), 0.3) for path in DUPLICATES),
        (PDF_PATH, _PDF_AT, 0.5),
    ],
    _DOCS_SITEMAP: [
        (MISSING_PATH, datetime(2024, 8, 1, tzinfo=UTC), 0.3),
        ("/docs/getting-started", datetime(2024, 8, 1, tzinfo=UTC), 0.3),
    ],
}


def _robots(origin: str) -> str:
    return f"User-agent: *\nDisallow: {FORBIDDEN_FOLDER}\n\nSitemap: {origin}/sitemap.xml\n"


def _sitemap_of(path: str) -> str:
    if path.startswith("/docs/"):
        return _DOCS_SITEMAP
    return _BLOG_SITEMAP if path.startswith("/blog/") else _PAGES_SITEMAP


def _sitemap_index(origin: str, parts: Iterable[str]) -> bytes:
    locations = "".join(f"  <sitemap><loc>{escape(origin + part)}</loc></sitemap>\n" for part in parts)
    return f"{_XML}<sitemapindex {_NAMESPACE}>\n{locations}</sitemapindex>\n".encode()


def _urlset(origin: str, entries: Iterable[tuple[str, datetime, float]]) -> bytes:
    urls = "".join(
        f"  <url><loc>{escape(origin + path)}</loc><lastmod>{lastmod.date().isoformat()}</lastmod>"
        f"<priority>{priority}</priority></url>\n"
        for path, lastmod, priority in entries
    )
    return f"{_XML}<urlset {_NAMESPACE}>\n{urls}</urlset>\n".encode()


_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE: Final = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
