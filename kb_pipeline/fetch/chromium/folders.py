"""Temporary folders of browsers: one for each run, locked while the run lives; those of dead runs are swept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO, Final

PREFIX: Final = "kb-browsers-"
LOCK: Final = "alive"
_SHORT_ROOT: Final = Path("/tmp")  # noqa: S108 - what is made in it has a name that nobody can guess
_LONGEST_ROOT: Final = 36
_YOUNG_SECONDS: Final = 60.0
"""A folder of this age may not be locked yet."""


class RunFolder:
    """The folder of a run, with the lock by which browsers' keepers know that the run lives."""

    def __init__(self, root: Path | None = None) -> None:
        root = root or temporary_root()
        sweep(root)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        self.lock = self.path / LOCK
        self._held: IO[bytes] = self.lock.open("wb")
        fcntl.flock(self._held, fcntl.LOCK_EX)
        self._browsers = 0

    def for_browser(self) -> Path:
        """Make a folder for the next browser."""
        self._browsers += 1
        folder = self.path / str(self._browsers)
        folder.mkdir(mode=0o700)
        return folder

    def remove(self) -> None:
        """Let the lock go, and remove everything."""
        self._held.close()
        shutil.rmtree(self.path, ignore_errors=True)


def temporary_root() -> Path:
    """Where folders are made: as everybody's temporary files, unless that is too deep for Chromium, which makes a
    socket in its own and ends when the socket's path is longer than sockets may have (unix(7): 108 bytes)."""
    root = Path(tempfile.gettempdir())
    return _SHORT_ROOT if len(os.fsencode(root)) > _LONGEST_ROOT and os.access(_SHORT_ROOT, os.W_OK) else root


def sweep(root: Path) -> None:
    """Remove the folders of runs that are no more."""
    for folder in root.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _YOUNG_SECONDS and _is_dead(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_dead(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
