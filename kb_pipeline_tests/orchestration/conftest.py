"""A real Dagster instance on PostgreSQL, a copy for each test of one that was prepared once."""

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from dagster import (
    AddDynamicPartitionsRequest,
    DagsterEventType,
    DagsterRunStatus,
    build_run_status_sensor_context,
    build_sensor_context,
)

from kb_pipeline.definitions import build_definitions
from kb_pipeline.model import SiteOptions
from kb_pipeline.orchestration.instance import environment, open_instance, prepare_instance, set_pool_limits
from kb_pipeline.orchestration.sensors import run_failure
from kb_pipeline.settings import Settings
from kb_pipeline.store.postgres_urls import PostgresAddress
from kb_pipeline.store.servers import drop_database
from kb_pipeline.store.stores import Stores
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite


class StoresLater(Stores):
    """The same stores, in a while."""

    __slots__ = ()
    AHEAD = timedelta(minutes=2)

    def now(self):
        return datetime.now(UTC) + self.AHEAD


@pytest.fixture(scope="session")
def shared_instance(server_url, tmp_path_factory):
    """An instance with a database of its own, prepared once: making Dagster's tables takes seconds."""
    control = PostgresAddress.parse(server_url).with_database(f"shared_{uuid.uuid4().hex[:12]}")
    settings = Settings(data_dir=tmp_path_factory.mktemp("shared"), postgres_url=control.url)
    with pytest.MonkeyPatch.context() as environ:
        for name, value in environment(settings).items():
            environ.setenv(name, value)
        prepare_instance(settings)
        instance = open_instance(settings)
    with instance:
        yield instance
    drop_database(control.with_database(f"{control.database}_dagster"))


@pytest.fixture
def instance(shared_instance):
    """The instance, with no run, no event and no partition in it."""
    shared_instance.wipe()
    set_pool_limits(shared_instance)
    return shared_instance


@pytest.fixture
def dagster_settings(settings, instance):
    """The test's settings, with the instance's database for Dagster's storage."""
    return settings.model_copy(update={"dagster_postgres_url": instance.event_log_storage.postgres_url})


@pytest.fixture
def settings(settings):
    """Pages that did not answer may be asked again at once."""
    return settings.model_copy(update={"retry_after_refresh_minutes": 1e-6})


@pytest.fixture
def definitions(settings):
    """The code location, bound to the test's settings, with an embedding model that loads at once."""
    return build_definitions(settings, lambda _settings: HashEmbedder())


@pytest.fixture
def run(instance, definitions):
    """Run a job for a site in this process, with its partition in place."""

    def run_job(job, site_id, **options):
        instance.add_dynamic_partitions("sites", [site_id])
        return definitions.resolve_job_def(job).execute_in_process(
            partition_key=site_id, instance=instance, raise_on_error=False, **options
        )

    return run_job


@pytest.fixture
def record_run(instance, definitions):
    """Put a run into the history, without running anything."""

    def record(job, site_id, status=DagsterRunStatus.NOT_STARTED, **tags):
        recorded = instance.create_run_for_job(
            job_def=definitions.resolve_job_def(job), status=status, tags={"dagster/partition": site_id, **tags}
        )
        if status is DagsterRunStatus.FAILURE:
            instance.report_run_failed(recorded)
        elif status is DagsterRunStatus.CANCELED:
            instance.report_run_canceled(recorded)
        return recorded

    return record


@pytest.fixture
def tick(instance, definitions, stores):
    """Evaluate a sensor as the daemon would, and apply what it says about partitions."""

    def evaluate(name, stores=stores):
        context = build_sensor_context(instance=instance, definitions=definitions, resources={"stores": stores})
        result = definitions.get_repository_def().get_sensor_def(name)(context)
        for request in result.dynamic_partitions_requests or []:
            if isinstance(request, AddDynamicPartitionsRequest):
                instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
            else:
                for key in request.partition_keys:
                    instance.delete_dynamic_partition(request.partitions_def_name, key)
        return result

    return evaluate


@pytest.fixture
def stores_later(stores):
    """The stores as they will be two minutes from now."""
    return StoresLater.over(stores.database, stores.lance_uri)


@pytest.fixture
def failed(instance, stores):
    """Let a run fail from outside, and the sensor hear of it."""

    def fail(run, message):
        instance.report_run_failed(run, message)
        event = instance.all_logs(run.run_id, of_type=DagsterEventType.RUN_FAILURE)[-1].dagster_event
        context = build_run_status_sensor_context("run_failure", event, instance, run, resources={"stores": stores})
        run_failure(context.for_run_failure())

    return fail


@pytest.fixture
def site():
    """A small website on loopback, with a sitemap of its six pages."""
    with LoopbackSite({"/": page("Home", prose("home"))}) as served:
        publish_pages(served, *[f"/{name}" for name in ("apples", "birds", "clouds", "dunes", "elms", "foxes")])
        yield served


def publish_pages(served, *paths):
    """Put pages on the site, and exactly them into its sitemap."""
    for path in paths:
        served.pages[path] = page(path.strip("/").title(), prose(path.strip("/")))
    served.pages["/sitemap.xml"] = sitemap(*[served.url(path) for path in paths])


@pytest.fixture
def registered(stores, site):
    """Register the website."""

    def register(site_id="docs", **options):
        return stores.sites.add(site_id, site.url("/"), options=SiteOptions(**options))

    return register
