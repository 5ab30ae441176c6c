"""Formulas: their TeX source where the page has it, else MathML written as TeX.

Written as GitHub does, in code (``$`x`$`` and a fence named math): no Markdown reader takes TeX for its own syntax.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.html_tree import Node, names

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FORMULA: Final = 5_000
_PICTURE: Final = re.compile(r"(?:^|[\s_-])(?:math|latex|tex)(?:$|[\s_-])")
_DISPLAYED: Final = re.compile(
    r"katex-display|math-?display|js-display-math|math-fallback-image-display|(?:^|\s)display(?:$|\s)"
)
_DELIMITERS: Final = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_OPENING: Final = re.compile(r"\\[(\[]|\$\$")
_UNSEEN: Final = names("annotation annotation-xml")
_PART: Final = re.compile(r"@([123])")
_PATTERNS: Final = {
    ("mfrac", 2): r"\frac{@1}{@2}",
    ("msup", 2): "@1^{@2}",
    ("msub", 2): "@1_{@2}",
    ("mover", 2): r"\overset{@2}{@1}",
    ("munder", 2): "@1_{@2}",
    ("mroot", 2): r"\sqrt[@2]{@1}",
    ("msubsup", 3): "@1_{@2}^{@3}",
    ("munderover", 3): "@1_{@2}^{@3}",
}
_AROUND: Final = {"msqrt": (r"\sqrt{", "}"), "mtext": (r"\text{", "}"), "mtd": ("", " & "), "mtr": ("", r" \\ ")}


def formula_source(math: Node) -> str:
    """The TeX of a `<math>` element: its annotation, its alternative text, or its elements one by one."""
    for node in math.iter():
        if node.tag == "annotation" and "tex" in node.get("encoding").lower():
            return node.text()[:MAX_FORMULA]
    return (math.get("alttext") or _linear(math))[:MAX_FORMULA]


def is_displayed(node: Node) -> bool:
    """Whether a formula stands on lines of its own."""
    if node.get("display") == "block" or "mode=display" in node.get("type"):
        return True
    near = [above for above, _ in zip(node.ancestors(), range(3), strict=False)]
    return any(_DISPLAYED.search(above.get("class").lower()) for above in (node, *near))


def pictured_formula(image: Node) -> str:
    """The alternative text of an image that shows a formula; empty for any other image."""
    return " ".join(image.get("alt").split()) if _PICTURE.search(image.get("class").lower()) else ""


def is_repeated(math: Node) -> bool:
    """Whether MathML is only what MathJax 2 gives to screen readers: the formula's script stands beside it."""
    near = (above for above, _ in zip(math.ancestors(), range(3), strict=False))
    return any("mjx_assistive" in above.get("class").lower() for above in near)


def split_formulas(text: str) -> Iterator[tuple[str, str]]:
    r"""Text cut at the formulas that MathJax finds in it, each with the delimiter it began with: \(, \[ or $$."""
    ends = dict.fromkeys(_DELIMITERS, 0)
    written = 0
    for opening in _OPENING.finditer(text):
        mark, start = opening[0], opening.end()
        if opening.start() < written:
            continue
        if 0 <= ends[mark] < start:
            # Looked for once for each end that there is: a thousand openings must not cost a thousand searches.
            ends[mark] = text.find(_DELIMITERS[mark], start)
        end = ends[mark]
        if start < end <= start + MAX_FORMULA:
            yield "", text[written : opening.start()]
            yield mark, text[start:end].strip()
            written = end + 2
    yield "", text[written:]


def bare_formula(text: str) -> str:
    """The text of an element that is a formula, without its delimiters."""
    text = text.strip()
    for opening, closing in (*_DELIMITERS.items(), ("$", "$")):
        if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
            return text[len(opening) : -len(closing)].strip()
    return text


def _linear(math: Node) -> str:
    """MathML (Core, 3) as TeX, built from the leaves up; what has no rule is the row of its parts."""
    written: dict[int, str] = {}
    for node in reversed(list(math.iter())):
        parts = [written[id(child)] if isinstance(child, Node) else child.strip() for child in node.children]
        written[id(node)] = _element(node.tag, [part for part in parts if part])[:MAX_FORMULA]
    return " ".join(written[id(math)].split())


def _element(tag: str, parts: list[str]) -> str:
    if tag in _UNSEEN:
        return ""
    pattern = _PATTERNS.get((tag, len(parts)))
    if pattern is not None:
        return _PART.sub(lambda part: parts[int(part[1]) - 1], pattern)
    before, after = _AROUND.get(tag, ("", ""))
    return f"{before}{''.join(parts)}{after}"
