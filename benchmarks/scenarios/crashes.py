"""`kill -9` at moments spread over a refresh: after running it again, every table equals that of a run left alone."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg import sql

from benchmarks import tables
from benchmarks.report import Line, count, expect, listed
from benchmarks.scenarios.real_site import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.installation import Bench, Installation, Served
    from benchmarks.web_root import WebRoot

OPEN_REFRESH: Final = "SELECT * FROM refreshes WHERE finished_at IS NULL"
EARLIER: Final = 0.8
PHASES: Final = "SELECT discovered_at, fetched_at, finished_at FROM refreshes ORDER BY generation DESC LIMIT 1"


@dataclass(slots=True)
class Trials:
    """What came of the crashes of one kind."""

    kind: str
    seconds: float
    """How long the refresh that was left alone took, from the opening of its row on."""
    phases: Counter[str] = field(default_factory=Counter)
    unequal: list[str] = field(default_factory=list)
    resumed_seconds: list[float] = field(default_factory=list)


def crashes(bench: Bench) -> Iterator[Line]:
    """Half of the kills hit an import, half a refresh that finds a third of the site edited, and some pages gone.
    A few more end PostgreSQL too, as when the machine loses its power."""
    half = bench.options.crashes // 2
    with bench.real_site("crashes", bench.options.crash_pages) as served, served.well():
        yield outcome(import_trials(bench, served, half))
        yield outcome(power_cuts(bench, served, bench.options.power_cuts))
        yield outcome(refresh_trials(bench, served, bench.options.crashes - half))


def outcome(trials: Trials) -> Line:
    phases = ", ".join(f"{number} {phase}" for phase, number in trials.phases.items())
    return Line(
        f"kill -9, {trials.kind}",
        f"{count(trials.phases.total(), 'kill')} over {trials.seconds:.1f} s ({phases});"
        f" {len(trials.resumed_seconds)} resumed; {count(len(trials.unequal), 'difference')} from the run left alone",
        {"phases": trials.phases, "differences": trials.unequal, "resumed_seconds": trials.resumed_seconds},
        expect((not trials.unequal, listed(trials.unequal))),
    )


def import_trials(bench: Bench, served: Served, kills: int) -> Trials:
    reference = fresh(bench, served, "alone")
    trials = Trials("import", timed_refresh(reference))
    expected = reference.state()
    reference.drop()
    for number in range(kills):
        attempt(lambda name: fresh(bench, served, name), trials, expected, (number + 0.5) / kills)
    return trials


def power_cuts(bench: Bench, served: Served, cuts: int) -> Trials:
    reference = embedded(bench, served, "power-alone")
    trials = Trials("PostgreSQL too", timed_refresh(reference))
    expected = reference.state()
    reference.drop()
    for number in range(cuts):
        attempt(lambda name: embedded(bench, served, name), trials, expected, (number + 0.5) / cuts)
    return trials


def refresh_trials(bench: Bench, served: Served, kills: int) -> Trials:
    before = fresh(bench, served, "before")
    before.refresh()
    change_site(served.root)
    reference = copy_of(bench, before, "alone-again")
    trials = Trials("refresh", timed_refresh(reference))
    expected = reference.state()
    reference.drop()
    for number in range(kills):
        attempt(lambda name: copy_of(bench, before, name), trials, expected, (number + 0.5) / kills)
    before.drop()
    return trials


def fresh(bench: Bench, served: Served, name: str) -> Installation:
    installation = bench.installation(served.root.base, f"crash-{name}")
    installation.register()
    return installation


def embedded(bench: Bench, served: Served, name: str) -> Installation:
    installation = bench.embedded_installation(served.root.base, f"crash-{name}")
    installation.register()
    return installation


def copy_of(bench: Bench, original: Installation, name: str) -> Installation:
    """An installation that starts where `original` stands: its database and its Lance tables, copied."""
    copy = bench.installation(original.base, f"crash-{name}")
    with psycopg.connect(bench.server.with_database("postgres").conninfo, autocommit=True) as connection:
        for suffix in ("", "_dagster"):
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                    sql.Identifier(copy.address.database + suffix), sql.Identifier(original.address.database + suffix)
                )
            )
    shutil.copytree(original.folder / "data", copy.folder / "data", symlinks=True)
    return copy


def change_site(root: WebRoot) -> None:
    """A third of the pages edited, a few deleted, a few added."""
    for number, page in enumerate(root.editable()[::3]):
        root.edit(page, f"syzygy{number}")
    for page in spread([page for page in root.pages() if page != "index.html"], 5):
        root.delete(page)
    for number in range(5):
        root.add(f"added-{number}.html", seed=2_000_000 + number)
    root.publish()


def timed_refresh(installation: Installation) -> float:
    """Refresh, and give the seconds from the opening of the refresh to its end."""
    installation.refresh()
    rows = installation.rows("SELECT started_at, finished_at FROM refreshes ORDER BY generation DESC LIMIT 1")
    return float((rows[0]["finished_at"] - rows[0]["started_at"]).total_seconds())


def attempt(make: Callable[[str], Installation], trials: Trials, expected: tables.State, share: float) -> None:
    """Kill a refresh at `share` of its length, run it again, and compare what is stored with `expected`.

    On a machine that runs faster by now the refresh may be published first; then an earlier moment is tried.
    """
    trial = make(f"{trials.kind.split()[0].lower()}-{share * 100:.0f}")
    cost, _ = trial.kb("sites", "refresh", "bench", kill_when=moment(trial, share * trials.seconds))
    hit = cost.killed and not trial.rows(PHASES)[0]["finished_at"]
    if hit:
        trials.phases[phase(trial)] += 1
        trials.resumed_seconds.append(trial.refresh().cost.seconds)
    trials.unequal += [f"at {share:.0%}: {line}" for line in tables.differences(expected, trial.state())[:3]]
    trial.drop()
    if not hit:
        attempt(make, trials, expected, share * EARLIER)


def moment(trial: Installation, offset: float) -> Callable[[], bool]:
    """True once a refresh has been open for `offset` seconds."""
    opened: list[float] = []

    def now() -> bool:
        with contextlib.suppress(psycopg.OperationalError):  # an embedded server that is not up yet
            if not opened and trial.query(OPEN_REFRESH):
                opened.append(time.monotonic())
        return bool(opened) and time.monotonic() - opened[0] >= offset

    return now


def phase(trial: Installation) -> str:
    """How far the ledger says that the killed refresh had come."""
    row = trial.rows(PHASES)[0]
    if row["fetched_at"]:
        return "after the fetch"
    return "in the fetch" if row["discovered_at"] else "in discovery"
