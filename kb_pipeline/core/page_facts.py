"""What can be said of a page before anything is decided: its headlines, its text, how much of it is links, what it
asks for. One pass over the tree; `core.page_state` draws the conclusions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from kb_pipeline.core import page_signs as signs
from kb_pipeline.core.html_tree import BIT_OF, Node

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKS_READ: Final = 300_000
"""Characters of the HTML that are searched for vendors' marks."""
TEXT_READ: Final = 4_000
MAX_HEADLINE: Final = 300
MOST_MARKS: Final = 20
MOST_CONTROLS: Final = 50
BARE: Final = 90
"""Letters beneath a headline up to which it stands alone."""
FRAME_LETTERS: Final = 250
"""A frame element with more letters than this, and than half of the page, is none."""
_LOGIN_FIELDS: Final = frozenset({"loginfmt", "username", "login", "os_username"})
_REFRESH_AT_ONCE: Final = re.compile(r"\s*[0-5](?:\.\d*)?\s*[;,]\s*(?:url\s*=)?\s*\S", re.IGNORECASE)
_NEVER_TEXT: Final = frozenset({"head", "option", "script", "style", "svg", "template", "textarea"})
_PRESSED: Final = frozenset({"button", "submit"})
_FRAME: Final = frozenset({"aside", "footer", "nav", "noscript"})
_FRAME_ROLES: Final = frozenset({"banner", "contentinfo", "navigation"})
_HEADLINES: Final = frozenset({"h1", "h2", "h3", "h4", "legend"})
_MANY: Final = 3
"""Headings of one level from which on each of them is one topic among others."""
_QUOTED: Final = _HEADLINES | {"button", "noscript", "title"}
_NOTHING_YET: Final = re.compile(rf"$|{signs.WAITING.pattern}")
_SENTENCES: Final = re.compile(r"[.!?](?:\s+|$)")
_TITLE_PARTS: Final = re.compile("\\s+[|\u2013\u2014\u00b7\u2022-]\\s+|\\s*[|\u00bb]\\s*|:\\s+")


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What the rules look at. Letters are characters that are no white space."""

    url: str
    marks: str
    """The HTML itself: what vendors write stands in scripts and attributes."""
    title: tuple[str, ...]
    """The title and its parts, in lower case."""
    titles: tuple[str, ...]
    """The title, the h1s and their parts; without an h1, the first heading too. In lower case."""
    headlines: tuple[str, ...]
    """These, and the first heading of each level that has few of them. Of a page that has next to no text and no
    heading, its sentences."""
    topic: tuple[str, ...]
    """The h1s."""
    text: str
    """Beginning of the text outside of navigation and footer, in lower case."""
    all_letters: int
    """Letters of the whole page, its frame and hidden parts included."""
    letters: int
    prose: int
    """Letters of that text which are not links."""
    body: str
    """That text without headings and buttons."""
    rest: int
    """Letters of the body which are not links."""
    fields: frozenset[str]
    """Types of input fields outside of navigation and footer, and "button" where there is one."""
    controls: tuple[tuple[str, Node], ...]
    """What can be pressed: what stands on it, and itself."""
    mounts: bool
    """Whether an element that a script is to fill is empty, or only says that it is loading."""
    refreshes: bool
    scripts: int

    @classmethod
    def of(cls, document: Node, html: str, url: str) -> PageFacts:
        """Read a measured document."""
        content = _Content()
        for node, framed, quoted in _walk(document):
            content.see(node, framed=framed, quoted=quoted)
        text = _plain("".join(content.text))[:TEXT_READ]
        titles, headlines = content.headings()
        if not content.levels and content.letters <= FRAME_LETTERS:
            headlines += [sentence for sentence in _SENTENCES.split(text) if sentence]
        return cls(
            url=url,
            marks=html[:MARKS_READ],
            title=tuple(content.title),
            titles=tuple(titles),
            headlines=tuple(headlines),
            topic=tuple(content.levels.get("h1", ())),
            text=text,
            all_letters=document.letters,
            letters=content.letters,
            prose=content.letters - content.link_letters,
            body=_plain("".join(content.body))[:TEXT_READ],
            rest=content.rest,
            fields=frozenset(content.fields),
            controls=tuple(content.controls),
            mounts=content.mounts,
            refreshes=content.refreshes,
            scripts=content.scripts,
        )

    def says(self, words: re.Pattern[str], most: int) -> bool:
        """Whether the page is this sparse, and has the words in its text."""
        return self.prose <= most and bool(words.search(self.text))

    def is_headed(self, words: re.Pattern[str], most: int) -> bool:
        """Whether the page is this sparse, and a headline has the words. A title counts for nothing that the h1 does
        not agree with: "Not found" above "Not found in nature"."""
        if self.prose > most:
            return False
        found = {line for line in self.headlines if words.search(line)}
        agrees = not self.topic or any(line in self.title for line in self.topic)
        return bool(found) and (agrees or not found <= set(self.title) or bool(found & set(self.topic)))

    def is_titled(self, words: re.Pattern[str]) -> bool:
        """Whether the page as a whole is headed with the words."""
        return any(words.search(line) for line in self.titles)

    def is_told(self, headline: re.Pattern[str], beneath: re.Pattern[str], most: int, *, bare: int = BARE) -> bool:
        """Whether the page is this sparse, and a headline says so that stands alone (above at most `bare` letters), or
        has beneath it what tells the visitor the same. A page that explains such a page is headed alike and goes on in
        another way."""
        if not self.is_headed(headline, most) or signs.EXPLAINS.search(self.text):
            return False
        return self.rest <= bare or bool(beneath.search(self.body))

    def is_marked(self, marks: re.Pattern[str]) -> bool:
        """Whether the HTML has a mark that the page does not show its reader: documentation quotes marks."""
        found = islice(marks.finditer(self.marks), MOST_MARKS)
        return any(" ".join(mark.group().lower().split()) not in self.text for mark in found)

    def can_press(self, words: re.Pattern[str]) -> bool:
        """Whether something can be pressed that has the words on it."""
        return any(words.search(label) for label, _ in self.controls)

    def letters_beside(self, words: re.Pattern[str], actions: re.Pattern[str]) -> int | None:
        """Letters of prose outside of the smallest element with both the words and something to press that is named
        so; None where there is none."""
        for label, control in self.controls:
            if actions.search(label):
                around = takewhile(lambda above: above.letters <= TEXT_READ, control.ancestors())
                asks = next((above for above in around if words.search(_plain(above.text()))), None)
                if asks is not None:
                    return max(0, self.prose - asks.letters)
        return None


class _Content:
    """Collects in one pass over the tree what `PageFacts` holds."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.body: list[str] = []
        self.title: list[str] = []
        self.levels: dict[str, list[str]] = {}
        """Headings by their tag, in order of appearance."""
        self.fields: set[str] = set()
        self.controls: list[tuple[str, Node]] = []
        self.letters = self.link_letters = self.rest = self.scripts = 0
        self.mounts = self.refreshes = False

    def headings(self) -> tuple[list[str], list[str]]:
        """What heads the page, and that with the headings of its parts that do not stand in a row with others."""
        own = self.levels.get("h1", [])
        first = next(iter(self.levels.values()), [])[:1] if not own else []
        titles = [*self.title, *(part for line in [*own, *first] for part in _parts(line))]
        few = [lines[0] for tag, lines in self.levels.items() if tag != "h1" and len(lines) < _MANY]
        return titles, [*titles, *(part for line in few for part in _parts(line))]

    def see(self, node: Node, *, framed: bool, quoted: bool) -> None:
        """Take in one element. The text of a `quoted` one has been taken with an element around it."""
        if not framed:
            self._take_text(node, in_body=not quoted and node.tag not in _QUOTED)
        if not quoted:
            self._take_head(node)
            if not framed:
                self._take_control(node)

    def _take_head(self, node: Node) -> None:
        tag = node.tag
        if tag == "title" and not self.title:
            self.title += _parts(_plain(node.text())[:MAX_HEADLINE])
        elif tag == "script":
            self.scripts += 1
        elif tag == "meta" and node.get("http-equiv").lower() == "refresh":
            self.refreshes = self.refreshes or bool(_REFRESH_AT_ONCE.match(node.get("content")))

    def _take_control(self, node: Node) -> None:
        tag = node.tag
        if tag == "input":
            kind = node.get("type").lower() or "text"
            self.fields.add(kind)
            if node.get("name").lower() in _LOGIN_FIELDS:
                self.fields.add("login")
            if kind in _PRESSED:
                self._take_label(node.get("value"), node)
        elif tag == "button" or node.get("role") == "button":
            self.fields.add("button")
            self._take_label(node.text() if node.letters <= MAX_HEADLINE else "", node)
        elif tag in _HEADLINES:
            self.levels.setdefault(tag, []).append(_plain(node.text())[:MAX_HEADLINE])
        if not self.mounts and (node.get("id") in signs.MOUNT_IDS or signs.MOUNT_TAGS.fullmatch(tag)):
            # An application in an application, and so on for hundreds of levels, must not be read at each of them.
            self.mounts = node.letters <= MAX_HEADLINE and bool(_NOTHING_YET.match(_plain(node.text())))

    def _take_label(self, label: str, node: Node) -> None:
        if len(self.controls) < MOST_CONTROLS:
            self.controls.append((_plain(label[:MAX_HEADLINE]), node))

    def _take_text(self, node: Node, *, in_body: bool) -> None:
        for child in node.children:
            if isinstance(child, str):
                letters = sum(map(len, child.split()))
                self.text.append(child)
                self.letters += letters
                if in_body:
                    self.body.append(child)
                    self.rest += letters
            elif child.tag == "a":
                self.link_letters += child.letters
                if in_body:
                    self.rest -= child.letters
        self.text.append(" ")
        self.body.append(" ")


def _parts(line: str) -> list[str]:
    """A headline, and what a site's name or another sign divides it into."""
    parts = [part for part in _TITLE_PARTS.split(line) if part]
    return [line, *parts] if len(parts) > 1 else [line]


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
    if node.tag in _FRAME or (node.tag == "header" and node.holds & BIT_OF["nav"]):
        return True
    attributes = node.attributes
    return bool(attributes) and (
        attributes.get("role") in _FRAME_ROLES
        or "hidden" in attributes
        or "display:none" in node.get("style").replace(" ", "")
    )
