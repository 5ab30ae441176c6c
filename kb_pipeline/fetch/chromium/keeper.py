"""Stands between the browser driver and one Chromium, and ends that Chromium, with all that it started, as soon as the
run that wanted it is gone: killed, crashed, or done with it.

Started as a program of its own, by its path, so that it is up in no time: only the standard library and psutil here.

    python keeper.py LOCK FOLDER MB -- CHROMIUM FLAG…

`LOCK` is a file that the run holds an exclusive flock on for as long as it lives; `FOLDER` is the browser's own, and is
removed at the end. `MB` is the most memory that any process of the browser's may allocate: what a page asks for in an
instant, a script of kilobytes that unpacks to gigabytes say, no watch that looks every second would catch.
Descriptors 3 and 4 are Chromium's debugging pipe and are passed on.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil

PID_FILE = "keeper.pid"
PIPE = (3, 4)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_DRIVER_SECONDS = 3.0
_SEE_OFF = "--see-off"


def keep(lock: Path, folder: Path, most_mb: int, command: list[str]) -> int:
    """Run Chromium until it ends, the run ends, or we are told to. Returns its exit code, 0 when it was ended."""
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: over.set())
    driver = os.getppid()
    adopted = _adopt_orphans()
    browser = subprocess.Popen(  # noqa: S603 - the operator's Chromium
        command,
        pass_fds=PIPE,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: _bind(most_mb),  # noqa: PLW1509 - no threads yet
    )
    for descriptor in PIPE:
        os.close(descriptor)  # Chromium's alone: else nobody would notice that it has closed them
    (folder / PID_FILE).write_text(str(os.getpid()))
    orphaned = threading.Event()
    threading.Thread(target=_wait_for_run, args=(lock, orphaned, over), daemon=True).start()
    threading.Thread(target=_wait_for_browser, args=(browser, over), daemon=True).start()
    while not over.wait(1.0):
        if os.getppid() != driver:  # the driver is gone: nobody can talk to the browser any more
            break
    code = browser.poll()
    _end_all(browser, adopted=adopted)
    shutil.rmtree(folder, ignore_errors=True)
    if orphaned.is_set():
        shutil.rmtree(lock.parent, ignore_errors=True)
        _see_off(driver)
    return code or 0


def _adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends (prctl(2)), so that none is lost from sight."""
    with contextlib.suppress(OSError, AttributeError):
        return int(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    return False


def _bind(most_mb: int) -> None:
    """To what we are: it ends with its parent; and to a limit of memory, which its children inherit."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = most_mb * 2**20 if hard == resource.RLIM_INFINITY else min(most_mb * 2**20, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for_run(lock: Path, orphaned: threading.Event, over: threading.Event) -> None:
    """The kernel gives the lock away the moment its holder is gone, however it went."""
    with contextlib.suppress(OSError), lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
    orphaned.set()
    over.set()


def _wait_for_browser(browser: subprocess.Popen[bytes], over: threading.Event) -> None:
    browser.wait()
    over.set()


def _end_all(browser: subprocess.Popen[bytes], *, adopted: bool) -> None:
    """Kill until nobody is left. There is nothing that Chromium would have to save."""
    us = psutil.Process()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        family = us.children(recursive=True)
        if not adopted:
            with contextlib.suppress(OSError):
                os.killpg(browser.pid, signal.SIGKILL)
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        _, left = psutil.wait_procs(family, timeout=2)
        if not left and not us.children():
            return


def _see_off(driver: int) -> None:
    """Have somebody else watch the driver's end: it waits for ours, and then removes temporary folders of its own."""
    subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-I", __file__, _SEE_OFF, str(driver)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_driver(pid: int) -> None:
    """Wait for a driver to end, and end it when it does not."""
    with contextlib.suppress(psutil.Error):
        driver = psutil.Process(pid)
        if driver.pid > 1 and "run-driver" in driver.cmdline():
            _, left = psutil.wait_procs([driver], timeout=_DRIVER_SECONDS)
            for process in left:
                process.kill()


if __name__ == "__main__":
    if sys.argv[1] == _SEE_OFF:
        end_driver(int(sys.argv[2]))
    else:
        sys.exit(keep(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[5:]))
