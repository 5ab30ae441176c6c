"""What `kb sites show` answers: everything of one site, read at once and shown part by part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb_pipeline.cli.status import needs_somebody
from kb_pipeline.model import PageStatus, Publication, Refresh, Site, SiteOptions
from kb_pipeline.stages.troubles import why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.cli.output import Output
    from kb_pipeline.store.failures import FailedPage
    from kb_pipeline.store.stores import Stores

MOST_LISTED = 14
MOST_FAILURES = 20


@dataclass(frozen=True, slots=True)
class SitePage:
    """One site. The names are those of the JSON answer."""

    site: Site
    needs: str | None
    """What somebody has to do about it."""
    pages_by_state: Mapping[PageStatus, int]
    left_out_because: Mapping[str, int]
    refreshes: list[Refresh]
    publications: list[Publication]
    failures: list[FailedPage]


def read_site_page(stores: Stores, site_id: str) -> SitePage:
    """Read it. Raises SiteNotFound."""
    from kb_pipeline.store.overview import Overview  # noqa: PLC0415 - `kb --help` needs no database driver

    site = stores.sites.get(site_id)
    line = next(line for line in Overview(stores.database).sites() if line.site_id == site_id)
    return SitePage(
        site=site,
        needs=needs_somebody(line),
        pages_by_state=stores.pages.count_by_state(site_id),
        left_out_because=stores.pages.count_exclusions(site_id),
        refreshes=stores.refreshes.recent(site_id, MOST_LISTED),
        publications=stores.publications.recent(site_id, MOST_LISTED),
        failures=stores.failures.listed(site_id, most=MOST_FAILURES),
    )


def show_site_page(output: Output, page: SitePage) -> None:
    """Show it; a part that is empty is left out."""
    _show_site(output, page)
    states = sorted((state.value, number) for state, number in page.pages_by_state.items())
    for columns, rows in (
        (("pages", "number"), states),
        (("left out because", "pages"), list(page.left_out_because.items())),
        (("refresh", "kind", "started", "ended", "outcome", "why"), [_refresh_row(r) for r in page.refreshes]),
        (("version", "refresh", "pages", "chunks", "since", "live", "reason"), [_row(p) for p in page.publications]),
        (("step", "page", "attempts", "next try", "error"), [_failure_row(failure) for failure in page.failures]),
    ):
        if rows:
            output.table(columns, rows)


def _show_site(output: Output, page: SitePage) -> None:
    site = page.site
    output.fields(
        [
            ("site", site.site_id),
            ("address", site.url),
            ("pages come from", site.source_type),
            ("state", site.state),
            ("tenant", site.tenant),
            ("approved pages", site.approved_pages),
            ("next refresh", site.next_refresh_at),
            ("options", _changed_options(site.options)),
            ("needs", page.needs),
        ]
    )


def _refresh_row(refresh: Refresh) -> tuple[object, ...]:
    outcome = refresh.outcome or "open"
    return refresh.generation, refresh.kind, refresh.started_at, refresh.finished_at, outcome, why(refresh)


def _row(version: Publication) -> tuple[object, ...]:
    held = (version.generation, version.pages, version.rows)
    return version.publication_id, *held, version.published_at, version.live, version.reason


def _failure_row(failure: FailedPage) -> tuple[object, ...]:
    return failure.step, failure.key, failure.attempts, failure.retry_at, failure.error


def _changed_options(options: SiteOptions) -> str:
    """What differs from the defaults."""
    defaults = asdict(SiteOptions())
    return ", ".join(f"{name}={value}" for name, value in asdict(options).items() if value != defaults[name])
