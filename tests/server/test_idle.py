"""A server that nobody asks anything sleeps."""

import asyncio
from pathlib import Path

import pytest

from watchkeeper.aio.clock import SystemClock
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server


def test_what_runs_beside_requests_wakes_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each resource has its tasks: one of them that looks around every second would cost more than many requests."""
    slept: list[float] = []
    sleep = SystemClock.sleep

    async def counted(clock: SystemClock, seconds: float) -> None:
        slept.append(seconds)
        await sleep(clock, seconds)

    async def run() -> None:
        server = Server(ServeOptions(data_dir=tmp_path, port=0, storage="memory:", insecure_http=True))
        await server.start()
        try:
            end = asyncio.get_running_loop().time() + 30
            while True:  # caches are being filled; from then on bookmarks are due once a minute
                slept.clear()
                await asyncio.sleep(2)
                if len(slept) < 10:
                    return
                assert asyncio.get_running_loop().time() < end, slept
        finally:
            await server.stop()

    monkeypatch.setattr(SystemClock, "sleep", counted)
    asyncio.run(run())
