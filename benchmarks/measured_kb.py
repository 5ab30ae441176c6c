"""`kb`, run with a count of what reaches the embedding model, so that the benchmark need not take the program's own
word for it. The tally is written to the file that KB_BENCH_TALLY names; KB_BENCH_EXTRACTOR stands in for an improved
extractor by changing nothing but its version."""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Tally:
    """Texts that were embedded, and the time spent on loading the model and in it."""

    def __init__(self) -> None:
        self.embedded = 0
        self.seconds = 0.0
        self._depth = 0

    def timed(self, function: Callable[..., Any], *, counts: bool) -> Callable[..., Any]:
        @functools.wraps(function)
        def measured(*arguments: Any, **options: Any) -> Any:
            self._depth += 1
            began = time.monotonic()
            try:
                return function(*arguments, **options)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.monotonic() - began
                    if counts:
                        texts: Sequence[str] = arguments[1] if len(arguments) > 1 else options["texts"]
                        self.embedded += len(texts)

        return measured

    def write(self, path: Path) -> None:
        answer = {
            "embedded": self.embedded,
            "embed_seconds": self.seconds,
            "model_loaded": "sentence_transformers" in sys.modules,
        }
        path.write_text(json.dumps(answer))


def run() -> int:
    """What is imported here comes last: stages read the extractor's version when they are imported."""
    if sys.argv[1] == "job":
        return run_job(*sys.argv[2:])
    return int(importlib.import_module("kb_pipeline.cli.main").run())


def run_job(job: str, site_id: str) -> int:
    """Run a job that `kb` has no command for, the way `kb sites refresh` runs its own."""
    runs = importlib.import_module("kb_pipeline.cli.runs")
    app = importlib.import_module("kb_pipeline.cli.app").App()
    with app.stores() as stores:
        ended = runs.run_job(app, stores, job, site_id).ended
        return int(runs.exit_code_after(stores, site_id, ended))


def main() -> int:
    if version := os.environ.get("KB_BENCH_EXTRACTOR"):
        vars(importlib.import_module("kb_pipeline.core.extract"))["EXTRACTOR_VERSION"] = version
    tally = Tally()
    watched: Any = importlib.import_module("kb_pipeline.embed.local").SentenceTransformerEmbedder
    watched.__init__ = tally.timed(watched.__init__, counts=False)
    watched.embed = tally.timed(watched.embed, counts=True)
    try:
        return run()
    finally:
        tally.write(Path(os.environ["KB_BENCH_TALLY"]))


if __name__ == "__main__":
    sys.exit(main())
