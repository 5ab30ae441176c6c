"""`kb why URL`: everything the ledger knows of one address, as an answer that a site's owner can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from rich.markup import escape

from kb_pipeline.cli.addresses import whole_address
from kb_pipeline.cli.app import App, answers
from kb_pipeline.cli.awaiting import is_rolled_back, published_generation, what_is_awaited
from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.helping import examples
from kb_pipeline.cli.live_chunks import count_live_chunks
from kb_pipeline.cli.output import shown
from kb_pipeline.cli.tried import marked, show_tried
from kb_pipeline.model import Page, PageStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.cli.output import Output
    from kb_pipeline.model import Publication
    from kb_pipeline.store.aliases import Alias
    from kb_pipeline.store.failures import FailedPage
    from kb_pipeline.store.stores import Stores

_VERDICTS: Final[Mapping[PageStatus, str]] = {
    PageStatus.PENDING: "is known and has not been fetched yet",
    PageStatus.EXCLUDED: "is left out",
    PageStatus.FRESH: "was fetched, and its text was new",
    PageStatus.UNCHANGED: "was fetched, and has not changed",
    PageStatus.GONE: "is gone from the site",
    PageStatus.FORBIDDEN: "is forbidden to crawlers by the site",
    PageStatus.DUPLICATE: "is the same page as another",
    PageStatus.GATE: "is behind a login, a wall or a bot check",
    PageStatus.THIN: "has too little text",
    PageStatus.UNREACHABLE: "could not be reached",
    PageStatus.DEFERRED: "was not asked for before the run's limit",
}
_READ: Final = frozenset({PageStatus.FRESH, PageStatus.UNCHANGED})
_AWAITED: Final = _READ | {PageStatus.PENDING}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to say of one page of one site."""

    site_id: str
    url: str
    verdict: str
    indexed: bool
    """Whether search can find it now: read from the live version itself, not from the ledger."""
    awaits: str | None
    """What its newest content waits for; None when what search finds is all there is."""
    live: Publication | None
    """The version that search reads."""
    known_as: str | None
    page: Page
    tiers: list[dict[str, Any]]
    """What each tier made of it the last time it was asked for, in order; `won` is where the answer comes from."""
    other_addresses: list[Alias]
    same_as: str | None
    failures: list[FailedPage]


@click.command(epilog=examples("kb why https://docs.example.org/backup", "kb why https://docs.example.org/ --json"))
@click.argument("url")
@click.option("--site", "site_id", metavar="SITE_ID", help="Look in this site only.")
@answers
def why(app: App, url: str, site_id: str | None) -> int:
    """Say why the page at URL is, or is not, in the knowledge base.

    URL is the whole address. Any spelling of it will do that leads to the page: with or without www, fragment, or
    tracking parameters, or an address that redirects there.
    """
    address = whole_address(url)
    with app.stores() as stores:
        found = explain(stores, address, site_id)
        if not found:
            _never_seen(app.output, stores, address, site_id)
            return ExitCode.NOT_FOUND
        app.output.json(found)
        for explanation in found:
            _show(app.output, explanation)
    return ExitCode.OK


def explain(stores: Stores, address: str, site_id: str | None = None) -> list[Explanation]:
    """Every page that the address leads to, in one site or in all; none when it was never seen."""
    from kb_pipeline.core.fingerprints import page_id  # noqa: PLC0415
    from kb_pipeline.core.urls import url_key  # noqa: PLC0415
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415

    if site_id is not None:
        stores.sites.get(site_id)
    found = []
    for place in Overview(stores.database).pages_at(address, page_id(url_key(address)), site_id=site_id):
        page = stores.pages.get(place.site_id, place.page_id)
        if page is not None:
            found.append(_explanation(stores, page, place.known_as, place.tiers))
    return found


def _explanation(stores: Stores, page: Page, known_as: str | None, tiers: list[dict[str, Any]]) -> Explanation:
    live = stores.publications.live(page.site_id)
    indexed = live is not None and count_live_chunks(stores, live, page.page_id) > 0
    awaits = _awaited(stores, page, live)
    twin = stores.pages.get(page.site_id, page.duplicate_of) if page.duplicate_of else None
    return Explanation(
        site_id=page.site_id,
        url=page.url,
        verdict=_verdict(page, indexed=indexed, awaits=awaits),
        indexed=indexed,
        awaits=awaits,
        live=live,
        known_as=known_as,
        page=page,
        tiers=marked(tiers),
        other_addresses=stores.aliases.of_page(page.site_id, page.page_id),
        same_as=twin.url if twin else None,
        failures=stores.failures.listed(page.site_id, key=page.page_id),
    )


