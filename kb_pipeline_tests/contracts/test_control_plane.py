"""What every PostgreSQL has to give: the repositories over the embedded server, and over KB_TEST_POSTGRES_URL."""

from __future__ import annotations

import os
import threading
from datetime import UTC, date, datetime, timedelta

import pytest

from kb_pipeline.core.sync import Failure, Mark
from kb_pipeline.errors import ConfigError, InvalidSiteId, SiteBusy, SiteNotFound
from kb_pipeline.model import (
    Discovered,
    Estimate,
    PageSource,
    PageStatus,
    RefreshKind,
    RefreshOutcome,
    SiteOptions,
    SiteState,
    SourceType,
)
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.database import Database
from kb_pipeline.store.hosts import FURTHEST_SLOT_SECONDS
from kb_pipeline.store.indexing import ChunkedPage, Indexing
from kb_pipeline.store.ledger_texts import LedgerTexts, PageText
from kb_pipeline.store.named_queries import Query
from kb_pipeline.store.stores import Stores
from kb_pipeline.store.usage import Allowance
from kb_pipeline_tests.conftest import database_of_its_own

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
EXTERNAL = os.environ.get("KB_TEST_POSTGRES_URL", "")


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        pytest.param("external", marks=pytest.mark.skipif(not EXTERNAL, reason="KB_TEST_POSTGRES_URL is not set")),
    ],
)
def stores(request, tmp_path_factory):
    """A control plane for the module: each test registers a site of its own."""
    server = EXTERNAL if request.param == "external" else request.getfixturevalue("embedded_server_url")
    with database_of_its_own(server) as url, Database.open(url) as database:
        database.migrate()
        yield Stores.over(database, str(tmp_path_factory.mktemp("lance")))


@pytest.fixture
def site_id(stores, request):
    name = f"s-{abs(hash(request.node.name)):x}"[:40]
    stores.sites.add(name, f"https://{name}.example/")
    yield name
    stores.sites.delete(name)


def page_id(number):
    return f"{number:024x}"


def found(number, **options):
    return Discovered(page_id(number), f"https://s.example/{number}", PageSource.SITEMAP, **options)


def test_a_site_keeps_its_options_and_moves_through_its_states(stores):
    options = SiteOptions(include=("/docs/*",), golden_questions=(("how?", "/docs/how"),), request_gap_seconds=2.5)
    added = stores.sites.add("a-shop", "https://shop.example/", SourceType.SITEMAP, options, "acme")
    assert added == stores.sites.get("a-shop")
    assert (added.options, added.state, added.tenant) == (options, SiteState.REGISTERED, "acme")
    with pytest.raises(ConfigError, match=r"already registered, for https://shop\.example/"):
        stores.sites.add("a-shop", "https://other.example/")
    with pytest.raises(InvalidSiteId):
        stores.sites.add("A shop", "https://shop.example/")

    stores.sites.approve("a-shop", pages=30, by="me", now=NOW)
    stores.sites.schedule("a-shop", NOW)
    approved = stores.sites.get("a-shop")
    assert (approved.state, approved.approved_pages, approved.approved_at) == (SiteState.ACTIVE, 30, NOW)
    assert [site.site_id for site in stores.sites.due(NOW)] == ["a-shop"]
    assert stores.sites.due(NOW - timedelta(seconds=1)) == []
    stores.refreshes.start_or_resume("a-shop", RefreshKind.FULL, None, NOW)
    assert stores.sites.due(NOW) == [], "a refresh is under way"

    stores.sites.note_error("a-shop", "We couldn't find this page (404)", NOW)
    assert stores.sites.get("a-shop").last_error_at == NOW
    stores.sites.note_error("a-shop", None, NOW)
    assert (stores.sites.get("a-shop").last_error, stores.sites.get("a-shop").last_error_at) == (None, None)

    assert stores.sites.delete("a-shop")
    assert not stores.sites.delete("a-shop")
    assert stores.sites.find("a-shop") is None
    with pytest.raises(SiteNotFound, match="no site 'a-shop'"):
        stores.sites.set_state("a-shop", SiteState.REMOVING)


