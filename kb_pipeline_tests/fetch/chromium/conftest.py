"""Skips what needs a browser where there is none."""

import pytest

from kb_pipeline.fetch.chromium import why_unavailable
from kb_pipeline.settings import Settings


@pytest.fixture(scope="session")
def needs_chromium():
    if why := why_unavailable(Settings()):
        pytest.skip(why)
