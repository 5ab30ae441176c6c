"""Sitemaps (sitemaps.org): XML, text, gzipped, and feeds that serve as one. Only the list is read here: which of
the addresses belong to a site is for scope to say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.core import feeds
from kb_pipeline.core.listings import MAX_ENTRIES, SitemapEntry, absolute_address, parse_date, parse_priority
from kb_pipeline.core.urls import is_http, resolve
from kb_pipeline.core.xml_reading import (
    MAX_INFLATED,
    Elements,
    XmlText,
    local_name,
    namespace,
    prepare,
    read_text,
    text_of,
)

if TYPE_CHECKING:
    from lxml import etree

__all__ = ["Sitemap", "SitemapEntry", "may_list", "parse_sitemap"]

_HTML_START: Final = re.compile(
    # Possessive: comments could otherwise be divided among the repetitions in exponentially many ways.
    r"\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?>.*?-->)\s*+)*+(?:<!doctype\s+html|<html[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_LIST_ROOT: Final = re.compile(r"<(?:[\w.-]{1,30}:)?(?:urlset|sitemapindex|rss|feed)[\s>]", re.IGNORECASE)
_LONGEST_OPENING: Final = 16_384
_ENTRIES: Final = frozenset({"url", "sitemap"})
_SITEMAP_ROOTS: Final = frozenset({"urlset", "sitemapindex"})
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_MAX_ALTERNATES: Final = 100


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one file says. Empty `pages` and `sitemaps` with a problem is no list at all."""

    pages: tuple[SitemapEntry, ...] = ()
    sitemaps: tuple[str, ...] = ()
    """Addresses of further sitemaps."""
    problems: tuple[str, ...] = ()
    """What was wrong, for the site's owner; what could be read counts all the same."""
    octets: int = 0
    """Bytes that were read, decompressed."""


@dataclass(slots=True)
class _Reading:
    url: str
    octets: int
    pages: dict[str, SitemapEntry] = field(default_factory=dict)
    sitemaps: dict[str, None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def done(self) -> Sitemap:
        problems = tuple(dict.fromkeys(self.problems))
        return Sitemap(tuple(self.pages.values()), tuple(self.sitemaps), problems, self.octets)

    @property
    def full(self) -> bool:
        return len(self.pages) + len(self.sitemaps) >= MAX_ENTRIES


def parse_sitemap(body: bytes, url: str, content_type: str | None = None, *, max_bytes: int = MAX_INFLATED) -> Sitemap:
    """Read a sitemap by what it holds: neither its name nor its content type is believed.

    Never raises for content. At most `max_bytes` decompressed and 50,000 addresses are read, once each, in order.
    """
    document = read_text(body, max_bytes)
    reading = _Reading(url, document.octets, problems=document.problems)
    text = _from_its_start(document.text, reading.problems)
    if not text:
        reading.problems.append("empty")
    elif _HTML_START.match(text[:4096]):
        reading.problems.append("an HTML page, not a sitemap")
    elif text.startswith("<"):
        _read_xml(prepare(XmlText(text, reading.problems)), reading)
    elif text.startswith("{"):
        _read_json(text, reading)
    else:
        _read_lines(text, reading, content_type)
    if reading.full:
        reading.problems.append(f"names {MAX_ENTRIES:,} addresses or more: the rest was not read")
    return reading.done()


def _from_its_start(text: str, problems: list[str]) -> str:
    """Without blanks, and without the warnings that a server's program wrote before its list; "" for blanks alone."""
    head = text[:_LONGEST_OPENING].lstrip(" \t\r\n\ufeff\xa0\x00")
    if not head:
        return ""
    text = text[min(len(text), _LONGEST_OPENING) - len(head) :]
    if text.startswith(("<?", "<!", "{")) or _LIST_ROOT.match(text) or not (root := _LIST_ROOT.search(head)):
        return text
    problems.append("something stands before the list: it was passed over")
    return text[root.start() :]


def _read_xml(document: XmlText, reading: _Reading) -> None:
    elements = Elements(document.text, _ENTRIES)
    for element in elements:
        _read_entry(element, document.entities, reading)
        if reading.full:
            return
    if elements.root in feeds.FEED_ROOTS:
        entries, elements = feeds.xml_entries(document, reading.url)
        reading.pages.update((entry.url, entry) for entry in entries)
    elif elements.root == "html":
        reading.problems.append("an HTML page, not a sitemap")
        return
    elif elements.root not in _SITEMAP_ROOTS and not (reading.pages or reading.sitemaps):
        reading.problems.append(f"not a sitemap: its root element is <{elements.root[:50]}>")
        return
    if not elements.ended:
        reading.problems.append("ends early or is damaged: what came before was read")


def _read_entry(element: etree._Element, entities: frozenset[str], reading: _Reading) -> None:
    # image:loc and video:loc are in other namespaces, and are no pages.
    prefix = str(element.tag)[: -len(local_name(element))]
    texts: dict[str, str] = {}
    locations: list[str] = []
    for child in element:
        name = local_name(child)
        if child.tag == f"{prefix}{name}" or (name and namespace(child) == namespace(element)):
            texts.setdefault(name, text_of(child))
            if name == "loc":
                locations.append(text_of(child))
    for location in locations:
        if not location or any(f"&{name};" in location for name in entities):
            continue
        address = absolute_address(location, reading.url)
        if address is None:
            reading.problems.append("names addresses that are not http(s): left out")
        elif local_name(element) == "sitemap":
            reading.sitemaps.setdefault(address)
        elif address not in reading.pages:
            lastmod, priority = parse_date(texts.get("lastmod")), parse_priority(texts.get("priority"))
            reading.pages[address] = SitemapEntry(address, lastmod, priority, _alternates(element))


def _alternates(element: etree._Element) -> tuple[tuple[str, str], ...]:
    found = [
        (str(child.get("hreflang")), str(child.get("href")).strip())
        for child in element
        if local_name(child) == "link"
        and (child.get("rel") or "").lower() == "alternate"
        and child.get("hreflang")
        and child.get("href")
    ]
    return tuple(found[:_MAX_ALTERNATES])


def _read_json(text: str, reading: _Reading) -> None:
    reading.pages.update((entry.url, entry) for entry in feeds.json_entries(text, reading.url))
    if not reading.pages:
        reading.problems.append("JSON, but not a JSON Feed")


def _read_lines(text: str, reading: _Reading, content_type: str | None) -> None:
    """A text sitemap: one absolute address a line, and nothing else."""
    strange = 0
    for line in dict.fromkeys(raw.strip(" \t\ufeff\xa0\x00") for raw in _LINE_END.split(text)):
        if not line or line.startswith("#"):
            continue
        address = absolute_address(line, reading.url) if line.lower().startswith(("http:", "https:")) else None
        if address is None or len(line.split()) > 1:
            strange += 1
            continue
        reading.pages.setdefault(address, SitemapEntry(address))
        if reading.full:
            return
    if not reading.pages:
        kind = f" ({content_type})" if content_type else ""
        reading.problems.append(f"neither XML nor a list of addresses{kind}")
    elif strange:
        reading.problems.append(f"{strange} lines are no http(s) address: left out")


def may_list(sitemap_url: str, page_url: str) -> bool:
    """Whether sitemaps.org lets a sitemap at `sitemap_url` list `page_url`: same scheme, host and port, and at or
    below the sitemap's own folder."""
    sitemap, page = resolve(None, sitemap_url), resolve(None, page_url)
    if not sitemap or not page or not is_http(sitemap):
        return False
    return page.startswith(sitemap.partition("?")[0].rpartition("/")[0] + "/")
