"""What a passage is for a reader who asks: text that explains, or a list of changes, of links, of code, which holds the
words of every question and answers few."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown_blocks import BlockKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.markdown_blocks import Block

_LINK: Final = re.compile(r"\[((?:[^\[\]\\]|\\.)*+)\]\((?:[^()\n]|\([^()\n]*+\))*+\)")
_CHANGES: Final = re.compile(
    r"\brelease notes?\b|\bchange ?log\b|\bwhat.?s new\b|\b(?:history|list) of changes\b"
    r"|^(?:[\dA-Z]+\.)*\s*(?:release|version|v)\s?\d[\d.]*$"
    r"|\bversionshinweise\b|änderungsprotokoll|\bnotes? de version\b|\bnotas de (?:la )?versi[óo]n\b"
    r"|リリースノート|変更履歴|发行说明|更新日志|릴리스 노트|список изменений",
    re.IGNORECASE,
)
MOST_LINKS: Final = 0.6
"""Share of a passage's letters within links from which it is a list of them,"""
MOST_PAGE_LINKS: Final = 0.5
"""or of the page's."""
MOST_CODE: Final = 0.9
"""Share of a page's letters within code from which it is a source listing."""


class PassageKind(StrEnum):
    """What a passage is. All but `text` are found behind text that says as much, unless somebody asks for them."""

    TEXT = "text"
    CHANGES = "changes"
    """Release notes, a changelog."""
    LINKS = "links"
    """An index, a table of contents, a list of related pages."""
    SOURCE = "source"
    """A file of source code."""


def page_kind(title: str, blocks: Sequence[Block]) -> PassageKind:
    """What all passages of a page are, as far as the page as a whole shows it."""
    if is_about_changes(title):
        return PassageKind.CHANGES
    written = ["\n".join(block.lines) for block in blocks]
    whole = sum(map(len, written))
    code = sum(len(text) for text, block in zip(written, blocks, strict=True) if block.kind is BlockKind.FENCE)
    if whole and code >= whole * MOST_CODE:
        return PassageKind.SOURCE
    return PassageKind.LINKS if link_share("\n".join(written)) > MOST_PAGE_LINKS else PassageKind.TEXT


def passage_kind(page: PassageKind, heading_path: Sequence[str], text: str) -> PassageKind:
    """What one passage is: what its page is, or what it shows by itself. `text` is Markdown."""
    if page is not PassageKind.TEXT:
        return page
    if any(map(is_about_changes, heading_path)):
        return PassageKind.CHANGES
    return PassageKind.LINKS if link_share(text) > MOST_LINKS else PassageKind.TEXT


def is_about_changes(heading: str) -> bool:
    """Whether a title or heading announces what changed between versions."""
    return _CHANGES.search(heading.strip()) is not None


def link_share(markdown: str) -> float:
    """The part of a text's characters that is shown in links, 0 to 1; addresses are not counted."""
    linked = 0

    def shown(link: re.Match[str]) -> str:
        nonlocal linked
        linked += len(link.group(1))
        return link.group(1)

    whole = len(_LINK.sub(shown, markdown)) if "](" in markdown else 0
    return linked / whole if whole else 0.0
