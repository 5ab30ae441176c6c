"""A stored body → the Text that is chunked and embedded: HTML, PDF or plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.block_choice import keep_content
from kb_pipeline.core.bodies import BodyKind, decode_html, kind_of
from kb_pipeline.core.chrome import strip_chrome
from kb_pipeline.core.html_tree import with_tree
from kb_pipeline.core.main_content import choose_main
from kb_pipeline.core.markdown import MAX_CHARACTERS, Markdown, write_markdown
from kb_pipeline.core.markdown_inline import clean, escape
from kb_pipeline.core.markdown_writer import Blocks
from kb_pipeline.core.page_metadata import PageMetadata, read_metadata
from kb_pipeline.core.page_state import classify
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.core.pdf_markdown import first_heading, write_pdf
from kb_pipeline.core.plain import plain_text
from kb_pipeline.core.product_facts import missing_facts
from kb_pipeline.core.reasons import Addition, Way
from kb_pipeline.errors import BodyUnreadable
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.core.trace import Trace

EXTRACTOR_VERSION: Final = "6"
"""Raised with every change that gives another text, or other facts of it, for the same body."""

_FULL_QUALITY_CHARACTERS: Final = 1_000
_MARKDOWN_TYPES: Final = frozenset({"text/markdown", "text/x-markdown"})
_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n\s*")
_MAX_TITLE_LINE: Final = 120


@dataclass(frozen=True, slots=True)
class Extraction:
    """A page's text, and what the response was."""

    text: Text
    state: PageState


def extract(body: bytes, content_type: str, url: str, *, bot_token: str = "") -> Text:
    """The text of a body; `url` is its final address, `bot_token` the product token for `<meta name=…>` robots rules.

    An HTML page without text gives an empty Text. Raises BodyUnreadable for what is no document, and its subclass
    PdfUnreadable for a PDF without readable text.
    """
    return examine(body, content_type, url, bot_token=bot_token).text


def examine(
    body: bytes,
    content_type: str,
    url: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    bot_token: str = "",
    trace: Trace | None = None,
) -> Extraction:
    """`extract` and `page_state.classify` over one parse of the page. Raises as `extract` does. A `trace` is told what
    is decided on the way."""
    kind = kind_of(content_type, body, url)
    if trace is not None:
        trace.way = {BodyKind.PDF: Way.PDF, BodyKind.TEXT: Way.TEXT}.get(kind)
    if kind is BodyKind.PDF:
        return Extraction(_extract_pdf(body, url), PageState.OK)
    if kind is BodyKind.TEXT:
        text = _extract_plain(decode_html(body, content_type), content_type, url)
        return Extraction(text, PageState.OK if text.characters else PageState.EMPTY)
    if kind not in {BodyKind.HTML, BodyKind.EMPTY}:
        message = f"the body is no document but {kind.value} ({content_type or 'no content type'})"
        raise BodyUnreadable(message)
    html = decode_html(body, content_type)

    def read(nodes: list[Node], cut: bool) -> Extraction:
        state = classify(status, headers or {}, html, url, nodes[0])
        return Extraction(_extract_tree(nodes, url, bot_token, cut=cut, trace=trace), state)

    return with_tree(html, read)


def extract_html(html: str, url: str, *, bot_token: str = "") -> Text:
    """The text of HTML that is decoded already. Never raises."""
    return with_tree(html, lambda nodes, cut: _extract_tree(nodes, url, bot_token, cut=cut))


def _extract_tree(nodes: list[Node], url: str, bot_token: str, *, cut: bool, trace: Trace | None = None) -> Text:
    document = nodes[0]
    metadata = read_metadata(nodes, url, bot_token)
    letters = document.letters
    if trace is not None:
        trace.begin(document)
    content = keep_content(document, metadata, url, trace)
    if content is not None:
        chosen = [content]
    else:
        strip_chrome(document, trace)
        chosen = choose_main(document, trace)
    markdown, added = _with_what_is_not_shown(write_markdown(chosen, metadata.base_url), metadata)
    if trace is not None:
        trace.additions += added
    linked = sum(node.link_letters for node in chosen) / max(1, sum(node.letters for node in chosen))
    return _text(metadata, markdown, url, quality=_quality(markdown, linked, letters), cut=cut)


def _with_what_is_not_shown(markdown: Markdown, metadata: PageMetadata) -> tuple[Markdown, list[Addition]]:
    """The text with what the page states for machines, where it shows too little or lacks a product's facts; and what
    that was."""
    added = []
    if markdown.characters < MIN_TEXT_CHARACTERS < len(metadata.structured_text):
        markdown = _with_structured_text(markdown, metadata.structured_text)
        added.append(Addition.STRUCTURED_TEXT)
    elif markdown.characters < MIN_TEXT_CHARACTERS <= len(metadata.description) and _is_excerpt(metadata.description):
        markdown = _with_structured_text(markdown, metadata.description)
        added.append(Addition.DESCRIPTION)
    if metadata.facts and (facts := missing_facts(metadata.facts, markdown.text)):
        shown, markdown = markdown, _with_facts(markdown, facts)
        added += [Addition.PRODUCT_FACTS] if markdown is not shown else []
    return markdown, added


