"""Hashes that decide identity and change. Everything here is deterministic across machines and years:
changing a function changes every stored key, so it takes a migration."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FINGERPRINT_LENGTH: Final = 32
PAGE_ID_LENGTH: Final = 24


def page_id(url_key: str) -> str:
    """`sha256(url key)[:24 hex]`, where the key is `core.urls.url_key` of the page's address."""
    return hashlib.sha256(url_key.encode()).hexdigest()[:PAGE_ID_LENGTH]


def chunk_id(page: str, ordinal: int) -> str:
    """`<page_id>-<ordinal>`."""
    return f"{page}-{ordinal}"


def content_hash(body: bytes) -> str:
    """Fingerprint of a body as it came."""
    return hashlib.sha256(body).hexdigest()[:FINGERPRINT_LENGTH]


def fingerprint(*parts: str) -> str:
    """Fingerprint of several texts. Lengths go in, so that ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()[:FINGERPRINT_LENGTH]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Version and options of a step. A changed recipe re-derives everything and deletes nothing."""

    step: str
    version: str
    options: Mapping[str, object] = field(default_factory=dict)

    def target(self, upstream: str) -> str:
        """Fingerprint that a key has once this recipe has been applied to `upstream`."""
        return fingerprint(self.step, self.version, json.dumps(self.options, sort_keys=True, default=str), upstream)
