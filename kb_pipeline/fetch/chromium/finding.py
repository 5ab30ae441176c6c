"""Whether this installation can render pages itself, and with which Chromium."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""What Chromium is called on PATH."""


def chromium_path(settings: Settings) -> str | None:
    """The Chromium that KB_CHROMIUM names, else the first on PATH; None when there is none."""
    if settings.chromium:
        return shutil.which(settings.chromium)
    return next(filter(None, map(shutil.which, NAMES)), None)


def why_unavailable(settings: Settings) -> str | None:
    """What is missing to render pages here, and what to do about it; None when nothing is."""
    if find_spec("playwright") is None:
        return "Playwright is not installed: install the extra `browser`"
    if chromium_path(settings) is not None:
        return None
    if settings.chromium:
        return f"KB_CHROMIUM={settings.chromium} is no program: correct or unset it"
    return "there is no Chromium: install one, or name it with KB_CHROMIUM"
