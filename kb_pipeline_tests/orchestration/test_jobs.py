import json
from datetime import timedelta

from dagster import DagsterExecutionInterruptedError, MarkdownMetadataValue, UrlMetadataValue

from kb_pipeline.definitions import build_definitions
from kb_pipeline.logs import configure_logs
from kb_pipeline.model import PageStatus, RefreshOutcome, SiteState
from kb_pipeline.orchestration.run_reason import why_run_failed
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.stages import lifecycle
from kb_pipeline.stages.approve import approve
from kb_pipeline.store.usage import Allowance
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.orchestration.conftest import publish_pages
from kb_pipeline_tests.sites.replies import Reply, page, prose

ASSETS = ["discovered_urls", "fetched_pages", "extracted_text", "chunks", "embeddings", "live_index"]
PATHS = ["/", "/apples", "/birds", "/clouds", "/dunes", "/elms", "/foxes"]
"""What `site` serves."""


def materialized(result):
    return [event.asset_key.to_user_string() for event in result.get_asset_materialization_events()]


def checks(result):
    return {check.check_name: check for check in result.get_asset_check_evaluations()}


def failed_checks(result):
    return [name for name, check in checks(result).items() if not check.passed]


def test_a_site_goes_live_through_all_six_assets_and_each_says_what_it_did(run, registered, site, stores, settings):
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    assert result.success
    assert materialized(result) == ASSETS
    for event in result.get_asset_materialization_events():
        metadata = event.materialization.metadata
        assert event.partition == "docs"
        assert len([value for value in metadata.values() if isinstance(value.value, int | float)]) > 1
        assert isinstance(metadata["changes"], MarkdownMetadataValue)
        assert metadata["site"] == UrlMetadataValue(site.url("/"))
        assert [name for name in metadata if "_" in name] == [], "people read them"
    assert len(checks(result)) == 9
    assert failed_checks(result) == []
    assert {check.partition for check in checks(result).values()} == {"docs"}
    assert [name for check in checks(result).values() for name in check.metadata if "_" in name] == []
    assert search(stores, settings, "docs", "apples", mode=SearchMode.TEXT)[0].url == site.url("/apples")


def test_what_takes_its_time_is_said_in_the_log_of_the_run(run, registered, instance):
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    lines = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert "loading the embedding model …" in lines


def test_a_log_line_of_a_run_says_which_site_run_and_asset_it_is_of(run, registered, settings, capsys):
    registered(auto_approve_pages=10)
    configure_logs(settings.model_copy(update={"log_format": "json"}))
    result = run("refresh", "docs")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    [fetched] = [line for line in lines if line["event"] == "crawl.fetched"]
    assert (fetched["site"], fetched["run_id"], fetched["asset"]) == ("docs", result.run_id, "fetched_pages")


class InterruptedEmbedder(HashEmbedder):
    """As if the run was terminated while it embeds."""

    def embed(self, _texts):
        raise DagsterExecutionInterruptedError


