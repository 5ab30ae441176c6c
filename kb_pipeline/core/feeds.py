"""Feeds (RSS, Atom, JSON Feed) and llms.txt as lists of pages. Only addresses and dates: what an item says is
read from its page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.listings import MAX_ENTRIES, SitemapEntry, absolute_address, parse_date
from kb_pipeline.core.urls import resolve
from kb_pipeline.core.xml_reading import Elements, XmlText, local_name, namespace, read_text, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from lxml import etree

FEED_ROOTS: Final = frozenset({"rss", "rdf", "feed"})

_ITEMS: Final = frozenset({"item", "entry"})
_DATES: Final = ("updated", "modified", "pubdate", "published", "date", "issued")
_XML_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_MARKDOWN_LINK: Final = re.compile(
    r"\[[^\[\]\n]{0,500}\]\(\s*<?([^()<>\s]{1,2048}(?:\([^()\s]{0,200}\))?[^()<>\s]{0,2048})"
)


def xml_entries(document: XmlText, url: str) -> tuple[tuple[SitemapEntry, ...], Elements]:
    """Entries of an RSS or Atom document, and the elements they were read from (for `root` and `ended`)."""
    found: dict[str, SitemapEntry] = {}
    elements = Elements(document.text, _ITEMS)
    for item in elements:
        address = _item_address(item, url)
        if address and address not in found:
            found[address] = SitemapEntry(address, _item_date(item))
        if len(found) >= MAX_ENTRIES:
            break
    return tuple(found.values()), elements


def _item_address(item: etree._Element, url: str) -> str | None:
    base = _base_of(item, url)
    for text in _item_links(item):
        if address := absolute_address(text, base):
            return address
    return None


def _item_links(item: etree._Element) -> Iterator[str]:
    """Candidates, best first. Links of other vocabularies (`atom:link` within RSS, media) are not the item's page."""
    own = namespace(item)
    children = [child for child in item if local_name(child) and namespace(child) in {own, ""}]
    for child in children:
        if local_name(child) == "link":
            rel = (child.get("rel") or "alternate").lower()
            if child.get("href") and rel == "alternate":
                yield str(child.get("href"))
            elif rel == "alternate":
                yield text_of(child)
    for child in children:
        # RSS 2.0: a guid is an address unless it says that it is not.
        if local_name(child) == "guid" and (child.get("isPermaLink") or "true").lower() == "true":
            guid = text_of(child)
            if guid.lower().startswith(("http://", "https://")):
                yield guid


def _item_date(item: etree._Element) -> datetime | None:
    texts = {local_name(child): text_of(child) for child in item}
    for name in _DATES:
        if instant := parse_date(texts.get(name)):
            return instant
    return None


def _base_of(item: etree._Element, url: str) -> str:
    """xml:base of the element and those around it (RFC 4287 §2)."""
    base = url
    for element in [*reversed(list(item.iterancestors())), item]:
        written = element.get(_XML_BASE)
        if written:
            base = resolve(base, written) or base
    return base


def json_entries(text: str, url: str) -> tuple[SitemapEntry, ...]:
    """Entries of a JSON Feed (version 1 and 1.1); empty when the text is none."""
    try:
        feed = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    items = feed.get("items") if isinstance(feed, dict) else None
    found: dict[str, SitemapEntry] = {}
    for item in items[:MAX_ENTRIES] if isinstance(items, list) else []:
        written = item.get("url") if isinstance(item, dict) else None
        address = absolute_address(written, url) if isinstance(written, str) else None
        if address:
            when = item.get("date_modified") or item.get("date_published")
            found.setdefault(address, SitemapEntry(address, parse_date(when if isinstance(when, str) else None)))
    return tuple(found.values())


def parse_llms_txt(body: bytes, url: str) -> tuple[SitemapEntry, ...]:
    """The pages that an llms.txt (Markdown with links) names; empty when the body is an HTML page."""
    text = read_text(body).text
    if text.lstrip()[:1] == "<":
        return ()
    written = dict.fromkeys(match[1] for match in _MARKDOWN_LINK.finditer(text))
    unique = dict.fromkeys(address for link in written if (address := absolute_address(link, url)))
    return tuple(SitemapEntry(address) for address in list(unique)[:MAX_ENTRIES])
