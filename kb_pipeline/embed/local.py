"""The embedder that runs a sentence-transformers model in this process."""

from __future__ import annotations

import logging
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from kb_pipeline.embed.model_files import INPUT_TOKENS, ModelFiles
from kb_pipeline.embed.tokens import token_counter
from kb_pipeline.errors import EmbeddingFailed, ModelMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Precision = Literal["auto", "full", "half"]

log = logging.getLogger(__name__)

BATCH_TOKENS: Final = 4096
"""Tokens in one forward pass, padding included: eight long texts or many short ones. A pass over eight short ones takes
nearly as long as one over thirty-two."""
MOST_TEXTS: Final = 64
PADDED_TO: Final = 32
"""Texts are padded to a multiple of so many tokens. In half precision torch keeps code and buffers for every shape of
input that it has met, for ever: half a gigabyte after three thousand texts. So there are sixteen lengths, and batches
of a power of two; the padding costs no time that can be measured."""
_SPECIAL_TOKENS: Final = 2
LEAST_AGREEMENT: Final = 0.999
"""Cosine of half- and full-precision vectors under which half precision is not used."""
_PROBES: Final = (
    "How do I give the disk space of deleted rows back to the operating system?",
    "A short line.",
    "The tag moves only when every check has passed; a roll-back moves it one step. " * 12,
    "SELECT count(*) FROM pages WHERE state = 'gone' GROUP BY site_id HAVING count(*) > 20; -- removals " * 8,
)


class SentenceTransformerEmbedder:
    """A model in a folder, on the processor. Loaded at the first text; safe to share between threads."""

    def __init__(self, files: ModelFiles, *, precision: Precision = "auto", threads: int = 0) -> None:
        self._files = files
        self._precision = precision
        self._threads = threads
        self._lock = Lock()
        self._loaded: Any = None

    @property
    def identity(self) -> str:
        """Name and digest of the model."""
        return self._files.identity

    @property
    def slug(self) -> str:
        """The identity for the name of a table."""
        return self._files.slug

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._files.dimension

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._loaded is not None

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return token_counter(self._files)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, special tokens not counted."""
        return self._count(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages: [len(texts), dimension]."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for places in batches([self._count(text) for text in texts]):
            vectors[places] = self._encode(self._model().encode_document, [texts[place] for place in places])
        return vectors

    def embed_query(self, question: str) -> NDArray[np.float32]:
        """Vector of a question: [dimension]."""
        vector: NDArray[np.float32] = self._encode(self._model().encode_query, [question])[0]
        return vector

    def _encode(self, encode: Callable[..., Any], texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            with self._lock:
                encoded = _encode_with(encode, texts)
        except (RuntimeError, ValueError, IndexError) as error:
            message = f"{self._files.name} gave no vectors for {len(texts)} texts: {error}"
            raise EmbeddingFailed(message) from error
        return _unit_vectors(encoded, len(texts), self.dimension)

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._files, self._precision, self._threads)
            return self._loaded


def _load(files: ModelFiles, precision: Precision, threads: int) -> Any:
    import torch  # noqa: PLC0415 - takes seconds

    if threads:
        torch.set_num_threads(threads)
    if precision == "full" or (precision == "auto" and not _has_half_precision(torch)):
        return _open(files, None)
    half = _open(files, torch.bfloat16)
    if precision == "half":
        return half
    full = _open(files, None)
    return half if _agree(half, full) else full


def _open(files: ModelFiles, dtype: Any) -> Any:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds
    from transformers.utils import logging as transformers_logging  # noqa: PLC0415 - takes seconds

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model = SentenceTransformer(
            str(files.folder), device="cpu", local_files_only=True, model_kwargs={"dtype": dtype} if dtype else None
        )
    except Exception as error:  # each library under it has errors of its own for a file that it cannot read
        message = (
            f"the embedding model in {files.folder} cannot be loaded ({error}). Install or save it again, or set"
            " KB_EMBEDDING_MODEL to another"
        )
        raise ModelMissing(message) from error
    # The packaged model is configured for 256 tokens, but its position table holds 512, and chunks use them.
    model.max_seq_length = INPUT_TOKENS
    return model


def _has_half_precision(torch: Any) -> bool:
    """Whether the processor computes in bfloat16; elsewhere it is emulated, and slower than float32."""
    probes = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(probe() for probe in probes if probe)


def _agree(half: Any, full: Any) -> bool:
    """Whether both precisions give the same vectors of the probes, as far as search can tell. Their speed is not
    compared: on a busy machine chance would decide, and with it the vectors and hundreds of megabytes."""
    vectors = [_encode_with(model.encode, _PROBES) for model in (half, full)]
    first, second = (_unit_vectors(encoded, len(_PROBES), encoded.shape[1]) for encoded in vectors)
    agreement = float((first * second).sum(axis=1).min())
    log.info("embed.precision half=%s agreement=%.5f", agreement >= LEAST_AGREEMENT, agreement)
    return agreement >= LEAST_AGREEMENT


def batches(tokens: Sequence[int]) -> list[list[int]]:
    """The places of texts of so many tokens, in batches: each of one padded length, of a power of two in number, and
    of BATCH_TOKENS at most."""
    of_length: dict[int, list[int]] = {}
    for place, count in enumerate(tokens):
        padded = -(-min(count + _SPECIAL_TOKENS, INPUT_TOKENS) // PADDED_TO) * PADDED_TO
        of_length.setdefault(padded, []).append(place)
    found = []
    for padded, places in sorted(of_length.items()):
        most = min(MOST_TEXTS, max(1, BATCH_TOKENS // padded))
        start = 0
        while start < len(places):
            size = 1 << (min(most, len(places) - start).bit_length() - 1)
            found.append(places[start : start + size])
            start += size
    return found


def _encode_with(encode: Callable[..., Any], texts: Sequence[str]) -> NDArray[np.float32]:
    encoded = encode(
        list(texts),
        batch_size=MOST_TEXTS,
        show_progress_bar=False,
        convert_to_numpy=True,
        processing_kwargs={"text": {"pad_to_multiple_of": PADDED_TO}},
    )
    return np.asarray(encoded, np.float32)


def _unit_vectors(encoded: NDArray[np.float32], rows: int, dimension: int) -> NDArray[np.float32]:
    """Check the shape and scale to unit length: not every model ends in a normalising layer."""
    if encoded.shape != (rows, dimension):
        message = f"the model gave vectors of shape {encoded.shape}, expected {(rows, dimension)}"
        raise EmbeddingFailed(message)
    lengths = np.linalg.norm(encoded, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        message = "the model gave a vector that is not finite or has no length"
        raise EmbeddingFailed(message)
    scaled: NDArray[np.float32] = (encoded / lengths).astype(np.float32)
    return scaled
