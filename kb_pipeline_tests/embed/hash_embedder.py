"""A tiny embedder for tests: words hashed into dimensions, so that texts with the same words are near each other.
Loads nothing, and counts what it was asked for."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

import numpy as np

from kb_pipeline.errors import EmbeddingFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Deterministic on every machine. A text that holds `refuse` is refused."""

    def __init__(self, dimension: int = 64, name: str = "hash", refuse: str | None = None) -> None:
        self.identity = f"{name}@{dimension}"
        self.slug = name
        self.dimension = dimension
        self.refuse = refuse
        self.embedded: list[str] = []
        self.loaded = False

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.refuse and any(self.refuse in text for text in texts):
            message = f"refused: a text holds {self.refuse!r}"
            raise EmbeddingFailed(message)
        self.loaded = True
        self.embedded.extend(texts)
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, question: str) -> NDArray[np.float32]:
        return self._vector(question)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dimension, np.float32)
        for word in _WORD.findall(text.lower()) or [""]:
            vector[zlib.crc32(word.encode()) % self.dimension] += 1
        return vector / np.linalg.norm(vector)
