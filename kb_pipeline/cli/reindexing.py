"""`kb sites reindex`: texts, chunks and vectors of a site from its stored bodies; or what that would change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from rich.markup import escape

from kb_pipeline.cli.addresses import whole_address
from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.refreshing import seconds_in_words
from kb_pipeline.cli.runs import run_job, show_stages
from kb_pipeline.errors import ConfigError

if TYPE_CHECKING:
    from kb_pipeline.cli.output import Output
    from kb_pipeline.stages.compare_texts import PageDiff, TextsComparison
    from kb_pipeline.stages.page_comparison import PageComparison
    from kb_pipeline.store.stores import Stores

SAMPLED_PAGES: Final = 3
"""Pages whose first lost and gained lines are shown."""


@click.command(
    epilog=examples(
        "kb sites reindex docs --dry-run    # what would change; writes nothing",
        "kb sites reindex docs --dry-run --diff https://docs.example.org/backup",
        "kb sites reindex docs",
    ),
    short_help="Derive a site's texts and vectors anew from what is stored.",
)
@click.argument("site_id")
@click.option("--dry-run", is_flag=True, help="Write nothing; compare the texts with those that are stored.")
@click.option("--diff", "url", metavar="URL", help="With --dry-run: one page, line by line.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="With --dry-run: most pages.")
@click.option("--all", "list_all", is_flag=True, help="With --dry-run: list every page, unchanged ones too.")
@answers
def reindex(app: App, site_id: str, *, dry_run: bool, url: str | None, limit: int, list_all: bool) -> int:
    """Derive texts, chunks and vectors of a site anew from the stored bodies, and make them live.

    Asks the site for nothing. What a step has derived with the present version and settings is not done again. Ctrl-C
    stops it after what is in hand; the next run goes on from there.

    With --dry-run nothing is written: every stored body is read as this version reads it, and compared with the
    stored text. It takes no lock; while a run writes the site, it compares what there was when it began.
    """
    if not dry_run and (url or list_all):
        message = "--diff and --all show what a dry run found: add --dry-run"
        raise ConfigError(message)
    with app.stores() as stores:
        if not dry_run:
            return _reindex(app, stores, site_id)
        if url:
            return _show_page(app, stores, site_id, url)
        from kb_pipeline.stages.compare_texts import compare_site  # noqa: PLC0415 - loads the stages

        with app.output.progress() as progress:
            most = None if list_all else limit
            found = compare_site(stores, app.settings, site_id, most=most, progress=progress)
    app.output.json(found)
    _show(app.output, found)
    return ExitCode.OK


def _reindex(app: App, stores: Stores, site_id: str) -> int:
    run = run_job(app, stores, "reindex", site_id)
    live = stores.publications.live(site_id)
    app.output.json({"site_id": site_id, "live": live, "run": run.ended, "stages": run.stages})
    show_stages(app, run)
    if not run.ended.succeeded:
        reason = escape(run.ended.reason or "no reason was recorded")
        app.output.note(f"[red]{site_id} was not published:[/red] {reason}")
        return ExitCode.REFUSED
    if live is not None and run.count("live_index", "new"):
        what = f"{live.pages:,} pages, {live.rows:,} chunks"
        app.output.say(f"[green]{site_id} is live as derived by this version:[/green] {what}.")
        app.output.say(f"The version before is one step back: kb sites rollback {site_id}")
    else:
        # A roll-back would now take back what was published before, and with it content of the site.
        app.output.say(f"[green]Nothing that search reads of {site_id} has changed:[/green] what was live stays.")
    return ExitCode.OK


def _show_page(app: App, stores: Stores, site_id: str, url: str) -> int:
    from kb_pipeline.core.fingerprints import page_id  # noqa: PLC0415 - with the stages
    from kb_pipeline.core.urls import url_key  # noqa: PLC0415
    from kb_pipeline.stages.compare_texts import compare_page  # noqa: PLC0415
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415

    stores.sites.get(site_id)
    address = whole_address(url)
    places = Overview(stores.database).pages_at(address, page_id(url_key(address)), site_id=site_id)
    found = next(
        (diff for place in places if (diff := compare_page(stores, app.settings, site_id, place.page_id))), None
    )
    if found is None:
        app.output.json({"page": None, "diff": []})
        app.output.note(f"No body of {escape(url)} is stored. `kb why {escape(url)}` says more.")
        return ExitCode.NOT_FOUND
    app.output.json(found)
    _show_diff(app.output, found)
    return ExitCode.OK


def _show(output: Output, found: TextsComparison) -> None:
    counts = found.counts
    pages = sum(counts[change] for change in ("unchanged", "facts", "changed", "new", "failed"))
    output.say(f"{pages:,} pages of {found.site_id}, as extractor {found.extractor} reads them. Nothing was written.")
    output.fields(
        [
            ("texts", _in_words(counts, _TEXTS)),
            ("index", _in_words(counts, _INDEX)),
            (
                "characters",
                f"{counts.get('characters_before', 0):,} before, {counts.get('characters_after', 0):,} after",
            ),
            ("words", _words(counts)),
            ("to embed", _to_embed(found)),
        ]
    )
    if found.pages:
        output.table(("page", "change", "words lost", "gained", "characters", "detail"), map(_row, found.pages))
    for page in found.pages[:SAMPLED_PAGES]:
        _show_lines(output, page)
    for reason in found.stopped_by:
        output.say(f"[yellow]It would not go live:[/yellow] {escape(reason)}")
    output.say(f"Next: kb sites reindex {found.site_id} --dry-run --diff URL, for one page line by line;")
    output.say(f"      kb sites reindex {found.site_id}, to do it.")


_TEXTS: Final = {
    "unchanged": "unchanged",
    "facts": "with other facts only (author, dates, …)",
    "changed": "changed",
    "new": "new",
    "failed": "that cannot be read",
    "gone": "of pages that are no longer kept",
}
_INDEX: Final = {
    "no_text": "leave it without a text",
    "short": "leave it with under 200 characters",
    "other_kind": "leave it as error pages or gates",
    "joins_index": "join it",
}


def _in_words(counts: dict[str, int], names: dict[str, str]) -> str:
    return ", ".join(f"{counts[name]:,} {words}" for name, words in names.items() if counts.get(name)) or "no change"


def _words(counts: dict[str, int]) -> str:
    before, lost = counts.get("words_before", 0), counts.get("words_lost", 0)
    share = f" ({lost / before:.1%})" if before else ""
    return f"{lost:,} of {before:,} lost{share}, {counts.get('words_gained', 0):,} gained"


def _to_embed(found: TextsComparison) -> str:
    if not found.chunks_to_embed:
        return f"none of {found.chunks:,} chunks"
    time = seconds_in_words(found.embedding_seconds)
    return f"{found.chunks_to_embed:,} of {found.chunks:,} chunks, {found.tokens_to_embed:,} tokens, about {time}"


def _row(page: PageComparison) -> tuple[object, ...]:
    detail = f"leaves the index: {page.leaves_index_because}" if page.leaves_index_because else page.detail
    before = "-" if page.characters_before is None else f"{page.characters_before:,}"
    after = "-" if page.characters_after is None else f"{page.characters_after:,}"
    return page.url, page.change, f"{page.share_lost:.1%}", f"{page.share_gained:.1%}", f"{before} → {after}", detail


def _show_lines(output: Output, page: PageComparison) -> None:
    if page.lines_lost or page.lines_gained:
        output.say(escape(page.url))
        for line in page.lines_lost:
            output.say(f"  [red]- {escape(line)}[/red]")
        for line in page.lines_gained:
            output.say(f"  [green]+ {escape(line)}[/green]")


def _show_diff(output: Output, found: PageDiff) -> None:
    page = found.page
    output.fields(
        [
            ("page", page.url),
            ("change", page.change),
            ("differs in", page.detail),
            ("leaves the index", page.leaves_index_because),
            ("words lost", f"{page.words_lost:,} of {page.words_before:,} ({page.share_lost:.1%})"),
            ("words gained", f"{page.words_gained:,} ({page.share_gained:.1%})"),
        ]
    )
    for line in found.diff:
        colour = {"-": "red", "+": "green", "@": "cyan"}.get(line[:1])
        output.say(f"[{colour}]{escape(line)}[/{colour}]" if colour else escape(line))


COMMANDS: Final = (reindex,)
