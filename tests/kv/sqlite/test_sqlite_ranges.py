"""However a range of the past is put together, it is what that revision left."""

import asyncio
import random
from pathlib import Path

import pytest

from watchkeeper.kv.interface import KV
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.kv.sqlite import SQLiteKV, reading


async def write(kv: KV, draw: random.Random, writes: int) -> None:
    """The same writes for the same draw."""
    current: dict[bytes, int] = {}
    for n in range(writes):
        key = b"/%d/%d" % (draw.randrange(3), draw.randrange(6))
        if key in current and draw.random() < 0.3:
            await kv.optimistic_delete(key, current.pop(key))
        else:
            current[key] = (await kv.optimistic_put(key, b"%d" % n, current.get(key, 0))).revision


@pytest.mark.parametrize("look_back", [0, 5, 500])
def test_ranges_of_every_revision_are_those_of_the_memory_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look_back: int
) -> None:
    monkeypatch.setattr(reading, "LOOK_BACK", look_back)

    async def run() -> None:
        file, memory = SQLiteKV.open(tmp_path / "s.db"), MemoryKV()
        await write(file, random.Random(1), 80)
        await write(memory, random.Random(1), 80)
        now = await file.current_revision()
        assert await memory.current_revision() == now
        for revision in range(1, now + 1):
            for start, end in ((b"/1/", b"/10"), (b"/", b"\0"), (b"/2/3", b"/2/5")):
                for limit in (0, 1, 3):
                    wanted = await memory.range(start, end, limit=limit, revision=revision)
                    assert await file.range(start, end, limit=limit, revision=revision) == wanted
                    found = await file.range(start, end, limit=limit, revision=revision, counted=False)
                    assert (found.kvs, found.more, found.revision) == (wanted.kvs, wanted.more, wanted.revision)
                    assert len(found.kvs) <= found.count <= wanted.count
        await file.close()
        await memory.close()

    asyncio.run(run())
