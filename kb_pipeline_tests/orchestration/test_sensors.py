from datetime import UTC, datetime, timedelta

import pytest
from dagster import DagsterRunStatus

from kb_pipeline.model import RefreshKind, RefreshOutcome, SiteState
from kb_pipeline.orchestration.attempts import MAX_ATTEMPTS
from kb_pipeline.orchestration.sensors import MOST_REQUESTS


def keys(instance):
    return sorted(instance.get_dynamic_partitions("sites"))


def asked(result):
    return [(request.job_name, request.partition_key) for request in result.run_requests or []]


@pytest.fixture
def now():
    return datetime.now(UTC)


@pytest.fixture
def active(stores, instance, now):
    """An approved site with its partition, whose next refresh is an hour away."""

    def add(site_id="docs"):
        stores.sites.add(site_id, "https://docs.test/")
        stores.sites.approve(site_id, pages=100, by="test", now=now)
        stores.sites.schedule(site_id, now + timedelta(hours=1))
        instance.add_dynamic_partitions("sites", [site_id])
        opened = stores.refreshes.start_or_resume(site_id, RefreshKind.FULL, None, now)
        stores.refreshes.finish(site_id, opened.generation, RefreshOutcome.PUBLISHED, None, now)
        return site_id

    return add


def test_a_new_site_gets_its_partition_and_is_discovered(instance, stores, tick):
    stores.sites.add("docs", "https://docs.test/")
    assert asked(tick("site_registry")) == [("discover", "docs")]
    assert keys(instance) == ["docs"]


def test_a_site_is_not_discovered_twice_while_its_run_waits_in_the_queue(stores, tick, record_run):
    stores.sites.add("docs", "https://docs.test/")
    tick("site_registry")
    record_run("discover", "docs")
    assert asked(tick("site_registry")) == []


def test_a_discovery_that_failed_is_asked_for_again_later_under_another_key(stores, tick, record_run, stores_later):
    stores.sites.add("docs", "https://docs.test/")
    first = tick("site_registry").run_requests[0]
    record_run("discover", "docs", DagsterRunStatus.FAILURE)
    assert asked(tick("site_registry")) == []
    again = tick("site_registry", stores_later).run_requests[0]
    assert again.run_key != first.run_key


def test_a_partition_of_no_site_goes(instance, tick):
    instance.add_dynamic_partitions("sites", ["stranger"])
    tick("site_registry")
    assert keys(instance) == []


def test_a_partition_stays_while_a_run_of_it_is_queued(instance, tick, record_run):
    instance.add_dynamic_partitions("sites", ["stranger"])
    record_run("refresh", "stranger")
    tick("site_registry")
    assert keys(instance) == ["stranger"]


def test_a_site_is_removed_only_once_no_run_of_it_is_left(active, stores, tick, record_run, instance):
    active("docs")
    stores.sites.set_state("docs", SiteState.REMOVING)
    waiting = record_run("refresh", "docs")
    assert asked(tick("site_removal")) == []
    instance.report_run_canceled(waiting)
    assert asked(tick("site_removal")) == [("remove_site", "docs")]


def test_a_site_is_refreshed_when_its_time_has_come_and_not_before(active, stores, tick, now):
    active("docs")
    assert asked(tick("refresh_due")) == []
    stores.sites.schedule("docs", now - timedelta(seconds=1))
    assert asked(tick("refresh_due")) == [("refresh", "docs")]


def test_the_same_tick_again_asks_under_the_same_key(active, stores, tick, now):
    stores.sites.schedule(active("docs"), now - timedelta(seconds=1))
    assert tick("refresh_due").run_requests[0].run_key == tick("refresh_due").run_requests[0].run_key


def test_a_site_without_its_partition_waits_for_it(active, stores, tick, instance, now):
    stores.sites.schedule(active("docs"), now - timedelta(seconds=1))
    instance.delete_dynamic_partition("sites", "docs")
    assert asked(tick("refresh_due")) == []


def test_an_approved_site_that_was_never_refreshed_is_due(stores, instance, tick, now):
    stores.sites.add("docs", "https://docs.test/")
    stores.sites.approve("docs", pages=10, by="test", now=now)
    instance.add_dynamic_partitions("sites", ["docs"])
    assert asked(tick("refresh_due")) == [("refresh", "docs")]