def test_discovery_asks_for_kept_pages_and_keeps_the_reason_of_the_others(stores, site_id):
    stores.pages.record_discovered(
        site_id,
        1,
        [
            found(1, priority=0.5, lastmod=NOW, alternates=(("de", "https://s.example/de"),)),
            found(2, excluded_because="looks like a login"),
            found(3, excluded_because="robots.txt forbids it", forbidden=True),
        ],
        NOW,
    )
    kept, excluded, forbidden = stores.pages.of_ids(site_id, [page_id(i) for i in (1, 2, 3)])
    assert (kept.state, kept.wanted_generation, kept.done_generation) == (PageStatus.PENDING, 1, 0)
    assert (kept.sitemap_lastmod, kept.first_seen_at) == (NOW, NOW)
    assert (excluded.state, excluded.reason, excluded.wanted_generation) == (
        PageStatus.EXCLUDED,
        "looks like a login",
        0,
    )
    assert (forbidden.state, forbidden.done_generation) == (PageStatus.FORBIDDEN, 1), "it is never asked for"
    assert stores.pages.count_by_state(site_id) == {"pending": 1, "excluded": 1, "forbidden": 1}
    assert stores.pages.count_exclusions(site_id) == {"looks like a login": 1}


def test_what_was_left_out_starts_over_when_it_is_kept_again(stores, site_id):
    stores.pages.record_discovered(site_id, 1, [found(1, excluded_because="over the page cap")], NOW)
    stores.pages.record_discovered(site_id, 2, [found(1)], NOW + timedelta(days=1))
    page = stores.pages.get(site_id, page_id(1))
    assert (page.state, page.reason, page.wanted_generation) == (PageStatus.PENDING, None, 2)
    assert (page.first_seen_at, page.last_seen_at) == (NOW, NOW + timedelta(days=1))
    stores.pages.record_discovered(site_id, 3, [found(1, excluded_because="now it is a login")], NOW)
    page = stores.pages.get(site_id, page_id(1))
    assert page.state is PageStatus.EXCLUDED
    assert page.wanted_generation <= page.done_generation, "nobody waits for it"


def test_a_page_found_twice_counts_once_and_the_list_is_in_key_order(stores, site_id):
    stores.pages.record_discovered(site_id, 1, [found(i) for i in (5, 3, 9, 3)], NOW)
    assert [page.page_id for page in stores.pages.stream(site_id)] == [page_id(i) for i in (3, 5, 9)]
    assert list(stores.pages.stream(site_id, [PageStatus.GONE])) == []
    assert list(stores.pages.snapshot_marks(site_id)) == []
    assert stores.pages.count_with_copy(site_id) == 0
    assert stores.pages.want_unseen(site_id, 2) == 0, "there is no copy that could be dropped"


def test_a_page_is_found_by_any_of_its_addresses(stores, site_id):
    stores.pages.record_discovered(site_id, 1, [found(1)], NOW)
    alias = Alias(page_id(7), "https://www.s.example/old", page_id(1), "redirect")
    stores.aliases.add(site_id, [alias, alias], NOW)
    assert stores.aliases.of_page(site_id, page_id(1)) == [alias]


def test_the_ledger_says_what_is_indexed(stores, site_id):
    stores.pages.record_discovered(site_id, 1, [found(1), found(2)], NOW)
    LedgerTexts(stores.database).record(site_id, [PageText(page_id(1), "A title", 900)])
    indexing = Indexing(stores.database)
    indexing.record_chunks(site_id, [ChunkedPage(page_id(1), None, 3)])
    indexing.mark_live(site_id, [page_id(1)], NOW)
    first, second = stores.pages.of_ids(site_id, [page_id(1), page_id(2)])
    assert (first.title, first.characters, first.chunk_count, first.last_indexed_at) == ("A title", 900, 3, NOW)
    assert second.last_indexed_at is None


