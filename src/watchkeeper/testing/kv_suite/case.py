"""What the cases share: what they write and read, and how they wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from watchkeeper.kv.interface import KV, Event, EventType, KeyValue, Watch, WatchBatch

T = TypeVar("T")
Case = Callable[[KV], Awaitable[None]]

PATIENCE = 20.0
"""Seconds until something that must come counts as missing. Only failures wait so long."""


async def put(kv: KV, key: bytes, value: bytes = b"v", expected: int = 0, *, lease: int = 0) -> int:
    """Write `key`; assert success; return the revision."""
    result = await kv.optimistic_put(key, value, expected, lease=lease)
    assert result.succeeded, f"put of {key!r} at {expected} failed: {result}"
    return result.revision


async def delete(kv: KV, key: bytes, expected: int) -> int:
    """Delete `key`; assert success; return the revision."""
    result = await kv.optimistic_delete(key, expected)
    assert result.succeeded, f"delete of {key!r} at {expected} failed: {result}"
    return result.revision


async def next_batch(watch: Watch) -> WatchBatch:
    """The next batch, waiting no longer than PATIENCE."""
    return await asyncio.wait_for(watch.__anext__(), PATIENCE)


async def take(watch: Watch, count: int) -> list[Event]:
    """The next `count` events, after checking that their batches keep the rules."""
    events: list[Event] = []
    reached = 0
    deadline = time.monotonic() + PATIENCE
    while len(events) < count:
        assert time.monotonic() < deadline, f"{len(events)} of {count} events came"
        batch = await next_batch(watch)
        check_batch(batch, reached)
        reached = batch.revision
        events.extend(batch.events)
        if batch.events:
            deadline = time.monotonic() + PATIENCE  # whoever writes may take longer than that for all of them
    assert len(events) == count, f"more than the {count} events expected: {events}"
    return events


def check_batch(batch: WatchBatch, reached: int) -> None:
    """Assert that a batch after one that reached `reached` is in order and covers what it contains."""
    assert batch.revision >= reached, f"{batch.revision} came after {reached}"
    revisions = [event.kv.mod_revision for event in batch.events]
    assert revisions == sorted(revisions), f"out of order: {revisions}"
    if revisions:
        assert revisions[0] > reached, f"revision {revisions[0]} came again, or was cut, after {reached}"
        assert revisions[-1] <= batch.revision, f"{revisions[-1]} is in a batch that only reaches {batch.revision}"


async def quiet(watch: Watch, kv: KV) -> None:
    """Assert that nothing but progress is delivered up to the store's current revision."""
    current = await kv.current_revision()
    deadline = time.monotonic() + PATIENCE
    while (reached := watch.delivered_revision_nowait()) is None or reached < current:
        assert time.monotonic() < deadline, f"no progress to {current}"
        await kv.request_progress(watch)
        batch = await next_batch(watch)
        assert not batch.events, f"unexpected: {batch.events}"
        if batch.revision >= current:
            return
    assert_nothing_waits(watch)


def assert_nothing_waits(watch: Watch) -> None:
    """Assert that no event is there to be taken; progress may be."""
    while (batch := watch.take_nowait()) is not None:
        assert not batch.events, f"unexpected: {batch.events}"


async def eventually(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until `condition` holds; assert that it does within PATIENCE."""
    deadline = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < deadline, f"not in {PATIENCE} s: {what}"
        await asyncio.sleep(0.01)


async def raises(error: type[BaseException], operation: Awaitable[T]) -> BaseException:
    """Assert that `operation` raises exactly that kind of error, and return it."""
    try:
        result = await asyncio.wait_for(operation, PATIENCE)
    except error as raised:
        return raised
    raise AssertionError(f"{error.__name__} expected, got {result!r}")


@asynccontextmanager
async def watching(kv: KV, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> AsyncIterator[Watch]:
    """A watch that is closed in the end."""
    watch = await kv.watch(prefix, after_revision=after_revision, prev_kv=prev_kv)
    try:
        yield watch
    finally:
        await watch.close()


def summary(events: list[Event]) -> list[tuple[str, bytes, bytes, int]]:
    """Type, key, value and revision of each."""
    return [(event.type.value, event.kv.key, event.kv.value, event.kv.mod_revision) for event in events]


class Model:
    """What a store must hold at every revision, told write by write."""

    def __init__(self, start: int) -> None:
        """`start` is the store's revision before the first write."""
        self.start = start
        self.states: dict[int, dict[bytes, KeyValue]] = {start: {}}
        self.events: list[tuple[str, bytes, bytes, int]] = []
        self.now = start

    async def put(self, kv: KV, key: bytes, value: bytes) -> None:
        """Write to the store and to the model."""
        old = self.states[self.now].get(key)
        revision = await put(kv, key, value, old.mod_revision if old else 0)
        assert revision == self.now + 1
        new = KeyValue(key, value, old.create_revision if old else revision, revision, old.version + 1 if old else 1)
        self._advance({**self.states[self.now], key: new})
        self.events.append((EventType.PUT.value, key, value, revision))

    async def delete(self, kv: KV, key: bytes) -> None:
        """Delete from the store and from the model; the key must exist."""
        state = dict(self.states[self.now])
        revision = await delete(kv, key, state.pop(key).mod_revision)
        assert revision == self.now + 1
        self._advance(state)
        self.events.append((EventType.DELETE.value, key, b"", revision))

    def _advance(self, state: dict[bytes, KeyValue]) -> None:
        self.now += 1
        self.states[self.now] = state

    async def check(self, kv: KV, revision: int, prefix_start: bytes, prefix_end: bytes) -> None:
        """Assert that the store reads at `revision` as the model says."""
        state = self.states[revision]
        expected = [state[key] for key in sorted(state) if prefix_start <= key < prefix_end]
        found = await kv.range(prefix_start, prefix_end, revision=revision)
        assert found.kvs == expected, f"at revision {revision}"
        assert found.count == len(expected)
