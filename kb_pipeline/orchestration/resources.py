"""What steps, checks and sensors are given: the settings, the open stores, and the way to the embedding model."""

from collections.abc import Iterator
from typing import Protocol

import dagster as dg

from kb_pipeline.embed import Embedder
from kb_pipeline.orchestration.lost_runs import process_tag
from kb_pipeline.settings import Settings
from kb_pipeline.store.run_locks import hold_run_lock
from kb_pipeline.store.stores import Stores


class EmbedderOpener(Protocol):
    """How a step gets the embedding model; `embed.open_embedder` is the usual one. Called within the step, so that a
    model that is not there fails the step that needs it and no other."""

    def __call__(self, settings: Settings, /) -> Embedder:
        """The embedder of these settings; its weights are not loaded yet. Raises ModelMissing or ConfigError."""
        ...


def stores_resource(settings: Settings) -> dg.ResourceDefinition:
    """The stores, opened once a run (the executor is in process) or once a sensor tick.

    A run holds its lock for as long, and is tagged with the process that does the work.
    """

    @dg.resource(description="PostgreSQL and Lance, opened once a run.")
    def stores(context: dg.InitResourceContext) -> Iterator[Stores]:
        with Stores.open(settings) as opened:
            run = context.run
            if run is None or context.instance is None:
                yield opened
                return
            with hold_run_lock(opened.database, run.run_id):
                context.instance.add_run_tags(run.run_id, process_tag())
                yield opened

    return stores
