"""Standard output that says of itself when it cannot be written, so that a full disk is one line and no traceback,
wherever in a command it is met."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NUMBER: Final = 1
"""Of its file descriptor."""


class OutputFailed(Exception):
    """Standard output cannot be written, for another reason than that its reader has left."""

    cure = "make room where it is written to, or send it elsewhere, and give the command again: what is done is kept"

    def __init__(self, reason: str) -> None:
        super().__init__(f"standard output cannot be written: {reason}")


class ReaderLeft(Exception):
    """Whoever read standard output has gone. No OSError, of which click would make the exit code of a fault."""


class _Descriptor(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderLeft from error
        except OSError as error:
            raise OutputFailed(error.strerror or str(error)) from error


class _Closed(io.TextIOBase):
    """Stands for a standard output that the process was started without."""

    def write(self, _text: str, /) -> int:
        reason = "it is closed"
        raise OutputFailed(reason)


def watch_output() -> None:
    """Have whatever is written to standard output fail with OutputFailed or ReaderLeft, and with nothing else."""
    if sys.stdout is None:
        sys.stdout = _Closed()
        return
    sys.stdout.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(_NUMBER, "w", closefd=False)),
        encoding=sys.stdout.encoding,
        errors=sys.stdout.errors,
        line_buffering=sys.stdout.isatty(),
    )


def drop_output() -> None:
    """Let what is still held go nowhere: Python would complain of it when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _NUMBER)
