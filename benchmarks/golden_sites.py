"""Asks real documentation sites the golden questions of a folder, and prints what a scorer makes of the answers.

    python -m benchmarks.golden_sites GOLDEN [--only NAME] [--site NAME=PACKAGE] [--out FOLDER]

GOLDEN holds `NAME.jsonl` files of questions and their scorer, `score_retrieval.py`. Each site is a Debian package,
downloaded, unpacked and served by nginx on loopback; `benchmarks.retrieval` imports it as a user does and asks.
Importing both known sites takes a quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import servers, web_root
from kb_pipeline.embed.model_files import PACKAGED_MODEL, locate
from kb_pipeline.embed.tokens import token_counter

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGES: Final = {"git": "git-doc", "postgresql": "postgresql-doc-15"}
SCORER: Final = "score_retrieval.py"
FIRST: Final = 5


def main() -> None:
    options = _options()
    scorer = options.golden / SCORER
    if not scorer.is_file():
        sys.exit(f"{scorer} is missing: name the folder of the golden questions and of their scorer")
    packages = PACKAGES | dict(site.split("=", 1) for site in options.site)
    names = [name for name in packages if (options.golden / f"{name}.jsonl").is_file()]
    if options.only:
        names = [name for name in names if name == options.only]
    if not names:
        sys.exit(f"no questions in {options.golden} for {options.only or ', '.join(packages)}")
    for name in names:
        _measure(name, packages[name], options.golden / f"{name}.jsonl", scorer, options.out.absolute())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("golden", type=Path, help="folder of the questions and their scorer")
    parser.add_argument("--only", metavar="NAME", help="one site instead of all")
    parser.add_argument(
        "--site", action="append", default=[], metavar="NAME=PACKAGE", help="which package has the site of NAME.jsonl"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench/retrieval"), help="where answers and data are kept"
    )
    return parser.parse_args()


def _measure(name: str, package: str, golden: Path, scorer: Path, out: Path) -> None:
    work, answers = out / name, out / f"{name}.jsonl"
    root, port = work / "www", servers.free_port()
    if not root.is_dir():
        web_root.real_site(root, f"http://{servers.HOST}:{port}", out / "packages", package=package)
    site = web_root.WebRoot(root, f"http://{servers.HOST}:{port}")
    site.publish()
    asked = ["--start-url", f"{site.base}/", "--golden", str(golden), "--out", str(answers)]
    with servers.nginx(root, port, work / "nginx"):
        subprocess.run([sys.executable, "-m", "benchmarks.retrieval", *asked], check=True)
    for mode in (["--strict"], []):
        found = subprocess.run(
            [sys.executable, scorer, golden, answers, *mode], check=True, capture_output=True, text=True
        )
        print(f"{name:12} {'strict' if mode else 'full  '} {found.stdout.strip()}", flush=True)
    tokens = sorted(_tokens_read(answers.read_text(encoding="utf-8").splitlines()))
    print(f"{name:12} tokens of the first {FIRST} passages: median {tokens[len(tokens) // 2]:,}, most {tokens[-1]:,}")


def _tokens_read(lines: Iterable[str]) -> list[int]:
    """For each answer the tokens of its first passages together."""
    count = token_counter(locate(PACKAGED_MODEL))
    return [sum(count(found["text"]) for found in json.loads(line)["results"][:FIRST]) for line in lines]


if __name__ == "__main__":
    main()
