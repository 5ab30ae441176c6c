"""Progress is bars on a terminal and plain lines elsewhere; answers are whole in a pipe."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime

import pytest
from rich.console import Console

from kb_pipeline.cli.output import Output, plain, plain_progress, shown
from kb_pipeline.model import Estimate, PageStatus


def test_plain_progress_says_the_first_the_last_and_not_every_step():
    lines: list[str] = []
    report = plain_progress(lines.append, every=3600)
    for done in range(1, 1001):
        report("fetching pages", done, 1000)
    report("embedding", 5, None)
    assert lines == ["fetching pages: 1 of 1,000", "fetching pages: 1,000 of 1,000", "embedding: 5"]


def test_plain_progress_goes_on_saying_something_on_long_work():
    lines: list[str] = []
    report = plain_progress(lines.append, every=0)
    report("fetching", 1, None)
    report("fetching", 1, None)
    report("fetching", 2, None)
    assert lines == ["fetching: 1", "fetching: 2"]


def test_what_only_takes_its_time_is_said_without_a_number():
    lines: list[str] = []
    report = plain_progress(lines.append)
    report("loading the embedding model", 0, None)
    report("reading pages", 0, 7)
    assert lines == ["loading the embedding model …", "reading pages: 0 of 7"]


def test_on_a_terminal_what_was_only_said_to_go_on_ends_when_the_next_begins():
    output = Output()
    output.notes = Console(force_terminal=True, file=io.StringIO(), width=100)
    with output.progress() as report:
        report("loading the embedding model", 0, None)
        report("chunks embedded", 64, None)
        report("embedding pages", 31, 31)
    last = output.notes.file.getvalue().rsplit("\r", 1)[-1]
    ended, counted, whole = last.splitlines()[:3]
    assert ("✓" in ended, "✓" in counted, "✓" in whole) == (True, False, True)
    assert "64" in counted
    assert "31 of 31" in whole
    assert not any(character.isdigit() for character in re.sub(r"\x1b\[[\d;?]*\w|\d+:\d+:\d+", "", ended))


def test_a_long_address_is_whole_in_a_pipe(capsys):
    address = "https://example.org/" + "x" * 150
    Output().table(("address", "pages"), [(address, 3)])
    assert address in capsys.readouterr().out


def test_brackets_in_what_sites_say_are_no_markup(capsys):
    Output().table(("title",), [("[red]a[/red] [/b]",)])
    Output().fields([("title", "[bold]x[/nothing]")])
    out = capsys.readouterr().out
    assert "[red]a[/red] [/b]" in out
    assert "[bold]x[/nothing]" in out


def test_json_goes_out_alone(capsys):
    output = Output(as_json=True)
    output.say("not this")
    output.table(("a",), [(1,)])
    output.json({"state": PageStatus.GONE, "at": datetime(2026, 1, 2, tzinfo=UTC), "ä": ("x", None)})
    assert json.loads(capsys.readouterr().out) == {"state": "gone", "at": "2026-01-02T00:00:00Z", "ä": ["x", None]}


def test_a_dataclass_becomes_an_object():
    estimate = Estimate(1, 2, 1, 3, 0.5, 1.5, 0, 0, 1)
    assert plain(estimate)["tokens_high"] == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (True, "yes"), (12345, "12,345"), (0.25, "0.250"), (1234.5, "1,234"), (PageStatus.GONE, "gone")],
)
def test_values_are_shown_as_people_read_them(value, text):
    assert shown(value) == text