def test_a_refresh_that_waits_for_approval_is_left_alone_until_it_has_it(active, stores, tick, now):
    stores.sites.schedule(active("docs"), now - timedelta(minutes=1))
    opened = stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, now)
    stores.refreshes.mark_discovered("docs", opened.generation, now)
    assert asked(tick("refresh_due")) == []
    stores.refreshes.approve("docs", opened.generation, by="test", now=now)
    assert asked(tick("refresh_due")) == [("refresh", "docs")]


def test_a_refresh_that_a_killed_run_left_open_is_taken_up_again(active, stores, tick, record_run, stores_later, now):
    active("docs")
    opened = stores.refreshes.start_or_resume("docs", RefreshKind.FULL, "killed", now - timedelta(seconds=5))
    stores.refreshes.approve("docs", opened.generation, by="test", now=now - timedelta(seconds=5))
    record_run("refresh", "docs", DagsterRunStatus.FAILURE)
    assert asked(tick("refresh_due")) == [], "not at once"
    assert asked(tick("refresh_due", stores_later)) == [("refresh", "docs")]


def test_a_refresh_whose_runs_keep_breaking_is_ended_with_the_reason(active, stores, tick, record_run, now):
    active("docs")
    opened = stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, now - timedelta(seconds=5))
    stores.sites.note_error("docs", "out of memory", now)
    for _ in range(MAX_ATTEMPTS):
        record_run("refresh", "docs", DagsterRunStatus.FAILURE)
    assert asked(tick("refresh_due")) == []
    ended = stores.refreshes.get("docs", opened.generation)
    assert ended.outcome is RefreshOutcome.FAILED
    assert "out of memory" in ended.reason
    assert asked(tick("refresh_due")) == [], "and the next one waits for its time"


def test_a_run_that_somebody_ended_stays_ended_until_the_site_is_asked_for(active, stores, tick, record_run, now):
    active("docs")
    stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, now - timedelta(seconds=5))
    record_run("refresh", "docs", DagsterRunStatus.CANCELED)
    assert asked(tick("refresh_due")) == []
    stores.sites.schedule("docs", datetime.now(UTC))
    assert asked(tick("refresh_due")) == [("refresh", "docs")]


def test_a_site_that_is_being_removed_is_not_refreshed(active, stores, tick, now):
    stores.sites.schedule(active("docs"), now - timedelta(seconds=1))
    stores.sites.set_state("docs", SiteState.REMOVING)
    assert asked(tick("refresh_due")) == []


def test_one_tick_asks_for_so_many_runs_and_the_next_goes_on(stores, instance, tick, now):
    for number in range(MOST_REQUESTS + 5):
        stores.sites.add(f"site-{number:03}", "https://docs.test/")
        stores.sites.approve(f"site-{number:03}", pages=10, by="test", now=now)
    instance.add_dynamic_partitions("sites", [site.site_id for site in stores.sites.all()])
    first = asked(tick("refresh_due"))
    assert len(first) == MOST_REQUESTS
    for _, site_id in first:
        stores.sites.set_state(site_id, SiteState.REMOVING)
    assert len(asked(tick("refresh_due"))) == 5


def test_a_broken_run_leaves_its_reason_on_the_site(active, stores, record_run, failed):
    active("docs")
    broken = record_run("refresh", "docs", DagsterRunStatus.STARTED)
    failed(broken, "Run execution process unexpectedly exited with exit code -9")
    assert "exit code -9" in stores.sites.get("docs").last_error


def test_of_a_killed_process_its_code_servers_words_are_the_reason(active, stores, instance, record_run, failed):
    active("docs")
    killed = record_run("refresh", "docs", DagsterRunStatus.STARTED)
    words = f"Run execution process for {killed.run_id} was terminated by signal 9 (SIGKILL)."
    instance.report_engine_event(words, killed)
    instance.report_engine_event("Its pool slots are free again.", killed)
    failed(killed, None)
    assert stores.sites.get("docs").last_error == words


def test_a_failure_is_old_news_once_a_later_run_went_well(active, stores, record_run, failed):
    active("docs")
    broken = record_run("refresh", "docs", DagsterRunStatus.STARTED)
    record_run("refresh", "docs", DagsterRunStatus.SUCCESS)
    failed(broken, "out of memory")
    assert stores.sites.get("docs").last_error is None
