"""Trains the model that tells a page's content from the rest, from pages whose text is known.

    python -m benchmarks.train_blocks DATA            writes kb_pipeline/core/block_model.npz
    python -m benchmarks.train_blocks DATA --check    five folds, split by host; writes nothing but the folds' models
    python -m benchmarks.train_blocks DATA --check --keep FOLDER   keeps them there, as fold0.npz and so on

Needs what `pip install '.[train]'` brings. The same pages, packages and number of threads give the same weights. The
word tables are made from other hosts than those they are applied to, in training too: a word that one site alone uses,
or a table that has seen the page, would promise more than it keeps.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from catboost import CatBoostClassifier, Pool

from benchmarks.block_labels import shares_in_text
from benchmarks.extraction import SETS, load_score
from kb_pipeline.core import block_model
from kb_pipeline.core.block_choice import likely_blocks, read_page, threshold
from kb_pipeline.core.block_features import heading_blocks, static_features
from kb_pipeline.core.block_leads import raise_leading
from kb_pipeline.core.block_words import LOOKED_AT, NameScores, Outline, WordScores, bare_word, scored_features
from kb_pipeline.core.html_tree import with_tree
from kb_pipeline.core.page_metadata import read_metadata
from kb_pipeline.core.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from kb_pipeline.core.block_words import Names
    from kb_pipeline.core.html_tree import Node
    from kb_pipeline.core.page_blocks import Block

FOLDS: Final = 5
INNER_FOLDS: Final = 4
PARAMETERS: Final[dict[str, Any]] = {
    "iterations": 300,
    "depth": 6,
    "learning_rate": 0.08,
    "l2_leaf_reg": 5,
    "border_count": 64,
}
LEAST_HOSTS: Final = 3
"""A word that fewer hosts use has no score."""
PRIOR_HOSTS: Final = 2.0
SHORT: Final = 25
"""Words a block may have for its own words to be scored."""
SNIPPET_WEIGHT: Final = 0.12
FACT_WEIGHT: Final = 0.15
OTHER_SETS_WEIGHT: Final = 0.7
LEAST_SCORE: Final = 0.1
_SNIPPET_CHARACTERS: Final = 25

Tables = tuple[dict[str, float], dict[str, float]]


@dataclass(slots=True)
class Page:
    """A page's blocks, and how far each is content."""

    host: str
    kind: str
    record: dict[str, Any]
    blocks: list[list[str]]
    """The words of each block, as the score counts them."""
    rows: NDArray[np.float32]
    headings: NDArray[np.bool_]
    titles: NDArray[np.bool_]
    names: Names
    words: list[list[str]]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    """0 for a block of which nothing is known."""


def main() -> None:
    """Train on all pages, or check by folds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    score = load_score(arguments.data)
    pages = [page for name in SETS for page in read_set(score, arguments.data / name)]
    print(f"{len(pages)} pages, {sum(len(page.blocks) for page in pages)} blocks")
    if arguments.check:
        check(pages, score, arguments.keep)
        return
    target = Path(block_model.__file__).with_name(block_model.WEIGHTS)
    train(pages, target)
    print(f"{target}: {target.stat().st_size} bytes")


def fold_of(host: str, folds: int, salt: str = "") -> int:
    """Which fold a host is in, always the same."""
    return int(hashlib.md5((host.removeprefix("www.") + salt).encode()).hexdigest(), 16) % folds


# --- pages and what is known of their blocks


def read_set(score: ModuleType, folder: Path) -> Iterable[Page]:
    """The pages of a set that have blocks."""
    for record in score.load(str(folder)):
        html = score.read_html(str(folder), record)
        url = record.get("url") or ""

        def read(nodes: list[Node], _cut: bool, record: dict[str, Any] = record, url: str = url) -> Page | None:
            found, kind = read_page(nodes[0], read_metadata(nodes, url), url)
            blocks = found.blocks
            if not blocks:
                return None
            outline = Outline.of(found)
            return _page(score, folder.name, record, blocks, outline.names(), static_features(blocks, outline, kind))

        page = with_tree(html, read)
        if page is not None:
            yield page


def _page(
    score: ModuleType,
    name: str,
    record: dict[str, Any],
    blocks: Sequence[Block],
    names: Names,
    rows: NDArray[np.float32],
) -> Page:
    words = [[word.lower() for word in score.tokens(block.text)] for block in blocks]
    titles = np.array([block.context.node.tag == "h1" for block in blocks])
    texts = [" ".join(block.text.lower().split()) for block in blocks]
    shares, weights = _known(score, record, words, texts)
    if name in {"scrapinghub_articles", "readability_pages"}:
        # Their texts leave out the title, whether the page shows one or not.
        weights = np.where(titles, 0, weights * OTHER_SETS_WEIGHT)
    return Page(
        # Readability's pages name no host: each is its own.
        host=record["domain"] if name != "readability_pages" else f"{name}/{record['id']}",
        kind=f"{name}:{record['page_type']}" if name == "wcxb" else name,
        record=record,
        blocks=words,
        rows=rows,
        headings=heading_blocks(blocks),
        titles=titles,
        names=names,
        words=[block.words[:LOOKED_AT] for block in blocks],
        shares=shares,
        weights=weights,
    )


def _known(
    score: ModuleType, record: dict[str, Any], words: list[list[str]], texts: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if record.get("main_content") is not None:
        return _known_by_text([word.lower() for word in score.tokens(record["main_content"])], words)
    if record.get("without"):
        return _known_by_snippets(score, record, texts)
    return _known_by_facts(score, record, texts)


def _known_by_text(text: list[str], words: list[list[str]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each page weighs alike, each word of it too; a page of which little is content weighs no more than three."""
    sizes = np.array([len(block) for block in words], dtype=np.float64) / max(60, len(text))
    sizes *= min(1.0, 3 / max(sizes.sum(), 1e-9))
    return np.array(shares_in_text(words, text)), sizes + 0.15 / len(words)


