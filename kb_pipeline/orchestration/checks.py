"""The checks on what was discovered, fetched and extracted. Each looks at one site; the numbers come from the store,
and what a check means for the refresh is said in its verdict."""

from typing import Final

from kb_pipeline.core.mass_removal import is_mass_removal
from kb_pipeline.model import MIN_TEXT_CHARACTERS, RefreshOutcome
from kb_pipeline.orchestration import assets
from kb_pipeline.orchestration.verdicts import ERROR, WARN, Case, Verdict, page_rows, site_check
from kb_pipeline.stages.approve import WAITS
from kb_pipeline.stages.text_limits import any_fetched_in, share_of, too_many
from kb_pipeline.store.inspection import TextFindings, error_texts, short_texts

TOLERATED_UNANSWERED_SHARE: Final = 0.05


@site_check(asset=assets.discovered_urls, blocking=True)
def discovery_found_pages(case: Case) -> Verdict:
    """The list of pages is not empty, and has not collapsed since the refresh before. A list that stays short, or gone,
    is believed the second time: then each page that is held is asked for, and only its own answer removes it."""
    refresh = case.refresh
    if refresh is None:
        return Verdict(False, "nothing was discovered yet")
    listed_before = case.stores.refreshes.listed_before(case.site.site_id, refresh.generation)
    earlier = listed_before.counts if listed_before else {}
    kept, before = refresh.counts.get("kept", 0), earlier.get("kept", 0)
    # Forbidden pages are still on the list. What becomes of their copies is `removals_are_plausible`'s to say.
    forbidden = refresh.counts.get("forbidden", 0)
    lost = max(0, before - kept - forbidden)
    counts = {"kept": kept, "kept_before": before, "forbidden": forbidden}
    if kept == 0 and forbidden and case.stores.publications.live(case.site.site_id) is not None:
        return Verdict(True, "robots.txt forbids the whole site", counts=counts)
    site_id = case.site.site_id
    if kept == 0 and refresh.counts.get("list_gone"):
        is_believed = bool(earlier.get("list_gone")) or refresh.removals_confirmed_at is not None
        return _list_gone(site_id, counts, is_believed=is_believed)
    if kept == 0:
        says = f"no page was found that may be kept; `kb sites show {site_id}` says why the others are left out"
        return Verdict(False, says, counts=counts)
    if is_mass_removal(case.site.options, lost=lost, of=before):
        says = (
            f"only {kept:,} pages were found and {before:,} the time before; if that is right,"
            f" `kb sites refresh {site_id}` believes it"
        )
        return Verdict(False, says, counts=counts)
    return Verdict(True, f"{kept:,} pages, {before:,} before", counts=counts)


@site_check(asset=assets.discovered_urls, blocking=True)
def estimate_fits_allowance(case: Case) -> Verdict:
    """The import is approved, and within the tenant's allowance. Nothing is fetched before; the refresh stays open
    and waits."""
    refresh, site_id = case.refresh, case.site.site_id
    if refresh is None or refresh.estimate is None:
        return Verdict(False, "there is no estimate yet", ends_refresh=None)
    estimate = refresh.estimate
    counts = {"pages": estimate.pages, "tokens": estimate.tokens, "fetching_seconds": estimate.fetching_seconds}
    if refresh.approved_at is not None:
        return Verdict(True, f"{estimate.pages:,} pages are approved", counts=counts)
    why = refresh.reason or WAITS
    says = (
        f"{estimate.pages:,} pages, about {estimate.tokens:,} tokens: {why}. Approve with `kb sites approve {site_id}`"
    )
    # To wait for somebody is no failure: the run ends well, and fetches nothing. An import that is refused stops it.
    # A discovery by itself has done its work; only where pages would be fetched next is there something to stop.
    stops = case.fetches and why != WAITS
    return Verdict(False, says, ERROR if stops else WARN, counts, ends_refresh=None)


@site_check(asset=assets.fetched_pages, blocking=False)
def refresh_is_complete(case: Case) -> Verdict:
    """Nearly all pages of the refresh ended with an answer from the site."""
    refresh = case.refresh
    outcomes = case.reports.outcomes(case.site.site_id, refresh.generation) if refresh else {}
    asked = sum(outcomes.values())
    unanswered = sum(outcomes.get(name, 0) for name in ("unreachable", "deferred", "due"))
    share = unanswered / asked if asked else 0.0
    counts = {"asked": asked, "unanswered": unanswered, "unanswered_share": share}
    rows = page_rows(case.reports.unanswered(case.site.site_id, refresh.generation)) if refresh and unanswered else []
    says = f"{unanswered:,} of {asked:,} pages ended without an answer"
    return Verdict(share <= TOLERATED_UNANSWERED_SHARE, says, WARN, counts, rows=rows)


