"""`kb demo` does what it says, and a second one begins from a clean state."""

from __future__ import annotations

from kb_pipeline.cli.exit_codes import ExitCode


def test_the_demo_shows_exactly_the_three_pages_that_changed_twice_over(kb):
    for _ in range(2):
        answer = kb("demo")
        assert answer.code == ExitCode.OK, answer.err
        assert "/docs/retries" in answer.out
        assert "Developer Plan" in answer.out
        rows = [
            line.split()
            for line in answer.out.splitlines()
            if line.split()[1:2] in (["changed"], ["added"], ["deleted"])
        ]
        assert [(row[0].partition("/docs/")[2] or row[0].partition("/blog/")[2], row[1]) for row in rows] == [
            ("dead-letter-inspector", "added"),
            ("limits", "changed"),
            ("relay-agent", "deleted"),
        ]
        assert rows[1][2] == "1"
        assert "make up" in answer.out
        assert "kb sites add" in answer.out