def _text(metadata: PageMetadata, markdown: Markdown, url: str, *, quality: float, cut: bool) -> Text:
    return Text(
        title=metadata.title or url,
        markdown=markdown.text,
        characters=markdown.characters,
        description=metadata.description,
        language=metadata.language,
        canonical=metadata.canonical,
        author=metadata.author,
        published=metadata.published,
        modified=metadata.modified,
        noindex=metadata.noindex,
        nofollow=metadata.nofollow,
        quality=quality,
        truncated=cut or markdown.truncated,
        anchors=markdown.anchors,
    )


def _quality(markdown: Markdown, linked: float, letters: int) -> float:
    """0 to 1: how much text there is (full marks from 1,000 characters), how little of it is links, and that it
    is not a crumb of a page that says much more."""
    amount = min(1.0, markdown.characters / _FULL_QUALITY_CHARACTERS)
    share = min(1.0, 4 * markdown.characters / max(1, letters))
    return round(amount * (1 - linked / 2) * (0.5 + share / 2), 3)


def _is_excerpt(description: str) -> bool:
    """Whether a description is the beginning of a text that the page would show: one that was written for search
    engines ends as a sentence does."""
    return description.endswith(("...", "\u2026"))


def _with_facts(markdown: Markdown, facts: Sequence[tuple[str, str]]) -> Markdown:
    """A list of what a product page states beside its text."""
    lines = [f"{label}: {value}" for label, value in facts]
    written = "\n".join(f"- {escape(line)}" for line in lines)
    if not markdown.text or len(markdown.text) + len(written) + 2 > MAX_CHARACTERS:
        return markdown
    characters = markdown.characters + sum(map(len, lines))
    return Markdown(f"{markdown.text}\n{written}\n", characters, markdown.anchors, markdown.truncated)


def _with_structured_text(markdown: Markdown, structured: str) -> Markdown:
    """JSON-LD's body text after what little the page shows."""
    shown = re.sub(r"<[^<>]{1,1000}>", " ", structured)
    added = _plain_markdown(shown)
    room = MAX_CHARACTERS - len(markdown.text)
    joined = f"{markdown.text}\n{added.text}" if markdown.text else added.text
    return Markdown(
        joined[:MAX_CHARACTERS], markdown.characters + added.characters, markdown.anchors, len(added.text) > room
    )


def _extract_pdf(body: bytes, url: str) -> Text:
    document = read_pdf(body)
    markdown = write_pdf(document)
    amount = min(1.0, markdown.characters / _FULL_QUALITY_CHARACTERS)
    return Text(
        title=document.title or first_heading(document) or url,
        markdown=markdown.text,
        characters=markdown.characters,
        quality=round(amount, 3),
        truncated=markdown.truncated,
        anchors=markdown.anchors,
    )


def _extract_plain(text: str, content_type: str, url: str) -> Text:
    """Plain text by its paragraphs; Markdown as it is."""
    text = clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    declared = content_type.partition(";")[0].strip().lower()
    if declared in _MARKDOWN_TYPES or url.partition("?")[0].lower().endswith(".md"):
        kept = text.strip("\n")[:MAX_CHARACTERS]
        markdown = Markdown(kept, len(plain_text(kept)), (), len(text) > MAX_CHARACTERS)
    else:
        markdown = _plain_markdown(text)
    first = next((line.strip("# \t") for line in text[:2_000].splitlines() if line.strip("# \t")), "")
    return Text(
        title=first if 0 < len(first) <= _MAX_TITLE_LINE else url,
        markdown=markdown.text,
        characters=markdown.characters,
        quality=round(min(1.0, markdown.characters / _FULL_QUALITY_CHARACTERS), 3),
        truncated=markdown.truncated,
    )


def _plain_markdown(text: str) -> Markdown:
    blocks = Blocks(MAX_CHARACTERS)
    for paragraph in _PARAGRAPHS.split(text[: 2 * MAX_CHARACTERS]):
        lines = [line for line in (" ".join(line.split()) for line in paragraph.split("\n")) if line]
        blocks.paragraph(escape("\n".join(lines)), sum(map(len, lines)) + len(lines) - 1) if lines else None
        if blocks.full:
            break
    return Markdown(blocks.markdown(), blocks.characters, (), blocks.full or len(text) > 2 * MAX_CHARACTERS)
