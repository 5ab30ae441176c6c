"""Whatever ends a command ends it with one clear line and a number that means something."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kb_pipeline import __version__, errors
from kb_pipeline.cli.exit_codes import ExitCode, cure_of, exit_code_of
from kb_pipeline.cli.main import COMMANDS, EPILOG
from kb_pipeline.cli.main import kb as kb_command


def all_errors(kind: type[errors.KbError] = errors.KbError) -> list[type[errors.KbError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in all_errors(child))]


@pytest.mark.parametrize("kind", all_errors()[1:])
def test_every_error_of_the_project_has_an_exit_code_of_its_own_kind(kind):
    if issubclass(kind, errors.DeriveError):
        return  # never leaves a stage: it is recorded with its page
    assert exit_code_of(kind.__new__(kind)) not in {ExitCode.OK, ExitCode.UNEXPECTED}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.ConfigError, 2),
        (errors.ModelMissing, 2),
        (errors.SiteNotFound, 3),
        (errors.NotLive, 3),
        (errors.SiteBusy, 4),
        (errors.StoreUnavailable, 5),
        (errors.SchemaTooNew, 5),
        (errors.NotApproved, 6),
        (errors.NothingDiscovered, 7),
    ],
)
def test_exit_codes_never_change_their_meaning(kind, code):
    assert exit_code_of(kind("x")) == code


def test_the_help_lists_every_exit_code():
    listed = {int(number) for number in re.findall(r"(?:^|  )(\d+)  \w", EPILOG, re.MULTILINE)}
    assert listed == {int(code) for code in ExitCode}


def test_the_version_is_printed(call):
    assert call("--version").out == f"kb {__version__}\n"


def test_the_end_of_a_command_is_the_end_of_its_process_and_no_last_collection():
    script = (
        "import atexit, gc; atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0))\n"
        "from kb_pipeline.cli import main; main(['--version'])"
    )
    ended = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "False True"


def test_the_help_lists_every_command(call):
    helped = call("--help").out
    assert all(command in helped for command in COMMANDS)


def every_command(command=kb_command, path=()):
    """The words of each command and group, `()` being `kb` itself."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from every_command(command.get_command(context, name), (*path, name))


@pytest.mark.parametrize("command", list(every_command()), ids=" ".join)
def test_every_command_explains_itself_in_80_columns_with_an_example(call, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    answer = call(*command, "--help")
    assert answer.code == ExitCode.OK
    assert f"Usage: {' '.join(('kb', *command))}" in answer.out
    assert "Example" in answer.out
    assert [line for line in answer.out.splitlines() if len(line) > 80] == []
    # Click ends what it cuts with three dots; a word that may be repeated has them too.
    assert [line for line in answer.out.splitlines() if line.endswith("...") and "[ARGS]" not in line] == [
        line for line in answer.out.splitlines() if line.endswith("NAME=VALUE...")
    ]


def test_an_unknown_command_is_a_usage_error(call):
    answer = call("frobnicate")
    assert answer.code == ExitCode.USAGE
    assert "frobnicate" in answer.err


def test_a_wrong_setting_is_named_with_what_it_takes(call, monkeypatch):
    monkeypatch.setenv("KB_REQUEST_GAP_SECONDS", "fast")
    answer = call("status")
    assert answer.code == ExitCode.USAGE
    assert "KB_REQUEST_GAP_SECONDS='fast'" in answer.err
    assert "Traceback" not in answer.err


def test_a_server_that_is_down_is_said_without_a_traceback(call, monkeypatch, tmp_path):
    monkeypatch.setenv("KB_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("KB_POSTGRES_URL", "postgresql://somebody:secret@127.0.0.1:1/kb")
    answer = call("status")
    assert answer.code == ExitCode.STORE
    assert "KB_POSTGRES_URL" in answer.err
    assert "kb doctor" in answer.err
    assert "secret" not in answer.err


def test_with_json_an_error_is_json_too(kb):
    answer = kb("sites", "show", "nobody", "--json")
    assert answer.code == ExitCode.NOT_FOUND
    assert answer.out == ""
    assert json.loads(answer.err) == {
        "error": "no site 'nobody' is registered",
        "kind": "SiteNotFound",
        "cure": "see `kb sites list`, or register it: kb sites add nobody URL",
        "exit_code": 3,
    }


def test_what_to_do_names_the_site_that_the_error_names():
    assert "kb sites refresh docs" in cure_of(errors.NotLive("nothing of site 'docs' is live yet"))
    assert "SITE_ID" in cure_of(errors.SiteNotFound("no site is registered yet"))


def test_help_loads_neither_dagster_nor_a_model_nor_a_database_driver():
    code = (
        "import sys; from kb_pipeline.cli.main import run; run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("dagster", "torch", "lancedb", "psycopg", "pyarrow", "httpx"):
        assert f"'{heavy}'" not in ended.stderr


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -c 'from kb_pipeline.cli import main; main()' --help | true"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert ended.stderr == ""


@pytest.fixture
def extract(tmp_path):
    """A shell's words that extract a long page."""
    page = tmp_path / "page.html"
    page.write_text("<p>" + "<p>".join(f"Line {n} of a page that somebody reads the head of." for n in range(2000)))
    return f"{sys.executable} -c 'from kb_pipeline.cli import main; main()' extract {page}"


def shell(command):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", ["", "--explain", "--json"])
def test_a_reader_that_leaves_in_the_middle_of_an_answer_is_no_error(extract, options):
    ended = shell(f"set -o pipefail; {extract} {options} 2>/dev/null | head -c 9")
    assert (ended.returncode, len(ended.stdout)) == (0, 9)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(("output", "why"), [("/dev/full", "No space left on device"), ("&-", "it is closed")])
@pytest.mark.parametrize("options", ["", "--explain", "--json", "--help", "--chunks --json"])
def test_an_answer_that_cannot_be_written_is_one_line_with_its_cure(extract, options, output, why):
    ended = shell(f"{extract} {options} >{output}")
    assert ended.returncode == ExitCode.OUTPUT
    assert "Traceback" not in ended.stderr
    if "--json" in options:
        said = json.loads(ended.stderr)
        assert (said["kind"], said["exit_code"]) == ("OutputFailed", ExitCode.OUTPUT)
        assert why in said["error"]
    else:
        assert f"kb: standard output cannot be written: {why}" in ended.stderr
        assert ended.stderr.count("cannot be written") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_short_answer_that_cannot_be_written_is_told_before_the_process_ends(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<p>One line of a page.")
    ended = shell(f"{sys.executable} -c 'from kb_pipeline.cli import main; main()' extract {page} --json >/dev/full")
    assert (ended.returncode, json.loads(ended.stderr)["kind"]) == (ExitCode.OUTPUT, "OutputFailed")


def test_what_a_command_refuses_is_said_although_its_answer_could_not_be_written():
    ended = shell(f"{sys.executable} -c 'from kb_pipeline.cli import main; main()' extract no-such-file >&-")
    assert (ended.returncode, "there is no file" in ended.stderr) == (ExitCode.USAGE, True)
