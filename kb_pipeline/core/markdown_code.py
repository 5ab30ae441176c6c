"""Code blocks of documentation sites: the exact text, and the language that their highlighter left behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, names

if TYPE_CHECKING:
    from collections.abc import Iterator

_LANGUAGE_NAME: Final = r"([a-z0-9][a-z0-9+#._-]{0,30})"
_PREFIXED: Final = re.compile(
    rf"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?|sourcecode|code)[-:_ ]\s*{_LANGUAGE_NAME}(?=[\s;]|$)"
)
_KNOWN: Final = names(
    "bash sh shell console python python3 py pycon javascript js jsx typescript ts tsx json yaml yml toml ini xml"
    " html css scss sql pgsql plpgsql psql java kotlin scala swift c cpp csharp go rust ruby php perl lua r haskell"
    " elixir erlang clojure dart powershell dockerfile docker makefile nginx graphql diff hcl terraform text plaintext"
)
_NOT_LANGUAGES: Final = names(
    "default none block wrapper box toolbar snippet example line lines content container copy source output highlight"
    " text plaintext plain notranslate"
)
_LINE_WORDS: Final = re.compile(r"(?:^|\s)(?:code-?line|line|view-line|cl|token-line|react-code-line|ec-line)(?:\s|$)")
_GUTTER: Final = re.compile(
    r"(?:^|\s)(?:linenos?|line-?numbers?(?:-rows)?|gutter|lnt?|rouge-gutter|hljs-ln-numbers|blob-num|linenodiv|code-copy\S*|copy\S*)(?:\s|$)"
)
_BLOCKS: Final = frozenset({"div", "p", "li", "tr"})
_SKIPPED: Final = frozenset({"button", "script", "style", "svg", "template"})
ANCESTORS_WITH_LANGUAGE: Final = 3


def code_text(pre: Node) -> str:
    """The text of a `<pre>`: indentation and line breaks kept, line-number gutters and copy buttons left out."""
    text = "".join(_code_pieces(pre)).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    # HTML drops the line break right after <pre>; blank lines at the end show nothing either.
    return text.removeprefix("\n").rstrip()


def code_language(pre: Node) -> str:
    """The language as the page names it, or empty."""
    inner = [child for child in pre.children if isinstance(child, Node)][:1]
    outer = [node for node, _ in zip(pre.ancestors(), range(ANCESTORS_WITH_LANGUAGE), strict=False)]
    for node in (pre, *inner, *outer):
        if language := _language_of(node, named_only=node in outer):
            return language
    return ""


def _language_of(node: Node, *, named_only: bool) -> str:
    for attribute in ("data-lang", "data-language", "data-code-lang"):
        value = node.get(attribute).lower()
        if re.fullmatch(_LANGUAGE_NAME, value) and value not in _NOT_LANGUAGES:
            return value
    written = node.get("class").lower()[:1_000]
    for match in _PREFIXED.finditer(written):
        if match[1] not in _NOT_LANGUAGES:
            return match[1]
    if named_only:
        return ""
    words = [word.removesuffix(";") for word in written.split()]
    return next((word for word in words if word in _KNOWN and word not in _NOT_LANGUAGES), "")


def _code_pieces(pre: Node) -> Iterator[str]:
    """Text in order, with a line break where only the lay-out makes one."""
    at_line_start = True
    stack: list[Node | str | None] = [pre]
    while stack:
        item = stack.pop()
        if item is None:
            if not at_line_start:
                yield "\n"
                at_line_start = True
        elif isinstance(item, str):
            if item:
                yield item
                at_line_start = item.endswith("\n")
        elif item.tag == "br":
            yield "\n"
            at_line_start = True
        elif item.tag not in _SKIPPED and not _GUTTER.search(item.get("class").lower()):
            if item is not pre and _is_line(item):
                stack.append(None)
                stack.extend(reversed(item.children))
                stack.append(None)
            else:
                stack.extend(reversed(item.children))


def _is_line(node: Node) -> bool:
    """Whether the element is laid out as a line of its own."""
    if node.tag in _BLOCKS:
        return True
    return (
        node.tag in {"span", "code"}
        and bool(_LINE_WORDS.search(node.get("class").lower()))
        and _siblings_are_lines(node)
    )


def _siblings_are_lines(node: Node) -> bool:
    """A highlighter that wraps every line either keeps the line breaks between the wrappers or leaves them to CSS.

    `<span class=line>` also wraps *parts* of a line in others, so without a second such element it is no line.
    """
    parent = node.parent
    if parent is None:
        return False
    lines = sum(
        1 for child in parent.children if isinstance(child, Node) and _LINE_WORDS.search(child.get("class").lower())
    )
    return lines > 1
