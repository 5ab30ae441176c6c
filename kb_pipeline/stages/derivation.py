"""What the deriving stages have in common: one sync under the site's lock, its sink, its progress, and its tally as a
report."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from kb_pipeline.core.sync import DEFAULT_BATCH_WEIGHT, sync
from kb_pipeline.stages.report import ChangeRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from kb_pipeline.core.fingerprints import Recipe
    from kb_pipeline.core.sync import Batch, Derived, Failure, Mark, Sink, Source, Tally
    from kb_pipeline.stages.report import Progress
    from kb_pipeline.store.lance_sync import LanceSink
    from kb_pipeline.store.stores import Stores

ItemsT = TypeVar("ItemsT")
RowsT = TypeVar("RowsT")

_FIRST_RETRY: Final = timedelta(minutes=10)
_LAST_RETRY: Final = timedelta(days=1)
_DOUBLINGS: Final = 10


@dataclass(frozen=True, slots=True)
class ToldSink:
    """A derived table (implements core.sync.Sink), and what its stage adds to it.

    `tell` hears of each batch before the table stores it: a run that is killed between the two derives the batch
    again, so that what was told cannot stay wrong; the other way round it could. `in_sight` leaves out of the
    table's marks those of pages that are not to be touched.
    """

    table: LanceSink
    tell: Callable[[Batch[pa.Table]], None] = lambda _batch: None
    in_sight: Callable[[Iterator[Mark]], Iterator[Mark]] = lambda marks: marks

    def marks(self) -> Iterator[Mark]:
        """The table's, of the pages in sight."""
        return self.in_sight(self.table.marks())

    def failures(self) -> Iterator[Failure]:
        """As recorded."""
        return self.table.failures()

    def commit(self, batch: Batch[pa.Table]) -> None:
        """Tell, then store."""
        self.tell(batch)
        self.table.commit(batch)


def retry_after(attempts: int) -> timedelta:
    """How long a page that could not be derived waits: 10 minutes, doubled by each failure, at most a day."""
    doubled: timedelta = _FIRST_RETRY * (1 << min(max(attempts - 1, 0), _DOUBLINGS))
    return min(doubled, _LAST_RETRY)


def run_sync(
    stores: Stores,
    source: Source[ItemsT],
    sink: Sink[RowsT],
    derive: Callable[[Sequence[Mark], ItemsT], Derived[RowsT]],
    *,
    recipe: Recipe,
    what: str,
    progress: Progress,
    keep_going: Callable[[], bool],
    batch_keys: int,
    batch_weight: int = DEFAULT_BATCH_WEIGHT,
    pages: int | None = None,
) -> Tally:
    """Bring the sink in step with the source, and say after each batch how many of its `pages` are done. `batch_weight`
    is in what the source's marks weigh: bytes, or rows of a LanceSource."""

    def on_batch(tally: Tally) -> None:
        progress(what, tally.unchanged + tally.added + tally.changed + tally.failed + tally.waiting, pages)

    return sync(
        source,
        sink,
        derive,
        recipe=recipe,
        now=stores.now,
        retry_after=retry_after,
        batch_keys=batch_keys,
        batch_weight=batch_weight,
        keep_going=keep_going,
        on_batch=on_batch,
    )


def tally_counts(tally: Tally) -> dict[str, int | float]:
    """The tally's numbers, by page, and whatever the derive counted."""
    return {
        "unchanged": tally.unchanged,
        "added": tally.added,
        "changed": tally.changed,
        "deleted": tally.deleted,
        "failed": tally.failed,
        "waiting": tally.waiting,
        "stopped_early": int(tally.stopped_early),
        **tally.counts,
    }


def change_rows(stores: Stores, site_id: str, tally: Tally, step: str) -> list[ChangeRow]:
    """The listed changes with their addresses; of a failure, why."""
    page_ids = [key for _, key in tally.listed]
    urls = {page.page_id: page.url for page in stores.pages.of_ids(site_id, page_ids)}
    whys = {failed.key: failed.error for failed in stores.failures.listed(site_id, step)} if tally.failed else {}
    return [ChangeRow(change.value, key, urls.get(key, ""), whys.get(key, "")) for change, key in tally.listed]
