"""Candidates over a lock in memory, on a clock that tests move; and over a real Lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.waiting import until

from watchkeeper.client.errors import ClientError
from watchkeeper.client.interface import LeaderRecord
from watchkeeper.client.leader_election import LeaderElector, LeaderTimes
from watchkeeper.client.lease_lock import LeaseLock
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.testing.clock import ManualClock

LEASES = GroupResource("coordination.k8s.io", "leases")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


@dataclass
class Board:
    """What all locks of one name share."""

    record: LeaderRecord | None = None
    version: int = 0
    broken: set[str] = field(default_factory=set)


class MemoryLock:
    """A lock of one candidate."""

    def __init__(self, board: Board, identity: str) -> None:
        self.board = board
        self.identity = identity
        self.seen = 0

    def _reach(self) -> None:
        if self.identity in self.board.broken:
            raise ClientError("no route to the server")

    async def get(self) -> LeaderRecord:
        self._reach()
        if self.board.record is None:
            raise errors.not_found(LEASES, "lock")
        self.seen = self.board.version
        return self.board.record

    async def create(self, record: LeaderRecord) -> None:
        self._reach()
        if self.board.record is not None:
            raise errors.already_exists(LEASES, "lock")
        self._write(record)

    async def update(self, record: LeaderRecord) -> None:
        self._reach()
        if self.seen != self.board.version:
            raise errors.conflict(LEASES, "lock", "changed meanwhile")
        self._write(record)

    def _write(self, record: LeaderRecord) -> None:
        self.board.record = record
        self.board.version += 1
        self.seen = self.board.version


class Candidate:
    """An elector that notes when it leads."""

    def __init__(self, board: Board, name: str, clock: ManualClock, log: list[str], **options: Any) -> None:
        self.lock = MemoryLock(board, name)
        self.log = log
        self.name = name
        self.elector = LeaderElector(self.lock, clock=clock, **options)
        self.task = asyncio.create_task(self.elector.run(self.lead))

    async def lead(self) -> None:
        self.log.append(f"{self.name} leads")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.log.append(f"{self.name} stops")

    async def cancel(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def scenario(test: Callable[[ManualClock, Board, list[str]], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def wrapped() -> None:
        async def inner() -> None:
            await test(ManualClock(), Board(), [])

        run(inner())

    wrapped.__name__ = test.__name__
    return wrapped


@scenario
async def test_the_first_leads_and_the_second_takes_over_when_it_ends(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    leaders: list[str] = []
    first = Candidate(board, "one", clock, log)
    await clock.advance(0)
    second = Candidate(board, "two", clock, log, on_new_leader=leaders.append)
    await clock.advance(60)
    assert log == ["one leads"]
    assert board.record is not None
    assert (board.record.holder, board.record.transitions, board.record.lease_seconds) == ("one", 0, 15)
    assert board.record.acquire_time < board.record.renew_time
    await first.cancel()
    assert (board.record.holder, board.record.lease_seconds) == ("", 1)
    await clock.advance(4)
    assert log == ["one leads", "one stops", "two leads"]
    assert (board.record.holder, board.record.transitions) == ("two", 1)
    assert leaders == ["one", "two"]
    assert second.elector.is_leader
    assert second.elector.leader == "two"
    await second.cancel()


@scenario
async def test_a_leader_that_cannot_renew_stops_before_another_begins(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    first = Candidate(board, "one", clock, log)
    await clock.advance(0)
    second = Candidate(board, "two", clock, log)
    await clock.advance(10)
    board.broken.add("one")
    await clock.advance(13)
    assert log == ["one leads", "one stops"]
    assert first.task.done()
    await clock.advance(10)
    assert log == ["one leads", "one stops", "two leads"]
    await second.cancel()


@scenario
async def test_a_short_failure_is_overcome(clock: ManualClock, board: Board, log: list[str]) -> None:
    first = Candidate(board, "one", clock, log)
    await clock.advance(5)
    board.broken.add("one")
    await clock.advance(6)
    board.broken.clear()
    await clock.advance(30)
    assert log == ["one leads"]
    assert board.record is not None
    assert board.record.transitions == 0
    await first.cancel()


@scenario
async def test_a_leader_does_not_trust_others_clocks(clock: ManualClock, board: Board, log: list[str]) -> None:
    old = "2001-01-01T00:00:00.000000Z"
    board.record = LeaderRecord(holder="gone", lease_seconds=15, acquire_time=old, renew_time=old, transitions=4)
    board.version = 1
    candidate = Candidate(board, "one", clock, log)
    await clock.advance(14)
    assert log == [], "the lease has been seen for less than its duration"
    await clock.advance(5)
    assert log == ["one leads"]
    assert board.record.transitions == 5
    await candidate.cancel()


@scenario
async def test_a_leader_that_finds_itself_in_the_lease_goes_on(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    old = "2001-01-01T00:00:00.000000Z"
    board.record = LeaderRecord(holder="one", lease_seconds=15, acquire_time=old, renew_time=old, transitions=4)
    board.version = 1
    candidate = Candidate(board, "one", clock, log)
    await clock.advance(0)
    assert log == ["one leads"]
    assert (board.record.acquire_time, board.record.transitions) == (old, 4)
    await candidate.cancel()


@scenario
async def test_what_the_work_raises_is_raised_and_the_lease_released(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    async def fail() -> None:
        raise ValueError("on purpose")

    elector = LeaderElector(MemoryLock(board, "one"), clock=clock)
    with pytest.raises(ValueError, match="on purpose"):
        await elector.run(fail)
    assert board.record is not None
    assert board.record.holder == ""


@scenario
async def test_a_lease_is_released_although_a_cancelled_renewal_was_written(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    first = Candidate(board, "one", clock, log)
    await clock.advance(0)
    assert board.record is not None
    board.record = replace(board.record, renew_time="2026-01-01T00:00:00.000000Z")
    board.version += 1
    await first.cancel()
    assert (board.record.holder, board.record.lease_seconds) == ("", 1)


@scenario
async def test_a_lease_that_somebody_else_has_taken_meanwhile_is_not_released(
    clock: ManualClock, board: Board, log: list[str]
) -> None:
    first = Candidate(board, "one", clock, log)
    await clock.advance(0)
    assert board.record is not None
    board.record = replace(board.record, holder="two")
    board.version += 1
    await first.cancel()
    assert (board.record.holder, board.version) == ("two", 2)


def test_an_attempt_that_hangs_keeps_nobody_leading_longer_than_it_may() -> None:
    class Hanging(MemoryLock):
        """Fails at once at first, then answers no more."""

        async def update(self, record: LeaderRecord) -> None:
            if asyncio.get_running_loop().time() > begun + 1.0:
                await asyncio.get_running_loop().create_future()
            raise ClientError("no route to the server")

    begun = 0.0

    async def test() -> None:
        nonlocal begun
        begun = asyncio.get_running_loop().time()
        times = LeaderTimes(lease=3, renew=1.2, retry=0.3)
        elector = LeaderElector(Hanging(Board(), "one"), times=times, release_on_cancel=False)
        await elector.run(asyncio.Event().wait)  # type: ignore[arg-type]
        led = asyncio.get_running_loop().time() - begun
        assert 1.2 <= led < 2.3, "0.3 s until it tries to renew, and 1.2 s to do so"

    run(test())


@scenario
async def test_what_the_lock_raises_unexpectedly_is_raised(clock: ManualClock, board: Board, log: list[str]) -> None:
    candidate = Candidate(board, "one", clock, log)
    await clock.advance(0)

    async def update(record: LeaderRecord) -> None:
        raise RuntimeError("a fault of the lock")

    candidate.lock.update = update  # type: ignore[method-assign]
    candidate.elector._release_on_cancel = False
    await clock.advance(3)
    assert log == ["one leads", "one stops"]
    with pytest.raises(RuntimeError, match="a fault of the lock"):
        await candidate.task


@pytest.mark.parametrize(
    "times",
    [
        {"lease": 5, "renew": 5},
        {"lease": 10.9, "renew": 10.5},
        {"renew": 2, "retry": 2},
        {"lease": 0.9, "renew": 0.5, "retry": 0.1},
    ],
)
def test_times_that_cannot_work_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|whole"):
        LeaderTimes(**times)


def test_a_lease_on_a_real_server_has_one_leader_at_a_time(kit: Any, namespace: str) -> None:
    async def test() -> None:
        client = kit.dynamic()
        log: list[str] = []

        def candidate(name: str) -> asyncio.Task[None]:
            async def lead() -> None:
                log.append(name)
                await asyncio.get_running_loop().create_future()

            lock = LeaseLock(client, namespace=namespace, name="operator", identity=name)
            times = LeaderTimes(lease=6, renew=5, retry=0.05)
            return asyncio.create_task(LeaderElector(lock, times=times).run(lead))

        tasks = {name: candidate(name) for name in ("one", "two", "three")}
        for count in (1, 2, 3):
            await until(lambda n=count: len(log) == n)
            await asyncio.sleep(0.2)
            assert len(log) == count
            tasks[log[-1]].cancel()
        assert sorted(log) == ["one", "three", "two"]
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        lock = LeaseLock(client, namespace=namespace, name="operator", identity="x")
        record = await lock.get()
        assert (record.holder, record.transitions) == ("", 2)
        await client.rest.close()

    run(test())
