"""What a check is given and what it answers, and the one decorator that makes a check of the graph from it: of one
site, in Dagster's words, ending the refresh when it blocks."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import dagster as dg
from dagster import AssetCheckSeverity, PreviewWarning

from kb_pipeline.embed import Embedder
from kb_pipeline.errors import KbError
from kb_pipeline.model import Refresh, RefreshOutcome, Site
from kb_pipeline.orchestration.metadata import numbers, table
from kb_pipeline.orchestration.partitions import sites
from kb_pipeline.orchestration.resources import EmbedderOpener
from kb_pipeline.settings import Settings
from kb_pipeline.stages import lifecycle
from kb_pipeline.store.reports import ReportedPage, Reports
from kb_pipeline.store.stores import Stores

WARN: Final = AssetCheckSeverity.WARN
ERROR: Final = AssetCheckSeverity.ERROR


@dataclass(frozen=True)
class Case:
    """One site that a check looks at."""

    site: Site
    stores: Stores
    settings: Settings
    opener: EmbedderOpener
    fetches: bool
    """Whether pages are to be fetched later in the same run."""

    @cached_property
    def refresh(self) -> Refresh | None:
        """The open refresh, or else the last one."""
        return self.stores.refreshes.latest(self.site.site_id)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model. Raises ModelMissing or ConfigError."""
        return self.opener(self.settings)

    @cached_property
    def reports(self) -> Reports:
        """Numbers of the control plane."""
        return Reports(self.stores.database)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found."""

    passed: bool
    says: str
    """One sentence for the site's owner; of a failed check that blocks, it becomes the reason of the refresh."""
    severity: AssetCheckSeverity = ERROR
    counts: Mapping[str, int | float] = field(default_factory=dict)
    header: Sequence[str] = ("page", "state", "reason")
    rows: Sequence[Sequence[object]] = ()
    ends_refresh: RefreshOutcome | None = RefreshOutcome.FAILED
    """How a failure that blocks ends the open refresh; None leaves it open."""

    @property
    def blocks(self) -> bool:
        """Whether nothing downstream may run, if the check is one that blocks."""
        return not self.passed and self.severity is ERROR

    def result(self, check: str) -> dg.AssetCheckResult:
        """The same in Dagster's words, as the result of the check of that name."""
        listed = {"pages": dg.MetadataValue.md(table(self.header, self.rows))} if self.rows else {}
        return dg.AssetCheckResult(
            passed=self.passed,
            severity=self.severity,
            description=self.says,
            metadata={**numbers(check, self.counts), **listed},
        )


def page_rows(pages: Sequence[ReportedPage]) -> list[tuple[object, ...]]:
    """Pages as rows under the default header."""
    return [(page.url, page.state, page.reason) for page in pages]


def site_check(
    *, asset: dg.AssetsDefinition, blocking: bool
) -> Callable[[Callable[[Case], Verdict]], dg.AssetChecksDefinition]:
    """Make a check of `asset`, partitioned by site: without a partition, one site's failure would block all."""

    def decorate(judge: Callable[[Case], Verdict]) -> dg.AssetChecksDefinition:
        def evaluate(
            context: dg.AssetCheckExecutionContext,
            stores: dg.ResourceParam[Stores],
            settings: dg.ResourceParam[Settings],
            opener: dg.ResourceParam[EmbedderOpener],
        ) -> dg.AssetCheckResult:
            verdict = _judged(judge, context, stores, settings, opener)
            if blocking and verdict.blocks and verdict.ends_refresh is not None:
                _end_refresh(stores, _site_id(context), f"{judge.__name__}: {verdict.says}", verdict.ends_refresh)
            return verdict.result(judge.__name__)

        with _partitioned_checks_allowed():
            return dg.asset_check(
                asset=asset,
                name=judge.__name__,
                description=" ".join((judge.__doc__ or "").split()),
                blocking=blocking,
                partitions_def=sites,
            )(evaluate)

    return decorate


def _judged(
    judge: Callable[[Case], Verdict],
    context: dg.AssetCheckExecutionContext,
    stores: Stores,
    settings: Settings,
    opener: EmbedderOpener,
) -> Verdict:
    selected = context.job_def.asset_layer.executable_asset_keys
    try:
        site = stores.sites.get(_site_id(context))
        return judge(Case(site, stores, settings, opener, fetches=dg.AssetKey("fetched_pages") in selected))
    except KbError as error:
        if error.transient:
            raise
        raise dg.Failure(str(error), allow_retries=False) from error


def _end_refresh(stores: Stores, site_id: str, reason: str, outcome: RefreshOutcome) -> None:
    """At once, and not by a sensor later: until it has ended, a refresh counts as broken off and is resumed."""
    if outcome is RefreshOutcome.HELD:
        lifecycle.hold(stores, site_id, reason=reason)
    else:
        lifecycle.fail(stores, site_id, reason=reason)


def _site_id(context: dg.AssetCheckExecutionContext) -> str:
    return str(context.op_execution_context.partition_key)


@contextlib.contextmanager
def _partitioned_checks_allowed() -> Iterator[None]:
    """Dagster 1.13 marks partitions on checks as a preview. They work, and there is no other way to keep one
    site's failure from blocking the others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Specifying a partitions_def on an AssetCheckSpec", PreviewWarning)
        yield
