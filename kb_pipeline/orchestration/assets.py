"""The six assets of a site, in order. A body calls its stage and reports; what a stage does is the stage's own."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import dagster as dg

from kb_pipeline.core.chunking import CHUNKER_VERSION
from kb_pipeline.core.extract import EXTRACTOR_VERSION
from kb_pipeline.orchestration.partitions import sites
from kb_pipeline.orchestration.pools import EMBED, FETCH
from kb_pipeline.orchestration.resources import EmbedderOpener
from kb_pipeline.orchestration.stage_run import run_stage, waits_for_approval, with_embedder, with_retry
from kb_pipeline.settings import Settings
from kb_pipeline.stages.approve import WAITS
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.embed import embed_chunks
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.publish import publish
from kb_pipeline.store.stores import Stores

Result = dg.MaterializeResult[None]

# A store that is out of reach, or a site that another writer holds, is often well again a little later.
_RETRY: Final = dg.RetryPolicy(max_retries=3, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)

_site_asset: Final = partial(
    dg.asset,
    partitions_def=sites,
    group_name="knowledge_base",
    owners=["team:knowledge-base"],
    retry_policy=_RETRY,
)


@_site_asset(kinds={"python", "http", "postgres"}, pool=FETCH, code_version="1")
def discovered_urls(
    context: dg.AssetExecutionContext, stores: dg.ResourceParam[Stores], settings: dg.ResourceParam[Settings]
) -> Result:
    """The list of the site's pages, from robots.txt, sitemaps, feeds or links; why each other URL is left out;
    and the estimate of what the import costs. Opens the refresh, or takes up the one that is open."""
    return run_stage(context, stores, settings, discover)


@_site_asset(
    deps=[discovered_urls], kinds={"python", "http", "lance"}, pool=FETCH, code_version="1", output_required=False
)
def fetched_pages(
    context: dg.AssetExecutionContext, stores: dg.ResourceParam[Stores], settings: dg.ResourceParam[Settings]
) -> Iterator[Result]:
    """The body of each page as it came, asked for politely and conditionally. Each page ends in one outcome, with
    a reason. With no refresh open, the pages whose retry time has come are asked for again. Nothing comes of it, and
    of what follows, while the import that the same run discovered waits for approval."""
    site_id = context.partition_key
    if waits_for_approval(context, stores):
        context.log.warning("nothing is fetched: %s. Approve it with `kb sites approve %s`", WAITS, site_id)
        return
    yield run_stage(context, stores, settings, with_retry(fetch_pages))


@_site_asset(deps=[fetched_pages], kinds={"python", "lance"}, code_version=EXTRACTOR_VERSION)
def extracted_text(
    context: dg.AssetExecutionContext, stores: dg.ResourceParam[Stores], settings: dg.ResourceParam[Settings]
) -> Result:
    """What each page says, as Markdown, derived from the stored bodies without a request to the site."""
    return run_stage(context, stores, settings, extract_texts)


@_site_asset(deps=[extracted_text], kinds={"python", "lance"}, code_version=CHUNKER_VERSION)
def chunks(
    context: dg.AssetExecutionContext, stores: dg.ResourceParam[Stores], settings: dg.ResourceParam[Settings]
) -> Result:
    """Passages of about 350 tokens that know their headings and the anchor of their section."""
    return run_stage(context, stores, settings, make_chunks)


@_site_asset(deps=[chunks], kinds={"python", "pytorch", "lance"}, pool=EMBED, code_version="1")
def embeddings(
    context: dg.AssetExecutionContext,
    stores: dg.ResourceParam[Stores],
    settings: dg.ResourceParam[Settings],
    opener: dg.ResourceParam[EmbedderOpener],
) -> Result:
    """A vector for each chunk. A chunk whose hash is known is not embedded again."""
    return run_stage(context, stores, settings, with_embedder(embed_chunks, opener))


@_site_asset(deps=[embeddings], kinds={"lance", "postgres"}, code_version="1")
def live_index(
    context: dg.AssetExecutionContext,
    stores: dg.ResourceParam[Stores],
    settings: dg.ResourceParam[Settings],
    opener: dg.ResourceParam[EmbedderOpener],
) -> Result:
    """The version of the vectors that search reads. Moved here, and only when every blocking check has passed."""
    return run_stage(context, stores, settings, with_embedder(publish, opener))


ALL: Final = (discovered_urls, fetched_pages, extracted_text, chunks, embeddings, live_index)
