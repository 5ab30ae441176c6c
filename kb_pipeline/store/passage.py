"""Lets one user pass a folder that is closed to him, and nobody else where the file system allows it: by an entry in
the folder's access control list (POSIX.1e, in the kernel's form), else by its mode."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_ATTRIBUTE: Final = "system.posix_acl_access"
_HEADER: Final = struct.Struct("<I")
_ENTRY: Final = struct.Struct("<HHI")
"""Tag, permissions, and the id of a named user or group."""
_VERSION: Final = 2
_OWNER, _USER, _GROUP, _MASK, _OTHERS = 0x01, 0x02, 0x04, 0x10, 0x20
_NO_ID: Final = 0xFFFFFFFF
_PASS: Final = 1

_Entries = dict[tuple[int, int], int]
"""(tag, id) -> permissions."""


def let_pass(folder: Path, uid: int) -> str | None:
    """Let the user go through `folder`, without listing it; what was changed, or None when he could before.

    Raises OSError when the folder is not ours to change.
    """
    mode = folder.stat().st_mode
    if mode & stat.S_IXOTH:
        return None
    with contextlib.suppress(OSError, AttributeError):  # no such lists on this system, or in this file system
        entries = _read(folder, mode)
        if entries.get((_USER, uid), 0) & entries.get((_MASK, _NO_ID), 0) & _PASS:
            return None
        entries[_USER, uid] = entries.get((_USER, uid), 0) | _PASS
        entries[_MASK, _NO_ID] = entries.get((_MASK, _NO_ID), entries[_GROUP, _NO_ID]) | _PASS
        _write(folder, entries)
        return "access control list"
    folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
    return "mode"


def _read(folder: Path, mode: int) -> _Entries:
    """The folder's list; the one that its mode stands for when it has none."""
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, "access control lists of another kind")
    try:
        stored = os.getxattr(folder, _ATTRIBUTE)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        return {(_OWNER, _NO_ID): mode >> 6 & 7, (_GROUP, _NO_ID): mode >> 3 & 7, (_OTHERS, _NO_ID): mode & 7}
    found = _ENTRY.iter_unpack(stored[_HEADER.size :])
    return {(tag, owner): permissions for tag, permissions, owner in found}


def _write(folder: Path, entries: _Entries) -> None:
    if sys.platform == "linux":
        lines = (_ENTRY.pack(tag, permissions, owner) for (tag, owner), permissions in sorted(entries.items()))
        os.setxattr(folder, _ATTRIBUTE, _HEADER.pack(_VERSION) + b"".join(lines))
