"""What of real pages with known texts is extracted, beside trafilatura and rs-trafilatura, and how fast.

    python -m benchmarks.extraction DATA            DATA holds score.py, and a folder for each set of pages
    python -m benchmarks.extraction DATA --rs PYTHON   an interpreter that has trafipy (rs-trafilatura; Python 3.12)

All readers take each page in turn, in one process, so that what else the machine does weighs on all alike. Only
rs-trafilatura, where it needs another interpreter, has its own turn after each set.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.core.block_model import block_model
from kb_pipeline.core.extract import extract_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    Reader = Callable[[str, str], str]

SETS: Final = ("wcxb", "trafilatura_eval", "scrapinghub_articles", "readability_pages", "zyte_products")
PATIENCE_SECONDS: Final = 60.0
FIGURES: Final = ("p", "r", "f1", "sf1", "with", "without", "snip_f1", "empty")
OURS: Final = "kb_pipeline"
PEER: Final = "trafilatura"
RUST: Final = "rs-trafilatura"


def main() -> None:
    """Print a table a set, and a line on speed."""
    arguments = _arguments()
    score = load_score(arguments.data)
    readers = _readers()
    for peer in _missing(readers, arguments.rs):
        print(f"{peer} is not installed: its column is missing")
    for name in arguments.sets.split(","):
        folder = arguments.data / name
        if not (folder / "truth.jsonl").exists():
            print(f"{name}: no such set in {arguments.data}")
            continue
        records = score.load(str(folder), arguments.limit)
        outputs = _run(score, folder, records, readers)
        if RUST not in readers and arguments.rs:
            outputs[RUST] = _in_another_process(arguments.data, folder, arguments.rs, records)
        _print_set(score, name, records, outputs)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=int, help="only so many pages of each set")
    parser.add_argument("--rs", help="an interpreter that has trafipy")
    return parser.parse_args()


def load_score(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", folder / "score.py")
    if spec is None or spec.loader is None:
        message = f"no score.py in {folder}"
        raise SystemExit(message)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _readers() -> dict[str, Reader]:
    block_model()  # is read once in a process's life
    readers: dict[str, Reader] = {OURS: lambda html, url: extract_html(html, url).markdown}
    if importlib.util.find_spec("trafilatura"):
        import trafilatura  # noqa: PLC0415 - a peer, where it is installed

        readers[PEER] = lambda html, url: trafilatura.extract(html, url=url) or ""
    if importlib.util.find_spec("trafipy"):
        from benchmarks.rs_trafilatura import extract  # noqa: PLC0415 - likewise

        readers[RUST] = extract
    return readers


def _missing(readers: Iterable[str], rs: str | None) -> list[str]:
    present = {*readers, *([RUST] if rs else ())}
    return [peer for peer in (PEER, RUST) if peer not in present]


def _run(
    score: ModuleType, folder: Path, records: Iterable[dict[str, Any]], readers: dict[str, Reader]
) -> dict[str, list[dict[str, Any]]]:
    outputs: dict[str, list[dict[str, Any]]] = {name: [] for name in readers}
    for record in records:
        html = score.read_html(str(folder), record)
        for name, read in readers.items():
            text, error, seconds, cpu = score.call(read, html, record.get("url") or "", PATIENCE_SECONDS)
            outputs[name].append({"text": text, "error": error, "sec": seconds, "cpu": cpu})
    return outputs


def _in_another_process(data: Path, folder: Path, python: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as there:
        saved = Path(there) / "outputs.jsonl"
        # Absolute, for it starts in another folder; not resolved, for a virtual environment is known by its place.
        command = [
            str(Path(python).absolute()),
            str((data / "score.py").resolve()),
            str(folder.resolve()),
            "rs_trafilatura:extract",
        ]
        limit = ["--limit", str(len(records))]
        here = Path(__file__).parent
        subprocess.run([*command, *limit, "--save", str(saved)], cwd=here, check=True, stdout=subprocess.DEVNULL)
        with saved.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


def _print_set(
    score: ModuleType, name: str, records: list[dict[str, Any]], outputs: dict[str, list[dict[str, Any]]]
) -> None:
    print(f"\n{name}")
    head = "".join(f"{figure:>9}" for figure in (*FIGURES, "fail"))
    print(f"{'':<16}{'':<15}{'n':>5}{head}{'chars':>8}{'cpu/s':>8}{'worst s':>9}")
    rows = {
        reader: [_row(score, record, output) for record, output in zip(records, found, strict=True)]
        for reader, found in outputs.items()
    }
    kinds = [kind for kind in score.TYPE_ORDER if any(record.get("page_type", "mixed") == kind for record in records)]
    for kind in [*(kinds if len(kinds) > 1 else ()), "ALL"]:
        for reader, scored in rows.items():
            _print_row(score, kind, reader, [row for row in scored if kind in {"ALL", row["type"]}])
    _print_speed(score, rows)
    sys.stdout.flush()


def _row(score: ModuleType, record: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = score.score_page(record, output["text"])
    row.update(fail=bool(output["error"]), sec=output["sec"], cpu=output["cpu"])
    return row


def _print_row(score: ModuleType, kind: str, reader: str, rows: list[dict[str, Any]]) -> None:
    found = score.aggregate(rows)
    figures = "".join(_figure(found.get(figure)) for figure in FIGURES)
    characters = statistics.median(row["chars"] for row in rows)
    worst = max(row["sec"] for row in rows)
    speed = f"{characters:>8.0f}{found['cpu_pages_s']:>8.1f}{worst:>9.2f}"
    print(f"{kind:<16}{reader:<15}{len(rows):>5}{figures}{found['fail']:>9}{speed}")


def _figure(value: float | None) -> str:
    return f"{'-':>9}" if value is None or value != value else f"{value:>9.3f}"  # noqa: PLR0124 - a NaN


def _print_speed(score: ModuleType, rows: dict[str, list[dict[str, Any]]]) -> None:
    speed = {reader: score.aggregate(found)["cpu_pages_s"] for reader, found in rows.items()}
    ratios = [f"{speed[OURS] / speed[peer]:.1f} x {peer}" for peer in (PEER, RUST) if peer in speed]
    print(f"pages a second of processor time: {speed[OURS]:.1f}" + "".join(f", {ratio}" for ratio in ratios))


if __name__ == "__main__":
    main()
