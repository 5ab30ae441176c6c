"""Browsers are few, replaced in time, and gone when nobody wants them any more, however that came about."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from kb_pipeline.errors import BodyTooLarge, TierUnavailable, TimedOut
from kb_pipeline.fetch.answers import PageRequest
from kb_pipeline.fetch.chromium import folders
from kb_pipeline.fetch.chromium.job_clock import JobClock
from kb_pipeline_tests.fetch.chromium.rendering_desk import Desk, desk
from kb_pipeline_tests.sites.replies import Reply, Stall
from kb_pipeline_tests.sites.server import LoopbackSite

pytestmark = pytest.mark.usefixtures("needs_chromium")

LOCAL = ("127.0.0.1",)


def browsers_of(pid=None):
    """The Chromium main processes that descend from a process, this one unless another is named."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            arguments = " ".join(process.cmdline())
            if "--remote-debugging-pipe" in arguments and "--type=" not in arguments and "keeper.py" not in arguments:
                found.append(process)
    return found


def asked_for(site, target):
    """Wait until somebody has asked for it."""
    deadline = time.monotonic() + 30
    while not site.count(target) and time.monotonic() < deadline:
        time.sleep(0.05)


def keepers_of(pid=None):
    """Those that keep a browser, each one of its own."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "keeper.py" in " ".join(process.cmdline()) and "run-driver" in process.parent().cmdline():
                found.append(process)
    return found


def family_of(pid=None):
    """Everything that rendering has started: the driver, keepers, Chromium and its children."""
    return [process for process in psutil.Process(pid).children(recursive=True) if is_of_rendering(process)]


def is_of_rendering(process):
    with contextlib.suppress(psutil.Error):
        return any(name in " ".join(process.cmdline()[:4]) for name in ("chrom", "run-driver", "keeper.py"))
    return False


def drivers_of():
    return [process for process in family_of() if "run-driver" in process.cmdline()]


def gone_within(seconds, processes):
    _, left = psutil.wait_procs(processes, timeout=seconds)
    return [process for process in left if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.fixture(scope="module")
def site():
    with LoopbackSite({"/": "<p>text"}) as serving:
        yield serving


def test_browsers_are_replaced_by_uses_by_memory_and_by_age_and_end_with_the_renderer(site):
    with desk(allow_private=LOCAL, browser_pages=2) as renders:
        assert browsers_of() == []
        seen = []
        for _ in range(3):
            renders.html(site.url("/"))
            seen.append({process.pid for process in browsers_of()})
        # The second use was the last one of the first browser.
        assert len(seen[0]) == 1
        assert seen[1] == set()
        assert len(seen[2]) == 1
        assert seen[2] != seen[0]
        everybody = family_of()
    assert gone_within(5, everybody)
    with desk(allow_private=LOCAL, browser_max_mb=200) as renders:
        renders.html(site.url("/"))
        assert browsers_of() == []


def test_a_page_that_crashes_its_renderer_is_told_and_the_next_one_works(site):
    # An unending chain of frames within each other's layout is beyond what Chromium's own recursion stands.
    site.pages["/deep"] = (
        "<div id=d></div><script>let e = d; for (let i = 0; i < 20_000; i++) e = e.appendChild("
        "document.createElement('i')); e.append('x'); document.body.innerText</script>"
    )
    with desk(allow_private=LOCAL) as renders:
        with pytest.raises(TierUnavailable, match="crashed"):
            renders.html(site.url("/deep"))
        assert "text" in renders.html(site.url("/"))


def test_a_page_that_eats_memory_is_ended_and_the_next_one_works(site):
    site.pages["/bomb"] = (
        "<p>x<script>const all = []; setInterval(() => { for (let i = 0; i < 4; i++)"
        " all.push(new Uint8Array(2**24).fill(i + 1)) }, 20)</script>"
    )
    with desk(allow_private=LOCAL, browser_max_mb=300) as renders:
        with pytest.raises((BodyTooLarge, TierUnavailable), match=r"memory|crashed"):
            renders.content(site.url("/bomb"), wait_for="#never")
        assert "text" in renders.html(site.url("/"))


def test_no_process_of_a_browser_may_allocate_more_than_the_settings_have(site):
    with desk(allow_private=LOCAL, browser_max_mb=1700) as renders:
        renders.html(site.url("/"))
        [browser] = browsers_of()
        limits = set()
        for process in [browser, *browser.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                limits.add(process.rlimit(psutil.RLIMIT_DATA))
        assert limits == {(1700 * 2**20, 1700 * 2**20)}
        assert psutil.Process().rlimit(psutil.RLIMIT_DATA)[0] == psutil.RLIM_INFINITY


def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_works(site):
    site.pages["/stuck"] = "<p>x<script>setTimeout(() => { for (;;); }, 100); onclick = 1</script>"
    with desk(allow_private=LOCAL, render_timeout_seconds=4) as renders:
        started = time.monotonic()
        with pytest.raises(TimedOut, match="within 4 s"):
            renders.html(site.url("/stuck"))
        assert time.monotonic() - started < 30
        assert "text" in renders.html(site.url("/"))


def test_a_browser_that_starts_slowly_takes_the_time_of_its_page_and_serves_the_next_one(site, tmp_path):
    slow = tmp_path / "chromium"
    slow.write_text(f'#!/bin/sh\nsleep 5\nexec {shutil.which("chromium")} "$@"\n')
    slow.chmod(0o755)
    before = site.count("/")
    with desk(allow_private=LOCAL, chromium=str(slow), render_timeout_seconds=3) as renders:
        with pytest.raises(TierUnavailable, match="no browser was up within 3 s"):
            renders.html(site.url("/"))
        assert site.count("/") == before
        assert "text" in renders.run(_patiently(renders, site.url("/")))


async def _patiently(renders, url):
    while True:
        with contextlib.suppress(TierUnavailable):
            return (await renders.renderer.content(PageRequest(url))).body.decode()


@pytest.mark.parametrize(
    ("gone", "error", "words"),
    [
        (0, TimedOut, "not be rendered and read within 10 s"),
        (9.9, TierUnavailable, r"all but 0\.1 s of the page's 10 s"),
    ],
)
def test_the_tries_of_a_page_share_one_clock_and_what_browsers_took_is_not_the_sites_fault(gone, error, words):
    async def stalls():
        clock = JobClock(10)
        clock.left -= gone
        with pytest.raises(error, match=words):
            async with clock.renders():
                # The time is up as the clock has it: nobody waits for it here.
                raise TimeoutError
        async with clock.starts_browser():
            pass
        return clock.left

    assert 0 < asyncio.run(stalls()) <= 10 - gone


def test_a_page_whose_time_is_gone_is_not_begun():
    async def begins():
        clock = JobClock(1)
        clock.left = -1
        async with clock.starts_browser():
            await asyncio.sleep(60)

    with pytest.raises(TierUnavailable, match="no browser was up within 1 s"):
        asyncio.run(begins())


def test_a_browser_that_is_killed_under_a_page_is_replaced_and_the_page_is_opened_again(site):
    site.pages["/slow"] = [Stall(), "<p>second try"]

    async def kill_under(renders):
        rendering = asyncio.ensure_future(renders.renderer.content(PageRequest(site.url("/slow"))))
        await asyncio.to_thread(asked_for, site, "/slow")
        for process in browsers_of():
            process.kill()
        return await rendering

    with desk(allow_private=LOCAL) as renders:
        assert b"second try" in renders.run(kill_under(renders)).body


def test_a_driver_that_is_killed_between_pages_is_replaced(site):
    with desk(allow_private=LOCAL) as renders:
        renders.html(site.url("/"))
        everybody = family_of()
        for process in everybody:
            if "run-driver" in process.cmdline():
                process.kill()
        assert gone_within(10, everybody)
        assert "text" in renders.html(site.url("/"))


def test_so_many_browsers_run_at_once_and_no_more(site):
    site.pages["/wait"] = Reply("<p>waited", delay=1.0)

    async def all_at_once(renders):
        pages = [renders.renderer.content(PageRequest(site.url("/wait"))) for _ in range(4)]
        rendering = asyncio.ensure_future(asyncio.gather(*pages))
        most = 0
        while not rendering.done():
            most = max(most, len(keepers_of()))
            await asyncio.sleep(0.1)
        return await rendering, most

    with desk(allow_private=LOCAL, browsers=2) as renders:
        rendered, most = renders.run(all_at_once(renders))
    assert [b"waited" in page.body for page in rendered] == [True] * 4
    assert most == 2


def test_a_start_whose_page_was_cancelled_is_counted_and_used_and_ended(site):
    async def cancelled(renders, seconds):
        rendering = asyncio.ensure_future(renders.renderer.content(PageRequest(site.url("/"))))
        await asyncio.sleep(seconds)
        rendering.cancel()
        await asyncio.wait({rendering})
        for _ in range(100):  # a process that has just been forked bears its parent's name for a moment
            if len(drivers_of()) <= 1 and len(keepers_of()) <= 1:
                return True
            await asyncio.sleep(0.05)
        return False

    async def closed_at_once(renders):
        await cancelled(renders, 0.1)
        await renders.renderer.aclose()
        return family_of()

    with desk(allow_private=LOCAL, browsers=1) as renders:
        assert [renders.run(cancelled(renders, seconds)) for seconds in (0.1, 0.3, 0.2, 0.3, 0.3)] == [True] * 5
        assert "text" in renders.html(site.url("/"))
        everybody = family_of()
        assert (len(drivers_of()), len(keepers_of())) == (1, 1)
    assert gone_within(5, everybody)
    with desk(allow_private=LOCAL) as renders:
        assert gone_within(5, renders.run(closed_at_once(renders)))


class _HoldsHosts(Desk):
    """Gives no turn at addresses that end with /held, until it is told to."""

    released: asyncio.Event

    @contextlib.asynccontextmanager
    async def turn(self, url):
        if url.endswith("/held"):
            await self.released.wait()
        async with super().turn(url) as taken:
            yield taken


class _CountsTurns(Desk):
    turns_taken = turns_held = 0

    @contextlib.asynccontextmanager
    async def turn(self, url):
        self.turns_taken += 1
        self.turns_held += 1
        assert self.turns_held == 1
        if self.turns_taken > 1:
            self.came_back.set()
        async with super().turn(url) as taken:
            yield taken
        self.turns_held -= 1


def test_a_page_whose_host_is_on_hold_keeps_no_browser_from_others(site):
    site.pages["/held"] = "<p>held"

    async def both(renders):
        renders.released = asyncio.Event()
        held = asyncio.ensure_future(renders.renderer.content(PageRequest(site.url("/held"))))
        await asyncio.sleep(0.05)
        other = await asyncio.wait_for(renders.renderer.content(PageRequest(site.url("/"))), 30)
        renders.released.set()
        return [(await held).body, other.body]

    renders = _HoldsHosts(allow_private=LOCAL, browsers=1)
    with contextlib.closing(renders):
        bodies = renders.run(both(renders))
    assert [b"held" in bodies[0], b"text" in bodies[1]] == [True, True]


def test_a_page_that_gets_no_browser_in_time_gives_its_turn_back_and_takes_another(site):
    async def waits(renders):
        renders.came_back = asyncio.Event()
        pool = await renders.renderer._opened()
        async with pool.place() as browser:
            await browser()
            waiting = asyncio.ensure_future(renders.renderer.content(PageRequest(site.url("/"))))
            await asyncio.wait_for(renders.came_back.wait(), 60)
        return (await waiting).body, renders.turns_held

    renders = _CountsTurns(allow_private=LOCAL, browsers=1, render_timeout_seconds=4)
    with contextlib.closing(renders):
        body, held = renders.run(waits(renders))
    assert (b"text" in body, held) == (True, 0)


def test_a_chromium_that_does_not_start_is_told(site, tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho 'no display here' >&2\nexit 3\n")
    broken.chmod(0o755)
    with desk(allow_private=LOCAL, chromium=str(broken)) as renders, pytest.raises(TierUnavailable, match="no display"):
        renders.html(site.url("/"))
    with (
        desk(allow_private=LOCAL, chromium=str(tmp_path / "none")) as renders,
        pytest.raises(TierUnavailable, match="KB_CHROMIUM"),
    ):
        renders.html(site.url("/"))


@pytest.fixture
def short_path():
    """A folder of this test's own, whose path is short enough for Chromium's socket."""
    with tempfile.TemporaryDirectory(prefix="kb-", dir="/tmp") as folder:
        yield Path(folder)


RENDERS = """
    import sys, time
    sys.path.insert(0, {root!r})
    from kb_pipeline_tests.fetch.chromium.rendering_desk import Desk
    desk = Desk(allow_private=("127.0.0.1",))
    desk.html({url!r})
    print("rendered", flush=True)
    desk.html({url!r} + "slow")
