"""When so much is missing at once that the site is more likely broken than smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kb_pipeline.model import SiteOptions

NEARLY_ALL: Final = 0.8
"""Share of a site's pages that no site loses at once, however small it is."""


def is_mass_removal(options: SiteOptions, *, lost: int, of: int) -> bool:
    """Whether `lost` of `of` pages pass both of the site's limits at once: a small site may lose half its pages, a
    large one twenty."""
    return lost > options.removal_limit_pages and lost > options.removal_limit_share * of


def empties_site(*, lost: int, of: int) -> bool:
    """Whether next to nothing of a site of more than one page would be left, at any size: a broken server that answers
    404 to everything is likelier than an owner who deletes all pages and keeps the list of them."""
    return lost > 1 and lost >= NEARLY_ALL * of
