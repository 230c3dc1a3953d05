"""A server as a process: signals, what is printed, exit codes."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import shlex
import signal
from collections.abc import Awaitable, Callable

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.server.huge_pages import HugePages
from watchkeeper.server.logs import configure_logging
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.output import OutputError, write_out
from watchkeeper.server.server import Server

log = logging.getLogger(__name__)

EXIT_AT_ONCE = 130
"""The exit code when a second signal does not let the server finish."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NEW_OBJECTS = 20_000
"""So many containers are made before a collection looks at them. A write makes some hundreds and frees them itself;
looking at them several times in between cost a tenth of it."""


def serve(options: ServeOptions, *, until: Callable[[], Awaitable[None]] | None = None, announced: bool = True) -> int:
    """Serve until a signal comes, or `until` returns. Returns the exit code.

    Standard output tells how to reach the server, if that is to be `announced`. Raises StartupError when the server
    cannot start.
    """
    gc.set_threshold(_NEW_OBJECTS, 10, 10)
    configure_logging(options.log_format, options.log_level, modules=options.vmodule)
    with asyncio.Runner(loop_factory=event_loop) as runner:
        return runner.run(_serve(options, until, announced))


def event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop event loop, or asyncio's own where there is no uvloop."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def _serve(options: ServeOptions, until: Callable[[], Awaitable[None]] | None, announced: bool) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _on_signal, stop)
    tasks = TaskOwner("process")
    if until is not None:
        tasks.start("until", _stop_after(until, stop))
    try:
        return await _serve_until(stop, options, tasks, announced)
    finally:
        await tasks.close()


async def _serve_until(stop: asyncio.Event, options: ServeOptions, tasks: TaskOwner, announced: bool) -> int:
    server = Server(options)
    # What is made at the start stays for good: no collection needs to look at it, neither now nor later.
    gc.disable()
    if not await _started(server, stop):
        return 0
    if announced:
        _announce(server)
    gc.collect()
    gc.freeze()
    gc.enable()
    tasks.start("huge-pages", HugePages().keep())
    await stop.wait()
    log.info("stopping")
    await tasks.close()
    await server.stop()
    return 0


async def _started(server: Server, stop: asyncio.Event) -> bool:
    """Start, unless a signal comes first: a start may wait long for a storage. Raises StartupError."""
    starting = asyncio.current_task()
    assert starting is not None
    tasks = TaskOwner("process")
    tasks.start("early-stop", _cancel_on(stop, starting))
    try:
        await server.start()
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        starting.uncancel()
        log.info("stopped before it had started")
        return False
    finally:
        await tasks.close()
    return True


async def _stop_after(until: Callable[[], Awaitable[None]], stop: asyncio.Event) -> None:
    await until()
    stop.set()


async def _cancel_on(stop: asyncio.Event, task: asyncio.Task[int]) -> None:
    await stop.wait()
    task.cancel()


def _on_signal(stop: asyncio.Event) -> None:
    if stop.is_set():
        # What was acknowledged is on disk already; nothing has to be finished.
        os._exit(EXIT_AT_ONCE)
    stop.set()


def _announce(server: Server) -> None:
    """Tell how to reach the server, in a line for a shell in any directory; standard output carries nothing else."""
    lines = [f"serving on {url}\n" for url in server.urls]
    lines.append(f"export KUBECONFIG={shlex.quote(str(server.kubeconfig.absolute()))}\n")
    try:
        write_out("".join(lines))
    except OutputError as error:
        log.warning("%s; it would have told: %s", error, "".join(lines).strip().replace("\n", "; "))
