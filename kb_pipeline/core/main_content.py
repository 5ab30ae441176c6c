"""Chooses the part of a page that is its content, chrome having been dropped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.html_tree import Node

ENOUGH_LETTERS: Final = 170
"""About 200 characters with their spaces: a smaller guess is no guess."""
ENOUGH_SHARE: Final = 0.1
"""A guess with less of the page's text is not trusted."""
_CONTENT_NAMES: Final = re.compile(
    r"(?:^|\s)(?:content|main|main-?content|page-?content|post-?content|entry-?content|article-?body|article-?content|markdown-?body"
    r"|post-?body|content-?body|mw-parser-output|documentation|document|rst-content|body-?content|content-?main|primary)(?:\s|$)"
)


def choose_main(document: Node) -> list[Node]:
    """The nodes that hold the content of a measured, stripped document; the body when no guess holds enough."""
    body = next((node for node in document.iter() if node.tag == "body"), document)
    for candidates in _candidates(body):
        best = max(candidates, key=lambda node: node.letters, default=None)
        if best is not None and best.letters >= ENOUGH_LETTERS and best.letters >= body.letters * ENOUGH_SHARE:
            return _with_title(best, body)
    return [body]


def _candidates(body: Node) -> Sequence[list[Node]]:
    mains: list[Node] = []
    articles: list[Node] = []
    named: list[Node] = []
    for node in body.iter():
        if node.tag == "main" or node.get("role") == "main":
            mains.append(node)
        elif node.tag == "article" or node.get("itemprop") == "articleBody":
            articles.append(node)
        elif node.attributes and node.tag in {"div", "section", "td"} and _CONTENT_NAMES.search(node.names()):
            named.append(node)
    return mains, articles, named


def _with_title(chosen: Node, body: Node) -> list[Node]:
    """The chosen node, after the page's h1 where that stands outside of it."""
    if "h1" in chosen.holds or "h1" not in body.holds:
        return [chosen]
    for node in body.iter():
        if node is chosen:
            break
        if node.tag == "h1":
            return [node, chosen]
    return [chosen]
