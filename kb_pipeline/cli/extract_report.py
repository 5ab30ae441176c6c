"""What `kb extract` says of a body that was read: as lines for people, and as one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.markup import escape

from kb_pipeline.cli import extract_words
from kb_pipeline.cli.extract_source import STDIN
from kb_pipeline.cli.output import plain
from kb_pipeline.cli.scrape import verdict
from kb_pipeline.core.reasons import Way
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kb_pipeline.cli.extract_source import GivenBody
    from kb_pipeline.cli.output import Output
    from kb_pipeline.core.explanation import ExplainedBlock, Explanation
    from kb_pipeline.core.extract import Extraction
    from kb_pipeline.model import Chunk

FIRST_WORDS: Final = 100
"""Characters of a block that `--explain` shows."""
_WITHOUT_LINKS: Final = frozenset({Way.PDF, Way.TEXT})


@dataclass(frozen=True, slots=True)
class Extracted:
    """A body that was read, and how it came to its text."""

    given: GivenBody
    found: Extraction
    explanation: Explanation
    chunks: tuple[tuple[Chunk, str], ...] | None = None
    """Each with its address; None when they were not asked for."""
    page: Path | None = None
    """The page that shows the blocks; None when it was not asked for."""

    @property
    def not_indexed(self) -> str:
        """Why a refresh would not index it; empty where it would."""
        text, state = self.found.text, self.found.state
        if self.given.page is not None and not self.given.page.ok:
            return verdict(self.given.page)
        if state is not PageState.OK:
            return f"the page is a {state.value}"
        if text.noindex:
            return "it asks not to be indexed (noindex)"
        if text.characters < MIN_TEXT_CHARACTERS:
            return f"{text.characters} characters of text, {MIN_TEXT_CHARACTERS} are needed"
        return ""


def note_facts(output: Output, extracted: Extracted) -> None:
    """What is known of the page, on standard error."""
    for name, value in facts(extracted):
        if value:
            output.note(f"[dim]{name:<16}[/dim]  {escape(str(value))}")
    if extracted.given.is_nameless and extracted.explanation.way not in _WITHOUT_LINKS:
        output.note("[dim]Without --url relative links are left out, and the page's address is not weighed.[/dim]")


def facts(extracted: Extracted) -> list[tuple[str, object]]:
    """Names and values of what is known of the page; a value that is empty says nothing."""
    given, text = extracted.given, extracted.found.text
    page, source = given.page, given.source if given.source != STDIN else "standard input"
    return [
        ("address", source if given.is_nameless or source == given.url else f"{source}, read as {given.url}"),
        ("fetched by", page and f"{page.tier.replace('_', ' ')}, status {page.status}"),
        ("title", text.title),
        ("author", text.author),
        ("published", text.published),
        ("modified", text.modified),
        ("language", text.language),
        ("canonical", text.canonical),
        ("text", f"{text.characters:,} characters of {len(given.body):,} bytes, quality {text.quality}"),
        ("cut off", text.truncated and "the page or its text is longer than is read"),
        ("read in part", page.degraded if page else text.degraded),
        ("links", text.nofollow and "are not to be followed (nofollow)"),
        ("page state", extracted.found.state.value),
        ("content", extract_words.way(extracted.explanation)),
        ("added", extract_words.additions(extracted.explanation)),
        ("not indexed", extracted.not_indexed),
    ]


def show_blocks(output: Output, explanation: Explanation) -> None:
    """Two lines a block: what it begins with, and why it is kept or dropped."""
    output.say(f"[bold]{counted(explanation)}; content: {extract_words.way(explanation)}[/bold]")
    for block in explanation.blocks:
        fate = "[green]kept   [/green]" if block.kept else "[red]dropped[/red]"
        share = "    " if block.share is None else f"{block.share:.2f}"
        output.say(f"{fate}  {share}  {escape(_first_words(block))}")
        output.say(f"               [dim]{escape(f'{extract_words.why(block, explanation)} · {block.path}')}[/dim]")
    if explanation.left_out:
        output.say(f"[dim]… and {explanation.left_out:,} more blocks[/dim]")


def counted(explanation: Explanation) -> str:
    """How many blocks were kept and dropped, and their letters."""
    if not explanation.blocks:
        return "No blocks to choose from"
    kept = [block.letters for block in explanation.blocks if block.kept]
    dropped = [block.letters for block in explanation.blocks if not block.kept]
    of = f"Of the first {len(explanation.blocks):,} blocks" if explanation.left_out else "Blocks"
    return f"{of}: {len(kept):,} of {sum(kept):,} letters kept, {len(dropped):,} of {sum(dropped):,} dropped"


def _first_words(block: ExplainedBlock) -> str:
    return block.text if len(block.text) <= FIRST_WORDS else f"{block.text[:FIRST_WORDS].rstrip()} …"


def show_chunks(output: Output, chunks: Sequence[tuple[Chunk, str]]) -> None:
    """Each chunk: where it stands, then its text."""
    for chunk, url in chunks:
        path = " > ".join(chunk.heading_path)
        line = f"[bold]chunk {chunk.ordinal}[/bold]  {chunk.tokens} tokens"
        output.say(f"{line}  {escape(path)}" if path else line)
        output.say(f"[dim]{escape(url)}[/dim]")
        output.say(escape(chunk.text))
        output.say()
    output.say(f"[bold]{len(chunks):,} chunks, {sum(chunk.tokens for chunk, _ in chunks):,} tokens[/bold]")


def document(extracted: Extracted, *, explain: bool) -> dict[str, Any]:
    """Everything as one object; `chunks`, `blocks` and `page` where they were asked for."""
    explanation = extracted.explanation
    answer = _known(extracted)
    if extracted.chunks is not None:
        answer["chunks"] = [{**plain(chunk), "url": url} for chunk, url in extracted.chunks]
    if explain:
        answer["blocks"] = [
            {**plain(block), "why": extract_words.why(block, explanation)} for block in explanation.blocks
        ]
        answer["blocks_left_out"] = explanation.left_out
    if extracted.page is not None:
        answer["page"] = extracted.page
    return answer


def _known(extracted: Extracted) -> dict[str, Any]:
    given, text, explanation = extracted.given, extracted.found.text, extracted.explanation
    fetched = given.page
    return {
        "source": given.source,
        "url": given.url,
        "status": fetched.status if fetched else None,
        "tier": fetched.tier if fetched else None,
        "content_type": given.content_type,
        "bytes": len(given.body),
        "state": extracted.found.state,
        "indexed": not extracted.not_indexed,
        "not_indexed": extracted.not_indexed or None,
        **plain(text),
        "degraded": fetched.degraded if fetched else "",
        "way": explanation.way,
        "not_weighed": explanation.not_weighed,
        "cut": explanation.cut,
        "additions": explanation.additions,
    }
