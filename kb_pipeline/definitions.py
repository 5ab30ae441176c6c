"""The Dagster code location. Importing it reads the settings and opens nothing; no model, browser, PDF or vector
library is loaded before a step needs it."""

import dagster as dg

from kb_pipeline.embed import open_embedder
from kb_pipeline.logs import ensure_logs
from kb_pipeline.orchestration import assets, checks, index_checks, jobs, sensors
from kb_pipeline.orchestration.resources import EmbedderOpener, stores_resource
from kb_pipeline.settings import Settings, load_settings


def build_definitions(settings: Settings, opener: EmbedderOpener = open_embedder) -> dg.Definitions:
    """All definitions, bound to `settings` and to the embedding model that `opener` gives."""
    return dg.Definitions(
        assets=assets.ALL,
        asset_checks=[*checks.ALL, *index_checks.ALL],
        jobs=jobs.ALL,
        sensors=sensors.ALL,
        resources={"settings": settings, "stores": stores_resource(settings), "opener": opener},
        # A site's steps run one after the other in the run's process: a process a step costs seconds each.
        executor=dg.in_process_executor,
    )


_settings = load_settings()
# Code servers and runs have no other entry point of ours: their log lines are set up here.
ensure_logs(_settings)
defs = build_definitions(_settings)
