"""A documentation site of Debian through its life: imported, unchanged, edited, forbidding, failing, broken, and read
anew by another extractor. Each scenario leaves the site well and the knowledge base in step with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from benchmarks import tables
from benchmarks.report import Line, count, expect, listed, megabytes, shortened
from benchmarks.servers import Faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from benchmarks.installation import Bench, Installation, Refreshed, Served

FORBIDDEN_FOLDER: Final = "/sql-"
"""The site is flat; to robots.txt a folder is a prefix like any other."""
FAULTS: Final = Faults(unavailable=0.10, reset=0.05, stall=0.02)
HURRIED: Final = {"retry_delays_seconds": "0.2,0.5", "read_timeout_seconds": "2", "page_timeout_seconds": "8"}
"""Retries as in the field, but for their length."""
REFUSED: Final = 7
QUESTION: Final = "How do I create an index without blocking writes?"
ENDED: Final = {"fresh", "unchanged", "gone", "forbidden", "duplicate", "gate", "thin", "unreachable", "deferred"}


class Life:
    """One installation and one site; the import happens once, before whichever scenario comes first."""

    def __init__(self, bench: Bench, served: Served) -> None:
        self.bench = bench
        self.served = served
        self.root = served.root
        self.kb: Installation = bench.installation(served.root.base, "real-site", **HURRIED)
        self._first: Refreshed | None = None

    @property
    def first(self) -> Refreshed:
        if self._first is None:
            with self.served.well() as log:
                self.kb.register()
                self._first = self.kb.refresh(log)
        return self._first

    def refreshed(self, **extra: Any) -> tuple[Refreshed, tables.State]:
        """A refresh of the healthy site, and what is stored afterwards."""
        with self.served.well() as log:
            refreshed = self.kb.refresh(log, **extra)
        return refreshed, self.kb.state()

    def indexed(self, state: tables.State) -> set[str]:
        """Pages of which the live version has vectors, as paths below the root."""
        return {path_of(url) for url in set(state.vectors["url"].to_pylist())}


def path_of(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


def first_refresh(life: Life) -> Iterator[Line]:
    """All pages end with an outcome, none twice, and the access log agrees."""
    refreshed = life.first
    state = life.kb.state()
    kept = [page for page in state.pages if page["state"] != "excluded"]
    asked = Counter(path_of(f"{life.root.base}{request.path}") for request in refreshed.page_requests)
    sampled = sum((row["estimate"] or {}).get("sampled_pages", 0) for row in state.control["refreshes"])
    bodies = {page: (life.root.folder / page).read_bytes() for page in life.root.pages()}
    copies = Counter(page["content_hash"] for page in kept if page["content_hash"])
    twins = len(bodies) - len(set(bodies.values()))
    missing = sorted(bodies.keys() - {path_of(page["url"]) or "index.html" for page in kept})
    open_pages = [p["url"] for p in kept if p["state"] not in ENDED or p["done_generation"] < p["wanted_generation"]]
    twice = tables.repeated(page["url"] for page in kept) + tables.repeated(state.vectors["chunk_id"].to_pylist())
    same_text = sum(n - 1 for n in copies.values()) - twins
    requests, outcomes = sum(asked.values()), state.outcomes()
    yield Line(
        "first refresh",
        f"{count(len(kept), 'page')} ended as {outcomes}; {count(requests, 'page request')} in the access log,"
        f" {sampled} of them the estimate's sample; {count(len(state.vectors), 'vector')};"
        f" {refreshed.cost.seconds:.0f} s, {megabytes(refreshed.cost.peak_bytes)}",
        {"outcomes": outcomes, "requests": requests, "sampled": sampled, **cost_of(refreshed)},
        expect(
            (not missing, f"pages of the site that the ledger lacks: {listed(missing)}"),
            (not open_pages, f"pages without an outcome: {listed(open_pages)}"),
            (not twice, f"stored twice: {listed(twice)}"),
            (same_text <= 0, f"{same_text} pages hold a body that another page holds"),
            (requests == len(kept) + sampled, f"{requests} requests for {len(kept)} pages and a sample of {sampled}"),
            (
                refreshed.embedded == len(set(state.vectors["hash"].to_pylist())),
                f"embedded {refreshed.embedded} chunks",
            ),
        ),
    )


def second_refresh(life: Life) -> Iterator[Line]:
    """No body is downloaded and nothing is embedded."""
    first = life.first
    before = life.kb.state()
    second, after = life.refreshed()
    statuses = Counter(request.status for request in second.page_requests)
    yield Line(
        "second refresh",
        f"{count(second.bodies, 'body')} downloaded, {count(second.embedded, 'chunk')} embedded; processor time"
        f" {second.cpu_seconds / first.cpu_seconds:.1%} of the first ({second.cpu_seconds:.1f} s of"
        f" {first.cpu_seconds:.1f} s), {second.cost.seconds:.0f} s, {megabytes(second.cost.peak_bytes)}",
        {"statuses": statuses, "first_embed_seconds": first.embed_seconds, **cost_of(second)},
        expect(
            (second.bodies == 0, f"answers by status: {dict(statuses)}"),
            (second.embedded == 0, f"{second.embedded} chunks embedded"),
            (not second.model_loaded, "the model was loaded"),
            (before.vectors.equals(after.vectors), "the vectors changed"),
        ),
    )


def edits(life: Life) -> Iterator[Line]:
    """5 pages edited by a word each, 3 deleted, 2 added: exactly those change."""
    _ = life.first
    before = life.kb.state()
    edited, deleted, added = edit_site(life, before.vectors)
    refreshed, after = life.refreshed()
    old, new = passages(before.vectors), passages(after.vectors)
    changed = {page for page in old.keys() & new.keys() if old[page] != new[page]}
    rewritten, strays = changed_passages(old, new, edited)
    known = {passage["hash"] for rows in old.values() for passage in rows}
    unknown = {passage["hash"] for rows in new.values() for passage in rows} - known
    of_edited = sum(len(new[page]) for page in edited if page in new)
    yield Line(
        "edits",
        f"5 pages edited, 3 deleted, 2 added: {len(changed)} changed, {len(old.keys() - new.keys())} left,"
        f" {len(new.keys() - old.keys())} came; {refreshed.bodies} bodies; {count(refreshed.embedded, 'chunk')}"
        f" embedded, {rewritten} of the {of_edited} of the edited pages; {refreshed.cost.seconds:.0f} s",
        {"edited": edited, "deleted": deleted, "added": added, "rewritten": rewritten, **cost_of(refreshed)},
        expect(
            (changed == set(edited), f"changed: {listed(sorted(changed))}; edited: {listed(sorted(edited))}"),
            (old.keys() - new.keys() == set(deleted), f"left the index: {listed(sorted(old.keys() - new.keys()))}"),
            (new.keys() - old.keys() == set(added), f"came: {listed(sorted(new.keys() - old.keys()))}"),
            (not strays, f"embedded outside the edited sections: {listed(strays)}"),
            (refreshed.embedded == len(unknown), f"{refreshed.embedded} embedded for {len(unknown)} new passages"),
            (refreshed.bodies == 7, f"{refreshed.bodies} bodies downloaded"),
        ),
    )


def edit_site(life: Life, vectors: pa.Table) -> tuple[dict[str, str], list[str], list[str]]:
    """Change the site; (page → its new word, deleted pages, added pages)."""
    sizes = Counter(path_of(url) for url in vectors["url"].to_pylist())
    able = set(life.root.editable())
    long = sorted(page for page, chunks in sizes.items() if chunks >= 6 and page in able)
    chosen = spread(long, 5)
    edited = {page: f"zyzzyva{number}" for number, page in enumerate(chosen)}
    deleted = spread(sorted(sizes.keys() - edited.keys() - {"index.html"}), 3)
    added = ["added-1.html", "added-2.html"]
    for page, word in edited.items():
        life.root.edit(page, word)
    for page in deleted:
        life.root.delete(page)
    for number, page in enumerate(added):
        life.root.add(page, seed=1_000_000 + number)
    life.root.publish()
    return edited, deleted, added


def spread(values: list[str], number: int) -> list[str]:
    return [values[place * len(values) // number] for place in range(number)]


def passages(vectors: pa.Table) -> dict[str, list[dict[str, Any]]]:
    """The passages of each page, in order."""
    rows = vectors.select(["url", "ordinal", "heading_path", "text", "hash"]).to_pylist()
    pages: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        pages.setdefault(path_of(row.pop("url")), []).append(row)
    return pages


def changed_passages(
    old: dict[str, list[dict[str, Any]]], new: dict[str, list[dict[str, Any]]], edited: dict[str, str]
) -> tuple[int, list[str]]:
    """How many passages of the edited pages are new, and those of them that are of a section without an edit."""
    number, strays = 0, []
    for page, word in edited.items():
        known = {passage["hash"] for passage in old.get(page, [])}
        fresh = [passage for passage in new.get(page, []) if passage["hash"] not in known]
        sections = [passage["heading_path"] for passage in fresh if word in passage["text"]]
        number += len(fresh)
        strays += [f"{page} passage {p['ordinal']}" for p in fresh if p["heading_path"] not in sections]
    return number, strays


def robots(life: Life) -> Iterator[Line]:
    """robots.txt forbids a folder, and allows it again."""
    _ = life.first
    before = life.kb.state()
    folder = {page for page in life.indexed(before) if f"/{page}".startswith(FORBIDDEN_FOLDER)}
    life.root.publish(forbidden=[FORBIDDEN_FOLDER])
    forbidding, without = life.refreshed()
    life.root.publish()
    allowing, again = life.refreshed()
    left = life.indexed(before) - life.indexed(without)
    asked = [request.path for request in forbidding.requests if request.path.startswith(FORBIDDEN_FOLDER)]
    yield Line(
        "robots.txt",
        f"Disallow: {FORBIDDEN_FOLDER} took {count(len(left), 'page')} out, at {count(len(asked), 'request')} for them;"
        f" allowed again, {len(life.indexed(again) - life.indexed(without))} came back",
        {"forbidden": len(left), "embedded_again": allowing.embedded, "bodies_again": allowing.bodies},
        expect(
            (left == folder, f"left: {listed(sorted(left ^ folder))}"),
            (not asked, f"asked although forbidden: {listed(asked)}"),
            (passages(again.vectors) == passages(before.vectors), "the index is not what it was before"),
        ),
    )


def faults(life: Life) -> Iterator[Line]:
    """The server fails for a share of the pages: nothing is removed, and the next refresh completes them."""
    _ = life.first
    before = life.kb.state()
    failing = {page for page in life.root.pages() if FAULTS.of(f"/{page}")}
    able = [page for page in life.root.editable() if page in life.indexed(before)]
    words = {page: f"quixotry{number}" for number, page in enumerate(able) if number % 10 == 0 or page in failing}
    for page, word in words.items():
        life.root.edit(page, word)
    with life.served.failing(FAULTS) as log:
        hurt = life.kb.refresh(log)
    during = life.kb.state()
    well, after = life.refreshed()
    lost = life.indexed(before) - life.indexed(during)
    outcomes, seen, finally_seen = during.outcomes(), with_words(during, words), with_words(after, words)
    still = after.outcomes().get("unreachable", 0)
    yield Line(
        "failing server",
        f"{count(len(failing), 'page')} answered 503, were reset or stalled: {outcomes.get('unreachable', 0)}"
        f" unreachable, {len(lost)} removed, {len(seen)} of {len(words)} edits in; the next refresh left {still}"
        f" unreachable and has {len(finally_seen)} edits; {hurt.cost.seconds:.0f} s and {well.cost.seconds:.0f} s",
        {"failing": len(failing), "outcomes": outcomes, "seconds": hurt.cost.seconds},
        expect(
            (not lost, f"removed: {listed(sorted(lost))}"),
            (outcomes.get("unreachable", 0) == len(failing), f"outcomes {outcomes} with {len(failing)} pages failing"),
            (seen == words.keys() - failing, "an edit of a page that answered is missing, or one that failed is in"),
            (still == 0, f"{still} pages still unreachable"),
            (finally_seen == words.keys(), f"edits missing: {listed(sorted(words.keys() - finally_seen))}"),
        ),
    )


def with_words(state: tables.State, words: dict[str, str]) -> set[str]:
    """Pages whose indexed text has the word that was put into them."""
    found = passages(state.vectors)
    return {page for page, word in words.items() if any(word in row["text"] for row in found.get(page, []))}


def broken_deploy(life: Life) -> Iterator[Line]:
    """All pages answer 404, then the whole host does: removal is held, search still answers, the check says why."""
    _ = life.first
    before = life.kb.state()
    with life.served.failing(Faults(missing=1.0)) as log:
        life.kb.refresh(log, expected=(REFUSED,))
        hits = life.kb.search(QUESTION)
    pages_missing, check = life.kb.state(), life.kb.refusal()
    with life.served.failing(Faults(whole_host=True)) as log:
        life.kb.refresh(log, expected=(REFUSED,))
        still_hits = life.kb.search(QUESTION)
    host_missing, host_check = life.kb.state(), life.kb.refusal()
    _, after = life.refreshed()
    held = max((row["held_removals"] for row in pages_missing.control["refreshes"]), default=0)
    yield Line(
        "broken deploy",
        f"all pages 404: {count(held, 'removal')} held, {count(len(hits), 'hit')} from search;"
        f" {check[0]}: {shortened(check[1])}; the whole host 404: {count(len(still_hits), 'hit')};"
        f" {host_check[0]}: {shortened(host_check[1])}",
        {"held": held, "check": check, "host_check": host_check},
        expect(
            (held > 0, "no removal was held"),
            (check[0] == "removals_are_plausible", f"the check that failed: {check[0]}"),
            (before.vectors.equals(pages_missing.vectors), "the live version changed when all pages were missing"),
            (before.vectors.equals(host_missing.vectors), "the live version changed when the whole host was missing"),
            (bool(hits) and bool(still_hits), "search did not answer"),
            (passages(after.vectors) == passages(before.vectors), "after the deploy was mended the index is another"),
        ),
    )


def extractor(life: Life) -> Iterator[Line]:
    """An extractor of another version: all texts derived anew, without one request."""
    _ = life.first
    before = life.kb.state()
    with life.served.well() as log:
        again = life.kb.reindex(log, KB_BENCH_EXTRACTOR="benchmark")
    after = life.kb.state()
    old, new = text_marks(before), text_marks(after)
    same = [page for page, mark in new.items() if old.get(page) == mark]
    yield Line(
        "another extractor",
        f"{count(len(new) - len(same), 'text')} of {len(new):,} derived again with"
        f" {count(len(again.requests), 'request')} to the site, {count(again.embedded, 'chunk')}"
        f" embedded; {again.cost.seconds:.0f} s",
        {"texts": len(new), "requests": len(again.requests), **cost_of(again)},
        expect(
            (not again.requests, f"requests: {listed([request.path for request in again.requests])}"),
            (not same, f"not derived again: {listed(same)}"),
            (old.keys() == new.keys(), f"{len(old)} texts before, {len(new)} after"),
            (again.embedded == 0, f"{again.embedded} chunks embedded although no text changed"),
        ),
    )


def text_marks(state: tables.State) -> dict[str, str]:
    """What each text was derived from, and by what."""
    texts = state.lance["texts"]
    return dict(zip(texts["page_id"].to_pylist(), texts["mark"].to_pylist(), strict=True))


def cost_of(refreshed: Refreshed) -> dict[str, float]:
    return {
        "seconds": refreshed.cost.seconds,
        "cpu_seconds": refreshed.cpu_seconds,
        "peak_bytes": refreshed.cost.peak_bytes,
        "bodies": refreshed.bodies,
        "embedded": refreshed.embedded,
        "embed_seconds": refreshed.embed_seconds,
    }


SCENARIOS: Final[dict[str, Callable[[Life], Iterator[Line]]]] = {
    "first": first_refresh,
    "second": second_refresh,
    "edits": edits,
    "robots": robots,
    "faults": faults,
    "broken_deploy": broken_deploy,
    "extractor": extractor,
}
