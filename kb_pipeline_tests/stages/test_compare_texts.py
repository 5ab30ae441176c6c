"""The report of what deriving the texts anew would change: it is what then happens, and it writes nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kb_pipeline.errors import SiteNotFound, TableUnusable
from kb_pipeline.model import RefreshKind, RefreshOutcome, SiteOptions
from kb_pipeline.stages import compare_texts as comparing
from kb_pipeline.stages.compare_texts import compare_page, compare_site
from kb_pipeline.stages.page_comparison import Change
from kb_pipeline.store.lance import count_rows
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.stages.stored_site import PROSE, SITE, StoredSite, html

ASIDE = "Subscribe to the letter that tells you of every new pump."

WALL = "<title>Log in</title><main><h1>Log in</h1><form><input type=password></form></main>"


@pytest.fixture
def site(stores, settings):
    return StoredSite(stores, settings)


@pytest.fixture
def embedder():
    return HashEmbedder()


def compared(site, embedder, **options):
    return compare_site(site.stores, site.settings, SITE, embedder=embedder, **options)


def numbers(found, *names):
    return [found.counts.get(name, 0) for name in names]


def by_path(found):
    return {page.url.removeprefix("https://docs.example"): page for page in found.pages}


def indexed(site, embedder, *names, head=""):
    for name in names:
        site.fetched(f"/{name}", html(name, f"{name} {PROSE}", head=head))
    site.extract()
    return site.index(embedder)


def with_aside(site, path):
    """As an earlier version read the page: with a line that does not belong to it."""
    text = site.texts()[path]
    site.had_text(path, markdown=f"{text['markdown']}\n{ASIDE}\n", characters=text["characters"] + len(ASIDE))


def test_texts_that_stay_are_unchanged_and_nothing_is_to_be_embedded(site, embedder):
    made = indexed(site, embedder, "pumps", "valves")
    found = compared(site, embedder)
    assert numbers(found, *Change, "gone") == [2, 0, 0, 0, 0, 0]
    assert (found.pages, found.stopped_by) == ([], [])
    assert (found.chunks, found.chunks_to_embed, found.tokens_to_embed) == (made["embedded"], 0, 0)
    characters = sum(text["characters"] for text in site.texts().values())
    assert numbers(found, "characters_before", "characters_after") == [characters, characters]


def test_each_page_is_told_by_what_would_become_of_it(site, embedder):
    site.fetched("/tiny", html("tiny", "Short."))
    indexed(site, embedder, "pumps", "valves", "tanks", "wells", "manual", "old")
    site.had_text("/tiny", title="Tiny")
    with_aside(site, "/pumps")
    site.had_text("/valves", author="Somebody Else", modified="2020-01-01")
    site.fetched("/tanks", html("tanks", "Short."))
    site.had_text("/wells", markdown="", characters=0)
    site.fetched("/manual", b"%PDF-1.7 and then nothing", "application/pdf")
    site.fetched("/news", html("News"))
    site.gone("/old", removed=True)
    found = compared(site, embedder)
    assert {path: page.change for path, page in by_path(found).items()} == {
        "/pumps": Change.CHANGED,
        "/valves": Change.FACTS,
        "/tanks": Change.CHANGED,
        "/wells": Change.CHANGED,
        "/manual": Change.FAILED,
        "/tiny": Change.CHANGED,
        "/news": Change.NEW,
    }
    assert numbers(found, *Change, "gone") == [0, 1, 4, 1, 1, 1]
    pages = by_path(found)
    assert (pages["/pumps"].words_lost, pages["/pumps"].words_gained) == (len(ASIDE.split()), 0)
    assert pages["/pumps"].lines_lost == (ASIDE,)
    assert pages["/valves"].detail == "author, modified"
    assert pages["/tanks"].leaves_index_because == "under 200 characters"
    assert (pages["/tiny"].detail, pages["/tiny"].leaves_index_because) == ("title", "")
    assert pages["/wells"].joins_index
    assert pages["/news"].joins_index
    assert "PDF is broken" in pages["/manual"].detail
    assert numbers(found, "short", "no_text", "other_kind", "joins_index") == [1, 0, 0, 2]


def test_a_page_that_would_be_empty_or_taken_for_a_wall_leaves_the_index_for_that(site, embedder):
    indexed(site, embedder, "pumps", "valves", "tanks")
    site.fetched("/pumps", "<html><body></body></html>")
    site.fetched("/valves", WALL)
    found = compared(site, embedder)
    reasons = {path: page.leaves_index_because for path, page in by_path(found).items()}
    assert reasons["/pumps"] == "no text"
    assert numbers(found, "no_text", "other_kind") == [1, 1]
    assert reasons["/valves"].split()[0] == "login"


def test_what_is_said_is_what_then_happens(site, embedder):
    indexed(site, embedder, *(f"page{n}" for n in range(8)))
    for n in range(3):
        with_aside(site, f"/page{n}")
    site.had_text("/page5", title="Another title")
    site.fetched("/news", html("News", "quite " + PROSE * 9))
    site.fetched("/tiny", html("tiny", "Short."))
    site.stores.site(SITE).table("vectors-hash-64-pieces").delete("title IN ('page6', 'page7')")
    embedder.embedded.clear()
    found = compared(site, embedder)
    assert embedder.embedded == []
    done = site.extract().counts
    assert numbers(found, "changed", "new") == [done["changed"], done["added"]] == [4, 2]
    made = site.index(embedder)
    assert (found.chunks_to_embed, found.tokens_to_embed) == (made["embedded"], made["tokens"])
    assert found.chunks_to_embed > 0
    assert compared(site, embedder).chunks == count_rows(site.stores.site(SITE).table("chunks"))
    assert numbers(compared(site, embedder), *Change) == [10, 0, 0, 0, 0]


def test_nothing_is_written_and_no_lock_is_taken(site, embedder):
    indexed(site, embedder, "pumps", "valves", "manual")
    with_aside(site, "/pumps")
    site.fetched("/manual", b"%PDF-1.7 and then nothing", "application/pdf")

    def state():
        store = site.stores.site(SITE)
        versions = {name: store.table(name).version for name in store.table_names()}
        ledger = [site.ledger(f"/{name}") for name in ("pumps", "valves", "manual")]
        return versions, ledger, site.stores.failures.count(SITE), site.stores.refreshes.latest(SITE)

    before = state()
    with site.stores.site_lock(SITE, "a refresh"):
        compared(site, embedder)
        compare_page(site.stores, site.settings, SITE, site.id("/pumps"))
    assert state() == before


def test_what_a_run_writes_meanwhile_is_not_looked_at(site, embedder, monkeypatch):
    indexed(site, embedder, *(f"page{n}" for n in range(6)))
    with_aside(site, "/page0")
    monkeypatch.setattr(comparing, "BATCH_PAGES", 1)
    moved = []

    def progress(_what, done, _total):
        if done == 1:
            for n in range(6):
                site.fetched(f"/page{n}", html(f"page{n}", f"Another text. {PROSE}"))
            site.extract()
            site.index(embedder)
            moved.append(done)

    found = compared(site, embedder, progress=progress)
    assert moved == [1]
    assert numbers(found, "unchanged", "changed", "failed") == [5, 1, 0]


def test_texts_of_an_earlier_version_are_compared_in_the_columns_that_they_have(site, embedder):
    indexed(site, embedder, "pumps", "valves", head="<meta name=author content='Ada Lovelace'>")
    table = site.stores.site(SITE).table("texts")
    table.drop_columns(["author"])
    table.add_columns(pa.schema([pa.field("former", pa.string())]))
    found = compared(site, embedder)
    assert numbers(found, "facts", "changed") == [2, 0]
    assert {page.detail for page in found.pages} == {"author"}
    assert "author" not in site.stores.site(SITE).table("texts").schema.names
    assert found.chunks_to_embed == 0


def test_the_pages_that_lose_most_come_first_and_no_more_than_are_asked_for(site, embedder):
    indexed(site, embedder, *(f"page{n}" for n in range(7)))
    for n in range(6):
        text = site.texts()[f"/page{n}"]
        site.had_text(f"/page{n}", markdown=text["markdown"] + f"\n{'once upon a time ' * n}\n")
    site.fetched("/page2", b"%PDF-1.7 and then nothing", "application/pdf")
    listed = [page.url.rpartition("/")[2] for page in compared(site, embedder, most=3).pages]
    assert listed == ["page2", "page5", "page4"]
    everything = compared(site, embedder, most=None).pages
    assert len(everything) == 7
    for most in (1, 2, 3, 6):
        assert everything[:most] == compared(site, embedder, most=most).pages
    assert everything[-1].change in {Change.UNCHANGED, Change.CHANGED}


@pytest.mark.parametrize(("short", "stops"), [(2, False), (3, True)])
def test_a_check_that_would_stop_it_is_named(site, embedder, short, stops):
    indexed(site, embedder, *(f"page{n}" for n in range(10)))
    for n in range(short):
        site.fetched(f"/page{n}", html(f"page{n}", "Short."))
    found = compared(site, embedder)
    assert [reason.partition(":")[0] for reason in found.stopped_by] == ["text_clears_threshold"] * stops
    if stops:
        assert "3 of 10 pages are short (30%), and the site tolerates 20%" in found.stopped_by[0]
    site.stores.sites.set_options(SITE, SiteOptions(tolerated_thin_share=0.5))
    assert compared(site, embedder).stopped_by == []


def test_short_pages_that_were_never_kept_and_those_that_cannot_be_read_count_as_the_check_counts_them(site, embedder):
    indexed(site, embedder, *(f"page{n}" for n in range(9)))
    site.fetched("/page0", html("page0", "Short."))
    site.thin("/thin")
    assert compared(site, embedder).stopped_by == []
    site.had_text("/page1", markdown="Short.", characters=6)
    site.fetched("/page1", b"%PDF-1.7 and then nothing", "application/pdf")
    (reason,) = compared(site, embedder).stopped_by
    assert "3 of 10 pages are short" in reason


def test_an_error_page_stops_it_only_where_the_last_refresh_fetched_it_as_content(site, embedder):
    indexed(site, embedder, *(f"page{n}" for n in range(10)))
    site.fetched("/page0", WALL)
    (reason,) = compared(site, embedder).stopped_by
    assert reason.startswith("no_error_pages: a page that the last refresh fetched")
    site.stores.refreshes.finish(SITE, site.generation, RefreshOutcome.PUBLISHED, None, site.stores.now())
    site.stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, site.stores.now())
    assert compared(site, embedder).stopped_by == []
    for n in range(1, 3):
        site.fetched(f"/page{n}", WALL)
    (reason,) = compared(site, embedder).stopped_by
    assert reason.startswith("no_error_pages: 3 of 10 texts are error pages or gates (30%)")


def test_one_page_is_shown_line_by_line(site, embedder):
    indexed(site, embedder, "pumps", "valves")
    with_aside(site, "/pumps")
    found = compare_page(site.stores, site.settings, SITE, site.id("/pumps"))
    assert found.page == by_path(compared(site, embedder))["/pumps"]
    assert [line for line in found.diff if line[0] in "+-"] == ["-", f"-{ASIDE}"]
    same = compare_page(site.stores, site.settings, SITE, site.id("/valves"))
    assert (same.page.change, same.diff) == (Change.UNCHANGED, ())
    assert compare_page(site.stores, site.settings, SITE, site.id("/never")) is None
    site.fetched("/pumps", b"%PDF-1.7 and then nothing", "application/pdf")
    broken = compare_page(site.stores, site.settings, SITE, site.id("/pumps"))
    assert (broken.page.change, broken.diff) == (Change.FAILED, ())
    site.gone("/valves", removed=True)
    assert compare_page(site.stores, site.settings, SITE, site.id("/valves")) is None


def test_a_site_without_texts_has_only_new_ones_and_one_without_pages_has_none(site, embedder):
    found = compared(site, embedder)
    assert (sum(found.counts.values()), found.pages, found.chunks) == (0, [], 0)
    site.fetched("/pumps", html("Pumps"))
    found = compared(site, embedder)
    assert numbers(found, *Change) == [0, 0, 0, 1, 0]
    assert found.chunks_to_embed == found.chunks == 1


def test_lost_bodies_and_unknown_sites_are_errors(site, embedder):
    indexed(site, embedder, "pumps")
    site.stores.site(SITE).drop_table("snapshots")
    with pytest.raises(TableUnusable, match="no table 'snapshots'"):
        compared(site, embedder)
    with pytest.raises(SiteNotFound):
        compare_site(site.stores, site.settings, "nobody", embedder=embedder)
