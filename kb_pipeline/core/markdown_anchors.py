"""The fragment by which each section of a page is linked to, and the `¶` links that show it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kb_pipeline.core.html_tree import Node

HEADINGS: Final = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SECTION_TAGS: Final = frozenset({"a", "article", "div", "section", "span"})
_PERMALINK_TEXTS: Final = frozenset({"", "#", "¶", "§", "🔗", "link", "permalink", "anchor", "\uf0c1"})
_PERMALINK_PHRASES: Final = ("link to", "permalink", "direct link", "copy link", "anchor for")
_PERMALINK_CLASS: Final = re.compile(r"headerlink|anchor|permalink|hash-link|heading-link|direct-link")
_PAGE_IDS: Final = re.compile(
    r"(?:__)?(?:next|nuxt|root|app|page|main|content|wrapper|container|body|top|primary|inner|main-?content|page-content|skip\S*)"
)


class SectionAnchors:
    """Remembers the last id that was passed: when a heading follows at once, it is that section's."""

    def __init__(self) -> None:
        self._fragment = ""
        self._noted_at = -1

    def note(self, node: Node, place: int) -> None:
        """Remember an element's id. `place` tells how much had been written before it."""
        attributes = node.attributes
        if not attributes or node.tag not in _SECTION_TAGS:
            return
        fragment = attributes.get("id") or (attributes.get("name") if node.tag == "a" else None)
        if fragment and not _PAGE_IDS.fullmatch(fragment.lower()):
            self._fragment, self._noted_at = fragment, place

    def of(self, heading: Node, place: int | None) -> str | None:
        """A heading's own id, one inside it, its permalink's target, or the id noted at the same place."""
        for node in heading.iter():
            fragment = node.get("id") or (node.get("name") if node.tag == "a" else "")
            if fragment:
                return fragment
            if node.tag == "a" and node.get("href").startswith("#") and len(node.get("href")) > 1:
                return node.get("href")[1:]
        return self._fragment if self._fragment and self._noted_at == place else None


def without_permalinks(node: Node) -> list[Node | str]:
    """The children of a heading or term, without the `¶` or `#` that links to it."""
    return [child for child in node.children if isinstance(child, str) or not _is_permalink(child)]


def _is_permalink(node: Node) -> bool:
    if node.tag not in {"a", "button", "span", "div"}:
        return False
    link = node if node.tag == "a" else node.find("a")
    if link is None or "#" not in link.get("href"):
        return False
    text = node.text().lower()
    if text in _PERMALINK_TEXTS or text.startswith(_PERMALINK_PHRASES):
        return True
    return len(text) <= 1 and bool(_PERMALINK_CLASS.search(link.names()))
