"""What is run in pages, one script a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final


def _read(name: str) -> str:
    return Path(__file__).with_name(f"{name}.js").read_text(encoding="utf-8")


CHANGES: Final = _read("changes")
HEIGHT: Final = _read("height")
INIT: Final = _read("init")
MARK_FRAME: Final = _read("mark_frame")
SCROLL: Final = _read("scroll")
SERIALISE: Final = _read("serialise")
WORDS: Final = _read("words")
