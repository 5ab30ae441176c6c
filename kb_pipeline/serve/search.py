"""Finds the passages of a site that answer a question: by meaning, by words, or by both. Reads only what is live."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.embed import open_embedder
from kb_pipeline.errors import ConfigError, NotLive, StoreUnavailable
from kb_pipeline.serve.candidates import by_meaning, by_words, leads, of_pages
from kb_pipeline.serve.quoting import Chosen
from kb_pipeline.serve.ranking import fused, in_order
from kb_pipeline.serve.spelling import as_spelled
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import count_rows
from kb_pipeline.store.layouts import searchable
from kb_pipeline.store.rows import storable_text
from kb_pipeline.store.schemas import earlier_vectors_table_name, vectors_table_name
from kb_pipeline.store.vectors import LIVE_TAG

if TYPE_CHECKING:
    from kb_pipeline.embed import Embedder
    from kb_pipeline.model import Hit, Publication
    from kb_pipeline.serve.candidates import Question
    from kb_pipeline.serve.ranking import Scored
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.layouts import Searchable
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

CANDIDATES: Final = 80
"""Passages that each way of searching contributes, or four times as many as are asked for."""
FIRST: Final = 5
"""Results that are given unless more are asked for."""
MOST_QUESTION_CHARACTERS: Final = 1000


class SearchMode(StrEnum):
    """How passages are found, and so what `Hit.score` is. Higher is better in each; scores of two modes, or of two
    sites in `text`, cannot be compared."""

    VECTOR = "vector"
    """Cosine similarity of the question and the nearest piece of the passage, -1 to 1."""
    TEXT = "text"
    """BM25, from 0, without an upper end."""
    FUSED = "fused"
    """That cosine, raised by shared words and by what stands around the passage (`serve.ranking`), about 0 to 1."""


def search(
    stores: Stores,
    settings: Settings,
    site_id: str,
    question: str,
    *,
    mode: SearchMode = SearchMode.FUSED,
    limit: int = FIRST,
    embedder: Embedder | None = None,
) -> list[Hit]:
    """The best passages of the live version, best first: at most three a page, and one text once, whatever addresses
    it has. Each quotes what else its page says of the question (`serve.quoting`). The question is plain words (no
    operators), read to 1,000 characters, and for SearchMode.FUSED as the site spells them (`serve.spelling`); an
    empty one finds nothing.

    Raises SiteNotFound, NotLive before the first publication, ConfigError when the live vectors were made by another
    model than the one that is set, or by a version of this program whose tables this one does not know, StoreError.
    """
    started = time.perf_counter()
    stores.sites.get(site_id)
    live = stores.publications.live(site_id)
    if live is None:
        message = f"nothing of site {site_id!r} is live yet; `kb sites show {site_id}` says what it waits for"
        raise NotLive(message)
    question = _as_asked(question)
    if not question or limit < 1:
        return []
    embedder = None if mode is SearchMode.TEXT else embedder or open_embedder(settings)
    found = _searchable(stores, live)
    if embedder is not None:
        _check_model(embedder, live)
    hits = answer(found, site_id, question, mode=mode, limit=limit, embedder=embedder)
    millis = (time.perf_counter() - started) * 1000
    try:
        stores.queries.record(site_id, question, mode=mode, hits=len(hits), millis=millis, now=stores.now())
    except StoreUnavailable as error:  # whoever asked has an answer all the same
        log.warning("search.not_recorded", site=site_id, error=str(error))
    return hits


def _as_asked(question: str) -> str:
    return " ".join(storable_text(question.replace("\x00", " ")).split())[:MOST_QUESTION_CHARACTERS]


def _searchable(stores: Stores, live: Publication) -> Searchable:
    """The version the tag names, with its own indexes, on a handle that nobody else moves.

    Raises ConfigError for one whose columns this program does not know: what is kept is never rewritten.
    """
    table = stores.site(live.site_id).table(live.table_name)
    with usable(table.uri):
        table.checkout(LIVE_TAG)
    found = searchable(table)
    if found is None:
        message = (
            f"what is live of site {live.site_id!r} was made by another version of this program, and this one cannot"
            f" search it: `kb sites reindex {live.site_id}` makes it anew from what is stored, without asking the site"
        )
        raise ConfigError(message)
    return found


def _check_model(embedder: Embedder, live: Publication) -> None:
    made = embedder.slug, embedder.dimension
    if live.table_name not in (vectors_table_name(*made), earlier_vectors_table_name(*made)):
        message = (
            f"the live vectors of site {live.site_id!r} ({live.table_name}) were not made by KB_EMBEDDING_MODEL"
            f" ({embedder.identity}) as this version uses it: refresh the site, set the model back, or search by words"
            " alone"
        )
        raise ConfigError(message)


def answer(
    live: Searchable,
    site_id: str,
    question: str,
    *,
    mode: SearchMode = SearchMode.FUSED,
    limit: int = FIRST,
    embedder: Embedder | None,
) -> list[Hit]:
    """What `search` gives for a version of the vectors, live or not yet, and without a note of the question. Its rows
    are to be indexed, and `embedder` is None for SearchMode.TEXT alone. Raises StoreError."""
    question = _as_asked(question)
    if not question or count_rows(live.table) == 0:
        return []
    if embedder is not None and mode is SearchMode.FUSED:  # by meaning alone, no index of words is asked
        question = as_spelled(live, question, embedder.count_tokens)
    vector = embedder.embed_query(question) if embedder else None
    chosen = Chosen(_ranked(live, question, mode, max(CANDIDATES, 4 * limit), vector), limit)
    if vector is None:  # what else a page says of the question is told by vectors alone
        return chosen.hits(site_id, {})
    page_ids = sorted({passage.page_id for _, passage in chosen.scored})
    return chosen.hits(site_id, of_pages(live, page_ids, vector))


def _ranked(live: Searchable, question: str, mode: SearchMode, wanted: int, vector: Question | None) -> list[Scored]:
    """Candidates with their scores, best first."""
    if vector is None:
        return in_order((passage.words, passage) for passage in by_words(live, question, wanted))
    near = by_meaning(live, vector, wanted)
    if mode is SearchMode.VECTOR:
        return in_order((passage.nearness, passage) for passage in near)
    worded = by_words(live, question, wanted, vector)
    page_ids = {passage.page_id for passage in [*near, *worded]}
    return fused(question, near, worded, leads(live, page_ids, vector))