def _awaited(stores: Stores, page: Page, live: Publication | None) -> str | None:
    """What the page's newest content waits for, when it is newer than what is live."""
    of = live.generation if live and is_rolled_back(live) else published_generation(stores, page.site_id)
    is_newer = page.state is PageStatus.PENDING or page.done_generation > of
    return what_is_awaited(stores, stores.sites.get(page.site_id)) if is_newer else None


def _verdict(page: Page, *, indexed: bool, awaits: str | None) -> str:
    """In or not, what became of it last, the recorded reason, and what search does not know yet."""
    said = f"{_place(page, indexed=indexed, awaits=awaits)}: the page {_VERDICTS[page.state]}"
    if page.reason:
        # Discovery says what the address is ("is a login page"), fetching writes a sentence.
        reason = f"It {page.reason}" if page.state is PageStatus.EXCLUDED else page.reason
        said = f"{said}. {reason.rstrip('.')}"
    return f"{said}. {_what_then(page, indexed=indexed, awaits=awaits)}".rstrip()


def _place(page: Page, *, indexed: bool, awaits: str | None) -> str:
    if indexed:
        return "In the knowledge base"
    return "Not live yet" if awaits and page.state in _READ else "Not in the knowledge base"


def _what_then(page: Page, *, indexed: bool, awaits: str | None) -> str:
    """Which copy search finds, and until when."""
    if not indexed:
        return f"Search finds it once it is live; {awaits}." if awaits and page.state in _AWAITED else ""
    if page.state in _READ:
        return f"What search finds is the text before; {awaits}." if awaits and page.state is PageStatus.FRESH else ""
    if page.removed_generation is None or not awaits:
        return "The last good copy is kept."
    return f"Search finds its last copy until the removal is live; {awaits}."


def _never_seen(output: Output, stores: Stores, address: str, site_id: str | None) -> None:
    from kb_pipeline.core.urls import same_site  # noqa: PLC0415

    sites = [stores.sites.get(site_id)] if site_id else stores.sites.all()
    covering = [site for site in sites if same_site(address, site.url, subdomains=site.options.subdomains)]
    reason = (
        "its site is registered, but no sitemap, feed or link of it names this address"
        if covering
        else "no registered site covers this address"
    )
    output.json({"url": address, "seen": False, "reason": reason, "sites": [site.site_id for site in covering]})
    output.say(f"Never seen: {reason}.")
    for site in covering:
        output.say(f"  {site.site_id}  {escape(site.url)}  ({site.source_type.value}, {site.state.value})")


def _show(output: Output, explanation: Explanation) -> None:
    page = explanation.page
    output.say(f"[bold]{escape(explanation.verdict)}[/bold]")
    output.fields(
        [
            ("site", page.site_id),
            ("address", page.url),
            ("reached as", explanation.known_as),
            ("ends at", page.final_url if page.final_url != page.url else None),
            ("same page as", explanation.same_as),
            ("other addresses", ", ".join(alias.url for alias in explanation.other_addresses)),
            ("found through", f"{page.source.value}, depth {page.depth}"),
            ("sitemap says", page.sitemap_lastmod),
            ("last answer", _last_answer(page)),
            ("error", page.error),
            ("attempts", page.attempts or None),
            ("next try", page.retry_at),
            ("first seen", page.first_seen_at),
            ("last seen", page.last_seen_at),
            ("last fetched", page.last_fetched_at),
            ("last indexed", page.last_indexed_at),
            ("title", page.title),
            ("text", f"{page.characters:,} characters" if page.characters is not None else None),
            ("chunks", page.chunk_count),
            ("live version", _version(explanation.live)),
            ("copy removed in", f"refresh {page.removed_generation}" if page.removed_generation else None),
        ]
    )
    show_tried(output, explanation.tiers)
    for failure in explanation.failures:
        output.say(f"  [dim]{failure.step}[/dim]  failed {failure.attempts} times: {escape(failure.error)}")
    output.say()


def _version(live: Publication | None) -> str | None:
    return f"{live.reason}, since {shown(live.published_at)}" if live else None


def _last_answer(page: Page) -> str | None:
    parts = (page.status_code and f"status {page.status_code}", page.tier and f"by {page.tier}")
    return ", ".join(part for part in parts if part) or None
