"""The part of `kb doctor` about rendering pages and reading pictures. Asks no service: a call costs money."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING

from kb_pipeline.cli.finding import Finding, Verdict
from kb_pipeline.errors import ConfigError
from kb_pipeline.fetch.chromium.finding import chromium_path, why_unavailable
from kb_pipeline.fetch.cloudflare import why_no_account
from kb_pipeline.fetch.ocr import why_no_ocr
from kb_pipeline.fetch.pdf_pictures import why_no_pdfs
from kb_pipeline.fetch.tiers import names_of_tiers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.settings import Settings


def tier_findings(settings: Settings) -> Iterator[Finding]:
    """What there is to render and to read with, and the chain that it makes."""
    yield _chromium(settings)
    yield _cloudflare(settings)
    yield _ocr()
    yield _chain(settings)


def _chromium(settings: Settings) -> Finding:
    path = chromium_path(settings)
    why = why_unavailable(settings)
    if settings.chromium and path is None:
        found = f"KB_CHROMIUM={settings.chromium} is no program"
        return Finding("Chromium", Verdict.BAD, found, "correct or unset KB_CHROMIUM")
    if why is None:
        return Finding("Chromium", Verdict.GOOD, str(path))
    cure = "install the extra `browser` and a Chromium, or name one with KB_CHROMIUM; pages that scripts write need it"
    return Finding(
        "Chromium", Verdict.OPTIONAL, f"{path}, but Playwright is not installed" if path else "not found", cure
    )


def _cloudflare(settings: Settings) -> Finding:
    why = why_no_account(settings)
    account, token = settings.cloudflare_account_id, settings.cloudflare_api_token.get_secret_value()
    if why and (account or token):
        return Finding(
            "Cloudflare", Verdict.BAD, why, "set both CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN, or neither"
        )
    if why:
        return Finding(
            "Cloudflare", Verdict.OPTIONAL, "no account", "only where Cloudflare is to render and read pages"
        )
    browser = _limit(settings.cloudflare_browser_daily_limit, "Browser Rendering")
    vision = _limit(settings.cloudflare_vision_daily_limit, "Workers AI")
    return Finding(
        "Cloudflare", Verdict.GOOD, f"account {account.strip()[:6]}…; {browser}, {vision}; not asked just now"
    )


def _limit(most: int, service: str) -> str:
    return f"at most {most:,} calls of {service} a day" if most else f"any number of calls of {service}"


def _ocr() -> Finding:
    missing = [why for why in (why_no_ocr(), why_no_pdfs()) if why]
    if missing:
        cure = "install the extra `ocr`; pages that are pictures, and scanned PDFs, need it"
        return Finding("OCR", Verdict.OPTIONAL, "; ".join(missing), cure)
    return Finding("OCR", Verdict.GOOD, f"RapidOCR {importlib.metadata.version('rapidocr')}, models in the package")


def _chain(settings: Settings) -> Finding:
    try:
        names = names_of_tiers(settings)
    except ConfigError as error:
        return Finding("tiers", Verdict.BAD, str(error), "correct KB_TIERS, or unset it to use all that is here")
    found = f"the chain is: {', '.join(names)}"
    if names == ("plain_http",) and not settings.tiers:
        found += "; pages that scripts write are not read"
        return Finding("tiers", Verdict.OPTIONAL, found, "see Chromium and Cloudflare above")
    return Finding("tiers", Verdict.GOOD, found)