def test_a_refresh_that_is_open_is_resumed_and_never_doubled(stores, site_id):
    first = stores.refreshes.start_or_resume(site_id, RefreshKind.FULL, "run-1", NOW)
    again = stores.refreshes.start_or_resume(site_id, RefreshKind.RETRY, "run-2", NOW)
    assert (first.generation, again.generation, again.kind, again.run_id) == (1, 1, RefreshKind.FULL, "run-2")

    estimate = Estimate(10, 2000, 1500, 2500, 1.5, 10.0, 0, 0, 3)
    stores.refreshes.set_estimate(site_id, 1, estimate)
    stores.refreshes.set_counts(site_id, 1, {"fresh": 1, "gone": 2})
    stores.refreshes.set_counts(site_id, 1, {"gone": 3})
    stores.refreshes.spend(site_id, 1, {"requests": 2, "bytes": 3 * 10**9})
    stores.refreshes.spend(site_id, 1, {"requests": 5, "bytes": 1})
    stores.refreshes.approve(site_id, 1, by="me", now=NOW)
    stores.refreshes.hold_removals(site_id, 1, 25)
    refresh = stores.refreshes.open(site_id)
    assert refresh.counts == {"fresh": 1, "gone": 3, "requests": 7, "bytes": 3 * 10**9 + 1}
    assert (refresh.estimate, refresh.held_removals) == (estimate, 25)

    assert stores.refreshes.finish(site_id, 1, RefreshOutcome.HELD, "25 removals", NOW)
    assert not stores.refreshes.finish(site_id, 1, RefreshOutcome.FAILED, "too late", NOW)
    assert stores.refreshes.open(site_id) is None
    assert stores.refreshes.latest(site_id).outcome is RefreshOutcome.HELD
    assert stores.refreshes.start_or_resume(site_id, RefreshKind.FULL, None, NOW).generation == 2
    assert [refresh.generation for refresh in stores.refreshes.recent(site_id)] == [2, 1]


def test_starters_that_come_at_once_open_one_refresh(stores, site_id):
    generations = []
    starters = [
        threading.Thread(
            target=lambda: generations.append(
                stores.refreshes.start_or_resume(site_id, RefreshKind.FULL, None, NOW).generation
            )
        )
        for _ in range(8)
    ]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    assert generations == [1] * 8


def test_one_version_is_live_at_a_time_and_the_live_one_is_never_forgotten(stores, site_id):
    def publish(version, reason):
        return stores.publications.publish(
            site_id,
            table_name="vectors-m-384",
            lance_version=version,
            generation=1,
            rows=10,
            pages=2,
            reason=reason,
            now=NOW,
        )

    assert stores.publications.live(site_id) is None
    first, second = publish(3, "refresh 1"), publish(5, "refresh 2")
    assert stores.publications.live(site_id) == second
    back = publish(first.lance_version, "rolled back by me")
    assert [(p.lance_version, p.live) for p in stores.publications.recent(site_id)] == [
        (3, True),
        (5, False),
        (3, False),
    ]
    assert stores.publications.forget(site_id, [first.publication_id, back.publication_id]) == 1
    assert stores.publications.live(site_id) == back
    assert stores.publications.get("another-site", back.publication_id) is None


def test_failures_are_kept_by_step_and_go_when_they_are_settled(stores, site_id):
    failures = [Failure(page_id(i), "target", "broken PDF", i, NOW) for i in (2, 1)]
    stores.failures.settle(site_id, "extract", failed=failures, settled=[], now=NOW)
    stores.failures.settle(site_id, "extract", failed=failures, settled=[], now=NOW)
    assert list(stores.failures.stream(site_id, "extract")) == sorted(failures, key=lambda failure: failure.key)
    assert list(stores.failures.stream(site_id, "chunk")) == []
    stores.failures.settle(site_id, "chunk", failed=failures[:1], settled=[], now=NOW)
    stores.failures.settle(site_id, "extract", failed=[], settled=[page_id(1), page_id(2)], now=NOW)
    assert (stores.failures.count(site_id), stores.failures.count(site_id, "extract")) == (1, 0)
    assert [row.step for row in stores.failures.listed(site_id, key=page_id(2))] == ["chunk"]


