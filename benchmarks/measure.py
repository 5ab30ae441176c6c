"""What a process costs: wall clock, processor time and peak memory, of this process and of a child with all of its
own children. Reads /proc, so it runs on Linux only."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SAMPLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Cost:
    """One finished child. `peak_bytes` adds up the high-water marks of the processes that were alive together."""

    exit_code: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str
    errors: str
    killed: bool = False


def own_cost() -> dict[str, float]:
    """Processor time and peak memory of this process up to now."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {"cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_bytes": high_water_mark(os.getpid())}


def high_water_mark(pid: int) -> int:
    """Peak resident bytes of a process since its last exec; 0 once it has gone.

    `ru_maxrss` would not do: across vfork and exec it starts from what the *parent* had resident.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def processor_seconds(pid: int) -> float:
    """Processor time of a process and of the children it has reaped."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    kill_when: Callable[[], bool] | None = None,
) -> Cost:
    """Run `command` in a session of its own until it ends; SIGKILL the whole session once `kill_when` says so.

    Raises TimeoutError, with the last of what the command wrote, when it is still running after `timeout` seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    out, err = folder / "stdout.log", folder / "stderr.log"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        started = time.monotonic()
        child = subprocess.Popen(
            command,
            env=dict(environment),
            stdout=stdout,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        with sampled(child.pid) as peak:
            try:
                ended, status, usage = wait(child.pid, timeout, kill_when)
            except BaseException:
                kill_session(child.pid)
                raise
            if not ended:
                kill_session(child.pid)
                _, status, usage = wait(child.pid, 60)
        seconds = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
    if not ended and kill_when is None:
        message = f"{' '.join(command)}: still running after {timeout:.0f} s\n{tail(err)}"
        raise TimeoutError(message)
    return Cost(
        exit_code=child.returncode,
        seconds=seconds,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=peak[0],
        output=out.read_text(errors="replace"),
        errors=err.read_text(errors="replace"),
        killed=not ended,
    )


def wait(pid: int, timeout: float, until: Callable[[], bool] | None = None) -> tuple[bool, int, resource.struct_rusage]:
    """Reap the child: whether it ended before the timeout and before `until`, its status, and what it and the
    children it waited for used."""
    deadline = time.monotonic() + timeout
    while True:
        reaped, status, usage = os.wait4(pid, os.WNOHANG)
        if reaped or time.monotonic() >= deadline or (until is not None and until()):
            return bool(reaped), status, usage
        time.sleep(0.01)


def session_members(leader: int) -> list[int]:
    members = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                members.append(int(entry.name))
    return members


def kill_session(leader: int) -> None:
    """SIGKILL every process of the session, those too that moved into a process group of their own."""
    for pid in session_members(leader):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_with_children(pid: int) -> None:
    """SIGKILL a process and its children, such as a postmaster and its sessions, as a power cut would end them."""
    children = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    children.append(int(entry.name))
    for victim in (pid, *children):
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


@contextlib.contextmanager
def sampled(leader: int) -> Iterator[list[int]]:
    """Follow the session's memory in a thread; the one-item list holds the peak so far, in bytes."""
    peak, stop = [0], threading.Event()

    def follow() -> None:
        while True:
            peak[0] = max(peak[0], sum(high_water_mark(pid) for pid in session_members(leader)))
            if stop.wait(SAMPLE_SECONDS):
                return

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def tail(path: Path, lines: int = 40) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
