"""Money: daily counters that several processes add to, and what each tenant may have indexed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from datetime import date

    from kb_pipeline.store.database import Database

_ADD: Final = named("usage_add")
_OF_DAY: Final = named("usage_of_day")
_ALLOWANCE_GET: Final = named("allowances_get")
_ALLOWANCE_SET: Final = named("allowances_set")


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a tenant may have indexed at once; None is no limit."""

    tenant: str
    max_pages: int | None
    max_tokens: int | None


class Usage:
    """Repository of `usage`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, day: date, tenant: str, name: str, amount: int = 1, *, most: int | None = None) -> bool:
        """Add to a day's counter unless that would pass `most`; whether it was added. Atomic across processes."""
        return self._database.one(_ADD, int, day=day, tenant=tenant, name=name, amount=amount, most=most) is not None

    def of_day(self, day: date, tenant: str, name: str) -> int:
        """The counter; 0 when nothing was added."""
        return self._database.require(_OF_DAY, int, day=day, tenant=tenant, name=name)


class Allowances:
    """Repository of `allowances`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, tenant: str) -> Allowance:
        """The tenant's allowance; one without limits when none is set."""
        found = self._database.one(_ALLOWANCE_GET, Allowance, tenant=tenant)
        return found or Allowance(tenant, None, None)

    def set(self, allowance: Allowance) -> None:
        """Replace the tenant's allowance."""
        self._database.execute(
            _ALLOWANCE_SET,
            tenant=allowance.tenant,
            max_pages=allowance.max_pages,
            max_tokens=allowance.max_tokens,
        )
