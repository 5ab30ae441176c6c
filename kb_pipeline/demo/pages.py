"""The demo site's content files: a few `name: value` lines, a blank line, and the HTML of the page's body.
A page's path follows from its file's place, its frame from its `layout`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from string import Template
from typing import Final

CONTENT: Final = Path(__file__).parent / "content"
_LAYOUTS: Final = CONTENT / "layouts"
_SECOND_ACT: Final = CONTENT / "second-act"


@dataclass(frozen=True, slots=True)
class ContentPage:
    """One page of the demo site, without its frame."""

    path: str
    title: str
    description: str
    lastmod: datetime
    """UTC; goes into the sitemap and the Last-Modified header."""
    layout: str
    priority: float
    body: str


def first_act() -> dict[str, ContentPage]:
    """Load the pages of the site as it is at first, by path."""
    apart = {_LAYOUTS, _SECOND_ACT}
    files = [file for file in sorted(CONTENT.rglob("*.html")) if apart.isdisjoint(file.parents)]
    return {page.path: page for page in (_load(file, CONTENT) for file in files)}


def second_act() -> dict[str, ContentPage]:
    """Load the pages that the site gains in its second act."""
    return {page.path: page for page in (_load(file, _SECOND_ACT) for file in sorted(_SECOND_ACT.rglob("*.html")))}


def render(page: ContentPage, origin: str) -> bytes:
    """Put the page into its frame, as it is served; its canonical link names the path without any query."""
    layout = Template((_LAYOUTS / f"{page.layout}.html").read_text(encoding="utf-8"))
    html = layout.substitute(
        title=escape(page.title),
        description=escape(page.description),
        canonical=escape(origin + page.path),
        path=escape(page.path),
        lastmod=page.lastmod.date().isoformat(),
        body=page.body,
    )
    return html.encode()


def _load(file: Path, root: Path) -> ContentPage:
    head, _, body = file.read_text(encoding="utf-8").partition("\n\n")
    fields = {name: value.strip() for name, _, value in (line.partition(":") for line in head.splitlines())}
    return ContentPage(
        path=_path_of(file.relative_to(root)),
        title=fields["title"],
        description=fields["description"],
        lastmod=datetime.fromisoformat(fields["lastmod"]).replace(tzinfo=UTC),
        layout=fields["layout"],
        priority=float(fields["priority"]),
        body=body.rstrip("\n"),
    )


def _path_of(file: Path) -> str:
    """`docs/limits.html` is `/docs/limits`; an `index.html` is its folder's address, with the slash."""
    path = "/" + file.with_suffix("").as_posix()
    return path.removesuffix("index") if path.endswith("/index") else path
