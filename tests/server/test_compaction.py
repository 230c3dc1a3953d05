"""A running server forgets its history, so that a database does not grow for ever."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Compacted
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server


def test_old_revisions_are_forgotten(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = Server(ServeOptions(data_dir=tmp_path, port=0, insecure_http=True, compaction_interval=0.1))
        await server.start()
        try:
            first = await server.kv.optimistic_put(b"/x", b"old", 0)
            await server.kv.optimistic_put(b"/x", b"new", first.revision)
            async with asyncio.timeout(20):
                with pytest.raises(Compacted):
                    while True:
                        await server.kv.get(b"/x", revision=first.revision)
                        await asyncio.sleep(0.05)
            found = (await server.kv.get(b"/x")).kv
            assert found is not None
            assert found.value == b"new"
        finally:
            await server.stop()

    asyncio.run(scenario())


def test_a_negative_interval_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="--compaction-interval -1 is negative"):
        ServeOptions(data_dir=tmp_path, compaction_interval=-1).check()
