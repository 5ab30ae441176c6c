"""Chooses the part of a page that is its content, chrome having been dropped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.chrome import ENOUGH_LETTERS
from kb_pipeline.core.html_tree import H1
from kb_pipeline.core.reasons import Way
from kb_pipeline.core.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.core.trace import Trace

MAIN_SHARE: Final = 0.2
"""A guess with less of the page's text is not trusted: of what calls itself main,"""
ARTICLE_SHARE: Final = 0.1
"""of an article,"""
NAMED_SHARE: Final = 0.3
"""of what has only a class name to speak for it."""
MOST_BOX_LETTERS: Final = 600
"""A title's box with more text is no box of a title,"""
MOST_BOX_LINKS: Final = 0.3
"""and with a larger share of links it is navigation."""
_OUTWEIGHS: Final = 0.5
_MOST_ARTICLES: Final = 500
_NAMED_TAGS: Final = frozenset({"div", "section", "td"})
_CONTENT_NAMES: Final = re.compile(
    r"(?:^|\s)(?:content|main|main-?content|page-?content|post-?content|entry-?content|article-?body|article-?content|markdown-?body"
    r"|post-?body|content-?body|mw-parser-output|documentation|document|rst-content|body-?content|content-?main|primary)(?:\s|$)"
)


def choose_main(document: Node, trace: Trace | None = None) -> list[Node]:
    """The nodes that hold the content of a measured, stripped document; the body when no guess holds enough."""
    body = next((node for node in document.iter() if node.tag == "body"), document)
    guess, way = _guess(body, body.iter())
    chosen = [body] if guess is None else _with_title(guess, body)
    if trace is not None:
        trace.choose(body, chosen, way)
    return chosen


def main_of(body: Node, nodes: Iterable[Node]) -> Node | None:
    """Of the nodes below a body the one that holds its content; None when no guess holds enough."""
    return _guess(body, nodes)[0]


def _guess(body: Node, nodes: Iterable[Node]) -> tuple[Node | None, Way]:
    marked = _Marked(nodes)
    guesses = (
        (_largest(marked.mains), MAIN_SHARE, Way.MAIN),
        (_articles(marked.articles), ARTICLE_SHARE, Way.ARTICLE),
        (_largest(marked.named), NAMED_SHARE, Way.NAMED),
    )
    for guess, share, way in guesses:
        if guess is not None and guess.letters >= ENOUGH_LETTERS and guess.letters >= body.letters * share:
            return guess, way
    return None, Way.WHOLE


class _Marked:
    """The elements that a page marks as its content."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.mains: list[Node] = []
        self.articles: list[Node] = []
        self.named: list[Node] = []
        for node in nodes:
            tag, attributes = node.tag, node.attributes
            if tag == "main" or ("role" in attributes and node.get("role") == "main"):
                self.mains.append(node)
            elif tag == "article" or ("itemprop" in attributes and node.get("itemprop") == "articleBody"):
                self.articles.append(node)
            elif attributes and tag in _NAMED_TAGS:
                classes, identifier = attributes.get("class"), attributes.get("id")
                if (classes and _NAMES_CONTENT[classes]) or (identifier and _NAMES_CONTENT[identifier]):
                    self.named.append(node)


def _names_content(written: str) -> bool:
    return _CONTENT_NAMES.search(written.lower()) is not None


_NAMES_CONTENT: Final = Remembered(_names_content)


def _largest(nodes: Sequence[Node]) -> Node | None:
    return max(nodes, key=lambda node: node.letters, default=None)


def _articles(articles: Sequence[Node]) -> Node | None:
    """The article that outweighs all others; of articles that are alike, as in a list of posts, what holds them."""
    articles = articles[:_MOST_ARTICLES]
    largest = _largest(articles)
    if largest is None:
        return None
    inside = set(articles)
    outermost = [node for node in articles if inside.isdisjoint(node.ancestors())]
    if largest.letters >= sum(node.letters for node in outermost) * _OUTWEIGHS:
        return largest
    around = [list(node.ancestors()) for node in outermost]
    shared = set(around[0]).intersection(*around[1:])
    return next((node for node in around[0] if node in shared), largest)


def _with_title(chosen: Node, body: Node) -> list[Node]:
    """The chosen node, after the page's h1 where that stands outside of it."""
    if chosen.holds & H1 or not body.holds & H1:
        return [chosen]
    for node in body.iter():
        if node is chosen:
            break
        if node.tag == "h1":
            return [_title_box(node, chosen), chosen]
    return [chosen]


def _title_box(title: Node, chosen: Node) -> Node:
    """The title with what stands beside it, such as a manual page's name and purpose; alone where that is mostly
    links, or more than a box holds."""
    around = set(chosen.ancestors())
    box = title
    for node in title.ancestors():
        if node in around or node.letters > MOST_BOX_LETTERS or node.link_letters > node.letters * MOST_BOX_LINKS:
            break
        box = node
    return box
