"""`kb demo` does what it says, and a second one begins from a clean state."""

from __future__ import annotations

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.model import SiteState


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


def test_a_demo_beside_a_running_one_refuses_and_leaves_its_site_alone(kb, stores):
    stores.sites.add("demo", "http://127.0.0.1:1/")
    with stores.site_lock("kb demo", "the first demo"):
        answer = kb("demo")
    assert answer.code == ExitCode.BUSY
    assert "another `kb demo` is running" in answer.err
    assert stores.sites.get("demo").state is SiteState.REGISTERED
