"""The writer thread commits one group after the other by itself. What that must not change."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.sqlite import SQLiteKV, committer
from watchkeeper.testing.kv_suite.case import eventually, put, summary, take


class Gate:
    """Stands in for `commit`: lets a group through when told, and keeps how long each was."""

    def __init__(self) -> None:
        self.real = committer.commit
        self.groups: list[int] = []
        self.begun = threading.Semaphore(0)
        self.opened = threading.Semaphore(0)
        self.fails: Callable[[int], bool] = lambda number: False

    def commit(self, connection: sqlite3.Connection, group: list[committer.Operation]) -> None:
        number = len(self.groups)
        self.groups.append(len(group))
        self.begun.release()
        assert self.opened.acquire(timeout=10)
        if self.fails(number):
            raise sqlite3.OperationalError("disk I/O error")
        self.real(connection, group)

    def open(self, groups: int = 1000) -> None:
        self.opened.release(groups)

    async def reached(self) -> None:
        """Wait until the next group is at the gate."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=10)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setattr(committer, "commit", gate.commit)
    yield gate
    gate.open()


async def accepted(kv: SQLiteKV, *keys: bytes) -> list[asyncio.Future[int]]:
    """Puts that are on their way, in this order."""
    puts = [asyncio.ensure_future(put(kv, key)) for key in keys]
    await asyncio.sleep(0)
    return puts


def test_what_comes_while_a_group_is_written_is_the_next_group(tmp_path: Path, gate: Gate) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        watch = await kv.watch(b"/")
        first = await accepted(kv, b"/a")
        await gate.reached()
        second = await accepted(kv, b"/b", b"/c", b"/d")
        assert not any(each.done() for each in first + second)
        gate.open(1)
        await gate.reached()
        assert await asyncio.wait_for(first[0], 5) == 2
        assert not any(each.done() for each in second), "acknowledged before it is durable"
        gate.open()
        assert await asyncio.gather(*second) == [3, 4, 5]
        assert [entry[1] for entry in summary(await take(watch, 4))] == [b"/a", b"/b", b"/c", b"/d"]
        await kv.close()

    asyncio.run(run())
    assert gate.groups == [1, 3]


def test_a_group_that_fails_takes_nothing_back_of_the_one_before(tmp_path: Path, gate: Gate) -> None:
    gate.fails = lambda number: number == 1

    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        watch = await kv.watch(b"/")
        first = await accepted(kv, b"/a")
        await gate.reached()
        second = await accepted(kv, b"/b", b"/c")
        gate.open(1)
        await gate.reached()
        third = await accepted(kv, b"/d")
        gate.open()
        results = await asyncio.gather(*first, *second, *third, return_exceptions=True)
        assert results[0] == 2
        assert [type(result) for result in results[1:]] == [Unavailable] * 3

        async def ready() -> bool:
            return kv._committer.state is committer.CommitterState.READY

        await eventually(ready, "the store recovers")
        assert await kv.current_revision() == 2
        assert await put(kv, b"/b") == 3
        assert [entry[1] for entry in summary(await take(watch, 2))] == [b"/a", b"/b"]
        await kv.close()

    asyncio.run(run())


def test_who_else_needs_the_connection_has_a_turn_between_two_groups(tmp_path: Path, gate: Gate) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        first = await accepted(kv, b"/a")
        await gate.reached()
        second = await accepted(kv, b"/b")
        other = asyncio.ensure_future(
            kv._writer.run(lambda connection: connection.execute("SELECT max(revision) FROM log").fetchone())
        )
        await asyncio.sleep(0)
        gate.open(1)
        await gate.reached()
        assert await asyncio.wait_for(other, 5) == (2,), "after the group that was being written, before the next"
        gate.open()
        assert await asyncio.gather(*first, *second) == [2, 3]
        await kv.close()

    asyncio.run(run())
    assert gate.groups == [1, 1]


def test_closing_waits_for_all_that_was_accepted(tmp_path: Path, gate: Gate) -> None:
    async def run() -> None:
        kv = SQLiteKV.open(tmp_path / "s.db")
        first = await accepted(kv, b"/a")
        await gate.reached()
        second = await accepted(kv, b"/b", b"/c")
        closing = asyncio.ensure_future(kv.close())
        await asyncio.sleep(0.02)
        assert not closing.done()
        gate.open()
        await closing
        assert [each.result() for each in first + second] == [2, 3, 4]

    asyncio.run(run())
