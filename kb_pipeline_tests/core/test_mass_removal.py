import pytest

from kb_pipeline.core.mass_removal import empties_site, is_mass_removal
from kb_pipeline.model import SiteOptions


@pytest.mark.parametrize(
    ("lost", "of", "is_mass"),
    [(20, 20, False), (21, 63, False), (21, 62, True), (300, 1_000, False), (334, 1_000, True), (0, 0, False)],
)
def test_only_what_passes_both_limits_at_once_is_too_much(lost, of, is_mass):
    options = SiteOptions(removal_limit_pages=20, removal_limit_share=1 / 3)
    assert is_mass_removal(options, lost=lost, of=of) is is_mass


@pytest.mark.parametrize(
    ("lost", "of", "empties"),
    [(6, 6, True), (5, 6, True), (4, 6, False), (2, 2, True), (1, 1, False), (0, 0, False), (1, 2, False)],
)
def test_no_site_of_more_than_one_page_is_emptied_at_once(lost, of, empties):
    assert empties_site(lost=lost, of=of) is empties
