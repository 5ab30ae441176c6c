"""What one check of `kb doctor` found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How one check went."""

    GOOD = "good"
    OPTIONAL = "optional"
    """Missing, and only some sites need it."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was found, and what to do when it is not good."""

    name: str
    verdict: Verdict
    found: str
    cure: str = ""
