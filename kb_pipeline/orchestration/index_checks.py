"""The checks on vectors and on what is live. They read the tables at their newest version: what is live is moved only
after them."""

from typing import Final
from urllib.parse import urldefrag

from kb_pipeline.core.urls import resolve, url_key
from kb_pipeline.orchestration import assets
from kb_pipeline.orchestration.verdicts import ERROR, WARN, Case, Verdict, site_check
from kb_pipeline.serve.search import FIRST, answer
from kb_pipeline.stages.embed import STEP as EMBED_STEP
from kb_pipeline.stages.embed import vectors_spec
from kb_pipeline.store.inspection import IndexState, live_index_state
from kb_pipeline.store.lance_indexes import MOST_FRAGMENTS
from kb_pipeline.store.layouts import PIECES, Searchable
from kb_pipeline.store.vectors import VectorIntegrity, failures_explain, inspect_vectors

MOST_VERSIONS: Final = 500
"""Versions of a table above which opening it becomes slow; tidying keeps far fewer."""


@site_check(asset=assets.embeddings, blocking=True)
def removed_pages_are_gone(case: Case) -> Verdict:
    """No vector is left of a page that is gone or forbidden by robots.txt, no chunk is there twice, and the counts
    agree with the ledger's."""
    site_id = case.site.site_id
    vectors = inspect_vectors(case.stores, site_id, vectors_spec(case.embedder).name)
    failed = case.stores.failures.count(site_id, EMBED_STEP)
    counts = {
        "rows": vectors.rows,
        "pages": vectors.pages,
        "expected_rows": vectors.expected.chunks,
        "expected_pages": vectors.expected.pages,
        "removed": vectors.removed,
        "damaged": vectors.damaged,
        "failed": failed,
    }
    if vectors.agrees:
        return Verdict(True, f"{vectors.rows:,} chunks of {vectors.pages:,} pages, as the ledger says", counts=counts)
    says = _disagreement(vectors) + (f"; {failed:,} pages could not be embedded" if failed else "")
    if failed and not vectors.removed and not vectors.damaged:
        # A page that the model refused keeps the vectors it had. It excuses its own, and none that others lack.
        table = vectors_spec(case.embedder).name
        if failures_explain(case.stores, site_id, table, EMBED_STEP, vectors):
            return Verdict(False, says, WARN, counts)
        says += ", which does not explain it"
    return Verdict(False, says, counts=counts, rows=_vector_rows(case, vectors))


@site_check(asset=assets.embeddings, blocking=True)
def golden_questions_answered(case: Case) -> Verdict:
    """The site's own test questions still find their page in the first five results of the default search. Whether a
    miss stops the refresh, the site says."""
    questions = case.site.options.golden_questions
    if not questions:
        return Verdict(True, "the site has no questions of its own", counts={"asked": 0, "missed": 0})
    table = case.stores.site(case.site.site_id).table(vectors_spec(case.embedder).name)
    found = [(question, page, _rank(case, Searchable(table, PIECES), question, page)) for question, page in questions]
    missed = [row for row in found if row[2] is None]
    says = f"{len(found) - len(missed)} of {len(found)} questions find their page in the first {FIRST} results"
    rows = [(question, page, rank or "not found") for question, page, rank in found]
    severity = ERROR if case.site.options.golden_blocks else WARN
    counts = {"asked": len(found), "missed": len(missed)}
    return Verdict(not missed, says, severity, counts, header=("question", "page", "rank"), rows=rows)


@site_check(asset=assets.live_index, blocking=False)
def index_is_healthy(case: Case) -> Verdict:
    """What is live is of one model, all its rows are indexed, and neither files nor versions have piled up."""
    live = case.stores.publications.live(case.site.site_id)
    if live is None:
        return Verdict(False, "nothing is live", WARN)
    state = live_index_state(case.stores.site(case.site.site_id), live)
    complaints = _complaints(state, vectors_spec(case.embedder).name)
    counts = {
        "rows": live.rows,
        "unindexed_rows": state.unindexed_rows,
        "fragments": state.fragments,
        "versions": state.versions,
        "dimension": state.dimension,
        "models": len(state.tables),
    }
    return Verdict(not complaints, "; ".join(complaints) or f"{live.rows:,} rows, all indexed", WARN, counts)


def _rank(case: Case, table: Searchable, question: str, page: str) -> int | None:
    """Place of the page among the results that somebody who asks is given, from 1; None where it is not among them. Of
    a text with several addresses each counts."""
    wanted = resolve(case.site.url, page)
    if not wanted:
        return None
    hits = answer(table, case.site.site_id, question, embedder=case.embedder)
    places = ((place, url) for place, hit in enumerate(hits, 1) for url in (hit.url, *hit.also_at))
    return next((place for place, url in places if url_key(urldefrag(url).url) == url_key(wanted)), None)


def _disagreement(vectors: VectorIntegrity) -> str:
    expected = vectors.expected
    says = [
        (vectors.removed, f"{vectors.removed:,} removed pages still have vectors"),
        (vectors.damaged, f"{vectors.damaged:,} pages have a chunk twice, or rows of two derivations"),
        (
            (vectors.rows, vectors.pages) != (expected.chunks, expected.pages),
            f"{vectors.rows:,} chunks of {vectors.pages:,} pages, not {expected.chunks:,} of {expected.pages:,}",
        ),
    ]
    return "; ".join(text for applies, text in says if applies)


def _vector_rows(case: Case, vectors: VectorIntegrity) -> list[tuple[object, ...]]:
    whys = dict.fromkeys(vectors.damaged_pages, "damaged") | dict.fromkeys(vectors.removed_pages, "removed")
    pages = {page.page_id: page for page in case.stores.pages.of_ids(case.site.site_id, list(whys))}
    return [
        (page.url if page else page_id, page.state if page else None, whys[page_id])
        for page_id, page in ((page_id, pages.get(page_id)) for page_id in whys)
    ]


def _complaints(state: IndexState, wanted_table: str) -> list[str]:
    says = [
        (state.table != wanted_table, f"what is live is in {state.table}, and the settings name {wanted_table}"),
        (state.unindexed_rows, f"{state.unindexed_rows:,} rows are in no index"),
        (state.fragments > MOST_FRAGMENTS, f"{state.fragments:,} files, where {MOST_FRAGMENTS} are enough"),
        (state.versions > MOST_VERSIONS, f"{state.versions:,} versions are kept"),
    ]
    return [text for applies, text in says if applies]


ALL: Final = (removed_pages_are_gone, golden_questions_answered, index_is_healthy)
