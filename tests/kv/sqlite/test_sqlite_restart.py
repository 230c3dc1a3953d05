"""A store that is closed and opened again is the same store."""

import asyncio
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Compacted, LeaseNotFound
from watchkeeper.kv.interface import KeyValue
from watchkeeper.kv.sqlite import SQLiteKV
from watchkeeper.kv.sqlite.maintenance import check, info
from watchkeeper.testing.clock import ManualClock
from watchkeeper.testing.kv_suite.case import delete, put, summary, take


def test_keys_history_and_revisions_are_as_before(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        first = await put(kv, b"/a", b"one")
        await put(kv, b"/b", b"x")
        second = await put(kv, b"/a", b"two", first)
        deleted = await delete(kv, b"/b", first + 1)
        await kv.close()
        kv = SQLiteKV.open(tmp_path / "s.db")
        assert await kv.current_revision() == deleted
        assert (await kv.get(b"/a")).kv == KeyValue(b"/a", b"two", first, second, 2)
        assert (await kv.get(b"/a", revision=first)).kv == KeyValue(b"/a", b"one", first, first, 1)
        assert (await kv.get(b"/b", revision=second)).kv is not None
        watch = await kv.watch(b"/", after_revision=first, prev_kv=True)
        assert [entry[0] for entry in summary(await take(watch, 3))] == ["put", "put", "delete"]
        assert await put(kv, b"/c") == deleted + 1
        await kv.close()

    asyncio.run(run())


def test_revisions_go_on_even_when_everything_is_deleted_and_compacted(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        created = await put(kv, b"/a")
        deleted = await delete(kv, b"/a", created)
        await kv.compact(deleted)
        await kv.compaction_finished()
        await kv.close()
        kv = SQLiteKV.open(tmp_path / "s.db")
        assert await kv.current_revision() == deleted
        with pytest.raises(Compacted):
            await kv.get(b"/a", revision=created)
        again = await put(kv, b"/a")
        assert again == deleted + 1
        await kv.compact(again)
        await kv.compaction_finished()
        assert (await kv.range(b"", b"\0", revision=again)).count == 1
        await kv.close()

    asyncio.run(run())


def test_what_is_left_of_a_lease_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        clock = ManualClock()
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        lease = await kv.grant_lease(100)
        await put(kv, b"/a", lease=lease)
        await clock.advance(60)
        await kv.close()
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        await put(kv, b"/b", lease=lease)
        watch = await kv.watch(b"/")
        await clock.advance(39)
        assert (await kv.range(b"/", b"0")).count == 2
        await clock.advance(1)
        assert [entry[:2] for entry in summary(await take(watch, 2))] == [("delete", b"/a"), ("delete", b"/b")]
        await kv.close()

    asyncio.run(run())


def test_a_lease_that_ended_meanwhile_takes_its_keys_at_the_start(tmp_path: Path) -> None:
    async def run() -> None:
        clock = ManualClock()
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        lease = await kv.grant_lease(100)
        last = await put(kv, b"/a", lease=lease)
        await kv.close()
        await clock.advance(1000)
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        with pytest.raises(LeaseNotFound):
            await put(kv, b"/b", lease=lease)
        watch = await kv.watch(b"/", after_revision=last)
        assert [entry[:2] for entry in summary(await take(watch, 1))] == [("delete", b"/a")]
        await kv.close()
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        with pytest.raises(LeaseNotFound):
            await kv.revoke_lease(lease)
        await kv.close()

    asyncio.run(run())


def test_a_wall_clock_that_was_set_back_does_not_prolong_a_lease(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", clock=ManualClock(start=1_000_000))
        lease = await kv.grant_lease(100)
        await put(kv, b"/a", lease=lease)
        await kv.close()
        clock = ManualClock(start=10)
        kv = SQLiteKV.open(tmp_path / "s.db", clock=clock)
        watch = await kv.watch(b"/")
        await clock.advance(100)
        assert [entry[:2] for entry in summary(await take(watch, 1))] == [("delete", b"/a")]
        await kv.close()

    asyncio.run(run())


def test_compaction_that_was_cut_short_is_finished_at_the_next_start(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        revision = 0
        for number in range(600):
            revision = await put(kv, b"/a", b"%d" % number, revision)
        await kv.compact(revision)
        await kv.close()
        kv = SQLiteKV.open(tmp_path / "s.db", synchronous="OFF")
        await kv.current_revision()
        await kv.compaction_finished()
        assert (await kv.get(b"/a", revision=revision)).kv is not None
        await kv.close()

    asyncio.run(run())
    assert check(tmp_path / "s.db") == []
    assert info(tmp_path / "s.db").history_rows <= 1


def test_closing_finishes_writes_that_were_accepted(tmp_path: Path) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        writes = [asyncio.ensure_future(kv.optimistic_put(b"/k%d" % n, b"v", 0)) for n in range(50)]
        await asyncio.sleep(0)
        await asyncio.gather(kv.close(), kv.close())
        assert all(result.succeeded for result in await asyncio.gather(*writes))
        kv = SQLiteKV.open(tmp_path / "s.db")
        assert (await kv.range(b"/", b"0")).count == 50
        await kv.close()

    asyncio.run(run())
