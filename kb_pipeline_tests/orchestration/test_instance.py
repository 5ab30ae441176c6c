import psycopg
import pytest

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.orchestration.instance import dagster_home, environment, prepare_instance, project_file
from kb_pipeline.orchestration.pools import EMBED, FETCH, POOL_LIMITS
from kb_pipeline.settings import Settings
from kb_pipeline.store.postgres_urls import PostgresAddress


@pytest.fixture(autouse=True)
def environ(monkeypatch, dagster_settings):
    """Opening an instance sets its variables; they go with the test."""
    for name in environment(dagster_settings):
        monkeypatch.setenv(name, "")


def test_preparing_twice_changes_nothing(dagster_settings):
    assert prepare_instance(dagster_settings) == prepare_instance(dagster_settings) == environment(dagster_settings)
    assert dagster_home(dagster_settings).joinpath("dagster.yaml").samefile(project_file("dagster.yaml"))


def test_dagsters_storage_is_postgres_through_psycopg2(instance):
    url = instance.event_log_storage.postgres_url
    assert url.startswith("postgresql+psycopg2://")
    with psycopg.connect(PostgresAddress.parse(url).conninfo) as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_one_run_a_site_and_limits_by_step_are_configured(instance):
    configured = instance.get_concurrency_config()
    limits = configured.run_queue_config.tag_concurrency_limits
    assert limits == [{"key": "dagster/partition", "value": {"applyLimitPerUniqueValue": True}, "limit": 1}]
    assert configured.pool_config.pool_granularity.value == "op"


def test_pools_have_their_limits_from_the_start(instance):
    limits = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
    assert limits == POOL_LIMITS


def test_a_limit_that_an_operator_set_stays(instance, dagster_settings):
    instance.event_log_storage.set_concurrency_slots(FETCH, 3)
    prepare_instance(dagster_settings)
    limits = {pool.name: pool.limit for pool in instance.event_log_storage.get_pool_limits()}
    assert limits == {FETCH: 3, EMBED: POOL_LIMITS[EMBED]}


def test_broken_runs_are_not_retried_by_dagster_but_a_dead_one_is_noticed(instance):
    assert not instance.run_retries_enabled
    assert instance.run_monitoring_enabled
    assert instance.run_monitoring_max_runtime_seconds > 0


def test_nothing_is_reported_to_anybody(instance):
    assert not instance.telemetry_enabled


def test_a_home_that_cannot_be_made_is_said_with_its_setting(tmp_path, postgres_url):
    (tmp_path / "kb").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailable, match="KB_DATA_DIR"):
        prepare_instance(Settings(data_dir=tmp_path / "kb", postgres_url=postgres_url))