def test_slots_of_a_host_are_a_gap_apart_whoever_asks(stores):
    waits = []
    callers = [threading.Thread(target=lambda: waits.append(stores.hosts.reserve("a.example", 10.0))) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for slot, wait in enumerate(sorted(waits)):
        assert 10.0 * slot - 5 < wait <= 10.0 * slot
    assert stores.hosts.reserve("b.example", 10.0) == 0


AGE_SLOTS = Query("age_slots", b"UPDATE hosts SET next_slot_at = next_slot_at + interval '1 day'")
AGE_ROWS = Query("age_rows", b"UPDATE hosts SET updated_at = updated_at + interval '1 day'")


def test_a_clock_that_was_set_back_closes_no_host(stores):
    stores.hosts.reserve("f.example", 1.0)
    stores.hosts.reserve("g.example", 1.0)
    stores.database.execute(AGE_SLOTS)
    stores.database.execute(AGE_ROWS)
    assert stores.hosts.reserve("f.example", 1.0) == 0
    stores.hosts.hold("g.example", 20)
    assert 10 < stores.hosts.reserve("g.example", 1.0) <= 20


def test_no_host_is_closed_for_longer_than_it_can_have_asked_for(stores):
    stores.hosts.reserve("h.example", 1.0)
    stores.database.execute(AGE_SLOTS)
    assert stores.hosts.reserve("h.example", 1.0) <= FURTHEST_SLOT_SECONDS


def test_a_host_that_asked_for_peace_gets_it_and_a_slow_one_longer_gaps(stores):
    stores.hosts.hold("c.example", 120)
    stores.hosts.hold("c.example", 1)
    assert 110 < stores.hosts.reserve("c.example", 1.0) <= 120
    stores.hosts.set_slowdown("d.example", 4)
    stores.hosts.reserve("d.example", 10.0)
    assert 30 < stores.hosts.reserve("d.example", 10.0) <= 40
    assert stores.hosts.get("d.example").slowdown == 4
    assert stores.hosts.get("e.example") is None


def test_the_last_robots_file_of_an_origin_is_kept_as_it_came(stores):
    assert stores.robots_files.get("https://a.example:443") is None
    stores.robots_files.put("https://a.example:443", 200, b"\x00\xffUser-agent: *", NOW)
    stores.robots_files.put("https://a.example:443", 404, b"", NOW + timedelta(hours=1))
    kept = stores.robots_files.get("https://a.example:443")
    assert (kept.status, kept.body, kept.fetched_at) == (404, b"", NOW + timedelta(hours=1))


def test_a_daily_limit_holds_whoever_adds(stores):
    day = date(2026, 5, 4)
    added = []
    adders = [
        threading.Thread(
            target=lambda: added.extend(stores.usage.add(day, "acme", "browser", most=25) for _ in range(10))
        )
        for _ in range(4)
    ]
    for adder in adders:
        adder.start()
    for adder in adders:
        adder.join()
    assert (sum(added), stores.usage.of_day(day, "acme", "browser")) == (25, 25)
    assert not stores.usage.add(day, "acme", "vision", 3, most=2), "one that never fits is not let through either"
    assert stores.usage.of_day(day, "acme", "vision") == 0
    assert stores.usage.add(day, "acme", "vision", 3)


def test_a_tenant_without_an_allowance_has_no_limit(stores):
    assert stores.allowances.get("nobody") == Allowance("nobody", None, None)
    stores.allowances.set(Allowance("acme", 100, None))
    stores.allowances.set(Allowance("acme", 200, 5000))
    assert stores.allowances.get("acme") == Allowance("acme", 200, 5000)


def test_questions_are_logged_newest_first(stores, site_id):
    for i in range(3):
        stores.queries.record(site_id, f"q{i}", mode="fused", hits=i, millis=1.5, now=NOW + timedelta(seconds=i))
    assert [asked.question for asked in stores.queries.recent(site_id, 2)] == ["q2", "q1"]


def test_deleting_a_site_takes_its_rows_everywhere(stores):
    stores.sites.add("gone", "https://gone.example/")
    stores.pages.record_discovered("gone", 1, [found(1)], NOW)
    stores.refreshes.start_or_resume("gone", RefreshKind.FULL, None, NOW)
    stores.failures.settle("gone", "x", failed=[Failure("k", "t", "e", 1, NOW)], settled=[], now=NOW)
    stores.queries.record("gone", "q", mode="fused", hits=0, millis=1, now=NOW)
    stores.sites.delete("gone")
    assert list(stores.pages.stream("gone")) == []
    assert stores.refreshes.latest("gone") is None
    assert stores.failures.count("gone") == 0
    assert stores.queries.recent("gone") == []


def test_a_site_has_one_writer(stores, site_id):
    with (
        stores.site_lock(site_id, "run 1"),
        pytest.raises(SiteBusy, match="by run 1"),
        stores.site_lock(site_id, "run 2"),
    ):
        pass


def test_times_come_back_in_utc(stores, site_id):
    stores.sites.schedule(site_id, datetime.fromisoformat("2026-05-04T05:02:01+02:00"))
    due = stores.sites.get(site_id).next_refresh_at
    assert due == NOW
    assert due.utcoffset() == timedelta(0)


def test_marks_carry_the_size_of_what_must_be_read(stores, site_id):
    assert Mark("k", "f").weight == 0
    assert list(stores.pages.snapshot_marks(site_id)) == []
