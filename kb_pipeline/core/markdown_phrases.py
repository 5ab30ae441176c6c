"""Walks a part of an HTML tree and writes its running text: emphasis, links, code, images, formulas, line breaks.

How blocks are written is core.markdown's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, bits, is_formula_script, names
from kb_pipeline.core.markdown_anchors import LONGEST_MARK, SectionAnchors, is_mark
from kb_pipeline.core.markdown_code import clean_code, code_language, code_text
from kb_pipeline.core.markdown_inline import HARD_BREAK, InlineText, clean, code_span, destination, escape
from kb_pipeline.core.markdown_math import (
    bare_formula,
    formula_source,
    is_displayed,
    is_repeated,
    pictured_formula,
    split_formulas,
)
from kb_pipeline.core.markdown_writer import Blocks
from kb_pipeline.core.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_LINK_LENGTH: Final = 1_000
BLOCKS: Final = names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section summary table"
    " tbody td tfoot th thead tr ul"
)
_UNSEEN: Final = names(
    "annotation area audio base canvas col colgroup datalist embed frame frameset head iframe input link map meta meter"
    " object option param progress select source style svg template textarea title track video"
)
_EMPHASIS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_BLOCK_BITS: Final = bits(BLOCKS)
_LINES_OF_CODE: Final = bits(names("div li ol table ul"))
_FILE_NAME: Final = re.compile(r"[\w-]*\.(?:jpe?g|png|gif|webp|svg|avif)|image|img|logo|icon|\d+", re.IGNORECASE)
_PLAIN_ORIGIN: Final = r"https?://(?:[a-z][a-z0-9]*[.-])+[a-z]{2,}"
_PLAIN_BASE: Final = re.compile(rf"({_PLAIN_ORIGIN})(?:[/?#]|$)")
_PLAIN_SIGNS: Final = "A-Za-z0-9_~,:;@!$&*+=()-"
_PLAIN_ADDRESS: Final = re.compile(
    rf"({_PLAIN_ORIGIN})?/(?:(?:[{_PLAIN_SIGNS}]|%(?!2[Ee]))[{_PLAIN_SIGNS}.]*+(?:%(?!2[Ee])[{_PLAIN_SIGNS}.]*+)*+"
    rf"(?:/|(?=[?#])|$))*+"
    rf"(?:\?[{_PLAIN_SIGNS}./?%]*+)?(?:#[{_PLAIN_SIGNS}./?%]*+)?"
)
"""An address, or a path on such a host, that resolving does not change: most links of most pages."""
_SMILEY: Final = re.compile(r"emoji|smil(?:ey|ies)|emoticon")
_TAB_LABEL: Final = re.compile(r"(?:^|[\s_-])tab(?:bed)?[_-]?label")


class PhraseWalk:
    """One pass over the tree. Blocks are written as they end; in a cell or a heading (`_break` is set) there are
    none, and their borders become that break. That nests once, so nothing here recurses with the page."""

    def __init__(self, base_url: str, limit: int) -> None:
        self.blocks = Blocks(limit)
        self._base_url = base_url
        plain = _PLAIN_BASE.match(base_url)
        self._origin = plain[1] if plain else ""
        self._limit = limit
        self._inline = InlineText()
        self._break: str | None = None
        self._emphasis: set[str] = set()
        self._in_link = False
        self._card_link = ""
        self._card_mark = (-1, 0)
        self._anchors = SectionAnchors()
        self._by_tag: dict[str, Callable[[Node], Callable[[], None]]] = {
            **dict.fromkeys(_UNSEEN, pass_over),
            **dict.fromkeys(BLOCKS, self._enter_block),
            **dict.fromkeys(_EMPHASIS, self._emphasised),
            **dict.fromkeys(_CODE, self._code),
            "a": self._link,
            "br": self._line_break,
            "img": self._image,
            "label": self._label,
            "math": self._mathml,
            "math-renderer": self._renderer,
            "script": self._script,
        }

    def run(self, nodes: Sequence[Node | str]) -> None:
        """Walk the nodes and all below them, until the limit is reached."""
        stack: list[Node | str | Callable[[], None]] = list(reversed(nodes))
        blocks, inline, limit, by_tag = self.blocks, self._inline, self._limit, self._by_tag
        while stack and not blocks.full:
            item = stack.pop()
            # Asked a thousand times a page; `isinstance` takes longer.
            if type(item) is str:
                if item.isspace():
                    inline.space = inline.space or inline.visible <= limit
                elif "\\" in item:
                    self._text_with_formulas(item)
                else:
                    inline.text(item, limit)
            elif type(item) is Node:
                attributes = item.attributes
                if attributes and ("id" in attributes or "name" in attributes):
                    self._anchors.note(item, blocks.count)
                # Does what the element's start means, and returns what its end means.
                leave = by_tag.get(item.tag, _enter_unknown)(item)
                if leave is not DONE:
                    if leave is not nothing:
                        stack.append(leave)
                    stack += item.children[::-1]
            elif callable(item):
                item()

    def flush(self, kind: str = "paragraph") -> None:
        """End the paragraph that is being collected; in a cell or heading, break."""
        inline = self._inline
        if self._break is not None:
            inline.break_line(self._break)
            return
        if not inline.parts and not self._card_link:
            # Most borders of blocks follow another.
            inline.space = False
            return
        if self._card_link and self._inline.visible:
            mark = self._card_mark
            self._inline.close(mark, "[", f"]({destination(self._card_link)})")
            self._card_link = ""
        text, visible = self._inline.take()
        if text:
            self.blocks.paragraph(text, visible, kind)
        if self._card_link:
            self._card_mark = self._inline.open()

    def _enter_block(self, _node: Node) -> Callable[[], None]:
        self.flush()
        return self.flush

    def _inline_of(self, nodes: Sequence[Node | str], separator: str = " ") -> tuple[str, int]:
        """The Markdown of some nodes on one line, and its visible length."""
        outer, self._inline = self._inline, InlineText()
        outer_break, self._break = self._break, separator
        outer_link, self._card_link = self._card_link, ""
        self.run(nodes)
        text, visible = self._inline.take()
        if outer_link and text and separator == " ":
            text = text if "](" in text else f"[{text}]({destination(outer_link)})"
            outer_link = ""
        self._inline, self._break, self._card_link = outer, outer_break, outer_link
        text = text.replace("\n", " ")
        if separator == " ":
            return " ".join(text.split()), visible
        return text.removesuffix(separator).rstrip(), visible

    def _emphasised(self, node: Node) -> Callable[[], None]:
        mark_up = _EMPHASIS[node.tag]
        if mark_up in self._emphasis:
            return nothing
        self._emphasis.add(mark_up)
        mark = self._inline.open()

        def leave() -> None:
            self._emphasis.discard(mark_up)
            self._inline.close(mark, mark_up, mark_up)

        return leave

    def _label(self, node: Node) -> Callable[[], None]:
        if self._break is None and node.attributes and _TAB_LABEL.search(node.get("class").lower()):
            self._bold_line(node.text())
            return DONE
        return nothing

    def _bold_line(self, text: str) -> None:
        self.flush()
        if text:
            self.blocks.paragraph(bold(escape(text)), len(text))

    # --- code

    def _code(self, node: Node) -> Callable[[], None]:
        if self._break is None and _LINES_OF_CODE & node.holds:
            self._fence(node)
        elif node.link_letters and not self._in_link:
            self._linked_code(node)
        else:
            self._inline.code("".join(node.pieces()))
        return DONE

    def _fence(self, node: Node) -> None:
        language = code_language(node)
        if not self._inline.is_only({language, "copy", "copy code", "copied", "copied!"} - {""}):
            self.flush()
        code = code_text(node)[: 2 * self._limit]
        if code.strip():
            self.blocks.fence(clean_code(code), language)

    def _linked_code(self, node: Node) -> None:
        """Code of which parts are links, as in the signatures of generated references."""
        run: list[str] = []
        for child in node.children:
            if not isinstance(child, Node) or not child.link_letters:
                run.append(child if isinstance(child, str) else "".join(child.pieces()))
                continue
            self._spaced_code("".join(run))
            run.clear()
            url = self._absolute(child.get("href"))
            mark = self._inline.open()
            self._inline.code("".join(child.pieces()))
            if url:
                self._inline.close(mark, "[", f"]({destination(url)})")
        self._spaced_code("".join(run))

    def _spaced_code(self, text: str) -> None:
        """A code span that keeps the blanks around it outside."""
        if text[:1].isspace():
            self._inline.text(" ", self._limit)
        self._inline.code(text)
        if text[-1:].isspace():
            self._inline.text(" ", self._limit)

    # --- formulas

    def _mathml(self, node: Node) -> Callable[[], None]:
        if not is_repeated(node):
            self._formula(formula_source(node), displayed=is_displayed(node))
        return DONE

    def _renderer(self, node: Node) -> Callable[[], None]:
        self._formula(bare_formula(node.text()), displayed=is_displayed(node))
        return DONE

    def _script(self, node: Node) -> Callable[[], None]:
        if is_formula_script(node):
            self._formula("".join(node.pieces()).strip(), displayed=is_displayed(node))
        return DONE

    def _text_with_formulas(self, text: str) -> None:
        for delimiter, piece in split_formulas(text):
            if delimiter:
                self._formula(piece, displayed=delimiter != "\\(")
            else:
                self._inline.text(piece, self._limit)

    def _formula(self, source: str, *, displayed: bool) -> None:
        if not source:
            return
        if displayed and self._break is None:
            self.flush()
            self.blocks.fence(source, "math")
        else:
            shown = " ".join(clean(source).split())
            self._inline.syntax(f"${code_span(shown)}$")
            self._inline.visible += len(shown)

    # --- links, images, line breaks

    def _link(self, node: Node) -> Callable[[], None]:
        reference = node.get("href")
        if node.letters <= LONGEST_MARK and is_mark(node):
            return DONE
        if reference.startswith("#") and (self._break == " " or node.get("role") == "doc-backlink"):
            # A heading that is a link to itself is only a heading.
            return nothing
        url = self._absolute(reference)
        if not url or self._in_link:
            return nothing
        self._in_link = True
        if self._break is None and node.holds & _BLOCK_BITS:
            self.flush()
            self._card_link = url
            self._card_mark = self._inline.open()
            return self._leave_card
        mark = self._inline.open()

        def leave() -> None:
            self._in_link = False
            self._inline.close(mark, "[", f"]({destination(url)})")

        return leave

    def _leave_card(self) -> None:
        self.flush()
        self._in_link = False
        self._card_link = ""

    def _absolute(self, reference: str) -> str:
        if not reference or len(reference) > MAX_LINK_LENGTH or reference.startswith(("javascript:", "data:")):
            return ""
        plain = _PLAIN_ADDRESS.fullmatch(reference)
        if plain is not None and (plain[1] or self._origin):
            url = reference if plain[1] else f"{self._origin}{reference}"
        else:
            url = resolve(self._base_url, reference) or ""
        return url if url.startswith(("http://", "https://", "mailto:", "tel:")) and len(url) <= MAX_LINK_LENGTH else ""

    def _line_break(self, _node: Node) -> Callable[[], None]:
        if self._break is not None:
            self._inline.break_line(self._break)
        elif self._inline.ends_with(HARD_BREAK):
            self.flush()
        else:
            self._inline.break_line(HARD_BREAK)
        return DONE

    def _image(self, node: Node) -> Callable[[], None]:
        alternative = " ".join(clean(node.get("alt")).split())
        if not alternative:
            return DONE
        if formula := pictured_formula(node):
            self._formula(formula, displayed=is_displayed(node))
        elif _SMILEY.search(node.get("class").lower()):
            self._inline.text(alternative, self._limit)
        elif not _FILE_NAME.fullmatch(alternative):
            sources = (self._absolute(node.get(name)) for name in ("src", "data-src", "data-lazy-src", "data-original"))
            if url := next(filter(None, sources), ""):
                label = escape(alternative.replace("[", "(").replace("]", ")"))
                self._inline.syntax(f"![{label}]({destination(url)})")
        return DONE


def nothing() -> None:
    """Leave an element whose end means nothing."""


def pass_over(_node: Node) -> Callable[[], None]:
    """Enter an element that is not written."""
    return DONE


def _enter_unknown(_node: Node) -> Callable[[], None]:
    return nothing


def DONE() -> None:  # noqa: N802 - a marker, compared by identity
    """Stands for "nothing of this element is left to walk"."""


def bold(text: str) -> str:
    """Strong emphasis around a line that has none yet."""
    return text if "**" in text else f"**{text}**"
