"""`kb extract FILE|URL`: the text of one page, its chunks, and why each of its blocks was kept or dropped."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.extract_report import Extracted, document, note_facts, show_blocks, show_chunks
from kb_pipeline.cli.extract_source import GivenBody, check_url, fetch_given, is_address, read_given
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.scrape import verdict
from kb_pipeline.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from kb_pipeline.cli.output import Output
    from kb_pipeline.settings import Settings


@click.command(
    epilog=examples(
        "kb extract https://docs.example.org/backup > backup.md",
        "kb extract saved.html --url https://docs.example.org/backup --explain",
        "curl -s https://docs.example.org/ | kb extract - --chunks",
        "kb extract saved.html --html why.html   # what was kept, in colour",
    )
)
@click.argument("source", metavar="FILE|URL|-")
@click.option("--chunks", is_flag=True, help="Print the chunks: tokens, headings, address, text.")
@click.option("--explain", is_flag=True, help="Print each block, kept or dropped, and why.")
@click.option(
    "--html",
    "target",
    is_flag=False,
    flag_value="",
    metavar="[PAGE]",
    help="Write a page that shows the blocks in colour, to PAGE or a temporary file, and print its path.",
)
@click.option("--open", "open_page", is_flag=True, help="Open that page in the browser.")
@click.option("--url", default="", help="Where a FILE is from: for its links, and weighed with its blocks.")
@click.option("--content-type", default="", metavar="TYPE", help="As a server would state it for a FILE.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up a URL after so long."
)
@answers
def extract(app: App, source: str, *, chunks: bool, explain: bool, open_page: bool, **options: Any) -> int:
    """Print the text of a page as Markdown, or say why a part of it is missing.

    FILE is HTML, plain text or a PDF, and - is standard input: read as a refresh reads what it fetched. URL is fetched
    as `kb scrape` does it. What is known of the page goes to standard error, and nothing is stored. The exit code is 7
    when a refresh would not index the page.
    """
    target = options["target"] or "" if options["target"] is not None or open_page else None
    given = _given(source, app.settings, options)
    if given.page is not None and not given.body:
        return _without_body(app.output, given)
    extracted = _read(given, app.settings, chunks=chunks)
    if target is not None:
        extracted = _with_page(extracted, target)
    app.output.json(document(extracted, explain=explain))
    if not app.output.as_json:
        _show(app.output, extracted, explain=explain)
    if open_page and extracted.page is not None:
        _open(app.output, extracted.page)
    return ExitCode.REFUSED if extracted.not_indexed else ExitCode.OK


def _given(source: str, settings: Settings, options: dict[str, Any]) -> GivenBody:
    url, content_type, timeout = options["url"], options["content_type"], options["timeout"]
    if not is_address(source):
        if timeout is not None:
            message = "--timeout is for a URL: a file is read at once"
            raise ConfigError(message)
        return read_given(source, settings, url=check_url(url), content_type=content_type)
    for name, value in (("--url", url), ("--content-type", content_type)):
        if value:
            message = f"{name} is for a FILE: what is fetched has an address and a type of its own"
            raise ConfigError(message)
    return fetch_given(source, settings, timeout)


def _read(given: GivenBody, settings: Settings, *, chunks: bool) -> Extracted:
    """Raises BodyUnreadable."""
    from kb_pipeline.core.explanation import explain  # noqa: PLC0415 - `kb --help` needs none of it
    from kb_pipeline.core.extract import examine  # noqa: PLC0415
    from kb_pipeline.core.trace import Trace  # noqa: PLC0415

    trace = Trace()
    found = examine(
        given.body, given.content_type, given.url, status=given.status, bot_token=settings.bot_token, trace=trace
    )
    extracted = Extracted(given, found, explain(trace))
    if not chunks:
        return extracted
    from kb_pipeline.core.chunking import ChunkOptions, chunk  # noqa: PLC0415
    from kb_pipeline.stages.chunk import section_url, token_counter_of  # noqa: PLC0415 - loads the vector library

    made = chunk(found.text, token_counter_of(settings).count, ChunkOptions())
    return replace(extracted, chunks=tuple((piece, section_url(given.url, piece.anchor)) for piece in made))


def _with_page(extracted: Extracted, target: str) -> Extracted:
    from kb_pipeline.cli.extract_page import write_page  # noqa: PLC0415

    return replace(extracted, page=write_page(extracted, target))


def _show(output: Output, extracted: Extracted, *, explain: bool) -> None:
    note_facts(output, extracted)
    if explain:
        show_blocks(output, extracted.explanation)
    if extracted.chunks is not None:
        show_chunks(output, extracted.chunks)
    if extracted.page is not None:
        output.say(escape(str(extracted.page)))
    if not explain and extracted.chunks is None and extracted.page is None:
        click.echo(extracted.found.text.markdown, nl=False)


def _without_body(output: Output, given: GivenBody) -> int:
    """A page of which the site sent nothing that could be read."""
    assert given.page is not None
    output.json({"source": given.source, "url": given.url, "indexed": False, "not_indexed": verdict(given.page)})
    output.note(escape(verdict(given.page)))
    for line in given.page.errors.splitlines():
        output.note(f"[dim]{escape(line)}[/dim]")
    return ExitCode.REFUSED


def _open(output: Output, page: Path) -> None:
    if not webbrowser.open(page.as_uri()):
        output.note(f"No browser was found to open it: open {escape(str(page))} yourself.")
