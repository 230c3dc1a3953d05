"""Threads for what would block the event loop: disks, mostly."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

C = TypeVar("C")
R = TypeVar("R")

log = logging.getLogger(__name__)

Job = Callable[[C], Any]
Done = Callable[[Any, BaseException | None], None]


class WorkersClosed(RuntimeError):
    """There are no threads any more."""


class Workers(Generic[C]):
    """Threads that run jobs in the order they were submitted, each thread with a context of its own.

    A context is whatever a job needs and must not share, a database connection for example. With one context, jobs
    never overlap. Contexts are closed by the thread that used them, after its last job.
    """

    def __init__(self, name: str, contexts: Sequence[C], close_context: Callable[[C], None]) -> None:
        """Start one daemon thread for each of `contexts`."""
        self.name = name
        self._close_context = close_context
        self._closed = False
        self._jobs: SimpleQueue[tuple[asyncio.AbstractEventLoop, Job[C], Done] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, args=(context,), name=f"{name}-{number}", daemon=True)
            for number, context in enumerate(contexts)
        ]
        for thread in self._threads:
            thread.start()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{self.waiting} jobs waiting"
        return f"<Workers {self.name}: {len(self._threads)} threads, {state}>"

    @property
    def waiting(self) -> int:
        """How many jobs no thread has begun."""
        return self._jobs.qsize()

    def submit(self, job: Job[C], done: Done) -> None:
        """Run `job(context)` on a thread, then `done(result, error)` on the running event loop.

        Cheaper than `run`: nothing is created that could be awaited. Raises WorkersClosed after `close()`.
        """
        if self._closed:
            raise WorkersClosed(f"{self.name} is closed")
        self._jobs.put((asyncio.get_running_loop(), job, done))

    async def run(self, job: Callable[[C], R]) -> R:
        """Run `job(context)` on a thread; return or raise what it did.

        Cancelling does not stop the job, only the waiting. Raises WorkersClosed after `close()`.
        """
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()

        def done(result: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.submit(job, done)
        return await future

    async def close(self) -> None:
        """Let every job that was submitted finish, then end the threads. Idempotent."""
        if not self._closed:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            if thread.is_alive():
                await asyncio.get_running_loop().run_in_executor(None, thread.join)

    def _work(self, context: C) -> None:
        while (item := self._jobs.get()) is not None:
            loop, job, done = item
            result, error = None, None
            try:
                result = job(context)
            except BaseException as raised:  # whoever waits must hear of it, whatever it is
                error = raised
            try:
                loop.call_soon_threadsafe(done, result, error)
            except RuntimeError:
                log.debug("%s: nobody waits for a result any more, the event loop is closed", self.name)
            del item, loop, job, done, result, error
        self._close_context(context)
