"""Watches between the log and what is published."""

import asyncio
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Compacted
from watchkeeper.kv.interface import WatchBatch
from watchkeeper.kv.sqlite import SQLiteKV, committer, watching
from watchkeeper.kv.sqlite.watching import WatchState
from watchkeeper.testing.kv_suite.case import eventually, next_batch, put, take


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LAG_LIMIT", 20)
    monkeypatch.setattr(watching, "LAG_RESUME", 5)
    monkeypatch.setattr("watchkeeper.kv.sqlite.reading.LOG_ROWS", 30)


def test_a_watch_that_lags_far_behind_costs_little_and_gets_everything_from_the_log(
    tmp_path: Path, small_limits: None
) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        slow, quick = await kv.watch(b"/a/", prev_kv=True), await kv.watch(b"/a/")
        quick_events = asyncio.ensure_future(take(quick, 400))
        revision = 0
        for number in range(200):
            revision = await put(kv, b"/a/k", b"%d" % number, revision)
            await put(kv, b"/b/k%d" % number)
            await put(kv, b"/a/other%d" % number)
        assert isinstance(slow, watching.SQLiteWatch)
        assert slow.state is WatchState.BEHIND
        assert len(slow.mailbox) <= 60
        assert (slow.delivered_revision_nowait() or 0) < 10
        events = await take(slow, 400)
        assert [event.kv for event in events] == [event.kv for event in await quick_events]
        values = [event.prev and event.prev.value for event in events if event.kv.key == b"/a/k"]
        assert values == [None, *(b"%d" % number for number in range(199))]
        last = await put(kv, b"/a/last")
        assert [event.kv.mod_revision for event in await take(slow, 1)] == [last]

        async def live() -> bool:
            return slow.state is WatchState.LIVE and slow.delivered_revision_nowait() == last

        await eventually(live, "the watch is live again")
        await kv.close()

    asyncio.run(run())


def test_a_watch_that_lags_while_everything_is_compacted_is_told(tmp_path: Path, small_limits: None) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        watch = await kv.watch(b"/a/")
        revisions = [await put(kv, b"/a/k%d" % number) for number in range(200)]
        await kv.compact(revisions[-1])
        seen: list[int] = []
        with pytest.raises(Compacted):
            while True:
                seen.extend(event.kv.mod_revision for event in (await next_batch(watch)).events)
        assert seen == revisions[: len(seen)] and 0 < len(seen) < 200
        await kv.close()

    asyncio.run(run())


def test_catching_up_cannot_be_outrun_by_writers(tmp_path: Path, small_limits: None) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        for number in range(300):
            await put(kv, b"/a/k%d" % number)
        stop = False

        async def write(worker: int) -> None:
            number = 0
            while not stop:
                await put(kv, b"/a/w%d-%d" % (worker, number))
                number += 1

        writers = [asyncio.ensure_future(write(worker)) for worker in range(4)]
        watch = await kv.watch(b"/a/", after_revision=1)
        assert isinstance(watch, watching.SQLiteWatch)
        seen: list[int] = []

        async def read() -> None:
            async for batch in watch:
                seen.extend(event.kv.mod_revision for event in batch.events)

        async def is_live() -> bool:
            return watch.state is WatchState.LIVE

        async def has_everything() -> bool:
            return seen[-1] == newest

        reader = asyncio.ensure_future(read())
        await eventually(is_live, "the watch is live while writers write")
        stop = True
        await asyncio.gather(*writers)
        newest = await kv.current_revision()
        await eventually(has_everything, "the newest change comes")
        reader.cancel()
        assert seen == list(range(2, newest + 1))
        await kv.close()

    asyncio.run(run())


def test_a_watch_that_begins_amid_an_update_still_knows_its_previous_state(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        revision = await put(kv, b"/a/k", b"one")
        update = asyncio.ensure_future(kv.optimistic_put(b"/a/k", b"two", revision))
        await asyncio.sleep(0)  # accepted when nobody wanted previous states
        watch = await kv.watch(b"/a/", prev_kv=True)
        await update
        [event] = await take(watch, 1)
        assert event.prev is not None and event.prev.value == b"one"
        await put(kv, b"/a/k", b"three", event.kv.mod_revision)
        [event] = await take(watch, 1)
        assert event.prev is not None and event.prev.value == b"two"
        await kv.close()

    asyncio.run(run())


def test_what_is_written_together_is_committed_together_and_comes_in_one_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups: list[int] = []
    real = committer.commit

    def commit(connection: object, group: list[committer.Operation]) -> None:
        groups.append(len(group))
        real(connection, group)  # type: ignore[arg-type]

    async def run() -> None:
        monkeypatch.setattr(committer, "commit", commit)
        kv = SQLiteKV.open(tmp_path / "s.db")
        watch = await kv.watch(b"/a/")
        await asyncio.gather(*(put(kv, b"/a/k%d" % number) for number in range(100)))
        assert groups == [100]
        batch = watch.take_nowait()
        assert isinstance(batch, WatchBatch) and len(batch.events) == 100
        await kv.close()

    asyncio.run(run())


def test_closing_a_watch_ends_its_catching_up(tmp_path: Path, small_limits: None) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        for number in range(100):
            await put(kv, b"/a/k%d" % number)
        watch = await kv.watch(b"/a/", after_revision=1)
        await next_batch(watch)
        await watch.close()

        async def nothing_runs() -> bool:
            return "0 running" in repr(kv._tasks)

        await eventually(nothing_runs, "the task ends")
        await kv.close()

    asyncio.run(run())
