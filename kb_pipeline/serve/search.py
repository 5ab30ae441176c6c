"""Finds the passages of a site that answer a question: by meaning, by words, or by both. Reads only what is live."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import structlog

from kb_pipeline.embed import open_embedder
from kb_pipeline.errors import ConfigError, NotLive, StoreUnavailable
from kb_pipeline.model import Hit
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import count_rows
from kb_pipeline.store.lance_indexes import FULL_TEXT_COLUMN
from kb_pipeline.store.rows import storable_text
from kb_pipeline.store.schemas import vectors_table_name
from kb_pipeline.store.vectors import LIVE_TAG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_pipeline.embed import Embedder
    from kb_pipeline.model import Publication
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

CANDIDATES: Final = 20
"""Passages that each way of searching contributes, or four times as many as are asked for."""
CHUNKS_A_PAGE: Final = 2
MOST_QUESTION_CHARACTERS: Final = 1000
RANK_CONSTANT: Final = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): how little the first ranks stand out."""

_COLUMNS: Final = ("chunk_id", "page_id", "url", "title", "heading_path", "text", "ordinal")

Row = dict[str, Any]


class SearchMode(StrEnum):
    """How passages are found, and so what `Hit.score` is. Higher is better in each; scores of two modes, or of two
    sites in `text`, cannot be compared."""

    VECTOR = "vector"
    """Cosine similarity of question and passage, -1 to 1."""
    TEXT = "text"
    """BM25, from 0, without an upper end."""
    FUSED = "fused"
    """Both lists by reciprocal rank: the sum of 1 / (60 + rank), at most 2/61. It orders, and says nothing of how
    well a passage answers."""


def search(
    stores: Stores,
    settings: Settings,
    site_id: str,
    question: str,
    *,
    mode: SearchMode = SearchMode.FUSED,
    limit: int = 5,
    embedder: Embedder | None = None,
) -> list[Hit]:
    """The best passages of the live version, best first: at most two a page, and one text once, whatever addresses
    it has. The question is plain words (no operators), read to 1,000 characters; an empty one finds nothing.

    Raises SiteNotFound, NotLive before the first publication, ConfigError when the live vectors were made by another
    model than the one that is set, StoreError.
    """
    started = time.perf_counter()
    stores.sites.get(site_id)
    live = stores.publications.live(site_id)
    if live is None:
        message = f"nothing of site {site_id!r} is live yet; `kb sites show {site_id}` says what it waits for"
        raise NotLive(message)
    question = " ".join(storable_text(question.replace("\x00", " ")).split())[:MOST_QUESTION_CHARACTERS]
    if not question or limit < 1:
        return []
    table = _live_table(stores, live)
    wanted = max(CANDIDATES, 4 * limit)
    hits = [_hit(site_id, row) for row in _ranked(table, settings, live, question, mode, wanted, embedder)]
    chosen = list(_chosen(hits))[:limit]
    millis = (time.perf_counter() - started) * 1000
    try:
        stores.queries.record(site_id, question, mode=mode, hits=len(chosen), millis=millis, now=stores.now())
    except StoreUnavailable as error:  # whoever asked has an answer all the same
        log.warning("search.not_recorded", site=site_id, error=str(error))
    return chosen


def _live_table(stores: Stores, live: Publication) -> Table:
    """The version the tag names, with its own indexes, on a handle that nobody else moves."""
    table = stores.site(live.site_id).table(live.table_name)
    with usable(table.uri):
        table.checkout(LIVE_TAG)
    return table


def _ranked(
    table: Table,
    settings: Settings,
    live: Publication,
    question: str,
    mode: SearchMode,
    wanted: int,
    embedder: Embedder | None,
) -> list[Row]:
    """Candidates with their `score`, best first. Equal scores are ordered by chunk id, so that answers repeat."""
    if count_rows(table) == 0:
        return []
    if mode is SearchMode.TEXT:
        return by_words(table, question, wanted)
    embedder = embedder or open_embedder(settings)
    _check_model(embedder, live)
    near = by_meaning(table, embedder, question, wanted)
    return near if mode is SearchMode.VECTOR else fused(near, by_words(table, question, wanted))


def _check_model(embedder: Embedder, live: Publication) -> None:
    if vectors_table_name(embedder.slug, embedder.dimension) != live.table_name:
        message = (
            f"the live vectors of site {live.site_id!r} ({live.table_name}) were not made by KB_EMBEDDING_MODEL"
            f" ({embedder.identity}): refresh the site, set the model back, or search by words alone"
        )
        raise ConfigError(message)


def by_meaning(table: Table, embedder: Embedder, question: str, wanted: int) -> list[Row]:
    """The passages nearest to the question; `score` is the cosine."""
    vector = embedder.embed_query(question)
    with usable(table.uri):
        query = table.search(vector, vector_column_name="vector").distance_type("cosine")
        rows: list[Row] = query.select([*_COLUMNS, "_distance"]).limit(wanted).to_list()
    return _in_order({**row, "score": 1.0 - row["_distance"]} for row in rows)


def by_words(table: Table, question: str, wanted: int) -> list[Row]:
    """The passages that share words with the question; `score` is BM25."""
    from lancedb.query import MatchQuery  # noqa: PLC0415 - heavy

    with usable(table.uri):
        words = MatchQuery(question, FULL_TEXT_COLUMN)  # type: ignore[call-arg] # its defaults are hidden from mypy
        query = table.search(words, query_type="fts")
        rows: list[Row] = query.select([*_COLUMNS, "_score"]).limit(wanted).to_list()
    return _in_order({**row, "score": row["_score"]} for row in rows)


def fused(*rankings: Sequence[Row]) -> list[Row]:
    """One ranking of several, by reciprocal rank."""
    scores: dict[str, float] = {}
    rows: dict[str, Row] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, 1):
            scores[row["chunk_id"]] = scores.get(row["chunk_id"], 0.0) + 1 / (RANK_CONSTANT + rank)
            rows.setdefault(row["chunk_id"], row)
    return _in_order({**row, "score": scores[chunk_id]} for chunk_id, row in rows.items())


def _in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (-row["score"], row["chunk_id"]))


def _chosen(hits: Iterable[Hit]) -> Iterable[Hit]:
    """Leave out what repeats a better hit's text, and what a page has beyond its share."""
    texts: set[str] = set()
    pages: dict[str, int] = {}
    for hit in hits:
        text = " ".join(hit.text.split()).casefold()
        if text in texts or pages.get(hit.page_id, 0) == CHUNKS_A_PAGE:
            continue
        texts.add(text)
        pages[hit.page_id] = pages.get(hit.page_id, 0) + 1
        yield hit


def _hit(site_id: str, row: Mapping[str, Any]) -> Hit:
    return Hit(
        site_id=site_id,
        page_id=row["page_id"],
        chunk_id=row["chunk_id"],
        url=row["url"],
        title=row["title"],
        heading_path=tuple(row["heading_path"]),
        text=row["text"],
        score=float(row["score"]),
    )