@site_check(asset=assets.fetched_pages, blocking=True)
def removals_are_plausible(case: Case) -> Verdict:
    """Not so many pages are gone or forbidden at once that the site is likely to be broken. Until an operator, or
    the next refresh, confirms it, all copies are kept and the old index stays live."""
    held = case.refresh.held_removals if case.refresh else 0
    kept = case.stores.pages.count_with_copy(case.site.site_id)
    counts = {"held": held, "pages_with_copy": kept}
    if not held:
        return Verdict(True, "no removal is held", counts=counts)
    says = (
        f"{held:,} of {kept:,} pages are gone, forbidden or redirected away at once: they are kept until the next"
        f" refresh finds the same, or `kb sites refresh {case.site.site_id} --confirm-removals` confirms it"
    )
    rows = page_rows(case.reports.held_removals(case.site.site_id))
    return Verdict(False, says, counts=counts, rows=rows, ends_refresh=RefreshOutcome.HELD)


@site_check(asset=assets.extracted_text, blocking=True)
def text_clears_threshold(case: Case) -> Verdict:
    """Every page that is kept says at least 200 characters. Those under are listed and left out of the index; above
    the share that the site tolerates, they stop the refresh."""
    short = short_texts(case.stores.site(case.site.site_id))
    unkept = case.reports.thin_pages_count(case.site.site_id)
    thin, total = unkept + short.found, unkept + short.texts
    share = share_of(thin, total)
    counts = {"thin": thin, "pages": total, "thin_share": share}
    if not thin:
        return Verdict(True, f"all {total:,} pages say at least {MIN_TEXT_CHARACTERS} characters", counts=counts)
    rows = [*page_rows(case.reports.thin_pages(case.site.site_id)), *_text_rows(short)]
    says = f"{thin:,} of {total:,} pages say less than {MIN_TEXT_CHARACTERS} characters ({share:.0%})"
    return Verdict(False, says, ERROR if too_many(case.site, thin, total) else WARN, counts, rows=rows)


@site_check(asset=assets.extracted_text, blocking=True)
def no_error_pages(case: Case) -> Verdict:
    """No not-found page, login wall or bot challenge is among the texts. One that this refresh fetched as content, or
    more than the site tolerates, stops it. An older copy that is judged anew is listed and left out of the index."""
    errors = error_texts(case.stores.site(case.site.site_id))
    share = share_of(errors.found, errors.texts)
    counts = {"error_pages": errors.found, "texts": errors.texts, "error_share": share}
    if not errors.found:
        return Verdict(True, f"none of {errors.texts:,} texts is an error page", counts=counts)
    stops = too_many(case.site, errors.found, errors.texts) or _any_fetched_now(case, errors)
    says = f"{errors.found:,} of {errors.texts:,} texts are error pages or gates"
    return Verdict(False, says, ERROR if stops else WARN, counts, rows=_text_rows(errors))


def _any_fetched_now(case: Case, errors: TextFindings) -> bool:
    generation = case.refresh.generation if case.refresh else 0
    return any_fetched_in(case.stores, case.site.site_id, [text.page_id for text in errors.listed], generation)


def _text_rows(findings: TextFindings) -> list[tuple[object, ...]]:
    return [(text.url, text.page_state, f"{text.characters:,} characters") for text in findings.listed]


def _list_gone(site_id: str, counts: dict[str, int], *, is_believed: bool) -> Verdict:
    """A site whose list is gone, and perhaps all of it. Held like a mass removal, however small the site is."""
    gone = "the start page, or the list that was registered, is gone (404), and no other source names a page"
    end = f"`kb sites remove {site_id}` deletes the site"
    if is_believed:
        return Verdict(False, f"{gone}: the pages that are held are asked for one by one; {end}", WARN, counts)
    says = (
        f"{gone}: all pages are kept. The next refresh that finds the same asks for them one by one, and so does"
        f" `kb sites refresh {site_id} --confirm-removals` now; {end}"
    )
    return Verdict(False, says, counts=counts, ends_refresh=RefreshOutcome.HELD)


ALL: Final = (
    discovery_found_pages,
    estimate_fits_allowance,
    refresh_is_complete,
    removals_are_plausible,
    text_clears_threshold,
    no_error_pages,
)
