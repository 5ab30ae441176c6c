from __future__ import annotations

import pytest

from kb_pipeline_tests.stages.written_site import WrittenSite


@pytest.fixture
def written(stores, settings):
    """A registered site without a page."""
    return WrittenSite(stores, settings)
