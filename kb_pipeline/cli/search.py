"""`kb search`: passages of the live version, with their scores and links into the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape

from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.awaiting import what_is_awaited
from kb_pipeline.cli.helping import examples
from kb_pipeline.errors import ConfigError, NotLive, SiteNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.cli.output import Output
    from kb_pipeline.model import Hit
    from kb_pipeline.store.stores import Stores

EXCERPT_CHARACTERS = 600
MOST_ADDRESSES = 3


@click.command(
    epilog=examples(
        'kb search "How is a backup restored?"',
        'kb search "How is a backup restored?" --site docs --limit 3',
        'kb search "ERR_CONN_RESET" --mode text   # the very word',
    )
)
@click.argument("question")
@click.option("--site", "site_id", metavar="SITE_ID", help="Which site to search; not needed when there is only one.")
@click.option(
    "--mode",
    type=click.Choice(["fused", "vector", "text"]),
    default="fused",
    show_default=True,
    help="By meaning (vector), by words (text), or both (fused).",
)
@click.option("--limit", type=click.IntRange(1, 50), default=5, show_default=True, help="Most passages.")
@answers
def search(app: App, question: str, site_id: str | None, mode: str, limit: int) -> None:
    """Search the live version of a site.

    Prints of the passages that answer QUESTION best the part that does, with a link into its page. With --json each has
    all that is quoted of its page.
    """
    with app.stores() as stores:
        hits = find(app, stores, site_id or only_site(stores), question, mode=mode, limit=limit)
    app.output.json(hits)
    show_hits(app.output, hits)


def find(app: App, stores: Stores, site_id: str, question: str, *, mode: str = "fused", limit: int = 5) -> list[Hit]:
    """The passages that answer the question best, best first."""
    from kb_pipeline.serve.search import SearchMode  # noqa: PLC0415 - loads the vector library
    from kb_pipeline.serve.search import search as run_search  # noqa: PLC0415

    _refuse_before_anything_is_live(stores, site_id)
    if mode != SearchMode.TEXT:
        _say_that_the_model_loads(app)
    return run_search(stores, app.settings, site_id, question, mode=SearchMode(mode), limit=limit)


def _refuse_before_anything_is_live(stores: Stores, site_id: str) -> None:
    site = stores.sites.get(site_id)
    if stores.publications.live(site_id) is None:
        message = f"nothing of site {site_id!r} is live yet: {what_is_awaited(stores, site)}"
        raise NotLive(message)


def _say_that_the_model_loads(app: App) -> None:
    from kb_pipeline.embed import open_embedder  # noqa: PLC0415 - loads the vector library

    if not open_embedder(app.settings).loaded:
        app.output.note("[dim]Loading the embedding model …[/dim]")


def only_site(stores: Stores) -> str:
    """The site's id when there is exactly one. Raises SiteNotFound or ConfigError."""
    sites = stores.sites.all()
    if not sites:
        message = "no site is registered yet"
        raise SiteNotFound(message)
    if len(sites) > 1:
        message = f"there are several sites: choose one with --site ({', '.join(site.site_id for site in sites)})"
        raise ConfigError(message)
    return sites[0].site_id


def show_hits(output: Output, hits: Sequence[Hit]) -> None:
    """Number the passages, so that an answer can cite them."""
    if not hits:
        output.say("Nothing was found.")
    for number, hit in enumerate(hits, 1):
        path = " / ".join([hit.title, *(heading for heading in hit.heading_path if heading != hit.title)])
        output.say(f"[bold]\\[{number}] {escape(path)}[/bold]  [dim]{hit.score:.3f}[/dim]")
        output.say(f"    [cyan]{escape(hit.url)}[/cyan]")
        output.say(_indented(escape(_excerpt(hit.best))))
        if hit.also_at:
            output.say(f"    [dim]also at {escape(', '.join(hit.also_at[:MOST_ADDRESSES]))}[/dim]")
        output.say()


def _excerpt(text: str) -> str:
    if len(text) <= EXCERPT_CHARACTERS:
        return text.strip()
    return text[:EXCERPT_CHARACTERS].rsplit(maxsplit=1)[0] + " …"


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())
