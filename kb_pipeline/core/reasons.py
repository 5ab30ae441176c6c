"""Why a block of a page is kept or dropped, and which way its content was found. The words that name them in JSON; how
they are said to people is the command line's."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why one block is kept or dropped. The six after ROLE are called as the element is."""

    TAG = "tag"
    """An element that never holds content: a control, a frame, a picture's own text."""
    NAVIGATION = "nav"
    HIDDEN = "hidden"
    CONSENT = "consent"
    ROLE = "role"
    HEADER = "header"
    FOOTER = "footer"
    ASIDE = "aside"
    FORM = "form"
    BUTTON = "button"
    NOSCRIPT = "noscript"
    BREADCRUMBS = "breadcrumbs"
    CHROME_NAME = "chrome_name"
    """Class or id is one of what leads away from the page or acts on it,"""
    COMPANION_NAME = "companion_name"
    """or of what stands beside the content."""
    UNLIKELY = "unlikely"
    """Its share is under the cut."""
    OUTSIDE = "outside"
    """Not within what the page marks as its content."""
    LIKELY = "likely"
    FIRST_H1 = "first_h1"
    HEADING = "heading"
    """A heading, or a price below one, of a block that is kept."""
    LABEL = "label"
    """The label of a tab, the title of a note, the summary of what unfolds, of which the text is kept."""
    BOX = "box"
    """In a table, a definition list, a note or the like that is kept whole."""
    ATTACHED = "attached"
    """A formula in kept text, or a footnote of it."""
    MARKED = "marked"
    """Within what the page marks as its content."""
    REMAINS = "remains"
    """The page marks nothing, and this is no chrome."""


class Way(StrEnum):
    """How a body's content was found."""

    BLOCKS = "blocks"
    """Block by block, by the model."""
    MAIN = "main"
    """The page without its chrome: of it the largest main element,"""
    ARTICLE = "article"
    """the article, or what holds several alike,"""
    NAMED = "named"
    """the largest element with a class name of content,"""
    WHOLE = "whole"
    """or all."""
    PDF = "pdf"
    TEXT = "text"


class NotWeighed(StrEnum):
    """Why the model was not asked, or not followed."""

    MANUAL = "manual"
    FEW_LETTERS = "few_letters"
    MANY_BLOCKS = "many_blocks"
    LITTLE_LEFT = "little_left"


class Addition(StrEnum):
    """What was written beside the blocks."""

    STRUCTURED_TEXT = "structured_text"
    DESCRIPTION = "description"
    PRODUCT_FACTS = "product_facts"