def test_a_run_that_is_interrupted_ends_and_does_not_start_its_step_again(instance, settings, registered, stores, run):
    registered(auto_approve_pages=10)
    interrupted = build_definitions(settings, lambda _settings: InterruptedEmbedder())
    instance.add_dynamic_partitions("sites", ["docs"])
    result = interrupted.resolve_job_def("refresh").execute_in_process(
        partition_key="docs", instance=instance, raise_on_error=False
    )
    assert not result.success
    assert [event for event in result.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"] == []
    assert "interrupted" in why_run_failed(instance, result.run_id)
    assert stores.refreshes.open("docs") is not None, "the next run goes on from there"
    assert run("refresh", "docs").success


def test_discovery_fetches_nothing_and_tells_how_to_approve(run, registered, stores, instance):
    registered()
    result = run("discover", "docs")
    assert result.success, "a site that waits is no failure"
    assert instance.get_run_by_id(result.run_id).tags["kb/process"]
    waiting = checks(result)["estimate_fits_allowance"]
    assert not waiting.passed
    assert "kb sites approve docs" in waiting.description
    assert stores.sites.get("docs").state is SiteState.AWAITING_APPROVAL
    assert stores.refreshes.open("docs") is not None
    assert stores.pages.count_with_copy("docs") == 0


def test_nothing_is_fetched_before_the_approval_whoever_starts_the_refresh(run, registered, stores, instance):
    registered()
    result = run("refresh", "docs")
    assert result.success, "a site that waits is no failure"
    assert materialized(result) == ["discovered_urls"]
    waiting = checks(result)
    assert list(waiting) == ["discovery_found_pages", "estimate_fits_allowance"]
    assert "kb sites approve docs" in waiting["estimate_fits_allowance"].description
    assert stores.refreshes.open("docs") is not None, "it waits"
    assert stores.pages.count_with_copy("docs") == 0
    fetching = run("retry", "docs")
    assert not fetching.success, "a run that begins with the fetching has no check that would warn"
    assert "kb sites approve docs" in why_run_failed(instance, fetching.run_id)


def test_an_import_that_does_not_fit_the_allowance_stops_its_run(run, registered, stores, instance):
    stores.allowances.set(Allowance("default", max_pages=2, max_tokens=None))
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    assert not result.success
    assert materialized(result) == ["discovered_urls"]
    assert "does not fit the allowance" in why_run_failed(instance, result.run_id)
    assert stores.refreshes.open("docs") is not None, "it waits for a larger allowance, or a smaller import"


def test_an_approved_refresh_goes_on_under_the_same_generation(run, registered, stores, settings):
    registered()
    run("discover", "docs")
    waiting = stores.refreshes.open("docs")
    approve(stores, settings, "docs", pages=None, by="test")
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").generation == waiting.generation


def test_a_second_refresh_of_an_unchanged_site_embeds_nothing(run, registered, stores):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    live = stores.publications.live("docs")
    second = run("refresh", "docs")
    assert second.success
    embedding = second.asset_materializations_for_node("embeddings")[0].metadata
    assert embedding["chunks embedded"].value == 0
    assert stores.publications.live("docs") == live


def test_a_removal_of_nearly_everything_is_held_and_search_still_answers(run, registered, site, stores, settings):
    registered(auto_approve_pages=10, removal_limit_pages=2)
    run("refresh", "docs")
    for path in PATHS[2:]:
        del site.pages[path]
    held = run("refresh", "docs")
    assert failed_checks(held) == ["removals_are_plausible"]
    assert materialized(held) == ASSETS[:2]
    refresh = stores.refreshes.latest("docs")
    assert refresh.outcome is RefreshOutcome.HELD
    assert "5 of 7 pages" in refresh.reason
    assert search(stores, settings, "docs", "clouds", mode=SearchMode.TEXT)


def test_the_next_refresh_confirms_a_removal_that_was_held(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2, tolerated_thin_share=1.0)
    run("refresh", "docs")
    for path in PATHS[2:]:
        del site.pages[path]
    run("refresh", "docs")
    confirmed = run("refresh", "docs")
    assert confirmed.success
    assert stores.publications.live("docs").pages == 2


def test_a_robots_txt_that_forbids_the_whole_site_is_held_once_and_then_empties_it(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2, tolerated_thin_share=1.0)
    run("refresh", "docs")
    site.pages["/robots.txt"] = b"User-agent: *\nDisallow: /\n"
    assert failed_checks(run("refresh", "docs")) == ["removals_are_plausible"]
    assert stores.publications.live("docs").pages == 7
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").pages == 0


def held_by(result):
    return [name for name, check in checks(result).items() if not check.passed and check.severity.value == "ERROR"]


def test_a_site_that_is_gone_whole_is_held_asked_and_held_and_then_empties_itself(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2)
    run("refresh", "docs")
    site.pages.clear()
    assert held_by(run("refresh", "docs")) == ["discovery_found_pages"]
    refresh = stores.refreshes.latest("docs")
    assert refresh.outcome is RefreshOutcome.HELD
    assert "kb sites refresh docs --confirm-removals" in refresh.reason
    assert "kb sites remove docs" in refresh.reason
    assert stores.sites.get("docs").next_refresh_at > stores.now() + timedelta(hours=20)
    assert held_by(run("refresh", "docs")) == ["removals_are_plausible"]
    assert stores.publications.live("docs").pages == 7
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").pages == 0
    last = run("refresh", "docs")
    assert not last.success
    assert "kb sites remove docs" in stores.refreshes.latest("docs").reason


def test_a_small_site_that_is_gone_whole_is_held_for_its_list_and_for_its_pages(run, registered, site, stores):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    site.pages.clear()
    assert held_by(run("refresh", "docs")) == ["discovery_found_pages"]
    assert held_by(run("refresh", "docs")) == ["removals_are_plausible"]
    assert stores.publications.live("docs").pages == 7
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").pages == 0


def test_a_site_that_was_gone_for_a_night_loses_nothing(run, registered, site, stores):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    pages = dict(site.pages)
    site.pages.clear()
    run("refresh", "docs")
    site.pages.update(pages)
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").pages == 7
    site.pages.clear()
    assert held_by(run("refresh", "docs")) == ["discovery_found_pages"], "what was seen once is no confirmation"


def test_a_list_that_is_gone_takes_no_page_with_it_that_still_answers(run, registered, site, stores):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    for path in ("/", "/sitemap.xml", "/apples"):
        del site.pages[path]
    run("refresh", "docs")
    confirmed = run("refresh", "docs")
    assert confirmed.success
    assert failed_checks(confirmed) == ["discovery_found_pages"], "which goes on warning"
    assert stores.publications.live("docs").pages == 5


def test_an_operator_confirms_at_once_that_a_site_is_gone(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2)
    run("refresh", "docs")
    site.pages.clear()
    run("refresh", "docs")
    lifecycle.confirm_removals(stores, "docs")
    assert run("refresh", "docs").success
    assert stores.publications.live("docs").pages == 0


def test_a_list_that_collapsed_stops_the_refresh_and_is_believed_the_second_time(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2)
    run("refresh", "docs")
    publish_pages(site, "/apples")
    collapsed = run("refresh", "docs")
    assert failed_checks(collapsed) == ["discovery_found_pages"]
    assert stores.refreshes.latest("docs").outcome is RefreshOutcome.FAILED
    assert run("refresh", "docs").success


def test_a_list_that_collapsed_stops_the_refresh_after_any_number_of_retries(run, registered, site, stores):
    registered(auto_approve_pages=10, removal_limit_pages=2)
    run("refresh", "docs")
    for _ in range(20):
        retry = lifecycle.start_retry(stores, "docs")
        stores.refreshes.finish("docs", retry.generation, RefreshOutcome.PUBLISHED, None, stores.now())
    publish_pages(site, "/apples")
    assert failed_checks(run("refresh", "docs")) == ["discovery_found_pages"]


def test_too_many_thin_pages_stop_the_refresh_and_are_listed(run, registered, site, stores):
    for path in PATHS[1:4]:
        site.pages[path] = page("Thin", "<p>Nothing to see.</p>")
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    assert failed_checks(result) == ["text_clears_threshold"]
    check = checks(result)["text_clears_threshold"]
    assert check.metadata["pages thin"].value == 3
    assert "/apples" in check.metadata["pages"].value
    assert stores.publications.live("docs") is None


def test_a_few_thin_pages_are_only_warned_of(run, registered, site):
    site.pages["/apples"] = page("Thin", "<p>Nothing to see.</p>")
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    assert result.success
    assert failed_checks(result) == ["text_clears_threshold"]


def test_a_failing_check_of_one_site_stops_no_other(run, registered, site):
    registered("bad", auto_approve_pages=10, tolerated_thin_share=0.0, exclude=("/birds",))
    registered("good", auto_approve_pages=10, exclude=("/apples",))
    site.pages["/apples"] = page("Thin", "<p>Nothing to see.</p>")
    assert not run("refresh", "bad").success
    assert run("refresh", "good").success


def test_pages_that_did_not_answer_are_warned_of_and_kept(run, registered, site, stores):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    site.pages["/birds"] = Reply(status=503)
    result = run("refresh", "docs")
    assert result.success
    assert failed_checks(result) == ["refresh_is_complete"]
    assert "/birds" in checks(result)["refresh_is_complete"].metadata["pages"].value
    assert stores.publications.live("docs").pages == len(PATHS)


def test_a_retry_asks_only_for_the_pages_that_did_not_answer(run, registered, site, stores):
    site.pages["/birds"] = Reply(status=503)
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    site.pages["/birds"] = page("Birds", prose("birds"))
    site.forget()
    assert run("retry", "docs").success
    assert {request.path for request in site.requests} <= {"/birds", "/robots.txt"}
    assert stores.pages.count_by_state("docs")[PageStatus.FRESH] >= 1
    assert stores.publications.live("docs").pages == len(PATHS)


def test_a_reindex_makes_no_request(run, registered, site):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    site.forget()
    result = run("reindex", "docs")
    assert result.success
    assert materialized(result) == ASSETS[2:]
    assert site.requests == []


def test_a_golden_question_that_loses_its_page_blocks_only_where_the_site_says_so(run, registered):
    question = (("What is said of quantum chromodynamics?", "/no-such-page"),)
    registered("warns", auto_approve_pages=10, golden_questions=question)
    registered("blocks", auto_approve_pages=10, golden_questions=question, golden_blocks=True)
    assert run("refresh", "warns").success
    blocked = run("refresh", "blocks")
    assert not blocked.success
    assert failed_checks(blocked) == ["golden_questions_answered"]


def test_a_site_without_a_page_says_why_and_its_refresh_ends(run, registered, site, stores):
    site.pages.clear()
    registered(auto_approve_pages=10)
    result = run("refresh", "docs")
    assert not result.success
    assert stores.refreshes.open("docs") is None
    assert stores.refreshes.latest("docs").reason


def test_removing_a_site_deletes_its_rows_and_its_files(run, registered, stores, settings):
    registered(auto_approve_pages=10)
    run("refresh", "docs")
    stores.sites.set_state("docs", SiteState.REMOVING)
    assert run("remove_site", "docs").success
    assert stores.sites.find("docs") is None
    assert not (settings.data_dir / "lance" / "sites" / "docs").exists()


def test_a_run_for_a_site_that_is_not_registered_fails_with_its_name(run, instance):
    result = run("refresh", "nobody")
    assert "no site 'nobody' is registered" in why_run_failed(instance, result.run_id)


def test_a_retry_of_a_site_that_is_not_registered_is_not_tried_again(run):
    result = run("retry", "nobody")
    assert not result.success
    assert [event for event in result.all_events if event.is_step_up_for_retry] == []


def test_a_site_that_is_being_removed_is_not_refreshed_any_further(run, registered, stores):
    registered(auto_approve_pages=10)
    stores.sites.set_state("docs", SiteState.REMOVING)
    result = run("refresh", "docs")
    assert not result.success
    assert stores.publications.live("docs") is None
