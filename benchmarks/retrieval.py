"""Asks a site's golden questions of its knowledge base, which is made as a user makes it: the site is registered,
refreshed, and searched by the default search.

    python -m benchmarks.retrieval --start-url URL --golden FILE --out RESULTS [--work FOLDER]

Writes one JSON line a question, `{"id", "results": [{"url", "anchor", "text", "score"}]}`, best first; how the site
was imported goes to the screen. With `--work` the installation stays there, and the next run refreshes it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kb_pipeline.model import Hit

SITE: Final = "golden"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="kb-retrieval-") as scratch:
        os.environ.update(_environment(options.work or Path(scratch), options.start_url))
        _import(options.start_url)
        questions = [json.loads(line) for line in options.golden.read_text().splitlines() if line.strip()]
        with options.out.open("w") as out:
            for answer in _answers(questions, options.mode, options.limit):
                out.write(json.dumps(answer, ensure_ascii=False) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start-url", required=True, help="where the site begins")
    parser.add_argument("--golden", required=True, type=Path, help='JSON lines with "id" and "question"')
    parser.add_argument("--out", required=True, type=Path, help="where the results are written")
    parser.add_argument("--work", type=Path, help="folder of the installation; a passing one by default")
    parser.add_argument(
        "--mode", default="fused", choices=["fused", "vector", "text"], help="the default search, or a part"
    )
    parser.add_argument("--limit", type=int, default=20, help="passages a question")
    return parser.parse_args()


def _environment(folder: Path, start_url: str) -> Mapping[str, str]:
    """Of every command and of the search: an installation of its own, for a site that may stand on loopback."""
    return {
        "KB_DATA_DIR": str(folder.absolute()),
        "KB_POSTGRES_URL": "",
        "KB_ALLOW_PRIVATE": str(urlsplit(start_url).hostname),
        "KB_REQUEST_GAP_SECONDS": "0",
        "KB_TIERS": "plain_http",
        "KB_AUTO_APPROVE_PAGES": "1000000",
    }


def _import(start_url: str) -> None:
    began = time.monotonic()
    if subprocess.run(_kb("sites", "show", SITE), capture_output=True, check=False).returncode:
        subprocess.run(_kb("sites", "add", SITE, start_url), check=True)
    subprocess.run(_kb("sites", "refresh", SITE), check=True)
    print(f"imported in {time.monotonic() - began:,.0f} s", file=sys.stderr)


def _kb(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("kb")), *arguments]


def _answers(questions: list[dict[str, Any]], mode: str, limit: int) -> Iterator[dict[str, Any]]:
    from kb_pipeline.serve.search import SearchMode, search  # noqa: PLC0415 - after the environment is set
    from kb_pipeline.settings import load_settings  # noqa: PLC0415
    from kb_pipeline.store.stores import Stores  # noqa: PLC0415

    settings = load_settings()
    with Stores.open(settings) as stores:
        for asked in questions:
            hits = search(stores, settings, SITE, asked["question"], mode=SearchMode(mode), limit=limit)
            yield {"id": asked["id"], "results": [_result(hit) for hit in hits]}


def _result(hit: Hit) -> dict[str, Any]:
    address, _, anchor = hit.url.partition("#")
    return {"url": address, "anchor": anchor or None, "text": hit.text, "score": hit.score}


if __name__ == "__main__":
    main()
