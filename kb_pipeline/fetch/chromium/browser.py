"""One Chromium: started under its keeper, watched for its age and memory, ended for certain."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import psutil
import structlog
from playwright.async_api import Error as PlaywrightError

from kb_pipeline.errors import TierUnavailable
from kb_pipeline.fetch.chromium.keeper import PID_FILE
from kb_pipeline.fetch.chromium.launch import command, environment

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import Playwright

log = structlog.get_logger(__name__)

_START_SECONDS: Final = 30.0
_END_SECONDS: Final = 10.0
"""For the keeper to end the whole tree, and for the driver to notice."""
_GONE_SECONDS: Final = 2.0
_MB: Final = 2**20


@dataclass(slots=True, eq=False)
class Browser:
    """A running Chromium that renders one page at a time."""

    driven: PlaywrightBrowser
    keeper: psutil.Process
    """Whoever ends it; Chromium and all its children descend from that."""
    born: float = field(default_factory=time.monotonic)
    pages: int = 0
    broken: str = ""
    """Why no other page may be given to it."""

    def is_worn(self, most_pages: int, most_seconds: float) -> bool:
        """Whether it is to be replaced before the next page."""
        old = time.monotonic() - self.born >= most_seconds
        return bool(self.broken) or old or self.pages >= most_pages or not self.driven.is_connected()

    async def memory_mb(self) -> int:
        """Resident memory of the whole tree, pages that are shared counted with each."""
        return await asyncio.to_thread(_tree_mb, self.keeper)

    async def end(self) -> None:
        """Kill it with all that it started, and wait until it is gone. Never raises."""
        with contextlib.suppress(psutil.Error):
            self.keeper.terminate()
        with contextlib.suppress(TimeoutError, PlaywrightError):
            async with asyncio.timeout(_END_SECONDS):
                await self.driven.close()
        if not await asyncio.to_thread(_is_gone, self.keeper):
            log.warning("browser.did_not_end", keeper=self.keeper.pid)
            await asyncio.to_thread(_kill_tree, self.keeper)


async def start_browser(
    playwright: Playwright, chromium: str, folder: Path, lock: Path, proxy: str, max_mb: int
) -> Browser:
    """Start Chromium with a folder of its own. Raises TierUnavailable, with Chromium's own words."""
    program, arguments = command(chromium, folder, lock, proxy, max_mb)
    try:
        driven = await playwright.chromium.launch(
            executable_path=program,
            args=arguments,
            ignore_default_args=True,
            env=environment(folder),
            artifacts_dir=folder,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=_START_SECONDS * 1000,
        )
        return Browser(driven, psutil.Process(int((folder / PID_FILE).read_text())))
    except (PlaywrightError, OSError, ValueError, psutil.Error) as error:
        message = f"Chromium could not be started ({_words(error)})"
        raise TierUnavailable(message) from error


def _words(error: Exception) -> str:
    """What Chromium wrote before it gave up: what was fatal, else its last line."""
    lines = [line.partition("[err]")[2].strip() for line in str(error).splitlines() if "[err]" in line]
    fatal = [line for line in lines if ":FATAL:" in line]
    return (fatal or lines or [str(error).partition("\n")[0]])[-1][:300]


def _is_gone(keeper: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        psutil.wait_procs([keeper], timeout=_GONE_SECONDS)
        return not keeper.is_running() or bool(keeper.status() == psutil.STATUS_ZOMBIE)
    return True


def _tree_mb(keeper: psutil.Process) -> int:
    total = 0
    with contextlib.suppress(psutil.Error):
        for process in keeper.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
    return total // _MB


def _kill_tree(keeper: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):
        for process in [*keeper.children(recursive=True), keeper]:
            with contextlib.suppress(psutil.Error):
                process.kill()
