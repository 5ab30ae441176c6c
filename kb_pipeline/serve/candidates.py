"""Reads from a live version the passages that may answer a question, and what else their pages say."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kb_pipeline.core.passage_kinds import PassageKind
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import in_pages, read_pages, read_rows
from kb_pipeline.store.lance_indexes import FULL_TEXT_COLUMN, VECTOR_COLUMN
from kb_pipeline.store.layouts import as_pieces
from kb_pipeline.store.multivectors import matrices

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from kb_pipeline.store.layouts import Searchable

    Question = NDArray[np.float32]
    """Vector of a question: [dimension], of unit length."""

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk, and how near each of its pieces is to the question."""

    chunk_id: str
    page_id: str
    ordinal: int
    url: str
    title: str
    heading_path: tuple[str, ...]
    text: str
    tokens: int
    kind: PassageKind
    pieces: Sequence[Mapping[str, Any]] = field(repr=False)
    """As `store.schemas.PIECE` has them."""
    likeness: tuple[float, ...]
    """Cosine of each piece and the question; zeros where there is no vector of the question."""
    words: float = 0.0
    """BM25 of the passage and the question; 0 where it was not found by words."""
    best: int = 0
    """The piece that is nearest to the question; without a vector of it, the one that shares most of its words."""

    @property
    def nearness(self) -> float:
        """Cosine of the piece that is nearest to the question."""
        return max(self.likeness)


def by_meaning(live: Searchable, question: Question, wanted: int) -> list[Passage]:
    """The passages with a piece that is near to the question, nearest first."""
    with usable(live.table.uri):
        query = live.table.search(question, vector_column_name=live.layout.vector_column).distance_type("cosine")
        rows = query.select([*live.layout.columns, "_distance"]).limit(wanted).to_arrow()
    return sorted(_passages(rows, question), key=lambda passage: (-passage.nearness, passage.chunk_id))


def by_words(live: Searchable, question: str, wanted: int, vector: Question | None = None) -> list[Passage]:
    """The passages that share words with the question, the best first; `vector` is that of the question."""
    from lancedb.query import MatchQuery  # noqa: PLC0415 - heavy

    with usable(live.table.uri):
        words = MatchQuery(question, FULL_TEXT_COLUMN)  # type: ignore[call-arg] # its defaults are hidden from mypy
        query = live.table.search(words, query_type="fts")
        rows = query.select([*live.layout.columns, "_score"]).limit(wanted).to_arrow()
    found = _passages(rows, vector)
    if vector is None:
        found = [replace(passage, best=_most_worded(passage, _words(question))) for passage in found]
    return sorted(found, key=lambda passage: (-passage.words, passage.chunk_id))


def _most_worded(passage: Passage, asked: frozenset[str]) -> int:
    """The piece that shares most of the question's words by their length: short ones are in every piece."""
    texts = [passage.text[piece["start"] : piece["end"]] for piece in passage.pieces]
    shared = [sum(map(len, asked & _words(text))) for text in texts]
    return shared.index(max(shared))


def _words(text: str) -> frozenset[str]:
    """As the full-text index cuts them, identifiers at underscores and dots; but not their stems."""
    return frozenset(_WORD.findall(text.casefold()))


def of_pages(live: Searchable, page_ids: Sequence[str], vector: Question) -> dict[str, list[Passage]]:
    """All passages of these pages, in reading order."""
    found: dict[str, list[Passage]] = {page_id: [] for page_id in page_ids}
    rows = read_pages(live.table, sorted(found), columns=live.layout.columns, order=("page_id", "ordinal"))
    for passage in _passages(rows, vector):
        found[passage.page_id].append(passage)
    return found


def leads(live: Searchable, page_ids: Collection[str], vector: Question) -> dict[str, float]:
    """How near the first piece of each of these pages is to the question."""
    column = live.layout.vector_column
    wanted = f"ordinal = 0 AND {in_pages(sorted(page_ids))}" if page_ids else "false"
    rows = read_rows(live.table, where=wanted, columns=["page_id", column])
    firsts = zip(rows["page_id"].to_pylist(), matrices(rows[column]), strict=True)
    return {page_id: float(pieces[0] @ vector) for page_id, pieces in firsts if len(pieces)}


def _passages(rows: pa.Table, question: Question | None) -> list[Passage]:
    rows = as_pieces(rows)
    vectors = matrices(rows[VECTOR_COLUMN])
    others = rows.drop_columns([VECTOR_COLUMN]).to_pylist()
    return [_passage(row, vectors[at], question) for at, row in enumerate(others)]


def _passage(row: Mapping[str, Any], vectors: NDArray[np.float32], question: Question | None) -> Passage:
    likeness = np.zeros(len(vectors)) if question is None else vectors @ question
    return Passage(
        chunk_id=row["chunk_id"],
        page_id=row["page_id"],
        ordinal=row["ordinal"],
        url=row["url"],
        title=row["title"],
        heading_path=tuple(row["heading_path"]),
        text=row["text"],
        tokens=row["tokens"],
        kind=PassageKind(row["kind"]),
        pieces=row["pieces"],
        likeness=tuple(likeness.tolist()),
        words=float(row.get("_score") or 0.0),
        best=int(np.argmax(likeness)),
    )
