"""What a page says about itself outside of its text: title, description, language, dates, what robots may do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.core.html_tree import TELLING_TAGS
from kb_pipeline.core.product_facts import MARKED, product_facts
from kb_pipeline.core.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kb_pipeline.core.html_tree import Node

MAX_TITLE: Final = 300
MAX_DESCRIPTION: Final = 1_000
MAX_AUTHOR: Final = 200
MAX_STRUCTURED: Final = 500_000
"""Characters of one JSON-LD block that are read."""
MAX_OBJECTS: Final = 5_000
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_PUBLISHED: Final = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dcterms.created",
    "publish-date",
    "pubdate",
)
_MODIFIED: Final = ("article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified")
_AUTHOR: Final = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "byl")
_BODY_FIELDS: Final = ("articleBody", "text", "reviewBody", "description")


@dataclass(frozen=True, slots=True)
class PageMetadata:
    """Empty or None where the page does not say. Dates as the page writes them, in ISO 8601."""

    title: str
    description: str
    language: str | None
    canonical: str | None
    author: str
    """As the page names it; several joined by commas."""
    published: str | None
    modified: str | None
    noindex: bool
    nofollow: bool
    base_url: str
    """What relative links are resolved against."""
    facts: tuple[tuple[str, str], ...]
    """What is stated of the page's product, as (label, value)."""
    kind: str
    """`og:type`, in lower case."""
    structured_text: str
    """The longest body text in JSON-LD: some pages hold their content there and nowhere else."""


def read_metadata(nodes: Iterable[Node], url: str, bot_token: str = "") -> PageMetadata:
    """Read a parsed page's metadata from its telling elements (`html_tree.with_tree`). `bot_token` is the product token
    whose robots meta counts beside `robots`."""
    seen = _Seen(url)
    for node in nodes:
        seen.see(node)
    objects = list(seen.structured_objects())
    robots = _robots(seen.meta_all, bot_token)
    return PageMetadata(
        title=(seen.title or seen.first("og:title") or seen.heading)[:MAX_TITLE],
        # Some systems escape it twice.
        description=unescape(seen.first("description", "og:description", "twitter:description"))[:MAX_DESCRIPTION],
        language=_language(seen.language or seen.first("content-language", "og:locale")),
        canonical=seen.canonical,
        author=_author(seen, objects)[:MAX_AUTHOR],
        published=_date(seen.first(*_PUBLISHED), *(found.get("datePublished") for found in objects), seen.time),
        modified=_date(seen.first(*_MODIFIED), *(found.get("dateModified") for found in objects), seen.updated),
        noindex="noindex" in robots or "none" in robots,
        nofollow="nofollow" in robots or "none" in robots,
        base_url=seen.base_url,
        facts=product_facts(objects, seen.marked),
        kind=seen.first("og:type").lower(),
        structured_text=max((text for found in objects for text in _body_texts(found)), key=len, default=""),
    )


class _Seen:
    """The first of everything, in one pass."""

    def __init__(self, url: str) -> None:
        self.base_url = url
        self.title = self.heading = self.language = self.time = self.updated = ""
        self.canonical: str | None = None
        self.marked: list[tuple[str, str]] = []
        self.meta_all: list[tuple[str, str]] = []
        self._meta: dict[str, str] = {}
        self._url = url
        self._has_base = False
        self._structured: list[str] = []

    def see(self, node: Node) -> None:
        handler = _HANDLERS.get(node.tag)
        if handler is not None:
            handler(self, node)
        if "itemprop" in node.attributes and (name := node.get("itemprop").lower()) in MARKED:
            self.marked.append((name, node.get("content") or node.text()))

    def first(self, *names: str) -> str:
        """The first non-empty `<meta>` of these names, in the order of the names."""
        return next(filter(None, map(self._meta.get, names)), "")

    def structured_objects(self) -> Iterator[dict[str, Any]]:
        for written in self._structured:
            yield from _objects(written)

    def _see_title(self, node: Node) -> None:
        if not self.title and not any(above.tag == "svg" for above in node.ancestors()):
            self.title = node.text()

    def _see_h1(self, node: Node) -> None:
        self.heading = self.heading or node.text()

    def _see_html(self, node: Node) -> None:
        self.language = self.language or node.get("lang") or node.get("xml:lang")

    def _see_time(self, node: Node) -> None:
        if "modified" in node.get("itemprop").lower() or "updated" in node.get("class").lower().split():
            self.updated = self.updated or node.get("datetime")
        else:
            self.time = self.time or node.get("datetime")

    def _see_base(self, node: Node) -> None:
        if not self._has_base and node.get("href"):
            self._has_base = True
            self.base_url = resolve(self._url, node.get("href")) or self._url

    def _see_meta(self, node: Node) -> None:
        name = node.get("name") or node.get("property") or node.get("itemprop") or node.get("http-equiv")
        if name:
            name, value = name.lower(), " ".join(node.get("content").split())
            self.meta_all.append((name, value))
            if value:
                self._meta.setdefault(name, value)

    def _see_link(self, node: Node) -> None:
        if self.canonical is None and "canonical" in node.get("rel").lower().split() and node.get("href"):
            address = resolve(self.base_url, node.get("href"))
            self.canonical = address if address and address.startswith(("http://", "https://")) else None

    def _see_script(self, node: Node) -> None:
        if node.children and "ld+json" in node.get("type").lower():
            self._structured.append("".join(node.pieces()))


_HANDLERS: Final = {tag: getattr(_Seen, f"_see_{tag}") for tag in TELLING_TAGS}


def _robots(meta: list[tuple[str, str]], bot_token: str) -> frozenset[str]:
    names = {"robots", bot_token.lower()} - {""}
    return frozenset(word.strip() for name, value in meta if name in names for word in value.lower().split(","))


def _author(seen: _Seen, objects: list[dict[str, Any]]) -> str:
    """Who wrote the page: of its `<meta>`, else of its JSON-LD. An address is no name."""
    for name in _AUTHOR:
        written = seen.first(name)
        if written and "://" not in written:
            return written.removeprefix("By ")
    for found in objects:
        people = found.get("author")
        names = [_name(person) for person in (people if isinstance(people, list) else [people])]
        if known := [name for name in names if name and "://" not in name]:
            return ", ".join(known)
    return ""


def _name(person: object) -> str:
    name = person.get("name") if isinstance(person, dict) else person
    return " ".join(name.split()) if isinstance(name, str) else ""


def _language(written: str) -> str | None:
    match = _LANGUAGE.match(written.strip())
    return match[0].replace("_", "-") if match else None


def _date(*written: object) -> str | None:
    for value in written:
        if isinstance(value, str) and (match := _DATE.match(value.strip())):
            return match[0]
    return None


def _objects(written: str) -> Iterator[dict[str, Any]]:
    """Every object of a JSON-LD block, nested ones too; none when it is not JSON."""
    if len(written) > MAX_STRUCTURED:
        return
    try:
        stack: list[Any] = [json.loads(written, strict=False)]
    except (ValueError, RecursionError):
        return
    left = MAX_OBJECTS
    while stack and left:
        left -= 1
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(value for value in reversed(item.values()) if isinstance(value, (dict, list)))
        elif isinstance(item, list):
            stack.extend(reversed(item))


def _body_texts(found: dict[str, Any]) -> Iterator[str]:
    for name in _BODY_FIELDS:
        value = found.get(name)
        if isinstance(value, str):
            yield value
