"""What to do about a table that cannot be used: which folder to delete, and what makes its rows again. Only the folder
is looked at, so that it can be said of a table that cannot even be opened."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kb_pipeline.errors import StoreError, StoreUnavailable, TableUnusable
from kb_pipeline.store.schemas import CHUNKS, SNAPSHOTS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MADE_AGAIN: Final = {
    SNAPSHOTS: "The pages are then fetched again in full; what was derived from them stays meanwhile.",
    TEXTS: "The texts are then derived again from the stored bodies; what is live stays meanwhile.",
    CHUNKS: "The chunks are then cut again from the texts; what is live stays meanwhile.",
}
_VECTORS_MADE_AGAIN: Final = (
    "The vectors are then made again from the chunks; until that is done search finds nothing of the site, and there is"
    " no earlier version to go back to."
)
_KINDS: Final = (RuntimeError, OSError, ValueError, MemoryError, pa.ArrowException)
_PANICS: Final = frozenset({"RustPanic", "PanicException"})
"""Made by the library when it is loaded, one of them no Exception: known by their names alone."""
_SOURCE_LINE: Final = re.compile(r",? /\S+\.rs:\d+(?::\d+)?")
"""Where in its own source Lance met the error."""
_OUT_OF_REACH: Final = ("No space left", "Permission denied", "Read-only file system")
_PASSING: Final = re.compile(
    r"too many open files|cannot allocate memory|timed? ?out|conflict|error sending request|dns error|slow ?down"
    r"|connection (?:reset|refused|closed|aborted)|temporarily unavailable|status code: (?:429|5\d\d)",
    re.IGNORECASE,
)
"""Says nothing of the files: another writer, a busy machine, an object store out of reach."""
_OUR_MISTAKES: Final = ("Invalid user input", "not a page id")
_LONGEST: Final = 500


@contextlib.contextmanager
def readable(what: str, *, cure: str = "") -> Iterator[None]:
    """Lance reports through RuntimeError, OSError and ValueError alike, and panics over some damaged files:
    TableUnusable with its `cure` where one is given, else StoreError; StoreUnavailable for a disk that is full, a
    folder that is closed, and whatever passes by itself."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, _KINDS) and type(error).__name__ not in _PANICS:
            raise
        said = _SOURCE_LINE.sub("", " ".join(str(error).split()))[:_LONGEST]
        if any(sign in said for sign in _OUT_OF_REACH):
            message = f"{what} cannot be written: {said}"
            raise StoreUnavailable(message) from error
        if isinstance(error, MemoryError) or _PASSING.search(said):
            message = f"{what} cannot be reached just now: {said}"
            raise StoreUnavailable(message) from error
        message = f"{what} cannot be used: {said}"
        if not cure or any(sign in said for sign in _OUR_MISTAKES):
            raise StoreError(message) from error
        message = f"{message.rstrip('.?! ')}. {cure}"
        raise TableUnusable(message) from error


def usable(folder: str) -> contextlib.AbstractContextManager[None]:
    """`readable` for the table that lies in this folder, `…/sites/<site_id>/<table>.lance`."""
    site_id, name = _site_and_table(folder)
    cure = f"If that stays so, its files are damaged: delete {folder}, and {_run(site_id, name)}"
    return readable(f"table {name!r} of site {site_id!r}", cure=cure)


def missing(folder: str) -> TableUnusable:
    """The error for a table that should be there."""
    site_id, name = _site_and_table(folder)
    return TableUnusable(f"site {site_id!r} has no table {name!r}, {folder}: {_run(site_id, name)}")


def other_columns(folder: str, differences: Sequence[str]) -> TableUnusable:
    """The error for a table whose columns cannot become those of this program: another one made it, or its manifest
    is damaged."""
    site_id, name = _site_and_table(folder)
    return TableUnusable(
        f"table {name!r} of site {site_id!r} has {'; '.join(differences)}: delete {folder}, and {_run(site_id, name)}"
    )


def _run(site_id: str, name: str) -> str:
    return f"run `kb sites refresh {site_id}`. {_MADE_AGAIN.get(name, _VECTORS_MADE_AGAIN)}"


def _site_and_table(folder: str) -> tuple[str, str]:
    above, _, last = folder.rstrip("/").rpartition("/")
    return above.rpartition("/")[2], last.removesuffix(".lance")
