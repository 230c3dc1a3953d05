"""A server inside this process, on a thread of its own: the fastest way to an API server in a test.

    with watchkeeper.testing.Server() as server:
        subprocess.run(["kubectl", "get", "namespaces"], env={**os.environ, **server.env})

It keeps everything in memory unless told otherwise, picks a free port, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import certificates
from watchkeeper.testing.directory import TemporaryDirectory
from watchkeeper.testing.handle import Handle
from watchkeeper.testing.running import Running

_START_SECONDS = 120.0
_STOP_SECONDS = 30.0
_GRACE_SECONDS = 1.0


class Server(Running):
    """`with` or `async with`: enter to start, leave to stop. Options are those of `ServeOptions`.

    Entering gives a `Handle`; its attributes are the server's own too. Several servers can run at a time.
    """

    def __init__(self, **options: Any) -> None:
        self._given = options
        self._directory: TemporaryDirectory | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __repr__(self) -> str:
        return f"<testing.Server {self._handle.url if self._handle is not None else 'not running'}>"

    # -- start and stop ---------------------------------------------------------------------------------------------

    def start(self) -> Handle:
        """Start, and wait until it answers. Raises what keeps it from starting."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        started: Future[Handle] = Future()
        self._directory = TemporaryDirectory()
        self._thread = threading.Thread(target=self._run, args=(started,), name="watchkeeper", daemon=True)
        self._thread.start()
        try:
            self._handle = started.result(_START_SECONDS)
        except BaseException:
            self.stop()
            raise
        return self._handle

    def stop(self) -> None:
        """Stop, and wait until it has. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is not None:
            if self._loop is not None and self._stop is not None:
                # A server that could not start ends by itself, at any moment, and its loop with it.
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(_STOP_SECONDS)
        self._handle = self._loop = self._stop = None
        if self._directory is not None:
            self._directory.remove()
            self._directory = None

    # -- on the thread ------------------------------------------------------------------------------------------------

    def _run(self, started: Future[Handle]) -> None:
        from watchkeeper.server.process import event_loop

        try:
            with asyncio.Runner(loop_factory=event_loop) as runner:
                runner.run(self._serve(started))
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
            else:
                raise

    async def _serve(self, started: Future[Handle]) -> None:
        from watchkeeper.server.server import Server as ApiServer

        assert self._directory is not None
        directory = self._directory.path
        certificates.provide(directory)
        server = ApiServer(test_options(directory, self._given))
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        await server.start()
        certificates.keep(directory)
        credentials = server.credentials
        handle = Handle(server.urls[0], credentials.admin_token, server.kubeconfig, credentials.ca_pem.decode())
        started.set_result(handle)
        await self._stop.wait()
        await server.stop()


def test_options(directory: Path, given: dict[str, Any]) -> ServeOptions:
    """Options fit for tests, with what was given on top."""
    defaults: dict[str, Any] = {
        "data_dir": directory,
        "storage": "memory:",
        "port": 0,
        "shutdown_grace": _GRACE_SECONDS,
    }
    return ServeOptions(**{**defaults, **given})


test_options.__test__ = False  # type: ignore[attr-defined]
