"""How likely each block of a page belongs to its content, by boosted oblivious trees over what is seen of it.

`benchmarks/train_blocks.py` makes the weights.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_features import PageKind, heading_blocks, static_features
from kb_pipeline.core.block_words import LOOKED_AT, NameScores, Outline, WordScores, scored_features

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import PageBlocks

WEIGHTS: Final = "block_model.npz"


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Oblivious trees (every node of one level asks the same question), all of one depth."""

    columns: NDArray[np.intp]
    """Which feature each question asks for,"""
    borders: NDArray[np.float32]
    """and what it must exceed (questions x 1)."""
    asked: NDArray[np.intp]
    """(depth x trees): the question that a level of a tree asks. Half of them are asked more than once."""
    leaves: NDArray[np.float32]
    """(trees, 2 ** depth)"""
    bias: float

    @classmethod
    def of(
        cls, columns: NDArray[np.integer], borders: NDArray[np.float32], leaves: NDArray[np.float32], bias: float
    ) -> Ensemble:
        """Of the feature and the border of each level of each tree, tree by tree."""
        trees = len(leaves)
        questions, asked = np.unique(np.stack([columns, borders]), axis=1, return_inverse=True)
        return cls(
            questions[0].astype(np.intp),
            questions[1].astype(np.float32)[:, None],
            np.ascontiguousarray(asked.reshape(trees, -1).T),
            leaves,
            bias,
        )

    def shares(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """The probability of each row, 0 to 1."""
        features = np.ascontiguousarray(rows.T)
        trees, size = self.leaves.shape
        answers = (features.take(self.columns, axis=0) > self.borders).view(np.uint8)
        places = np.zeros((trees, len(rows)), dtype=np.uint8)
        for level in self.asked[::-1]:
            # To add is faster than to shift; `packbits` took five times as long.
            places += places
            places |= answers.take(level, axis=0)
        leaves = places + np.arange(0, trees * size, size)[:, None]
        sums = self.leaves.ravel().take(leaves).sum(axis=0, dtype=np.float64)
        return np.asarray(1 / (1 + np.exp(-(sums + self.bias))))


@dataclass(frozen=True, slots=True)
class BlockModel:
    """The tables of words, and the trees."""

    name_scores: NameScores
    word_scores: WordScores
    trees: Ensemble

    def shares(self, page: PageBlocks, kind: PageKind) -> NDArray[np.float64]:
        """For each block of a page the probability that it is content."""
        blocks, outline = page.blocks, Outline.of(page)
        words = [block.words[:LOOKED_AT] for block in blocks]
        scored = scored_features(outline.names(), words, heading_blocks(blocks), self.name_scores, self.word_scores)
        rows = np.concatenate([static_features(blocks, outline, kind), scored], axis=1)
        return self.trees.shares(rows)


@lru_cache(maxsize=1)
def block_model() -> BlockModel:
    """The model that ships with the package."""
    with as_file(files("kb_pipeline.core") / WEIGHTS) as path:
        return read_model(path)


def read_model(path: Path) -> BlockModel:
    """Weights as `benchmarks/train_blocks.py` writes them."""
    with np.load(path, allow_pickle=False) as stored:
        tables = json.loads(stored["tables"].tobytes())
        trees = Ensemble.of(
            stored["columns"], stored["borders"], stored["leaves"].astype(np.float32), float(stored["bias"])
        )
    return BlockModel(NameScores(tables["names"]), WordScores(tables["words"]), trees)
