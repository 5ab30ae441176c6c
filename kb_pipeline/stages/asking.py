"""What a page is asked with: the validators of what its answer can be compared with, if anything. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kb_pipeline.core import extract as extraction
from kb_pipeline.core.not_found import is_above
from kb_pipeline.core.site_config import NOTHING_SAID, SiteConfig
from kb_pipeline.fetch.answers import PageRequest
from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageStatus

if TYPE_CHECKING:
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.frontier import DuePage, Rejected
    from kb_pipeline.store.not_found_probes import NotFoundProbe


@dataclass(frozen=True, slots=True)
class Rules:
    """What a site's pages are judged by."""

    site: Site
    settings: Settings
    harvest_links: bool
    tiers: tuple[str, ...] = ()
    """Names of the chain's tiers."""
    site_config: SiteConfig = NOTHING_SAID
    """How the operator has each page fetched."""
    probe: NotFoundProbe | None = None
    """What the site shows for an address that does not exist, where pages can be told from it."""


def to_look_for(rules: Rules, depth: int) -> frozenset[str]:
    """What a full reading of a page looks for under the site's present options, and an answer that it has not changed
    leaves as it was found. Written to the ledger: another wording has every page read again."""
    options = rules.site.options
    wanted = set()
    if not options.ignore_noindex:
        wanted.add(f"noindex for {rules.settings.bot_token}")
    if rules.probe is not None:
        wanted.add("what is shown for addresses that do not exist")
    if options.subdomains:
        wanted.add("subdomains")
    if rules.harvest_links and depth < options.max_depth:
        wanted.add("links")
        if options.ignore_nofollow:
            wanted.add("links that say nofollow")
    return frozenset(wanted)


def judged_by(rules: Rules, depth: int) -> str:
    """What finds that a body has too little text. No such body is stored, so a better extractor, or other options,
    ask for it again."""
    by = [f"extractor {extraction.EXTRACTOR_VERSION}", f"{MIN_TEXT_CHARACTERS} characters", *rules.tiers]
    return ", ".join([*by, *sorted(to_look_for(rules, depth))])


def rejected_before(due: DuePage, rules: Rules) -> Rejected | None:
    """The body that this page gave last, if it would be judged today as it was then."""
    rejected = due.rejected
    return rejected if rejected is not None and rejected.judged_by == judged_by(rules, due.depth) else None


def request_for(due: DuePage, rules: Rules) -> PageRequest:
    """The request for a page, by the operator's policy for its address. A start page is not compared with what is shown
    for addresses that do not exist: it may be just that."""
    probe = rules.probe
    not_found = probe.look if probe is not None and not is_above(due.url, probe.url) else None
    return replace(_comparing(due, rules), policy=rules.site_config.policy_for(due.url), not_found=not_found)


def _comparing(due: DuePage, rules: Rules) -> PageRequest:
    """The request for a page: conditional only while what it is compared with is held, and was read for all that is
    to be known of it now. One that was let in with its `noindex` would stay in for as long as it does not change."""
    ignore_noindex = rules.site.options.ignore_noindex
    rejected = rejected_before(due, rules)
    if rejected is not None:
        return PageRequest(due.url, rejected.etag, rejected.last_modified, rejected.content_hash, ignore_noindex)
    folded = due.state is PageStatus.DUPLICATE and due.original_is_kept
    original = due.duplicate_of if folded else None
    same_as_before = due.has_copy or (folded and not due.redirected)
    was_read = due.looked_for is not None and to_look_for(rules, due.depth).issubset(due.looked_for)
    if not (same_as_before and was_read) or due.content_hash is None:
        return PageRequest(due.url, ignore_noindex=ignore_noindex, original=original)
    return PageRequest(due.url, due.etag, due.last_modified, due.content_hash, ignore_noindex, original)
