"""Values that were used lately are read without a thread, and no read is wrong for it."""

import asyncio
import contextlib
import random
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from watchkeeper.aio.workers import Workers
from watchkeeper.kv.sqlite import SQLiteKV, values
from watchkeeper.kv.sqlite.residency import Residency
from watchkeeper.kv.sqlite.values import RecentValues
from watchkeeper.testing.kv_suite.case import delete, put


@contextlib.asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SQLiteKV]:
    kv = SQLiteKV.open(path)
    try:
        yield kv
    finally:
        await kv.close()


class KnownToBeInMemory(Residency):
    def look(self, now: float) -> None:
        self._until = now + 60


@contextlib.contextmanager
def busy(workers: Workers) -> Iterator[None]:
    """All of these threads have something else to do."""
    released = threading.Event()
    for _ in workers._threads:
        workers.submit(lambda _: released.wait(20), lambda *_: None)
    try:
        yield
    finally:
        released.set()


def test_the_newest_value_of_a_key_is_kept_and_found_by_its_revision() -> None:
    recent = RecentValues()
    recent.keep(b"/a", 2, b"one")
    recent.keep(b"/a", 5, b"two")
    recent.keep(b"/a", 3, b"late")
    assert recent.find(b"/a", 5) == b"two"
    assert recent.find(b"/a", 2) is None
    assert recent.find(b"/a", 3) is None
    recent.forget(b"/a")
    assert recent.find(b"/a", 5) is None
    assert "0 keys, 0 of" in repr(recent)


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    recent = RecentValues(limit=3 * 1300)
    for i, key in enumerate((b"/a", b"/b", b"/c")):
        recent.keep(key, i + 2, b"x" * 1000)
    assert recent.find(b"/a", 2) is not None
    recent.keep(b"/d", 9, b"x" * 1000)
    assert [key for key in (b"/a", b"/b", b"/c", b"/d") if key in recent._values] == [b"/a", b"/c", b"/d"]


def test_what_is_kept_has_a_limit_whatever_its_sizes() -> None:
    recent = RecentValues()
    draw = random.Random(1)
    for i in range(20_000):
        recent.keep(b"/%d" % draw.randrange(5_000), i, b"x" * draw.choice((10, 700, 8_000)))
        if not i % 7:
            recent.forget(b"/%d" % draw.randrange(5_000))
    size = sum(values._cost(key, value) for key, (_, value) in recent._values.items())
    assert size == recent._size <= values.LIMIT_BYTES
    recent.keep(b"/long", 1, b"x" * (values.LONGEST_VALUE + 1))
    assert recent.find(b"/long", 1) is None


