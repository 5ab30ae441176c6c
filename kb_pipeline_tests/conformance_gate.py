"""Runs the public conformance cases against this project's own functions, and prints how each kind fared.

    python -m kb_pipeline_tests.conformance_gate FOLDER           ends with 1 when a case fails that passed before
    python -m kb_pipeline_tests.conformance_gate FOLDER --record  takes today's disputed choices for the known ones

A case passed before unless `conformance_known.json` names it; only disputed cases may be named there.
"""
# ruff: noqa: T201 - the table is what it is for

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KNOWN: Final = Path(__file__).with_name("conformance_known.json")
PROJECT: Final = Path(__file__).resolve().parent.parent
ADAPTERS: Final = "kb_pipeline_tests.conformance"
KINDS: Final = (
    ("robots", "access", "robots_access"),
    ("robots", "sitemaps", "robots_sitemaps"),
    ("robots", "crawl_delay", "robots_crawl_delay"),
    ("robots", "status", "robots_status"),
    ("sitemaps", "parse", "sitemap_parse"),
    ("sitemaps", "tree", "sitemap_tree"),
    ("sitemaps", "location", "sitemap_location"),
    ("ssrf", "ip", "ssrf_ip"),
    ("ssrf", "url", "ssrf_url"),
    ("ssrf", "redirect", "ssrf_redirect"),
    ("ssrf", "rebind", "ssrf_rebind"),
    ("urls", "same", "url_canonical"),
    ("urls", "idempotent", "url_canonical"),
    ("urls", "normalize", "url_normal"),
    ("urls", "resolve", "url_resolve"),
    ("urls", "links", "url_links"),
    ("urls", "trap", "url_trap"),
    ("pages", "", "page_state"),
    ("bodies", "label", "body_label"),
    ("bodies", "sniff", "body_sniff"),
    ("bodies", "decode", "body_decode"),
    ("bodies", "encoded", "body_encoded"),
    ("bodies", "http", "body_http"),
    ("bodies", "type", "body_type"),
    ("bodies", "pdf", "body_pdf"),
)
"""(area, kind, the adapter's name). Of pages the exact state is asked, not only whether they may be indexed."""


@dataclass(frozen=True)
class Fared:
    """One kind's result. Disputed cases are counted apart: there are two right answers to each."""

    area: str
    kind: str
    passed: int
    failed: int
    disputed: int
    disputed_failed: int
    failed_ids: tuple[str, ...]

    def row(self) -> str:
        agreed = f"{self.disputed - self.disputed_failed} of {self.disputed}"
        return f"{self.area:<10}{self.kind:<12}{self.passed:>8}{self.failed:>8}{agreed:>14}"


def main(arguments: Sequence[str] | None = None, kinds: Sequence[tuple[str, str, str]] = KINDS) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--known", type=Path, default=KNOWN)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.folder.is_dir():
        print(f"no conformance cases at {asked.folder}: nothing was run")
        return 0
    print(f"{'area':<10}{'kind':<12}{'passed':>8}{'failed':>8}{'disputed':>14}")
    results = []
    for area, kind, function in kinds:
        results.append(run(asked.folder, area, kind, function))
        print(results[-1].row(), flush=True)
    print(total(results).row())
    return record(results, asked.known) if asked.record else judge(results, asked.known)


def run(folder: Path, area: str, kind: str, function: str) -> Fared:
    """One runner in a process of its own: it counts, this only reads what it says."""
    options = ["--kind", kind] if kind else ["--exact"]
    runner = [sys.executable, str(folder.resolve() / f"run_{area}.py"), f"{ADAPTERS}:{function}", *options]
    ended = subprocess.run([*runner, "--disputed", "--json"], cwd=PROJECT, capture_output=True, text=True, check=False)
    try:
        said = json.loads(ended.stdout.strip().rpartition("\n")[2])
    except ValueError:
        message = f"run_{area}.py gave no result for {kind or area}:\n{ended.stderr[-2_000:]}"
        raise SystemExit(message) from None
    statuses = statuses_of(folder, area)
    failed = Counter(statuses[case] == "disputed" for case in said["failed_ids"])
    disputed = disputed_of(folder, area, kind)
    passed = said["passed"] - (disputed - failed[True])
    return Fared(area, kind or "exact", passed, failed[False], disputed, failed[True], tuple(said["failed_ids"]))


def statuses_of(folder: Path, area: str) -> Mapping[str, str]:
    return {case["id"]: case["status"] for case in cases_of(folder, area)}


def disputed_of(folder: Path, area: str, kind: str) -> int:
    asked = {"same", "normalize"} if kind == "idempotent" else {kind or "page"}
    return sum(case["status"] == "disputed" and case["kind"] in asked for case in cases_of(folder, area))


def cases_of(folder: Path, area: str) -> list[dict[str, str]]:
    cases: list[dict[str, str]] = json.loads((folder / "cases" / f"{area}.json").read_text(encoding="utf-8"))
    return cases


def total(results: Sequence[Fared]) -> Fared:
    counts = (sum(getattr(result, name) for result in results) for name in ("passed", "failed"))
    disputed = (sum(getattr(result, name) for result in results) for name in ("disputed", "disputed_failed"))
    return Fared("total", "", *counts, *disputed, ())


def known_of(path: Path) -> dict[str, list[str]]:
    known: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return known


def judge(results: Sequence[Fared], path: Path) -> int:
    """1 when something fails that is not known to."""
    known = known_of(path)
    lost = {result: set(result.failed_ids) - set(known.get(key(result), [])) for result in results}
    for result, ids in lost.items():
        for case in sorted(ids):
            print(f"FAILED, and passed before: {key(result)} {case}")
    for result in results:
        if won := set(known.get(key(result), [])) - set(result.failed_ids):
            print(f"{key(result)}: {len(won)} known failures pass now: --record takes them off the list")
    return int(any(lost.values()))


def record(results: Sequence[Fared], path: Path) -> int:
    if broken := [result for result in results if result.failed]:
        print(f"undisputed cases fail ({', '.join(map(key, broken))}): nothing was recorded")
        return 1
    choices = {key(result): sorted(result.failed_ids) for result in results if result.failed_ids}
    path.write_text(json.dumps(choices, indent=1) + "\n", encoding="utf-8")
    return 0


def key(result: Fared) -> str:
    return f"{result.area} {result.kind}"


if __name__ == "__main__":
    sys.exit(main())
