"""An event loop in a thread of its own, and one resource that lives on it: so that any thread, and any other loop, may
call what is asynchronous."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager

log = structlog.get_logger(__name__)

ResourceT = TypeVar("ResourceT")
AnswerT = TypeVar("AnswerT")

THREADS: Final = 16
"""For look-ups of names and for reading pages."""
CLOSING_SECONDS: Final = 15.0


class _Threads(ThreadPoolExecutor):
    """Threads for blocking work. When the process ends there are none to be had any more, before what is open can be
    closed: then the work is done in the loop's own thread."""

    def submit(self, fn: Callable[..., AnswerT], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[AnswerT]:
        """As the base does, and after its end too."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            return _done_here(fn, *args, **kwargs)


def _done_here(fn: Callable[..., AnswerT], *args: Any, **kwargs: Any) -> concurrent.futures.Future[AnswerT]:
    done: concurrent.futures.Future[AnswerT] = concurrent.futures.Future()
    try:
        done.set_result(fn(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - whoever waits for it is told
        done.set_exception(error)
    return done


class Background(Generic[ResourceT]):
    """Opens the resource on a new thread's loop, and runs work with it there until it is closed."""

    def __init__(self, open_resource: Callable[[], AbstractAsyncContextManager[ResourceT]], name: str) -> None:
        """Raises what opening the resource raises."""
        self._open = open_resource
        self._lock = threading.Lock()
        self._closed = False
        self._under_way: set[asyncio.Task[Any]] = set()
        self._ready: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, ResourceT]]
        self._ready = concurrent.futures.Future()
        # A daemon: a program that forgets to close must be able to end.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self._loop, self._stop, self._resource = self._ready.result()

    def submit(self, work: Callable[[ResourceT], Coroutine[Any, Any, AnswerT]]) -> concurrent.futures.Future[AnswerT]:
        """Start the work. Cancelling the future stops it. Raises RuntimeError once this is closed."""
        with self._lock:
            if self._closed:
                message = "the web scraper service is closed"
                raise RuntimeError(message)
            return asyncio.run_coroutine_threadsafe(self._do(work), self._loop)

    @property
    def closed(self) -> bool:
        """Whether work is still taken."""
        return self._closed

    def stop(self) -> None:
        """Begin to close, and wait for nothing. Repeatable, and safe for a finalizer."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._loop.call_soon_threadsafe(self._stop.set)

    def close(self) -> None:
        """Stop what is under way, close the resource, and end the thread. Repeatable."""
        self.stop()
        self._thread.join(CLOSING_SECONDS)
        if self._thread.is_alive():
            log.warning("scraper.slow_to_close", seconds=CLOSING_SECONDS)

    async def _do(self, work: Callable[[ResourceT], Coroutine[Any, Any, AnswerT]]) -> AnswerT:
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            return await work(self._resource)
        finally:
            self._under_way.discard(task)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - whoever opens it is told
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                log.warning("scraper.closed_badly", error=f"{type(error).__name__}: {error}")

    async def _serve(self) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        loop.set_default_executor(_Threads(THREADS, thread_name_prefix=f"{self._thread.name}-work"))
        async with self._open() as resource:
            self._ready.set_result((loop, stop, resource))
            await stop.wait()
            # The work alone: the resource has tasks of its own, and needs them to close.
            under_way = set(self._under_way)
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