"""


@pytest.mark.parametrize("driver_too", [False, True], ids=["the run", "the run and a driver that hangs"])
def test_nothing_is_left_of_a_run_that_was_killed(site, short_path, driver_too):
    site.pages["/slow"] = Stall()
    site.forget()
    root = str(Path(__file__).parents[3])
    program = textwrap.dedent(RENDERS).format(root=root, url=site.url("/"))
    run = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=None,
        env={"TMPDIR": str(short_path), "PATH": os.environ["PATH"]},
    )
    try:
        assert b"rendered" in [run.stdout.readline().strip() for _ in range(2)]
        asked_for(site, "/slow")
        everybody = family_of(run.pid)
        assert len(everybody) > 5
        if driver_too:
            for process in everybody:
                if "run-driver" in process.cmdline():
                    process.suspend()
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
    assert gone_within(15, everybody)
    assert list(short_path.glob(f"{folders.PREFIX}*")) == []


def test_folders_of_dead_runs_are_swept_and_those_of_living_ones_are_not(tmp_path):
    living = folders.RunFolder(tmp_path)
    dead, young, unlocked = (tmp_path / f"{folders.PREFIX}{name}" for name in ("dead", "young", "unlocked"))
    for folder in (dead, young, unlocked):
        folder.mkdir()
    (dead / folders.LOCK).touch()
    for folder in (living.path, dead, unlocked):
        os.utime(folder, (0, 0))
    folders.sweep(tmp_path)
    assert [folder.exists() for folder in (living.path, dead, young, unlocked)] == [True, False, True, False]
    living.remove()
    assert not living.path.exists()


def test_a_lock_is_held_for_as_long_as_its_folder_is_used(tmp_path):
    folder = folders.RunFolder(tmp_path)
    with folder.lock.open("rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    folder.remove()
