"""Tells a page where people answer each other: a forum's thread, a question with its answers, an article's comments."""

from __future__ import annotations

from typing import Final

from kb_pipeline.core.html_tree import Node, names

_POSTS: Final = names("answer answers comment comments message post postbody replies reply")
_LEAST_POSTS: Final = 5
"""So many siblings are named so. Manuals call a few of their parts posts or comments too."""
_LEAST_LETTERS: Final = 30


def is_conversation(page: Node) -> bool:
    """Whether elements beside each other call themselves posts, answers or comments, and say something."""
    return any(_posts_in(node) >= _LEAST_POSTS for node in page.iter() if len(node.children) >= _LEAST_POSTS)


def _posts_in(node: Node) -> int:
    posts = 0
    for child in node.children:
        if isinstance(child, Node) and child.attributes and child.letters >= _LEAST_LETTERS:
            posts += not _POSTS.isdisjoint(child.words())
    return posts
