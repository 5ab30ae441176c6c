"""What each site shows for addresses that do not exist, as its last full refresh found it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.not_found import Look  # noqa: TC001 - rows read the hints
from kb_pipeline.store.named_queries import named
from kb_pipeline.store.rows import to_json

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.database import Database

_GET: Final = named("not_found_probes_get")
_PUT: Final = named("not_found_probes_put")
_FORGET: Final = named("not_found_probes_forget")


@dataclass(frozen=True, slots=True)
class NotFoundProbe:
    """The answer to one made-up address."""

    url: str
    status: int
    useless: str | None = None
    """Why pages are not compared with it; None when they are."""
    look: Look | None = None


class NotFoundProbes:
    """Repository of `not_found_probes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, site_id: str) -> NotFoundProbe | None:
        """The site's probe, or None when its last full refresh had none."""
        return self._database.one(_GET, NotFoundProbe, site_id=site_id)

    def put(self, site_id: str, generation: int, probe: NotFoundProbe | None, now: datetime) -> None:
        """Replace the site's probe. None: it could not be asked for, and none is used."""
        if probe is None:
            self._database.execute(_FORGET, site_id=site_id)
            return
        self._database.execute(
            _PUT,
            site_id=site_id,
            generation=generation,
            url=probe.url,
            status=probe.status,
            useless=probe.useless,
            look=probe.look and to_json(probe.look),
            now=now,
        )
