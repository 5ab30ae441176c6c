"""`kb scrape URL`: what the fetch chain makes of one page, without a site, a database or an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.tried import show_tried

if TYPE_CHECKING:
    from kb_pipeline.cli.output import Output
    from kb_pipeline.web_scraper import ScrapeAttempt, ScrapedContent

EXCERPT_LINES = 20


@click.command(
    epilog=examples(
        "kb scrape https://docs.example.org/backup",
        "kb scrape https://docs.example.org/backup --text > backup.md",
        "KB_TIERS=plain_http kb scrape https://docs.example.org/   # no browser",
    )
)
@click.argument("url")
@click.option("--text", "only_text", is_flag=True, help="Print the whole text as Markdown, and nothing else.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="Give up after so long."
)
@answers
def scrape(app: App, url: str, only_text: bool, timeout: float | None) -> int:
    """Fetch the page at URL and show its text.

    Asks robots.txt and then the tiers, as a refresh does, and says what each made of the page. Nothing is stored. The
    exit code is 7 when no text of 200 characters or more could be had.
    """
    from kb_pipeline.web_scraper import WebScraperService  # noqa: PLC0415 - `kb --help` needs none of it

    with WebScraperService(app.settings) as service:
        page = service.scrape_url(url, timeout=timeout)
    if app.output.as_json:
        app.output.json(page.to_dict())
    elif only_text:
        click.echo(page.markdown, nl=bool(page.markdown) and not page.markdown.endswith("\n"))
        if not page.ok:
            app.output.note(escape(verdict(page)))
    else:
        _show(app.output, page)
    return ExitCode.OK if page.ok else ExitCode.REFUSED


def _show(output: Output, page: ScrapedContent) -> None:
    output.say(f"[bold]{escape(verdict(page))}[/bold]")
    output.fields(
        [
            ("address", page.url),
            ("ends at", page.final_url if page.final_url != page.url else None),
            ("status", page.status),
            ("title", page.title),
            ("text", f"{page.characters:,} characters, quality {page.quality}" if page.characters else None),
            ("language", page.language),
            ("author", page.author),
            ("read in part", page.degraded),
            ("links", len(page.links) or None),
            ("come back in", f"{page.retry_after:g} s" if page.retry_after else None),
        ]
    )
    show_tried(output, [_record(attempt) for attempt in page.attempts])
    lines = page.markdown.splitlines()
    for line in lines[:EXCERPT_LINES]:
        output.say(escape(line))
    if len(lines) > EXCERPT_LINES:
        output.say(f"[dim]… and {len(lines) - EXCERPT_LINES:,} more lines: --text prints all[/dim]")


def verdict(page: ScrapedContent) -> str:
    """Whether the page was read, by which tier, or why not, in a sentence."""
    if page.ok:
        return f"Read by {page.tier.replace('_', ' ')}."
    later = " Another time it may work." if page.transient else ""
    return f"No page: {page.reason.rstrip('.')}.{later}"


def _record(attempt: ScrapeAttempt) -> dict[str, Any]:
    """As the ledger keeps it."""
    return {
        "tier": attempt.tier,
        "answer": attempt.answer.value,
        "why": attempt.why,
        "requests": attempt.requests,
        "seconds": attempt.seconds,
        "bytes": attempt.wire_bytes,
        "calls": attempt.calls,
        "degraded": attempt.degraded,
        "won": attempt.won,
    }
