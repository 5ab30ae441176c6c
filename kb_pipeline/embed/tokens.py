"""Counts tokens as the embedding model does, with the `tokenizers` library alone: no torch, no weights."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import ModelMissing

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.embed.model_files import ModelFiles

_REMEMBERED: Final = 4096
_SHORT: Final = 200


def token_counter(files: ModelFiles) -> Callable[[str], int]:
    """A function text -> tokens, special tokens not counted. Short texts (headings, table borders, words that sites
    repeat) are remembered. Raises ModelMissing when the model has no tokenizer.json that can be read."""
    if files.tokenizer is None:
        message = f"{files.folder} has no tokenizer.json; save the model's fast tokenizer there, or name another model"
        raise ModelMissing(message)
    from tokenizers import Tokenizer  # noqa: PLC0415 - loads a native library

    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library raises bare Exception for a file it cannot read
        message = f"{files.tokenizer} cannot be read ({error}); install the model again"
        raise ModelMissing(message) from error
    # Both are stored in the file for training: texts would be cut at 128 tokens, and padded up to them.
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False))

    remembered = lru_cache(_REMEMBERED)(count)
    return lambda text: remembered(text) if len(text) <= _SHORT else count(text)
