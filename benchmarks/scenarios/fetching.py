"""Pages a second from an nginx on loopback, without a delay and 16 at a time, beside clients that do none of what ours
does, by turns in the same run; and the guard's share of the time."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.installation import TIMEOUT_SECONDS
from benchmarks.report import Line, expect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.installation import Bench

PAGES: Final = 500
ROUNDS: Final = 5
REPEATS: Final = 4
"""Each page is asked for so often in a round."""
CONNECTIONS: Final = 16
OTHERS: Final = ("httpx", "aiohttp", "scrapy", "crawlberg")
CLIENTS: Final = ("ours", "unguarded", "tier", *OTHERS)


def fetching(bench: Bench) -> Iterator[Line]:
    """Each client once a round, in turn, so that all of them meet the machine as it is."""
    with bench.generated_site(PAGES) as served, served.well():
        names = sorted(path.relative_to(served.root.folder) for path in served.root.folder.rglob("page-*.html"))
        file = bench.folder / "addresses.json"
        file.write_text(json.dumps([f"{served.root.base}/{name}" for name in names] * REPEATS))
        runs = {name: [] for name in CLIENTS}
        for _ in range(ROUNDS):
            for name in CLIENTS:
                runs[name].append(run(name, file))
    rates = {name: statistics.median(one["pages"] / one["seconds"] for one in found) for name, found in runs.items()}
    cpu = {name: statistics.median(one["cpu"] / one["pages"] for one in found) for name, found in runs.items()}
    whole = all(one["pages"] == PAGES * REPEATS for found in runs.values() for one in found)
    others = ", ".join(f"{name} {rates[name]:,.0f} ({rates['ours'] / rates[name]:.2f} times)" for name in OTHERS)
    yield Line(
        "fetching",
        f"{rates['ours']:,.0f} pages a second of our client; {others}; {CONNECTIONS} connections, median of {ROUNDS}",
        {"pages_a_second": rates, "cpu_a_page": cpu, "runs": runs},
        expect((whole, "a client did not bring every page")),
    )
    yield Line(
        "the guard's share",
        f"{share(cpu['ours'], cpu['unguarded']):.0%} of our client's {1e3 * cpu['ours']:.2f} ms of processor a page",
        {"with": cpu["ours"], "without": cpu["unguarded"]},
    )
    yield Line(
        "plain_http",
        f"{rates['tier']:,.0f} pages a second of the whole tier: fetched, judged, and turned into Markdown",
        {"pages_a_second": rates["tier"], "cpu_a_page": cpu["tier"]},
    )


def share(whole: float, without: float) -> float:
    return max(0.0, 1 - without / whole)


def run(name: str, addresses: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.fetch_clients", name, str(addresses), str(CONNECTIONS)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS, env=dict(os.environ)
    )
    if done.returncode:
        message = f"{name}: {done.stderr.strip()[-2000:]}"
        raise RuntimeError(message)
    return json.loads(done.stdout.splitlines()[-1])