def _known_by_snippets(
    score: ModuleType, record: dict[str, Any], texts: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shares, weights = np.zeros(len(texts)), np.zeros(len(texts))
    for snippets, share in ((record["with"] or [], 1.0), (record["without"] or [], 0.0)):
        for snippet in map(score.norm, snippets):
            for place, text in enumerate(texts):
                if snippet in text or (len(text) > _SNIPPET_CHARACTERS and text in snippet):
                    shares[place], weights[place] = share, SNIPPET_WEIGHT
    return shares, weights


def _known_by_facts(
    score: ModuleType, record: dict[str, Any], texts: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A price or a number: where it stands first is content; of all else nothing is known."""
    shares, weights = np.zeros(len(texts)), np.zeros(len(texts))
    for fact in map(score.norm, record["with"] or []):
        whole = re.compile(rf"(?<!\w){re.escape(fact)}(?!\w)")
        first = next((place for place, text in enumerate(texts) if whole.search(text)), None)
        if first is not None:
            shares[first], weights[first] = 1.0, FACT_WEIGHT
    return shares, weights


# --- tables of words


def word_tables(pages: Iterable[Page]) -> Tables:
    """For names of elements, and for words of short blocks: log odds of content, each host counted once."""
    names: _Shares = defaultdict(lambda: defaultdict(list))
    words: _Shares = defaultdict(lambda: defaultdict(list))
    for page in pages:
        _count(page, names, words)
    return _log_odds(names, 0.5, LEAST_HOSTS), _log_odds(words, 0.4, LEAST_HOSTS + 1)


_Shares = dict[str, dict[str, list[float]]]


def _count(page: Page, names: _Shares, words: _Shares) -> None:
    named: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    said: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    around: list[frozenset[str]] = []
    for own, up in zip(page.names.named, page.names.above, strict=True):
        around.append(frozenset(own).union(around[up] if around else ()))
    for place in np.flatnonzero(page.weights):
        share, weight = page.shares[place], page.weights[place]
        for name in around[page.names.of_blocks[place]]:
            named[name][0] += weight * share
            named[name][1] += weight
        for word in set(map(bare_word, page.words[place])) - {""} if len(page.blocks[place]) <= SHORT else ():
            said[word][0] += share
            said[word][1] += 1
    for totals, seen in ((names, named), (words, said)):
        for word, (kept, all_) in seen.items():
            totals[word][page.host].append(kept / all_)


def _log_odds(shares: _Shares, prior: float, least: int) -> dict[str, float]:
    scores = {}
    for word, hosts in sorted(shares.items()):
        if len(hosts) >= least:
            kept = sum(sum(found) / len(found) for found in hosts.values())
            share = min(max((kept + PRIOR_HOSTS * prior) / (len(hosts) + PRIOR_HOSTS), 0.01), 0.99)
            score = round(log(share / (1 - share)) - log(prior / (1 - prior)), 2)
            if abs(score) > LEAST_SCORE:
                scores[word] = score
    return scores


def matrix(page: Page, tables: Tables) -> NDArray[np.float32]:
    """All features of a page's blocks."""
    scored = scored_features(page.names, page.words, page.headings, NameScores(tables[0]), WordScores(tables[1]))
    return np.concatenate([page.rows, scored], axis=1)


# --- training


def train(pages: Sequence[Page], target: Path) -> None:
    """Fit on `pages`, and write the weights."""
    rows: list[NDArray[np.float32]] = []
    shares, weights = [], []
    for fold in range(INNER_FOLDS):
        inside = [page for page in pages if fold_of(page.host, INNER_FOLDS, "inner") == fold]
        tables = word_tables(page for page in pages if fold_of(page.host, INNER_FOLDS, "inner") != fold)
        for page in inside:
            known = page.weights > 0
            rows.append(matrix(page, tables)[known])
            shares.append(page.shares[known])
            weights.append(page.weights[known])
    model = CatBoostClassifier(
        loss_function="CrossEntropy", random_seed=1, thread_count=2, verbose=0, allow_writing_files=False, **PARAMETERS
    )
    model.fit(Pool(np.concatenate(rows), np.concatenate(shares), weight=np.concatenate(weights)))
    _write(model, word_tables(pages), target)


def _write(model: CatBoostClassifier, tables: Tables, target: Path) -> None:
    with tempfile.NamedTemporaryFile(suffix=".json") as written:
        model.save_model(written.name, format="json")
        found = json.loads(Path(written.name).read_text(encoding="utf-8"))
    features = {
        feature["feature_index"]: feature["flat_feature_index"] for feature in found["features_info"]["float_features"]
    }
    trees = found["oblivious_trees"]
    depth = PARAMETERS["depth"]
    columns, borders, leaves = [], [], []
    for tree in trees:
        values = np.array(tree["leaf_values"])
        missing = depth - len(tree["splits"])
        columns += [features[split["float_feature_index"]] for split in tree["splits"]] + [0] * missing
        borders += [split["border"] for split in tree["splits"]] + [np.inf] * missing
        leaves.append(np.tile(values, 2**missing))
    scale, bias = found["scale_and_bias"]
    words = json.dumps({"names": tables[0], "words": tables[1]}, ensure_ascii=False, sort_keys=True)
    np.savez_compressed(
        target,
        tables=np.frombuffer(words.encode(), dtype=np.uint8),
        columns=np.array(columns, dtype=np.uint16),
        borders=np.array(borders, dtype=np.float32),
        leaves=(np.array(leaves) * scale).astype(np.float16),
        depth=np.array(depth),
        bias=np.array(bias[0] if isinstance(bias, list) else bias, dtype=np.float64),
    )


# --- checking


def check(pages: Sequence[Page], score: ModuleType, keep: Path | None) -> None:
    """Word F1 of each fold's pages by a model that has seen none of their hosts."""
    figures: dict[str, list[float]] = defaultdict(list)
    folder = keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        target = folder / f"fold{fold}.npz"
        train([page for page in pages if fold_of(page.host, FOLDS) != fold], target)
        model = block_model.read_model(target)
        for page in pages:
            if fold_of(page.host, FOLDS) == fold and page.record.get("main_content") is not None:
                kept = _kept(model, page)
                text = score.tokens(page.record["main_content"])
                words = [word for block, keep_it in zip(page.blocks, kept, strict=True) if keep_it for word in block]
                found = score.bow(words, text)[2]
                figures[page.kind].append(found)
                figures[page.kind.partition(":")[0]].append(found)
        print(f"fold {fold} of {FOLDS}", flush=True)
    for kind, values in sorted(figures.items()):
        print(f"{kind:<28}{len(values):>5}{np.mean(values):>8.3f}")


def _kept(model: block_model.BlockModel, page: Page) -> NDArray[np.bool_]:
    rows = matrix(page, (dict(model.name_scores.table), dict(model.word_scores.table)))
    words = np.array([len(block) for block in page.blocks])
    shares = model.trees.shares(rows)
    kept = likely_blocks(shares, threshold(shares, words), page.titles)
    raise_leading(kept, page.headings, lambda place, _: Reason.HEADING if page.headings[place] else None)
    return kept


if __name__ == "__main__":
    main()
