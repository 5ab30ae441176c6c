"""The gate on the conformance cases: what it lets pass, and what it does not."""

from __future__ import annotations

import json

import pytest

from kb_pipeline_tests import conformance
from kb_pipeline_tests.conformance_gate import KINDS, KNOWN, known_of, main

ONE_KIND = [("robots", "access", "robots_access")]
RUNNER = """
import json, pathlib
print("a line of the program's own")
print(json.dumps({"passed": PASSED, "failed": 2, "failed_ids": FAILED}))
"""


@pytest.fixture
def folder(tmp_path):
    """Four cases: two of them disputed."""
    (tmp_path / "cases").mkdir()
    cases = [{"id": name, "kind": "access", "status": "disputed" if name in "cd" else "rfc"} for name in "abcd"]
    (tmp_path / "cases" / "robots.json").write_text(json.dumps(cases), encoding="utf-8")
    return tmp_path


def gate(folder, failed, known=(), *options):
    (folder / "run_robots.py").write_text(
        RUNNER.replace("PASSED", str(4 - len(failed))).replace("FAILED", repr(list(failed))), encoding="utf-8"
    )
    (folder / "known.json").write_text(json.dumps({"robots access": list(known)}), encoding="utf-8")
    return main([str(folder), "--known", str(folder / "known.json"), *options], ONE_KIND)


def test_a_case_that_passed_before_may_not_fail(folder, capsys):
    assert gate(folder, "bc", "c") == 1
    assert "FAILED, and passed before: robots access b" in capsys.readouterr().out


def test_known_choices_do_not_fail_and_disputed_cases_are_counted_apart(folder, capsys):
    assert gate(folder, "c", "c") == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["robots", "access", "2", "0", "1", "of", "2"]


def test_a_known_failure_that_passes_is_said(folder, capsys):
    assert gate(folder, "", "c") == 0
    assert "1 known failures pass now" in capsys.readouterr().out


def test_only_disputed_choices_can_be_recorded(folder):
    assert gate(folder, "bc", "", "--record") == 1
    assert known_of(folder / "known.json") == {"robots access": []}
    assert gate(folder, "cd", "", "--record") == 0
    assert known_of(folder / "known.json") == {"robots access": ["c", "d"]}


def test_without_the_cases_nothing_is_run_and_that_is_said(tmp_path, capsys):
    assert main([str(tmp_path / "nowhere")]) == 0
    assert "nothing was run" in capsys.readouterr().out


def test_a_runner_that_breaks_is_no_pass(folder):
    (folder / "run_robots.py").write_text("raise SystemExit('broken')", encoding="utf-8")
    with pytest.raises(SystemExit, match="broken"):
        main([str(folder)], ONE_KIND)


def test_each_kind_has_its_adapter():
    assert all(callable(getattr(conformance, adapter)) for _, _, adapter in KINDS)
    assert set(known_of(KNOWN)) <= {f"{area} {kind or 'exact'}" for area, kind, _ in KINDS}


def test_markdown_is_that_of_the_text_for_bytes_as_well():
    page = '<html><head><meta charset="windows-1250"></head><body><main><h1>Žluť</h1><p>Kůň.</p></main></body></html>'
    written = conformance.extract_markdown(page.encode("windows-1250"), "https://example.com/")
    assert written == conformance.extract_markdown(page, "https://example.com/") == "# Žluť\n\nKůň.\n"
