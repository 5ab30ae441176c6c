"""Registering, listing and changing sites from a shell."""

from __future__ import annotations

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.cli.site_options import parse_options
from kb_pipeline.errors import ConfigError
from kb_pipeline.model import SiteOptions, SiteState

HOME = "http://127.0.0.1:8319/"


def test_a_site_that_was_added_is_listed_and_shown(kb):
    assert kb("sites", "add", "docs", HOME, "--set", "max_pages=7").code == ExitCode.OK
    listed = kb("sites", "list", "--json").json
    assert [(line["site_id"], line["url"], line["state"]) for line in listed] == [("docs", HOME, "registered")]
    shown = kb("sites", "show", "docs", "--json").json
    assert shown["site"]["options"]["max_pages"] == 7
    assert "max_pages=7" in kb("sites", "show", "docs").out


def test_no_site_is_said_with_what_to_do(kb):
    assert "kb sites add" in kb("sites", "list").out
    assert "kb sites add" in kb("status").out


@pytest.mark.parametrize("site_id", ["Docs", "a b", "a/b", "", "-a", "ä", "x" * 64, "a,b", "a[0]"])
def test_an_id_that_is_no_slug_is_refused(kb, site_id):
    answer = kb("sites", "add", "--", site_id, HOME)
    assert answer.code == ExitCode.USAGE
    assert "slug" in answer.err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/", "no http(s) address"),
        ("example.org", "write it whole, https://example.org"),
        ("http://10.0.0.1/", "not a public address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
        ("http://[::ffff:10.0.0.1]/", "not a public address"),
        ("http://user:password@127.0.0.1/", "user name or a password"),
        ("http://nowhere.invalid/", "has no address"),
        ("javascript:alert(1)", "no http(s) address"),
        ("", "no http(s) address"),
    ],
)
def test_an_address_that_can_be_no_site_is_refused_and_nothing_is_registered(kb, url, said):
    answer = kb("sites", "add", "docs", url)
    assert answer.code == ExitCode.USAGE
    assert said in answer.err
    assert kb("sites", "list", "--json").json == []


def test_an_id_that_is_taken_keeps_its_site(kb):
    kb("sites", "add", "docs", HOME)
    answer = kb("sites", "add", "docs", "http://127.0.0.1:8320/")
    assert answer.code == ExitCode.USAGE
    assert f"already registered, for {HOME}" in answer.err


def test_options_are_changed_one_by_one(kb):
    kb("sites", "add", "docs", HOME, "--set", "include=/docs/*,/api/*", "--set", "subdomains=true")
    assert kb("sites", "set", "docs", "max_pages=9", "request-gap-seconds=0.5").code == ExitCode.OK
    options = kb("sites", "show", "docs", "--json").json["site"]["options"]
    assert options["include"] == ["/docs/*", "/api/*"]
    assert (options["subdomains"], options["max_pages"], options["request_gap_seconds"]) == (True, 9, 0.5)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("colour=red", "the names are include"),
        ("max_pages", "NAME=VALUE"),
        ("max_page=3", "Was max_pages meant?"),
        ("max_pages=many", "max_pages='many'"),
        ("golden_questions=[[", "not JSON"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(assignment, said):
    with pytest.raises(ConfigError) as refused:
        parse_options([assignment])
    assert said in str(refused.value)


@pytest.mark.parametrize("assignment", ["max_pages=0", "request_gap_seconds=nan", "removal_limit_share=2"])
def test_a_value_that_makes_no_sense_is_refused_and_nothing_is_registered(kb, assignment):
    answer = kb("sites", "add", "docs", HOME, "--set", assignment)
    assert assignment.partition("=")[0] in answer.err
    assert answer.code == ExitCode.USAGE
    assert kb("sites", "list", "--json").json == []


def test_an_option_can_be_put_back_to_nothing():
    before = SiteOptions(request_gap_seconds=2.0, include=("/docs/*",))
    assert parse_options(["request_gap_seconds=none", "include="], before) == SiteOptions()


def test_golden_questions_are_written_as_json():
    options = parse_options(['golden_questions=[["How?", "/how"]]'])
    assert options.golden_questions == (("How?", "/how"),)


@pytest.mark.parametrize(
    "command", [("show",), ("pages",), ("set", "max_pages=1"), ("approve",), ("refresh",), ("rollback",)]
)
def test_a_site_that_is_not_there_is_not_found(kb, command):
    name, *rest = command
    answer = kb("sites", name, "nobody", *rest)
    assert answer.code == ExitCode.NOT_FOUND
    assert "kb sites list" in answer.err


def test_removing_asks_and_does_nothing_where_nobody_can_answer(kb, stores):
    kb("sites", "add", "docs", HOME)
    answer = kb("sites", "remove", "docs")
    assert answer.code == ExitCode.USAGE
    assert "--yes" in answer.err
    assert stores.sites.get("docs").state is SiteState.REGISTERED
