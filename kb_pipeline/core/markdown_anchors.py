"""The fragment by which each section of a page is linked to, and the `¶` links that show it."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from kb_pipeline.core.html_tree import Node

HEADINGS: Final = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SECTION_TAGS: Final = frozenset({"a", "article", "details", "div", "section", "span"})
_PERMALINK_TEXTS: Final = frozenset({"", "#", "¶", "§", "🔗", "link", "permalink", "anchor", "\uf0c1", "◆"})
_SOURCE_TEXTS: Final = frozenset({"source", "[source]", "[src]"})
_SOURCE_CLASS: Final = re.compile(r"(?:^|[\s_-])(?:src|source|viewcode)(?:$|[\s_-])")
LONGEST_MARK: Final = 8
"""Letters of the longest, `[source]`."""
_IN_BOX: Final = 5
"""Children, text between them counted, of what holds a heading and its permalink."""
_MARKS: Final = frozenset("¶§#◆🔗↩↑^⏎")
_PERMALINK_PHRASES: Final = ("link to", "permalink", "direct link", "copy link", "anchor for")
_PERMALINK_CLASS: Final = re.compile(r"headerlink|anchor|permalink|hash-link|heading-link|direct-link")
_PAGE_IDS: Final = re.compile(
    r"(?:__)?(?:next|nuxt|root|app|page|main|content|wrapper|container|body|top|primary|inner|main-?content|page-content|skip\S*"
    r"|(?:article|page|post|site|body)[-_]?(?:container|body|wrapper|content))"
)
_NUMBERED: Final = re.compile(
    r"id[mp]?-?\d[\d.-]*|d\d+e\d+|n1[0-9a-f]{4,7}"  # DocBook's and docutils'
    r"|ember\d+|ext-gen\d+|gwt-uid-\d+|yui_\d\S*|:r\w*:|(?:radix|headlessui|react-aria)\S*\d\S*"  # scripts'
)
"""Ids that a program gave by counting: the next edition, with one section more, gives each to another."""

_MOST_AROUND: Final = 40
"""Elements around a heading that are asked for a better id: a page of headings far down took twice as long without."""


class SectionAnchors:
    """Remembers the last id that was passed: when a heading follows at once, it is that section's."""

    def __init__(self) -> None:
        self._fragment = ""
        self._noted_at = -1
        self._noted: set[str] = set()
        """All that was passed where the last one was,"""
        self._given: set[str] = set()
        """and those of sections."""

    def note(self, node: Node, place: int) -> None:
        """Remember an element's id. `place` tells how much had been written before it."""
        attributes = node.attributes
        if node.tag not in _SECTION_TAGS:
            return
        fragment = attributes.get("id") or (attributes.get("name") if node.tag == "a" else None)
        if fragment and not _PAGE_IDS.fullmatch(fragment.lower()):
            if self._noted_at != place:
                self._noted.clear()
            self._noted.add(fragment)
            self._fragment, self._noted_at = fragment, place

    def of(self, heading: Node, place: int | None) -> str | None:
        """A heading's own id, one inside it, its permalink's target, or the id noted at the same place. Instead of one
        that a program gave by counting, that of the section around it which has a better one."""
        fragment = self._nearest(heading, place)
        if fragment is None:
            return None
        if _is_numbered(fragment):
            begun = self._noted if self._noted_at == place else ()
            around = (above.get("id") for above in islice(heading.ancestors(), _MOST_AROUND))
            sections = (above for above in around if above in self._given or above in begun)
            fragment = next((above for above in sections if not _is_numbered(above)), fragment)
        self._given.add(fragment)
        return fragment

    def _nearest(self, heading: Node, place: int | None) -> str | None:
        for node in heading.iter():
            fragment = node.get("id") or (node.get("name") if node.tag == "a" else "")
            if fragment and node.tag != "button":
                return fragment
            if node.tag == "a" and node.get("href").startswith("#") and len(node.get("href")) > 1:
                return node.get("href")[1:]
        if (following := _next_link(heading)) is not None:
            return following.get("href")[1:]
        return self._fragment if self._fragment and self._noted_at == place else None


def _is_numbered(fragment: str) -> bool:
    return _NUMBERED.fullmatch(fragment.lower()) is not None


def _next_link(heading: Node) -> Node | None:
    """The permalink that follows a heading in a box of their own."""
    if heading.parent is None or len(heading.parent.children) > _IN_BOX:
        return None
    beside = [child for child in heading.parent.children if isinstance(child, Node)]
    if len(beside) != 2 or beside[0] is not heading:  # noqa: PLR2004 - the heading and its link
        return None
    link = beside[1]
    return (
        link
        if link.tag == "a" and not link.letters and len(link.get("href")) > 1 and link.get("href")[0] == "#"
        else None
    )


def without_permalinks(node: Node) -> list[Node | str]:
    """The children of a heading or term, without the `¶` or `#` that links to it, and buttons beside its text."""
    kept = [child for child in node.children if isinstance(child, str) or not _is_permalink(child)]
    if not any(child.strip() if isinstance(child, str) else child.letters for child in kept):
        # A term may be one character that links to itself.
        return kept if node.text().lower() in _PERMALINK_TEXTS else list(node.children)
    said = [child for child in kept if isinstance(child, str) or child.tag != "button"]
    return said if any(child.strip() if isinstance(child, str) else child.letters for child in said) else kept


def is_mark(link: Node) -> bool:
    """Whether a link shows only a sign that it is one: `¶` at a section, `↩` at a footnote, `source` at a signature."""
    if _SOURCE_CLASS.search(link.get("class").lower()):
        return link.text().lower() in _SOURCE_TEXTS
    if not link.get("href").startswith("#") or link.letters > 2:  # noqa: PLR2004 - a sign and its variation selector
        return False
    text = link.text().strip("\ufe0e\ufe0f")
    return bool(text) and text in _MARKS


def _is_permalink(node: Node) -> bool:
    if node.tag not in {"a", "button", "span", "div"}:
        return False
    link = node if node.tag == "a" else node.find("a")
    if link is None:
        return False
    text = node.text().lower()
    if text in _SOURCE_TEXTS:
        return True
    if "#" not in link.get("href"):
        return False
    if text in _PERMALINK_TEXTS or text.startswith(_PERMALINK_PHRASES):
        return True
    return len(text) <= 1 and bool(_PERMALINK_CLASS.search(link.names()))
