"""A process that is killed at any moment loses nothing that it acknowledged or showed to a watch."""

import asyncio
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from watchkeeper.kv.interface import WatchBatch
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.kv.sqlite.maintenance import check

WRITER = Path(__file__).with_name("bursting_writer.py")


@dataclass
class Promises:
    """What the killed processes said, over all their lives."""

    acknowledged: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    seen: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    newest: int = 1


def live_and_die(path: Path, chance: random.Random, promises: Promises, *arguments: str) -> None:
    """Run a writer for a random while, kill it, and note what it had said by then."""
    process = subprocess.Popen(
        [sys.executable, str(WRITER), str(path), str(chance.randrange(10**6)), *arguments], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    opened = process.stdout.readline().split()
    said = b"".join(process.stdout.readline() for _ in range(chance.randrange(10, 300)))
    time.sleep(chance.uniform(0, 0.01))
    process.kill()
    process.wait()
    lines = (said + process.stdout.read()).decode().split("\n")[:-1]
    process.stdout.close()
    assert int(opened[1]) >= promises.newest, "a revision that was promised before is gone"
    for line in lines:
        kind, revision, key, operation, value = line.split(" ")
        assert int(revision) > int(opened[1]), "a revision came again"
        known = promises.acknowledged if kind == "ack" else promises.seen
        assert int(revision) not in known, "a revision came twice"
        known[int(revision)] = (key, operation, value)
        promises.newest = max(promises.newest, int(revision))


async def history(path: Path, after: int) -> dict[int, tuple[str, str, str]]:
    """All changes after a revision, by revision."""
    kv = SQLiteKV.open(path)
    newest = await kv.current_revision()
    watch = await kv.watch(b"/", after_revision=after)
    found: dict[int, tuple[str, str, str]] = {}
    batch = WatchBatch(after)
    while batch.revision < newest:
        batch = await asyncio.wait_for(anext(watch), 10)
        for event in batch.events:
            assert event.kv.mod_revision not in found
            found[event.kv.mod_revision] = (event.kv.key.decode(), event.type.value, event.kv.value.decode())
    await kv.close()
    return found


def test_nothing_acknowledged_or_seen_is_lost_over_twenty_kills(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    chance = random.Random(2024)
    promises = Promises()
    for _ in range(16):
        live_and_die(path, chance, promises)
    found = asyncio.run(history(path, 1))
    assert list(found) == list(range(2, len(found) + 2)), "revisions have a gap"
    assert len(promises.acknowledged) > 1000
    for revision, change in (promises.acknowledged | promises.seen).items():
        assert found.get(revision) == change, f"revision {revision} is not what was promised"
    assert check(path) == []
    # The same with compaction running all the time; then only what it spares can be compared.
    for _ in range(4):
        live_and_die(path, chance, promises, "10")
    assert check(path) == []

    async def compacted() -> int:
        kv = SQLiteKV.open(path)
        bound = (await kv.status()).compact_revision
        await kv.close()
        return bound

    bound = asyncio.run(compacted())
    assert bound > len(found), "compaction has not come that far"
    rest = asyncio.run(history(path, bound))
    for revision, change in (promises.acknowledged | promises.seen).items():
        assert revision <= bound or rest.get(revision) == change, f"revision {revision} is not what was promised"
