"""What can be said of a page before anything is decided: its headlines, its text, how much of it is links, what it
asks for. One pass over the tree; `core.page_state` draws the conclusions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS_READ: Final = 300_000
"""Characters of the HTML that are searched for vendors' marks."""
TEXT_READ: Final = 4_000
MAX_HEADLINE: Final = 300
FRAME_LETTERS: Final = 250
"""A frame element with more letters than this, and than half of the page, is none."""
_LOGIN_FIELDS: Final = frozenset({"loginfmt", "username", "login", "os_username"})
_REFRESH_AT_ONCE: Final = re.compile(r"\s*[0-5](?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*\S", re.IGNORECASE)
_NEVER_TEXT: Final = frozenset({"head", "option", "script", "style", "svg", "template", "textarea"})
_FRAME: Final = frozenset({"aside", "footer", "nav", "noscript"})
_FRAME_ROLES: Final = frozenset({"banner", "contentinfo", "navigation"})
_HEADLINES: Final = frozenset({"h1", "h2", "h3", "h4", "legend"})
_QUOTED: Final = _HEADLINES | {"button", "noscript", "title"}
_TITLE_PARTS: Final = re.compile("\\s+[|\u2013\u2014\u00b7\u2022-]\\s+|\\s*[|\u00bb]\\s*|:\\s+")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the rules look at. Letters are characters that are no white space."""

    url: str
    marks: str
    """The HTML itself: what vendors write stands in scripts and attributes."""
    headlines: tuple[str, ...]
    """Parts of the title, and headings, in lower case."""
    text: str
    """Beginning of the text outside of navigation and footer, in lower case."""
    all_letters: int
    """Letters of the whole page, its frame and hidden parts included."""
    letters: int
    prose: int
    """Letters of that text which are not links."""
    fields: frozenset[str]
    """Types of input fields outside of navigation and footer, and "button" where there is one."""
    actions: str
    noscript: str
    refreshes: bool
    scripts: int

    @classmethod
    def of(cls, document: Node, html: str, url: str) -> PageFacts:
        """Read a measured document."""
        content = _Content()
        for node, framed, quoted in _walk(document):
            content.see(node, framed=framed, quoted=quoted)
        text = _plain("".join(content.text))
        letters = content.letters
        return cls(
            url=url,
            marks=html[:MARKS_READ],
            headlines=tuple(content.headlines),
            text=text[:TEXT_READ],
            all_letters=document.letters,
            letters=letters,
            prose=letters - content.link_letters,
            fields=frozenset(content.fields),
            actions=" ".join(content.actions).lower()[:TEXT_READ],
            noscript=" ".join(content.noscript).lower()[:TEXT_READ],
            refreshes=content.refreshes,
            scripts=content.scripts,
        )

    def says(self, words: re.Pattern[str], most: int) -> bool:
        """Whether the page is this sparse, and has the words in its text."""
        return self.prose <= most and bool(words.search(self.text))

    def is_headed(self, words: re.Pattern[str], most: int) -> bool:
        """Whether the page is this sparse, and a headline has the words."""
        return self.prose <= most and any(words.search(line) for line in self.headlines)


class _Content:
    """Collects in one pass over the tree what `_Page` holds."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.headlines: list[str] = []
        self.fields: set[str] = set()
        self.actions: list[str] = []
        self.noscript: list[str] = []
        self.letters = self.link_letters = self.scripts = 0
        self.refreshes = False

    def see(self, node: Node, *, framed: bool, quoted: bool) -> None:
        """Take in one element. The text of a `quoted` one has been taken with an element around it."""
        if not framed:
            self._take_text(node)
        if not quoted:
            self._take_head(node)
            if not framed:
                self._take_control(node)

    def _take_head(self, node: Node) -> None:
        tag = node.tag
        if tag == "title" and not self.headlines:
            title = _plain(node.text())[:MAX_HEADLINE]
            self.headlines += [title, *(part for part in _TITLE_PARTS.split(title) if part)]
        elif tag == "script":
            self.scripts += 1
        elif tag == "noscript":
            self.noscript.append(node.text()[:TEXT_READ])
        elif tag == "meta" and node.get("http-equiv").lower() == "refresh":
            self.refreshes = self.refreshes or bool(_REFRESH_AT_ONCE.match(node.get("content")))

    def _take_control(self, node: Node) -> None:
        tag = node.tag
        if tag == "input":
            self.fields.add(node.get("type").lower() or "text")
            if node.get("name").lower() in _LOGIN_FIELDS:
                self.fields.add("login")
        elif tag == "button":
            self.fields.add("button")
            self.actions.append(node.text()[:MAX_HEADLINE])
        elif tag in _HEADLINES:
            self.headlines.append(_plain(node.text())[:MAX_HEADLINE])

    def _take_text(self, node: Node) -> None:
        for child in node.children:
            if isinstance(child, str):
                self.text.append(child)
                self.letters += sum(map(len, child.split()))
            elif child.tag == "a":
                self.link_letters += child.letters
        self.text.append(" ")


def _plain(text: str) -> str:
    """As the signs are written: in lower case, with straight apostrophes and single blanks."""
    return " ".join(text.lower().replace("\u2019", "'").split())


def _walk(document: Node) -> Iterator[tuple[Node, bool, bool]]:
    """Every element in order, whether it belongs to the page's frame, and whether to one that is quoted whole."""
    most = max(FRAME_LETTERS, document.letters // 2)
    stack = [(document, False, False)]
    while stack:
        node, framed, quoted = stack.pop()
        yield node, framed, quoted
        quotes = quoted or node.tag in _QUOTED
        stack.extend(
            (child, framed or child.tag in _NEVER_TEXT or (child.letters <= most and _is_frame(child)), quotes)
            for child in reversed(node.children)
            if isinstance(child, Node)
        )


def _is_frame(node: Node) -> bool:
    """Whether an element frames the page or is not shown. One that holds most of the text is neither."""
    if node.tag in _FRAME or (node.tag == "header" and "nav" in node.holds):
        return True
    attributes = node.attributes
    return bool(attributes) and (
        attributes.get("role") in _FRAME_ROLES
        or "hidden" in attributes
        or "display:none" in node.get("style").replace(" ", "")
    )
