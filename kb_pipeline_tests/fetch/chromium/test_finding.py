"""What an installation without a browser says."""

import subprocess
import sys
import textwrap

import pytest

from kb_pipeline.errors import TierUnavailable
from kb_pipeline.fetch.chromium import chromium_path
from kb_pipeline.settings import Settings
from kb_pipeline_tests.fetch.chromium.rendering_desk import desk


def test_a_chromium_that_the_operator_names_is_the_one_or_none_is(tmp_path):
    named = tmp_path / "my-chromium"
    assert chromium_path(Settings(chromium=str(named))) is None
    named.write_text("#!/bin/sh\n")
    named.chmod(0o755)
    assert chromium_path(Settings(chromium=str(named))) == str(named)


def test_without_a_chromium_it_is_said_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium_path(Settings()) is None
    with desk(allow_private=("127.0.0.1",)) as renders, pytest.raises(TierUnavailable):
        renders.html("http://127.0.0.1:1/")


def test_without_playwright_it_is_said_what_to_install():
    program = """
        import sys
        sys.modules["playwright"] = None  # as if it were not installed
        from kb_pipeline.errors import TierUnavailable
        from kb_pipeline_tests.fetch.chromium.rendering_desk import desk
        with desk(allow_private=("127.0.0.1",)) as renders:
            for render in (renders.content, renders.screenshot):
                try:
                    render("http://127.0.0.1:1/")
                except TierUnavailable as error:
                    print(error)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["Playwright is not installed: install the extra `browser`"] * 2
