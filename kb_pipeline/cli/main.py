"""The entry point of `kb`: finds the command, and turns whatever ends it into one clear line and an exit code."""

from __future__ import annotations

import gc
import importlib
import json
import signal
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from kb_pipeline import __version__
from kb_pipeline.cli.app import App
from kb_pipeline.cli.exit_codes import ExitCode, cure_of, exit_code_of
from kb_pipeline.cli.standard_output import OutputFailed, ReaderLeft, drop_output, watch_output
from kb_pipeline.errors import KbError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMANDS: Final[Mapping[str, str]] = {
    "demo": "Run everything once on a small site that this program serves itself.",
    "up": "Run PostgreSQL, the Dagster UI and its daemon until Ctrl-C.",
    "env": "Print the variables that `dagster dev` and `dg dev` need.",
    "sites": "Register sites, approve and refresh them, roll back, remove.",
    "why": "Say why a page is, or is not, in the knowledge base.",
    "scrape": "Fetch one page and show its text, and what each tier made of it.",
    "extract": "Print the text of a page or file, and why a part of it is missing.",
    "search": "Search the live version of a site.",
    "status": "Show every site, what runs, and what waits for somebody.",
    "doctor": "Check this installation, and say what is missing and what to do.",
}

EPILOG: Final = """\b
Examples:
  kb demo                             # the whole way once, on a small site
  kb up                               # the Dagster UI, until Ctrl-C
  kb sites add docs https://docs.example.org/
  kb COMMAND --help                   # options and examples of a command

\b
Exit codes:
  0  done                             5  PostgreSQL or the data directory
  1  a fault of this program             cannot be used
  2  a wrong argument or setting      6  waits for approval
  3  not found                        7  a refresh was held or failed, or
  4  another run writes the site         a check did not pass, or a page
                                         gave no text
                                      8  standard output cannot be written
                                    130  interrupted
"""


class Commands(click.Group):
    """Imports a command's module only when it is called, so that each starts with no more than it needs."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Every command, in the order in which somebody meets them."""
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, or None."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"kb_pipeline.cli.{name}"), name)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kb", message="%(prog)s %(version)s")
@click.pass_context
def kb(context: click.Context) -> None:
    """Keep a knowledge base of other people's websites fresh.

    Start with `kb demo`. Every setting is an environment variable that begins with KB_.
    """
    context.obj = App()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `kb`, and leave the process with an ExitCode.

    SIGTERM, as systemd, containers and `timeout` send it, ends a command as Ctrl-C does: by the way that gives the
    site's lock back and stops the embedded PostgreSQL.
    """
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job begins with an ignored SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    watch_output()
    code = run(arguments)
    # What is left goes with the process. To take a million objects of the model and of Dagster apart first took two
    # seconds after the last line, and half a minute on a busy machine.
    gc.disable()
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run `kb`; the exit code. An error of this project is one line with its cure, never a traceback; so is a standard
    output that cannot be written."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(given)
        sys.stdout.flush()
    except (ReaderLeft, BrokenPipeError):  # `kb … | head` is no error
        drop_output()
        return ExitCode.OK
    except OutputFailed as error:
        drop_output()
        return _complain(str(error), ExitCode.OUTPUT, given, kind=type(error).__name__, cure=error.cure)
    return code


def _run(given: Sequence[str]) -> int:
    try:
        ended: Any = kb.main(args=list(given), prog_name="kb", standalone_mode=False)
    except click.exceptions.Abort:
        return _complain("interrupted", ExitCode.INTERRUPTED, given)
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except KbError as error:
        return _complain(str(error), exit_code_of(error), given, kind=type(error).__name__, cure=cure_of(error))
    except KeyboardInterrupt:
        return _complain("interrupted", ExitCode.INTERRUPTED, given)
    return ended if isinstance(ended, int) else ExitCode.OK


def _complain(
    message: str, code: ExitCode, arguments: Sequence[str], *, kind: str | None = None, cure: str | None = None
) -> ExitCode:
    if "--json" in arguments:
        error = {"error": message, "kind": kind, "cure": cure, "exit_code": int(code)}
        click.echo(json.dumps(error, ensure_ascii=False), err=True)
        return code
    click.echo(click.style("kb: ", fg="red") + message, err=True)
    if cure:
        click.echo(f"    {cure}", err=True)
    return code
