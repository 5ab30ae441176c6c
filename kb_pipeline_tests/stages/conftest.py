from __future__ import annotations

import pytest

from kb_pipeline_tests.sites.replies import page, prose
from kb_pipeline_tests.sites.server import LoopbackSite
from kb_pipeline_tests.stages.whole_site import Whole
from kb_pipeline_tests.stages.written_site import WrittenSite


@pytest.fixture
def written(stores, settings):
    """A registered site without a page."""
    return WrittenSite(stores, settings)


@pytest.fixture
def whole(stores, settings):
    """A registered site with a server."""
    with LoopbackSite({"/": page("Home", prose("home"))}) as server:
        yield Whole(stores, settings, server)
