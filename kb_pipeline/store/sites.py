"""The registry: one row a site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import ConfigError, SiteNotFound
from kb_pipeline.model import Site, SiteOptions, SourceType, check_site_id
from kb_pipeline.store.named_queries import named
from kb_pipeline.store.rows import to_json

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.model import SiteState
    from kb_pipeline.store.database import Database

_ADD: Final = named("sites_add")
_GET: Final = named("sites_get")
_ALL: Final = named("sites_all")
_DUE: Final = named("sites_due")
_SET_STATE: Final = named("sites_set_state")
_SET_OPTIONS: Final = named("sites_set_options")
_APPROVE: Final = named("sites_approve")
_SCHEDULE: Final = named("sites_schedule")
_NOTE_ERROR: Final = named("sites_note_error")
_DELETE: Final = named("sites_delete")


class Sites:
    """Repository of `sites`. Methods that change a site raise SiteNotFound when there is none of that id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        site_id: str,
        url: str,
        source_type: SourceType = SourceType.AUTO,
        options: SiteOptions | None = None,
        tenant: str = "default",
    ) -> Site:
        """Register a site. Raises InvalidSiteId, and ConfigError when the id is taken."""
        site = self._database.one(
            _ADD,
            Site,
            site_id=check_site_id(site_id),
            url=url,
            source_type=source_type,
            options=to_json(options or SiteOptions()),
            tenant=tenant,
        )
        if site is None:
            message = f"site {site_id!r} is already registered, for {self.get(site_id).url}"
            raise ConfigError(message)
        return site

    def find(self, site_id: str) -> Site | None:
        """The site, or None."""
        return self._database.one(_GET, Site, site_id=site_id)

    def get(self, site_id: str) -> Site:
        """The site. Raises SiteNotFound."""
        site = self.find(site_id)
        if site is None:
            raise _not_found(site_id)
        return site

    def all(self) -> list[Site]:
        """Every site, by id."""
        return self._database.all(_ALL, Site)

    def due(self, now: datetime) -> list[Site]:
        """Active sites whose next refresh has come and that no open refresh occupies, the longest due first."""
        return self._database.all(_DUE, Site, now=now)

    def set_state(self, site_id: str, state: SiteState) -> None:
        """Move the site to another state."""
        self._touched(site_id, self._database.execute(_SET_STATE, site_id=site_id, state=state))

    def set_options(self, site_id: str, options: SiteOptions) -> None:
        """Replace all options."""
        self._touched(site_id, self._database.execute(_SET_OPTIONS, site_id=site_id, options=to_json(options)))

    def approve(self, site_id: str, *, pages: int, by: str, now: datetime) -> None:
        """Admit imports of at most `pages` pages, and make the site active."""
        self._touched(site_id, self._database.execute(_APPROVE, site_id=site_id, pages=pages, by=by, now=now))

    def schedule(self, site_id: str, next_refresh_at: datetime | None) -> None:
        """Set when `refresh_due` starts the next refresh; None: never."""
        self._touched(site_id, self._database.execute(_SCHEDULE, site_id=site_id, next_refresh_at=next_refresh_at))

    def note_error(self, site_id: str, error: str | None, now: datetime) -> None:
        """Write, or with None clear, what the site's owner reads. A site removed meanwhile is no error."""
        self._database.execute(_NOTE_ERROR, site_id=site_id, error=error, now=now)

    def delete(self, site_id: str) -> bool:
        """Delete the site with all its rows in every table; whether there was one."""
        return self._database.execute(_DELETE, site_id=site_id) > 0

    def _touched(self, site_id: str, rows: int) -> None:
        if rows == 0:
            raise _not_found(site_id)


def _not_found(site_id: str) -> SiteNotFound:
    return SiteNotFound(f"no site {site_id!r} is registered")
