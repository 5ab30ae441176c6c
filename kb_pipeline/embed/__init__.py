"""Turns text into vectors. `Embedder` is the seam; `open_embedder` gives the one that the settings name, without
loading its weights. Knows nothing of pages, chunks or stores."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from kb_pipeline.embed.local import Precision, SentenceTransformerEmbedder
from kb_pipeline.embed.model_files import locate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kb_pipeline.settings import Settings


class Embedder(Protocol):
    """An embedding model. `identity`, `slug` and `dimension` are known without loading it."""

    @property
    def identity(self) -> str:
        """Name and digest of the model. Two embedders with one identity give the same vectors but for rounding, so
        precision, batch size and device are no part of it."""
        ...

    @property
    def slug(self) -> str:
        """The identity in [a-z0-9-], short enough for the name of a table."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def loaded(self) -> bool:
        """Whether it is ready to embed; when not, the first text takes seconds more."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` in the model's own tokenizer, special tokens not counted."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages: [len(texts), dimension], float32, unit length, in order. Raises EmbeddingFailed."""
        ...

    def embed_query(self, question: str) -> NDArray[np.float32]:
        """Vector of a question: [dimension], float32, unit length. Raises EmbeddingFailed."""
        ...


def open_embedder(settings: Settings) -> Embedder:
    """The embedder that KB_EMBEDDING_MODEL names, one for the process. Its files are found and checked now, its weights
    loaded at the first text. Raises ModelMissing or ConfigError."""
    return _opened(settings.embedding_model, settings.embedding_precision, settings.embedding_threads)


@lru_cache(maxsize=1)
def _opened(model: str, precision: Precision, threads: int) -> Embedder:
    return SentenceTransformerEmbedder(locate(model), precision=precision, threads=threads)
