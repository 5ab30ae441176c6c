"""Runs the benchmark and prints its lines. Ends with 1 when a line says that something did not behave as it must;
speed and memory beside the baseline are numbers, not verdicts.

    python -m benchmarks                              everything
    python -m benchmarks real_site --only edits       one scenario on the real site, after importing it
    python -m benchmarks crashes comparison           some subjects
    python -m benchmarks real_site --pages 100        an even sample of the real site
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.installation import Bench, Options, postgres
from benchmarks.report import Line, Report
from benchmarks.scenarios import real_site
from benchmarks.scenarios.comparison import comparison
from benchmarks.scenarios.crashes import crashes
from benchmarks.scenarios.fetching import fetching
from benchmarks.scenarios.growth import growth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT: Final = Path(__file__).resolve().parent.parent
SUBJECTS: Final = ("real_site", "crashes", "comparison", "growth", "fetching")


def main() -> int:
    arguments = parse()
    options = Options(
        pages=arguments.pages,
        embedded_pages=arguments.embedded_pages,
        crash_pages=arguments.crash_pages,
        crashes=arguments.crashes,
        power_cuts=arguments.power_cuts,
        repeat=arguments.repeat,
        threads=arguments.threads,
    )
    output: Path = arguments.output.resolve()
    report = Report(output / "results", subjects=arguments.subjects, options=asdict(options))
    work = Path(tempfile.mkdtemp(prefix="kb-bench-", dir=arguments.work))
    work.chmod(0o755)  # nginx reads it as another user
    try:
        with postgres(work / "postgres", arguments.postgres_url) as (server, postmaster):
            bench = Bench(work, output / "cache", server, postmaster, options, report)
            for subject in arguments.subjects:
                run_subject(bench, subject, arguments.only)
    finally:
        if arguments.keep:
            print(f"kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    print(f"\n{report.path}")
    for complaint in report.wrong:
        print(f"did not hold: {complaint}")
    return 1 if report.wrong else 0


def run_subject(bench: Bench, subject: str, only: list[str] | None) -> None:
    print(f"\n{subject}", flush=True)
    if subject == "real_site":
        with bench.real_site("life", bench.options.pages) as served:
            life = real_site.Life(bench, served)
            for name, scenario in real_site.SCENARIOS.items():
                if not only or name in only:
                    collect(bench, name, partial(scenario, life))
            life.kb.drop()
        return
    subjects: tuple[Callable[[Bench], Iterator[Line]], ...] = (crashes, comparison, growth, fetching)
    run = next(run for run in subjects if run.__name__ == subject)
    collect(bench, subject, partial(run, bench))


def collect(bench: Bench, name: str, scenario: Callable[[], Iterator[Line]]) -> None:
    """Report the scenario's lines. One that breaks is a line of its own, and the others go on."""
    began = time.monotonic()
    try:
        for line in scenario():
            bench.report.add(line)
    except Exception as error:  # noqa: BLE001 - an hour's measurements must not be lost to the last scenario
        traceback.print_exc()
        text = f"broke after {time.monotonic() - began:.0f} s"
        bench.report.add(Line(name, text, {}, (f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}",)))


def parse() -> argparse.Namespace:
    defaults = Options()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="subject", help=f"of {', '.join(SUBJECTS)}; all by default")
    parser.add_argument(
        "--only", action="append", choices=real_site.SCENARIOS, help="scenario on the real site; repeatable"
    )
    parser.add_argument("--pages", type=int, help="even sample of the real site, for trials; all of it by default")
    parser.add_argument("--embedded-pages", type=int, default=defaults.embedded_pages)
    parser.add_argument("--crash-pages", type=int, default=defaults.crash_pages)
    parser.add_argument("--crashes", type=int, default=defaults.crashes)
    parser.add_argument("--power-cuts", type=int, default=defaults.power_cuts, help="kills that end PostgreSQL too")
    parser.add_argument("--repeat", type=int, default=defaults.repeat, help="runs of each side of the comparison")
    parser.add_argument("--threads", type=int, default=defaults.threads, help="of the embedding model, on both sides")
    parser.add_argument("--postgres-url", help="server to use in place of an embedded one; may create databases there")
    parser.add_argument("--output", type=Path, default=PROJECT / "build" / "bench", help="results and downloads")
    parser.add_argument("--work", type=Path, help="where the scratch folder is made")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder, with every command's logs")
    arguments = parser.parse_args()
    arguments.subjects = arguments.subjects or list(SUBJECTS)
    if unknown := set(arguments.subjects) - set(SUBJECTS):
        parser.error(f"no such subject: {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    return arguments


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nginx and PostgreSQL are stopped
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
