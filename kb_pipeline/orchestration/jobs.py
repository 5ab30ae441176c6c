"""The jobs of a site. None takes run config: what differs between sites is in the registry."""

from typing import Final

import dagster as dg
from dagster import AssetSelection

from kb_pipeline.orchestration import assets
from kb_pipeline.orchestration.partitions import sites
from kb_pipeline.orchestration.stage_run import interrupts_end_the_step
from kb_pipeline.settings import Settings
from kb_pipeline.stages.remove import remove_site as remove_data
from kb_pipeline.store.stores import Stores

discover: Final = dg.define_asset_job(
    "discover",
    selection=AssetSelection.assets(assets.discovered_urls),
    description="Finds a site's pages and estimates what importing them costs. Fetches none of them.",
)
refresh: Final = dg.define_asset_job(
    "refresh",
    selection=AssetSelection.assets(*assets.ALL),
    description="Brings the knowledge base of a site up to date, from its list of pages to the live index.",
)
retry: Final = dg.define_asset_job(
    "retry",
    selection=AssetSelection.assets(*assets.ALL[1:]),
    description="Asks again for the pages that could not be reached, and indexes what they say.",
)
reindex: Final = dg.define_asset_job(
    "reindex",
    selection=AssetSelection.assets(*assets.ALL[2:]),
    description="Derives texts, chunks and vectors again from the stored bodies, without a request to the site.",
)


@dg.op(retry_policy=dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL))
def delete_data(
    context: dg.OpExecutionContext, stores: dg.ResourceParam[Stores], settings: dg.ResourceParam[Settings]
) -> None:
    """Delete what is stored of the site, in Lance and then in PostgreSQL. Its partition goes with the next tick
    of `site_registry`."""
    with interrupts_end_the_step():
        remove_data(stores, settings, context.partition_key, run_id=context.run.run_id)


@dg.job(partitions_def=sites, description="Deletes a site that is being removed, with all its data.")
def remove_site() -> None:
    """Delete one site."""
    delete_data()


ALL: Final = (discover, refresh, retry, reindex, remove_site)
