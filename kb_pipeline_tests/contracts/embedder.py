"""What every Embedder must do. A test class inherits the suite and gives a fixture `embedder`."""

from __future__ import annotations

import re

import numpy as np

TEXTS = [
    "How to give the disk space of deleted rows back to the operating system.",
    "short",
    "A cat sat on the mat and looked at the river. " * 8,
    "漢字とかな",
    "VACUUM FULL reclaims disk space that deleted rows left behind.",
]


class EmbedderContract:
    def test_vectors_have_the_dimension_and_unit_length(self, embedder):
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_vectors_come_in_the_order_of_the_texts(self, embedder):
        together = embedder.embed(TEXTS)
        for text, vector in zip(TEXTS, together, strict=True):
            assert float(embedder.embed([text])[0] @ vector) > 0.999

    def test_the_same_text_gives_the_same_vector(self, embedder):
        assert np.allclose(embedder.embed(TEXTS), embedder.embed(TEXTS), atol=1e-6)

    def test_what_has_embedded_is_loaded(self, embedder):
        embedder.embed(TEXTS)
        assert embedder.loaded

    def test_no_texts_give_no_vectors(self, embedder):
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_a_question_lies_nearer_to_its_answer_than_to_other_texts(self, embedder):
        question = embedder.embed_query("deleted rows disk space")
        assert question.shape == (embedder.dimension,)
        nearness = embedder.embed(TEXTS) @ question
        assert set(np.argsort(-nearness)[:2]) == {0, 4}

    def test_tokens_are_counted_without_special_tokens(self, embedder):
        assert embedder.count_tokens("") == 0
        assert embedder.count_tokens("river") == 1
        assert embedder.count_tokens("river " * 1000) == 1000

    def test_a_text_longer_than_the_model_reads_still_has_a_vector(self, embedder):
        assert embedder.embed(["river bank " * 3000]).shape == (1, embedder.dimension)

    def test_identity_and_slug_name_the_model(self, embedder):
        assert embedder.identity
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", embedder.slug)
