"""`kb` as a shell calls it, on a data directory and a control plane of the test's own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from kb_pipeline.cli.main import run


@dataclass
class Answer:
    """What one call printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def environment(monkeypatch, settings):
    """The settings of the test, as a shell would have them."""
    monkeypatch.setenv("KB_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("KB_POSTGRES_URL", settings.postgres_url)
    monkeypatch.setenv("KB_ALLOW_PRIVATE", "127.0.0.1")
    # Tests run side by side: a model that takes every core is slower for all of them.
    monkeypatch.setenv("KB_EMBEDDING_THREADS", "1")
    monkeypatch.setenv("KB_EMBEDDING_PRECISION", "full")
    # Dagster's instance writes its own into the process; each is put back after the test.
    for name in ("DAGSTER_HOME", "KB_DAGSTER_POSTGRES_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def call(capsys):
    """Call `kb` with these arguments, in the environment as it is: for what needs no database."""

    def call_kb(*arguments: str) -> Answer:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call_kb


@pytest.fixture
def kb(environment, call):  # noqa: ARG001 - set for as long as `kb` is called
    """Call `kb` with these arguments, on the test's own stores."""
    return call
