"""Takes a site into the registry, once its address has proved to be one that may be fetched."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from kb_pipeline.core.patterns import PathPatterns
from kb_pipeline.core.urls import is_http, resolve, url_key, without_fragment
from kb_pipeline.errors import ConfigError, FetchError, GuardRefused, InvalidAddress
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.model import SiteOptions, SourceType, check_site_id

if TYPE_CHECKING:
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.stores import Stores


def register(
    stores: Stores,
    settings: Settings,
    site_id: str,
    url: str,
    source_type: SourceType = SourceType.AUTO,
    options: SiteOptions | None = None,
    tenant: str = "default",
) -> Site:
    """Register a site. Nothing is fetched.

    Raises InvalidSiteId (no slug), InvalidAddress (not http(s), internal, or it does not resolve), ConfigError (the
    id is taken, or the tenant has the same address already).
    """
    check_site_id(site_id)
    chosen = options or SiteOptions()
    check_options(chosen)
    address = check_address(settings, url)
    for site in stores.sites.all():
        if site.tenant == tenant and url_key(site.url) == url_key(address) and site.site_id != site_id:
            message = f"{address} is already registered, as site {site.site_id!r}"
            raise ConfigError(message)
    return stores.sites.add(site_id, address, source_type, chosen, tenant)


def change_options(stores: Stores, site_id: str, options: SiteOptions) -> Site:
    """Replace a site's options; they count from the next refresh on. Raises ConfigError, SiteNotFound."""
    check_options(options)
    stores.sites.set_options(site_id, options)
    return stores.sites.get(site_id)


def check_address(settings: Settings, url: str) -> str:
    """The address as it will be requested. Raises InvalidAddress with what is wrong with it and what helps."""
    spelled = url.strip()
    address = resolve(None, spelled)
    if address is None or not is_http(address):
        bare = spelled.partition("://")[2] if "://" in spelled else spelled
        message = f"{url!r} is no http(s) address: write it whole, https://{bare.lstrip('/') or 'example.org'}"
        raise InvalidAddress(message)
    try:
        admitted = asyncio.run(Guard(settings.allow_private).admit(address)).url
    except FetchError as error:
        message = f"{spelled} cannot be a site: {error}"
        if isinstance(error, GuardRefused) and error.admissible:
            message += "; the operator may admit it with KB_ALLOW_PRIVATE"
        raise InvalidAddress(message) from error
    return without_fragment(admitted)


def check_options(options: SiteOptions) -> None:
    """Refuse options that would find no page, or never end. Raises ConfigError that names the option."""
    for name in ("max_pages", "refresh_interval_hours", "time_limit_minutes"):
        value = getattr(options, name)
        if value is not None and not 0 < value < math.inf:
            message = f"{name}={value}: takes a number above 0"
            raise ConfigError(message)
    for name in ("max_depth", "removal_limit_pages", "request_gap_seconds", "auto_approve_pages"):
        value = getattr(options, name)
        if value is not None and not 0 <= value < math.inf:
            message = f"{name}={value}: takes a number from 0 on"
            raise ConfigError(message)
    for name in ("removal_limit_share", "tolerated_thin_share"):
        value = getattr(options, name)
        if not 0 <= value <= 1:
            message = f"{name}={value}: takes a share from 0 to 1"
            raise ConfigError(message)
    for name in ("include", "exclude"):
        patterns = getattr(options, name)
        if isinstance(patterns, str) or len(PathPatterns(patterns).patterns) != len(patterns):
            message = f"{name}={patterns!r}: takes a list of path patterns such as /docs/*, none of them empty"
            raise ConfigError(message)
