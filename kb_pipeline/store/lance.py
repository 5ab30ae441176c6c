"""A site's LanceDB database: its tables, made with explicit schemas, and how they are read.

"Could not read" is never "empty" here: a table that should be there and is not, or that cannot be read to the
end, raises, since whatever reads marks would otherwise delete by it.
"""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.model import check_site_id
from kb_pipeline.store.damage import missing, readable, usable
from kb_pipeline.store.lance_columns import fit_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from kb_pipeline.store.schemas import TableSpec

Table: TypeAlias = Any
"""A `lancedb.table.Table`: the library is imported only when a site is opened."""

_PAGE_ID: Final = re.compile(r"[0-9a-f]{1,64}")


class SiteStore:
    """One site's LanceDB database, `<lance_uri>/sites/<site_id>/`. Opened on first use."""

    def __init__(self, lance_uri: str, site_id: str) -> None:
        self.site_id = check_site_id(site_id)
        self.uri = f"{lance_uri.rstrip('/')}/sites/{site_id}"
        self._connection: Any = None

    def folder(self, name: str) -> str:
        """Where a table lies, whether or not it is there."""
        return f"{self.uri}/{name}.lance"

    def table_names(self) -> list[str]:
        """Every table, by name; none when the site has no data yet."""
        with readable(f"the tables of site {self.site_id!r}"):
            names: list[str] = []
            token = None
            while True:
                answer = self._database().list_tables(page_token=token)
                names += answer.tables
                token = answer.page_token
                if not token:
                    return sorted(names)

    def exists(self, name: str) -> bool:
        """Whether the table was made."""
        return name in self.table_names()

    def ensure(self, spec: TableSpec) -> Table:
        """The table, made empty when there is none, with the columns of this version. For the stage that fills it.

        Raises TableUnusable when the table cannot be given those columns, or is there and cannot be read.
        """
        if not self.exists(spec.name):
            with usable(self.folder(spec.name)):
                return self._database().create_table(spec.name, schema=spec.schema, exist_ok=True)
        table = self.table(spec.name)
        fit_columns(table, spec)
        return table

    def table(self, name: str) -> Table:
        """The table, at its latest version, on a handle of its own. Raises TableUnusable when there is none, or it
        cannot be opened: an upstream table that is missing is not an empty one."""
        if not self.exists(name):
            raise missing(self.folder(name))
        with usable(self.folder(name)):
            return self._database().open_table(name)

    def drop_table(self, name: str) -> None:
        """Delete one table with all its versions. Repeatable."""
        with readable(f"table {name!r} of site {self.site_id!r}"):
            self._database().drop_table(name, ignore_missing=True)

    def drop(self) -> None:
        """Delete all tables and versions, and the folder that Lance leaves behind. Repeatable.

        Raises StoreUnavailable when the folder cannot be deleted.
        """
        with readable(f"the data of site {self.site_id!r}"):
            self._database().drop_all_tables()
            self._connection = None
        if "://" in self.uri:
            return  # an object store has no folders
        try:
            shutil.rmtree(self.uri)
        except FileNotFoundError:
            return
        except OSError as error:
            message = f"{self.uri} cannot be deleted: {error.strerror or error}"
            raise StoreUnavailable(message) from error

    def _database(self) -> Any:
        if self._connection is None:
            import lancedb  # noqa: PLC0415 - heavy, and not needed to load the code location

            self._connection = lancedb.connect(self.uri)
        return self._connection


def at_version(table: Table, version: int | None = None) -> Table:
    """Another handle on the table, fixed at a version (by default the one it is at): later commits do not show."""
    wanted = table.version if version is None else version
    with usable(table.uri):
        fixed = table._conn.open_table(table.name)  # noqa: SLF001 - a handle has no public way to be copied
        fixed.checkout(wanted)
    return fixed


def count_rows(table: Table, where: str | None = None) -> int:
    """Rows of the table's version, or those that the filter admits. Raises TableUnusable."""
    with usable(table.uri):
        return int(table.count_rows(where))


def tags(table: Table) -> dict[str, int]:
    """The versions that tags of the table hold. Raises TableUnusable."""
    with usable(table.uri):
        return {tag: int(found["version"]) for tag, found in table.tags.list().items()}


def in_pages(page_ids: Sequence[str]) -> str:
    """A filter on the rows of these pages. Raises ValueError for anything that is not a page id."""
    for page_id in page_ids:
        if not _PAGE_ID.fullmatch(page_id):
            message = f"not a page id: {page_id!r}"
            raise ValueError(message)
    return f"page_id IN ({', '.join(repr(page_id) for page_id in page_ids)})"


def read_rows(
    table: Table, *, where: str | None = None, columns: Sequence[str] | None = None, order: Sequence[str] = ()
) -> pa.Table:
    """Rows as one Arrow table, sorted by the columns of `order`. Raises StoreError when it cannot read them all."""
    with usable(table.uri):
        query = table.search()
        query = query.where(where) if where else query
        query = query.select(list(columns)) if columns else query
        found: pa.Table = query.to_arrow()
    return found.sort_by([(name, "ascending") for name in order]) if order else found


def read_pages(
    table: Table, page_ids: Sequence[str], *, columns: Sequence[str] | None = None, order: Sequence[str] = ("page_id",)
) -> pa.Table:
    """All rows of these pages, in `order`. Pages without rows are simply not in it."""
    return read_rows(table, where=in_pages(page_ids) if page_ids else "false", columns=columns, order=order)
