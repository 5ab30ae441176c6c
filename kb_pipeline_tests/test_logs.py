"""Log lines go to standard error, as JSON for machines and as columns for people, from both logging libraries."""

from __future__ import annotations

import json
import logging
import sys

import pytest
import structlog

from kb_pipeline.logs import configure_logs, ensure_logs
from kb_pipeline.settings import Settings


@pytest.fixture
def logs(capsys):
    """Set up logs, and read what was written; everything is as before afterwards."""
    root, ours = logging.getLogger(), logging.getLogger("kb_pipeline")
    before = (root.handlers[:], ours.level)

    def configured(**settings):
        configure_logs(Settings(**settings))
        return lambda: capsys.readouterr().err

    yield configured
    structlog.reset_defaults()
    root.handlers[:], level = before
    ours.setLevel(level)


def test_an_event_is_one_json_object_with_its_fields(logs):
    written = logs(log_format="json")
    structlog.get_logger("kb_pipeline.fetch").warning("crawl.page_unreachable", url="https://example.org/", attempts=3)
    line = json.loads(written())
    assert (line["event"], line["url"], line["attempts"], line["level"]) == (
        "crawl.page_unreachable",
        "https://example.org/",
        3,
        "warning",
    )
    assert line["timestamp"].endswith("Z")


def test_lines_of_the_standard_library_look_the_same(logs):
    written = logs(log_format="json")
    logging.getLogger("kb_pipeline.embed.local").info("loaded %s", "a model")
    assert json.loads(written())["event"] == "loaded a model"


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_an_exception_shows_its_frames_and_not_what_their_variables_hold(logs, log_format):
    written = logs(log_format=log_format)
    secret = "geheim"
    try:
        int(secret[:0])
    except ValueError:
        structlog.get_logger("kb_pipeline.x").exception("step.failed")
    text = written()
    assert "test_logs.py" in text
    assert "geheim" not in text


def test_an_exception_is_inside_the_json_line(logs):
    written = logs(log_format="json")
    try:
        int("no good")
    except ValueError:
        structlog.get_logger("kb_pipeline.x").exception("step.failed")
    lines = written().splitlines()
    assert len(lines) == 1
    assert "ValueError: invalid literal" in json.loads(lines[0])["exception"]


def test_lines_for_people_are_columns(logs):
    written = logs(log_format="console")
    structlog.get_logger("kb_pipeline.x").info("crawl.chain.www_apex_fallback", host="example.org")
    line = written()
    assert "crawl.chain.www_apex_fallback" in line
    assert "host=example.org" in line


def test_lines_below_the_level_are_left_out_and_other_libraries_are_quiet(logs):
    written = logs(log_format="json", log_level="WARNING")
    structlog.get_logger("kb_pipeline.x").info("not.this")
    logging.getLogger("kb_pipeline.y").info("nor this")
    logging.getLogger("somebody.else").info("nor that")
    assert written() == ""


def test_setting_up_twice_writes_each_line_once(logs):
    logs(log_format="json")
    written = logs(log_format="json")
    structlog.get_logger("kb_pipeline.x").error("once")
    assert len(written().splitlines()) == 1


def test_a_code_location_leaves_the_logs_of_a_command_as_they_are(logs):
    written = logs(log_format="json")
    configure_logs(Settings(log_format="json"), least_level="ERROR")
    ensure_logs(Settings(log_format="console"))
    structlog.get_logger("kb_pipeline.x").warning("not.shown")
    structlog.get_logger("kb_pipeline.x").error("shown")
    assert json.loads(written())["event"] == "shown"


def test_a_code_location_sets_logs_up_where_nobody_has(logs):
    written = logs(log_format="json")
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if handler.get_name() != "kb_pipeline"]
    ensure_logs(Settings(log_format="json"))
    structlog.get_logger("kb_pipeline.x").info("crawl.fetched")
    assert json.loads(written())["event"] == "crawl.fetched"


def test_who_reads_is_looked_at_anew_for_each_line(logs, monkeypatch):
    """While a step runs, Dagster has what was a terminal written into a file."""
    written = logs(log_format="auto")
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        structlog.get_logger("kb_pipeline.x").info("crawl.fetched", pages=7)
    columns, document = written().splitlines()
    assert "\x1b[" in columns
    assert json.loads(document)["pages"] == 7


def test_what_dagster_says_of_checks_that_are_skipped_is_left_out(logs):
    written = logs(log_format="json")
    dagster = logging.getLogger("dagster._core.execution.plan.active")
    dagster.warning("Blocking asset check %r emitted no result; the step will proceed without gating on it.", "x")
    dagster.warning("something else")
    assert [json.loads(line)["event"] for line in written().splitlines()] == ["something else"]


def test_a_line_that_a_library_writes_itself_is_not_written_twice(logs):
    written = logs(log_format="json")
    theirs = logging.getLogger("kb_test_library")
    theirs.addHandler(logging.NullHandler())
    logging.getLogger("kb_test_library.part").error("written by its own handler")
    theirs.handlers.clear()
    logging.getLogger("kb_test_library.part").error("written by ours")
    assert [json.loads(line)["event"] for line in written().splitlines()] == ["written by ours"]
