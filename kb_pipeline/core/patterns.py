"""The path patterns a site's owner writes: `*` for any text, `?` for one character, matched against the whole path
in any case; a pattern that ends in a slash means everything below it."""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable


class PathPatterns:
    """A list of patterns. Matching is linear in the path: `fnmatch` translates `*` to an atomic group."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.patterns = tuple(pattern.strip() for pattern in patterns if pattern.strip())
        self._compiled = [(pattern, re.compile(_translate(pattern))) for pattern in self.patterns]

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def first_match(self, path: str) -> str | None:
        """The first pattern that matches `path` (percent-decoded, lower case), or None."""
        bare = path.rstrip("/")
        return next((pattern for pattern, regex in self._compiled if regex.match(path) or regex.match(bare)), None)

    def name(self, segment: str) -> bool:
        """Whether a pattern spells out this path segment: its writer means the pages of that name."""
        return any(segment in re.split(r"[/*?]", unquote(pattern).lower()) for pattern in self.patterns)


def _translate(pattern: str) -> str:
    pattern = unquote(pattern).lower()
    if not pattern.startswith(("/", "*", "?")):
        pattern = f"/{pattern}"
    if pattern.endswith("/"):
        pattern = f"{pattern}*"
    # Brackets mean themselves here.
    return fnmatch.translate(pattern.replace("[", "[[]"))
