"""What the reasons of the extraction are called where people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.core.reasons import Addition, NotWeighed, Reason, Way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.core.explanation import ExplainedBlock, Explanation

_REASONS: Final[Mapping[Reason, str]] = {
    Reason.TAG: "an element that holds no content",
    Reason.NAVIGATION: "navigation by its tag",
    Reason.HIDDEN: "hidden",
    Reason.CONSENT: "asks for consent",
    Reason.ROLE: "no content by its role",
    Reason.HEADER: "a site's header",
    Reason.FOOTER: "a footer",
    Reason.ASIDE: "an aside",
    Reason.FORM: "a form to fill in",
    Reason.BUTTON: "a button",
    Reason.NOSCRIPT: "for readers without scripts",
    Reason.BREADCRUMBS: "breadcrumbs by its class name",
    Reason.CHROME_NAME: "chrome by its class name",
    Reason.COMPANION_NAME: "beside the content by its class name",
    Reason.OUTSIDE: "outside of what the page marks as its content",
    Reason.FIRST_H1: "the first h1",
    Reason.HEADING: "heading or price of kept text",
    Reason.LABEL: "label, title or summary of kept text",
    Reason.BOX: "in a table, list of terms, note or the like that is kept whole",
    Reason.ATTACHED: "formula or footnote of kept text",
    Reason.MARKED: "within what the page marks as its content",
    Reason.REMAINS: "no chrome, on a page that is kept whole",
}
_WAYS: Final[Mapping[Way, str]] = {
    Way.BLOCKS: "block by block",
    Way.MAIN: "the largest main element",
    Way.ARTICLE: "the article",
    Way.NAMED: "the largest element whose class name says content",
    Way.WHOLE: "the whole page without its chrome",
    Way.PDF: "the lines of a PDF",
    Way.TEXT: "a plain text as it is",
}
_NOT_WEIGHED: Final[Mapping[NotWeighed, str]] = {
    NotWeighed.MANUAL: "a manual's page, which marks its content and has code in it",
    NotWeighed.FEW_LETTERS: "fewer than 500 letters, too few to compare blocks",
    NotWeighed.MANY_BLOCKS: "more than 5,000 blocks",
    NotWeighed.LITTLE_LEFT: "the likely blocks hold fewer than 170 letters",
}
_ADDITIONS: Final[Mapping[Addition, str]] = {
    Addition.STRUCTURED_TEXT: "the text that JSON-LD states",
    Addition.DESCRIPTION: "the page's description",
    Addition.PRODUCT_FACTS: "facts of a product",
}


def why(block: ExplainedBlock, explanation: Explanation) -> str:
    """Why a block is kept or dropped."""
    if block.share is not None and explanation.cut is not None:
        share, cut = _numbers(block.share, explanation.cut)
        if block.reason is Reason.UNLIKELY:
            return f"share {share} under the cut {cut}"
        if block.reason is Reason.LIKELY:
            return f"share {share}, the cut is {cut}"
        return f"{_REASONS[block.reason]}, whose share {share} is under the cut {cut}"
    return _REASONS[block.reason]


def way(explanation: Explanation) -> str:
    """How the content was found."""
    said = _WAYS[explanation.way] if explanation.way else "nothing to choose from"
    if explanation.cut is not None:
        said = f"{said}, from a share of {explanation.cut:.2f} on"
    if explanation.not_weighed is not None:
        said = f"{said}; not block by block: {_NOT_WEIGHED[explanation.not_weighed]}"
    return said


def additions(explanation: Explanation) -> str:
    """What was written beside the blocks; empty for nothing."""
    return ", ".join(_ADDITIONS[addition] for addition in explanation.additions)


def _numbers(share: float, cut: float) -> tuple[str, str]:
    """Both, so that they are seen to differ."""
    digits = next((digits for digits in range(2, 6) if f"{share:.{digits}f}" != f"{cut:.{digits}f}"), 2)
    return f"{share:.{digits}f}", f"{cut:.{digits}f}"
