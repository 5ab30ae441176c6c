"""Code blocks of documentation sites: the exact text, and the language that their highlighter left behind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, names

if TYPE_CHECKING:
    from collections.abc import Iterator

_LANGUAGE_NAME: Final = r"([a-z0-9][a-z0-9+#._-]{0,30})"
_PREFIXED: Final = re.compile(
    r"(?:^|\s)(language|lang|highlight-source|mw-highlight-lang|highlight|brush|sourcecode|code)[-:_]\s*"
    rf"{_LANGUAGE_NAME}(?=[\s;]|$)"
)
_HUMAN_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:[-_][a-z]{2,4})?")
_KNOWN: Final = names(
    "bash sh shell console python python3 py pycon javascript js jsx typescript ts tsx json yaml yml toml ini xml"
    " html css scss sql pgsql plpgsql psql java kotlin scala swift c cpp csharp go rust ruby php perl lua r haskell"
    " elixir erlang clojure dart powershell dockerfile docker makefile nginx graphql diff hcl terraform text plaintext"
    " cs fs hs kt md pl ps py rb rs tf vb vi"
)
_NOT_LANGUAGES: Final = names(
    "default none block wrapper box toolbar snippet example line lines content container copy source output highlight"
    " text plaintext plain notranslate"
)
_LINE_WORDS: Final = re.compile(r"(?:^|\s)(?:code-?line|line|view-line|cl|token-line|react-code-line|ec-line)(?:\s|$)")
_GUTTER: Final = re.compile(
    r"(?:^|\s)(?:linenos?|line-?numbers?(?:-rows)?|gutter|lnt?|rouge-gutter|hljs-ln-numbers|blob-num|linenodiv|code-copy\S*|copy\S*|codemirror-(?:linenumber|gutter)\S*|cm-gutters?|ttc)(?:\s|$)"
)
_BLOCKS: Final = frozenset({"div", "p", "li", "pre", "tr"})
_PLACING: Final = frozenset({"table", "tbody", "tr", "td"})
_NAMING: Final = ("data-lang", "data-language", "data-code-lang", "language", "code-brush")
_DEPTH_OF_CODE: Final = 3
_SKIPPED: Final = frozenset({"button", "script", "style", "svg", "template"})
ANCESTORS_WITH_LANGUAGE: Final = 3


def code_text(pre: Node) -> str:
    """The text of a `<pre>`: indentation and line breaks kept, line-number gutters and copy buttons left out."""
    text = "".join(_code_pieces(pre)).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    # HTML drops the line break right after <pre>; blank lines at the end show nothing either.
    return text.removeprefix("\n").rstrip()


def is_gutter(class_names: str) -> bool:
    """Whether an element with such classes, in lower case, holds line numbers or a copy button."""
    return bool(_GUTTER.search(class_names))


def code_language(pre: Node) -> str:
    """The language as the page names it, or empty."""
    for node in _holders(pre):
        if language := _language_of(node, named_only=False):
            return language
    around = (node for node in pre.ancestors() if node.tag not in _PLACING)
    for node, _ in zip(around, range(ANCESTORS_WITH_LANGUAGE), strict=False):
        if language := _language_of(node, named_only=True):
            return language
    return ""


def _holders(pre: Node) -> Iterator[Node]:
    """The element and the first within it, down to the one with the code."""
    node: Node | None = pre
    for _ in range(_DEPTH_OF_CODE):
        if node is None:
            return
        yield node
        node = next((child for child in node.children if isinstance(child, Node) and child.tag not in _SKIPPED), None)


def _language_of(node: Node, *, named_only: bool) -> str:
    if not node.attributes:
        return ""
    for attribute in _NAMING:
        value = node.get(attribute).lower()
        if value and re.fullmatch(_LANGUAGE_NAME, value) and value not in _NOT_LANGUAGES:
            return value
    written = f"{node.get('class')} {node.get('data-syntaxhighlighter-params')}".lower()[:1_000]
    for match in _PREFIXED.finditer(written):
        if _is_language(match[1], match[2], outside=named_only):
            return match[2]
    if named_only:
        return ""
    words = [word.removesuffix(";") for word in written.split()]
    return next((word for word in words if word in _KNOWN and word not in _NOT_LANGUAGES), "")


def clean_code(code: str) -> str:
    """Code without characters that no source file holds; tabs and line breaks stay."""
    return code if code.isascii() else code.replace("\u200b", "").replace("\ufeff", "").replace("\u00a0", " ")


def _is_language(prefix: str, name: str, *, outside: bool) -> bool:
    """`code-group` names no language, and `lang-en` around code that of the page."""
    if name in _NOT_LANGUAGES or (prefix == "code" and name not in _KNOWN):
        return False
    return not outside or name in _KNOWN or not _HUMAN_LANGUAGE.fullmatch(name)


def _code_pieces(pre: Node) -> Iterator[str]:
    """Text in order, with a line break where only the lay-out makes one."""
    lines = _Lines()
    at_line_start, made_break = True, False
    stack: list[Node | str | None] = [pre]
    while stack:
        item = stack.pop()
        if item is None:
            if not at_line_start:
                yield "\n"
                at_line_start = made_break = True
        elif isinstance(item, str):
            # A highlighter may keep the line break between the elements that are lines by themselves.
            text = item.removeprefix("\n") if made_break else item
            made_break = made_break and not item
            if text:
                yield text
                at_line_start = text.endswith("\n")
        elif item.tag == "br":
            yield "\n"
            at_line_start = True
        elif item is pre or (item.tag not in _SKIPPED and not _GUTTER.search(item.get("class").lower())):
            if _is_blank_line(item):
                yield "\n"
                at_line_start = made_break = True
            elif item is not pre and lines.include(item):
                stack.append(None)
                stack.extend(reversed(item.children))
                stack.append(None)
            else:
                stack.extend(reversed(item.children))


def _is_blank_line(node: Node) -> bool:
    """Whether a line's element holds nothing but its line break."""
    return node.tag == "div" and len(node.children) == 1 and node.children[0] == "\n"


class _Lines:
    """Which elements are laid out as lines of their own. Of siblings alike, the parent is looked at once."""

    def __init__(self) -> None:
        self._parents: dict[int, bool] = {}

    def include(self, node: Node) -> bool:
        """Whether the element is such a line.

        `<span class=line>` also wraps parts of a line, so without a second one beside it it is none.
        """
        if node.tag in _BLOCKS:
            return True
        if node.tag not in {"span", "code"} or node.parent is None or not _is_called_line(node):
            return False
        known = self._parents.get(id(node.parent))
        if known is None:
            siblings = (child for child in node.parent.children if isinstance(child, Node))
            known = sum(map(_is_called_line, siblings)) > 1
            self._parents[id(node.parent)] = known
        return known


def _is_called_line(node: Node) -> bool:
    return bool(node.attributes) and bool(_LINE_WORDS.search(node.get("class").lower()))
