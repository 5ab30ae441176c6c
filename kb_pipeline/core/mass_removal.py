"""When so much is missing at once that the site is more likely broken than smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kb_pipeline.model import SiteOptions


def is_mass_removal(options: SiteOptions, *, lost: int, of: int) -> bool:
    """Whether `lost` of `of` pages pass both of the site's limits at once: a small site may lose half its pages, a
    large one twenty."""
    return lost > options.removal_limit_pages and lost > options.removal_limit_share * of
