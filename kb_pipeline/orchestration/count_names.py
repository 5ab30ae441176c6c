"""What the counts of stages and checks are called where people read them: in the UI, where each name is a line that
plots over time, and at a shell. Programs get the names that the stages use. Knows nothing of Dagster."""

from collections.abc import Iterator, Mapping
from typing import Final

# Every name begins with what is counted, in the plural.
_NAMES: Final[Mapping[str, str]] = {
    # outcomes of a refresh, and what became of the pages of a derived table
    "fresh": "pages fresh",
    "unchanged": "pages unchanged",
    "gone": "pages gone",
    "forbidden": "pages forbidden",
    "duplicate": "pages duplicate",
    "gate": "pages behind a gate",
    "thin": "pages thin",
    "unreachable": "pages unreachable",
    "deferred": "pages deferred",
    "added": "pages added",
    "changed": "pages changed",
    "deleted": "pages deleted",
    "failed": "pages failed",
    "waiting": "pages waiting for another try",
    # discovery
    "kept": "pages kept",
    "previous_kept": "pages kept before",
    "kept_before": "pages kept before",
    "new": "pages new",
    "excluded": "pages left out",
    "aliases": "addresses that are other pages'",
    "asked_again": "pages asked again",
    "problems": "lists with a problem",
    "list_gone": "lists gone",
    "fetching_seconds": "seconds of fetching",
    # fetching
    "asked": "pages asked",
    "unanswered": "pages unanswered",
    "unanswered_share": "share unanswered",
    "ladder_not_modified": "pages not modified (304)",
    "ladder_same_body": "pages with the same body",
    "ladder_fresh": "pages with a new body",
    "degraded": "pages read in part",
    "removed": "pages removed",
    "removals_held": "removals held",
    "held": "removals held",
    "pages_with_copy": "pages with a copy",
    "folded": "pages folded into another",
    # texts
    "truncated": "pages cut at the limit",
    "snapshots_deleted": "bodies deleted",
    "texts": "texts in all",
    "thin_share": "share thin",
    "error_pages": "error pages",
    "error_share": "share of error pages",
    # vectors and what is live
    "embedded": "chunks embedded",
    "reused": "chunks reused",
    "pages_changed": "pages changed",
    "pages_gone": "pages gone",
    "damaged": "pages damaged",
    "missed": "questions missed",
    "unindexed_rows": "rows without an index",
    "expected_rows": "chunks expected",
    "expected_pages": "pages expected",
}
_NAMES_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "fetched_pages": {"bytes": "bytes downloaded"},
    "extracted_text": {"bytes": "bytes read"},
    "text_clears_threshold": {"pages": "pages in all"},
    "chunks": {"chunks": "chunks made"},
    "embeddings": {"tokens": "tokens embedded"},
    "live_index": {"rows": "chunks live", "pages": "pages live", "new": "versions published"},
    "removed_pages_are_gone": {
        "rows": "chunks in all",
        "pages": "pages with vectors",
        "removed": "removed pages with vectors",
    },
    "golden_questions_answered": {"asked": "questions asked"},
}
_OF_A_TIER: Final[Mapping[str, str]] = {
    "tier_": "pages by",
    "asked_of_": "pages asked of",
    "won_by_": "pages won by",
    "requests_of_": "requests of",
    "calls_of_": "calls of",
    "seconds_of_": "seconds of",
}
"""What counts of one tier begin with; its name follows, whoever gave it."""
_IN_A_TABLE: Final = tuple(start for start in _OF_A_TIER if start != "tier_")
_SINGULAR: Final = {"retries": "retry", "bodies": "body", "addresses": "address"}


def readable(of: str, name: str) -> str:
    """The count `name` of the asset or check `of`, in words."""
    for start, words in _OF_A_TIER.items():
        if name.startswith(start):
            return f"{words} {name.removeprefix(start).replace('_', ' ')}"
    return _NAMES_OF.get(of, {}).get(name) or _NAMES.get(name) or name.replace("_", " ")


def in_words(of: str, counts: Mapping[str, int | float]) -> str:
    """The counts that are not zero: `31 pages fresh, 2 gone, 1 request`. What is counted is said when it changes; what
    each tier cost is left to its table."""
    return ", ".join(_phrases(of, counts))


def _phrases(of: str, counts: Mapping[str, int | float]) -> Iterator[str]:
    before = ""
    for name, value in counts.items():
        if not value or name.startswith(_IN_A_TABLE):
            continue
        counted, _, rest = readable(of, name).partition(" ")
        amount = f"{value:,.0f}" if value >= 1 else f"{value:.2f}"
        what = _SINGULAR.get(counted, counted.removesuffix("s")) if value == 1 else counted
        yield f"{amount} {rest}" if rest and counted == before else f"{amount} {what} {rest}".rstrip()
        before = counted
