"""Links of a page: where it leads, which feeds it declares, and which address it calls its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lxml import etree

from kb_pipeline.core.urls import is_http, resolve, without_fragment

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINKS: Final = 5_000
"""Of one page. What has more is a trap or a list that a sitemap should hold."""

_SPACE: Final = " \t\n\f\r"
_FEED_TYPES: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)
_UNFOLLOWED: Final = frozenset({"nofollow", "sponsored", "ugc"})
_FOREIGN: Final = frozenset({"svg", "math", "template"})
_ROBOTS_NAMES: Final = frozenset({"robots"})
_XLINK: Final = "{http://www.w3.org/1999/xlink}href"
_DIRECTIVE: Final = re.compile(r"[\s,]+")


@dataclass(frozen=True, slots=True)
class Links:
    """What a page links to. All addresses are absolute http(s), without fragments, once each, in document order."""

    pages: tuple[str, ...] = ()
    """Of `<a>` and `<area>`, without those marked nofollow, sponsored or ugc, and without the page itself."""
    feeds: tuple[str, ...] = ()
    canonical: str | None = None
    nofollow: bool = False
    """The page asks that none of its links be followed (`<meta name=robots>`); `pages` is given all the same."""
    noindex: bool = False


def harvest(html: bytes | str, url: str, *, token: str = "", include_nofollow: bool = False) -> Links:
    """Links of the page at `url` (after redirects). Never raises for content.

    `html` as bytes is read as UTF-8: decode it first where its character set matters. `token` is the crawler's
    product token: `<meta name="<token>">` counts as `<meta name=robots>` does. `include_nofollow` follows links
    whose own `rel` says not to.
    """
    root = _parse(html)
    if root is None:
        return Links()
    base = _base(root, url)
    here = without_fragment(url)
    directives = _robots_directives(root, token)
    canonical = _first(_link_addresses(root, "canonical", base))
    return Links(
        pages=tuple(_pages(root, base, here, include_nofollow=include_nofollow)),
        feeds=tuple(dict.fromkeys(_link_addresses(root, "alternate", base, _FEED_TYPES))),
        canonical=canonical,
        nofollow=bool(directives & {"nofollow", "none"}),
        noindex=bool(directives & {"noindex", "none"}),
    )


def _parse(html: bytes | str) -> etree._Element | None:
    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    if not body.strip():
        return None
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _base(root: etree._Element, url: str) -> str:
    """The first `<base href>` of the document (HTML §4.2.3), wherever it stands; data: and javascript: are void."""
    for element in root.iter("base"):
        href = element.get("href")
        if href is None or _is_foreign(element):
            continue
        base = resolve(url, href.strip(_SPACE))
        return base if base and not base.startswith(("data:", "javascript:")) else url
    return url


def _is_foreign(element: etree._Element) -> bool:
    """Within an SVG or MathML island, or in a template, whose content is no part of the page."""
    return any(ancestor.tag in _FOREIGN for ancestor in element.iterancestors())


def _pages(root: etree._Element, base: str, here: str, *, include_nofollow: bool) -> Iterator[str]:
    seen = {here}
    written: set[str] = set()
    for element in root.iter("a", "area"):
        href = element.get("href") or element.get(_XLINK) or element.get("xlink:href")
        if not href or href in written or (not include_nofollow and _rel(element) & _UNFOLLOWED):
            continue
        written.add(href)
        address = resolve(base, href.strip(_SPACE))
        if address is None or not is_http(address):
            continue
        address = without_fragment(address)
        if address in seen or _in_template(element):
            written.discard(href)
            continue
        seen.add(address)
        yield address
        if len(seen) > MAX_LINKS:
            return


def _in_template(element: etree._Element) -> bool:
    return any(True for _ in element.iterancestors("template"))


def _rel(element: etree._Element) -> frozenset[str]:
    return frozenset((element.get("rel") or "").lower().split())


def _link_addresses(root: etree._Element, rel: str, base: str, types: frozenset[str] | None = None) -> Iterator[str]:
    for element in root.iter("link"):
        href = element.get("href")
        kind = (element.get("type") or "").partition(";")[0].strip().lower()
        if not href or rel not in _rel(element) or (types is not None and kind not in types) or _is_foreign(element):
            continue
        address = resolve(base, href.strip(_SPACE))
        if address and is_http(address):
            yield without_fragment(address)


def _first(addresses: Iterator[str]) -> str | None:
    return next(addresses, None)


def _robots_directives(root: etree._Element, token: str) -> frozenset[str]:
    names = _ROBOTS_NAMES | {token.lower()} if token else _ROBOTS_NAMES
    found: set[str] = set()
    for element in root.iter("meta"):
        if (element.get("name") or "").strip().lower() in names:
            found.update(_DIRECTIVE.split((element.get("content") or "").lower()))
    return frozenset(found)