def test_values_written_lately_and_absent_keys_are_read_without_a_thread(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            first = await put(kv, b"/a", b"one")
            second = await put(kv, b"/a", b"two", first)
            gone = await delete(kv, b"/b", await put(kv, b"/b"))
            with busy(kv._finder):
                found = await asyncio.wait_for(kv.get(b"/a"), 5)
                assert found.kv is not None
                assert (found.kv.value, found.kv.create_revision, found.kv.mod_revision) == (b"two", first, second)
                assert found.revision == gone
                assert (await asyncio.wait_for(kv.get(b"/b"), 5)).kv is None
                assert (await asyncio.wait_for(kv.get(b"/never"), 5)).kv is None
                refused = await asyncio.wait_for(kv.optimistic_put(b"/a", b"x", first, get_on_failure=True), 5)
                assert refused.kv == found.kv

    asyncio.run(run())


def test_reads_of_single_keys_do_not_wait_for_lists(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            await put(kv, b"/a", b"one")
            kv._values.forget(b"/a")
            with busy(kv._readers):
                found = await asyncio.wait_for(kv.get(b"/a"), 5)
            assert found.kv is not None
            assert found.kv.value == b"one"

    asyncio.run(run())


def test_a_value_that_was_forgotten_is_read_from_the_file_and_kept_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            await put(kv, b"/a", b"one")
        async with opened(tmp_path / "s.db") as kv:
            assert kv._values.find(b"/a", 2) is None
            first = await kv.get(b"/a")
            with busy(kv._finder):
                assert await asyncio.wait_for(kv.get(b"/a"), 5) == first

    asyncio.run(run())


def test_a_write_is_not_read_before_it_is_durable(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            created = await put(kv, b"/a", b"one")
            with busy(kv._writer):
                writes = [
                    asyncio.create_task(put(kv, b"/a", b"two", created)),
                    asyncio.create_task(put(kv, b"/new", b"x")),
                ]
                await asyncio.sleep(0.01)
                found = await asyncio.wait_for(kv.get(b"/a"), 5)
                assert found.kv is not None
                assert (found.kv.value, found.revision) == (b"one", created)
                assert (await asyncio.wait_for(kv.get(b"/new"), 5)).kv is None
            await asyncio.gather(*writes)
            found = await kv.get(b"/a")
            assert found.kv is not None
            assert (found.kv.value, found.revision) == (b"two", created + 2)
            removed = found.kv.mod_revision
            with busy(kv._writer):
                removal = asyncio.create_task(delete(kv, b"/a", removed))
                await asyncio.sleep(0.01)
                assert (await asyncio.wait_for(kv.get(b"/a"), 5)).kv == found.kv
            await removal
            assert (await kv.get(b"/a")).kv is None

    asyncio.run(run())


def test_a_value_that_is_replaced_and_compacted_while_it_is_fetched_is_looked_up_anew(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            created = await put(kv, b"/a", b"one")
            kv._values.forget(b"/a")
            with busy(kv._finder):
                reading = asyncio.create_task(kv.get(b"/a"))
                await asyncio.sleep(0.01)
                replaced = await put(kv, b"/a", b"two", created)
                await kv.compact(await put(kv, b"/b"))
                await kv.compaction_finished()
            found = await reading
            assert found.kv is not None
            assert (found.kv.value, found.kv.mod_revision) == (b"two", replaced)

    asyncio.run(run())


def test_every_read_sees_all_that_was_acknowledged_and_nothing_goes_back(tmp_path: Path) -> None:
    keys = [b"/%d" % i for i in range(8)]

    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            kv._values = kv._committer._values = RecentValues(limit=4 * 400)  # so that some are there and some are not
            acknowledged = dict.fromkeys(keys, 0)
            ended = False

            async def write(seed: int) -> None:
                draw = random.Random(seed)
                for _ in range(150):
                    key = draw.choice(keys)
                    now = (await kv.get(key)).kv
                    if now is not None and draw.random() < 0.2:
                        result = await kv.optimistic_delete(key, now.mod_revision)
                    else:
                        value = b"%d" % draw.randrange(1000)
                        result = await kv.optimistic_put(key, value, now.mod_revision if now is not None else 0)
                    if result.succeeded:
                        acknowledged[key] = max(acknowledged[key], result.revision)

            async def read(seed: int) -> int:
                draw = random.Random(seed)
                count = 0
                seen = dict.fromkeys(keys, 0)
                while not ended:
                    key = draw.choice(keys)
                    least = max(acknowledged.values())
                    found = await kv.get(key)
                    assert found.revision >= max(least, seen[key])
                    then = await kv.get(key, revision=found.revision)
                    assert then.kv == found.kv
                    seen[key] = found.revision
                    count += 1
                return count

            readers = [asyncio.create_task(read(seed)) for seed in range(3)]
            await asyncio.gather(*(write(seed) for seed in range(4)))
            ended = True
            assert sum(await asyncio.gather(*readers)) > 100

    asyncio.run(run())


def test_once_the_file_is_known_to_be_in_memory_values_are_fetched_without_a_thread(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path / "s.db") as kv:
            revisions = [await put(kv, b"/%d" % i, b"%d" % i) for i in range(4)]
            for i in range(4):
                kv._values.forget(b"/%d" % i)
            kv._residency = KnownToBeInMemory(())
            with busy(kv._finder):
                first = asyncio.create_task(kv.get(b"/0"))
                await asyncio.sleep(0.01)
                assert not first.done()
            await first
            with busy(kv._finder):
                for i in range(1, 3):
                    found = await asyncio.wait_for(kv.get(b"/%d" % i), 5)
                    assert found.kv is not None
                    assert (found.kv.value, found.kv.mod_revision) == (b"%d" % i, revisions[i])
            kv._near.close()  # whatever keeps it from reading here, the thread reads it
            found = await kv.get(b"/3")
            assert found.kv is not None
            assert found.kv.value == b"3"

    asyncio.run(run())
