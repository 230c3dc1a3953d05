"""A key-value store in this process's memory: the contract's reference implementation, and the oracle of its tests."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, insort
from dataclasses import dataclass, field

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import Closed, Compacted, FutureRevision, LeaseNotFound
from watchkeeper.kv.interface import (
    Event,
    EventType,
    GetResult,
    KeyValue,
    RangeResult,
    Status,
    TxnResult,
    Watch,
    WatchBatch,
)
from watchkeeper.kv.limits import check_lease_ttl, check_put
from watchkeeper.kv.mailbox_watch import MailboxWatch
from watchkeeper.kv.prefix_index import PrefixIndex


@dataclass(slots=True)
class _Lease:
    """A lease and the keys that go when it goes."""

    deadline: float
    keys: set[bytes] = field(default_factory=set)
    timer: asyncio.Task[None] | None = None


class MemoryKV:
    """Everything in dictionaries and sorted lists; every operation is one synchronous step on the event loop.

    Revision r is the change `_log[r - _log_start]`: the key as it was written (version 0: deleted) and as it was
    before. All history since the last compaction is kept.
    """

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK) -> None:
        """Leases expire on `clock`."""
        self._clock = clock
        self._tasks = TaskOwner("memory-kv")
        self._closed = False
        self._revision = 1
        self._compact_revision = 0
        self._log: list[tuple[KeyValue, KeyValue | None]] = []
        self._log_start = 2
        self._current: dict[bytes, KeyValue] = {}
        self._current_keys: list[bytes] = []
        self._history: dict[bytes, list[KeyValue]] = {}
        self._history_keys: list[bytes] = []
        self._leases: dict[int, _Lease] = {}
        self._last_lease = 0
        self._watches: PrefixIndex[MemoryWatch] = PrefixIndex()
        self._size = 0
        self._size_in_use = 0

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"revision {self._revision}, {len(self._current)} keys"
        return f"<MemoryKV {state}, {len(self._watches)} watches>"

    # Reads

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Read one key, now or as `revision` left it. Raises Compacted, FutureRevision."""
        self._check_open()
        self._check_readable(revision)
        kv = self._at(key, revision) if revision > 0 else self._current.get(key)
        return GetResult(kv, self._revision)

    async def range(
        self,
        start: bytes,
        end: bytes,
        *,
        limit: int = 0,
        revision: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        counted: bool = True,
    ) -> RangeResult:
        """Read the keys in [start, end) in key order, at most `limit` (0: all). Raises Compacted, FutureRevision."""
        self._check_open()
        self._check_readable(revision)
        if revision > 0:
            keys = _between(self._history_keys, start, end)
            found = [kv for key in keys if (kv := self._at(key, revision)) is not None]
            count = len(found)
            kvs = [] if count_only else found[:limit] if limit > 0 else found
        else:
            keys = _between(self._current_keys, start, end)
            count = len(keys)
            kvs = [] if count_only else [self._current[key] for key in (keys[:limit] if limit > 0 else keys)]
        if keys_only:
            kvs = [KeyValue(kv.key, b"", kv.create_revision, kv.mod_revision, kv.version, kv.lease) for kv in kvs]
        return RangeResult(kvs, count, not count_only and len(kvs) < count, self._revision)

    def _at(self, key: bytes, revision: int) -> KeyValue | None:
        for kv in reversed(self._history.get(key, ())):
            if kv.mod_revision <= revision:
                return kv if kv.version else None
        return None

    async def current_revision(self) -> int:
        """The store's revision."""
        self._check_open()
        return self._revision

    def current_revision_nowait(self) -> int | None:
        """The store's revision; always known."""
        return self._revision

    async def status(self) -> Status:
        """Sizes count keys and values, those of history included; in use are the current ones."""
        self._check_open()
        return Status("memory", "1", self._revision, self._compact_revision, self._size, self._size_in_use)

    # Writes

    async def optimistic_put(
        self,
        key: bytes,
        value: bytes,
        expected_mod_revision: int,
        *,
        lease: int = 0,
        get_on_failure: bool = False,
    ) -> TxnResult:
        """Write `key` if its mod_revision is the expected one. Raises LeaseNotFound, ValueTooLarge."""
        self._check_open()
        check_put(key, value)
        prev = self._current.get(key)
        if (prev.mod_revision if prev is not None else 0) != expected_mod_revision:
            return TxnResult(False, self._revision, prev if get_on_failure else None)
        if lease:
            self._live_lease(lease).keys.add(key)
        if prev is not None and prev.lease and prev.lease != lease:
            self._leases[prev.lease].keys.discard(key)
        revision = self._revision + 1
        if prev is None:
            kv = KeyValue(key, value, revision, revision, 1, lease)
            insort(self._current_keys, key)
        else:
            kv = KeyValue(key, value, prev.create_revision, revision, prev.version + 1, lease)
        self._current[key] = kv
        self._commit(kv, prev)
        return TxnResult(True, revision)

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Delete `key` if its mod_revision is the expected one. An absent key never matches."""
        self._check_open()
        prev = self._current.get(key)
        if prev is None or prev.mod_revision != expected_mod_revision:
            return TxnResult(False, self._revision, prev if get_on_failure else None)
        self._delete(prev)
        return TxnResult(True, self._revision, prev)

    def _delete(self, prev: KeyValue) -> None:
        key = prev.key
        if prev.lease:
            self._leases[prev.lease].keys.discard(key)
        del self._current[key]
        del self._current_keys[bisect_left(self._current_keys, key)]
        self._commit(KeyValue(key, b"", 0, self._revision + 1, 0), prev)

    def _commit(self, kv: KeyValue, prev: KeyValue | None) -> None:
        """Make `kv` the newest revision and tell who follows it. State is complete before anybody is told."""
        self._revision = kv.mod_revision
        self._log.append((kv, prev))
        versions = self._history.get(kv.key)
        if versions is None:
            self._history[kv.key] = [kv]
            insort(self._history_keys, kv.key)
        else:
            versions.append(kv)
        self._size += len(kv.key) + len(kv.value)
        self._size_in_use += len(kv.value) + (0 if prev is not None else len(kv.key))
        if prev is not None:
            self._size_in_use -= len(prev.value) + (0 if kv.version else len(kv.key))
        plain = full = None
        for watch in self._watches.matching(kv.key):
            if kv.mod_revision <= watch.after_revision:
                continue
            if watch.prev_kv:
                full = full or WatchBatch(kv.mod_revision, (_event(kv, prev),))
                watch.mailbox.put_nowait(full)
            else:
                plain = plain or WatchBatch(kv.mod_revision, (_event(kv, None),))
                watch.mailbox.put_nowait(plain)

    # Watches

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Follow all keys that begin with `prefix`, from after `after_revision` (0: from now on). Raises Compacted."""
        self._check_open()
        after = after_revision if after_revision > 0 else self._revision
        if after < self._compact_revision:
            raise Compacted(self._compact_revision)
        watch = MemoryWatch(self, prefix, after, prev_kv)
        for kv, prev in self._log[max(after + 1 - self._log_start, 0) :]:
            if kv.key.startswith(prefix):
                watch.mailbox.put_nowait(WatchBatch(kv.mod_revision, (_event(kv, prev if prev_kv else None),)))
        self._watches.add(prefix, watch)
        return watch

    async def request_progress(self, watch: Watch) -> bool:
        """Give `watch` an empty batch with the current revision, behind what it has not taken yet."""
        self._check_open()
        if not isinstance(watch, MemoryWatch):
            raise TypeError(f"{watch!r} is not a watch of this store")
        watch.mailbox.put_nowait(WatchBatch(self._revision))
        return True

    # Leases

    async def grant_lease(self, ttl: int) -> int:
        """A new lease of `ttl` seconds on the store's clock."""
        self._check_open()
        check_lease_ttl(ttl)
        self._last_lease += 1
        lease = self._last_lease
        record = self._leases[lease] = _Lease(self._clock.monotonic() + ttl)
        record.timer = self._tasks.start(f"lease-{lease}", self._expire(lease, record.deadline))
        return lease

    async def revoke_lease(self, lease: int) -> None:
        """Delete the lease and its keys now. Raises LeaseNotFound."""
        self._check_open()
        record = self._live_lease(lease)
        if record.timer is not None:
            record.timer.cancel()
        self._end_lease(lease)

    async def _expire(self, lease: int, deadline: float) -> None:
        while (left := deadline - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        self._end_lease(lease)

    def _end_lease(self, lease: int) -> None:
        for key in sorted(self._leases[lease].keys):
            self._delete(self._current[key])
        del self._leases[lease]

    def _live_lease(self, lease: int) -> _Lease:
        record = self._leases.get(lease)
        if record is None or record.deadline <= self._clock.monotonic():
            raise LeaseNotFound(f"lease {lease} does not exist or has expired")
        return record

    # Compaction and end

    async def compact(self, revision: int) -> None:
        """Forget what no read at `revision` or later can see."""
        self._check_open()
        if revision <= self._compact_revision:
            raise Compacted(self._compact_revision)
        if revision > self._revision:
            raise FutureRevision(self._revision)
        self._compact_revision = revision
        done = revision + 1 - self._log_start
        for kv, prev in self._log[:done]:
            # In revision order, so what this change replaced is the oldest version that the key still has.
            versions = self._history[kv.key]
            if prev is not None:
                self._size -= len(prev.key) + len(versions.pop(0).value)
            if not kv.version:
                self._size -= len(versions.pop(0).key)
            if not versions:
                del self._history[kv.key]
                del self._history_keys[bisect_left(self._history_keys, kv.key)]
        del self._log[:done]
        self._log_start += done

    async def close(self) -> None:
        """End all watches with Closed, once they have taken what waits for them. Idempotent."""
        if self._closed:
            return
        self._closed = True
        for watch in self._watches.all():
            watch.end(Closed("the store was closed"))
        await self._tasks.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the store was closed")

    def _check_readable(self, revision: int) -> None:
        if revision <= 0:
            return
        if revision < self._compact_revision:
            raise Compacted(self._compact_revision)
        if revision > self._revision:
            raise FutureRevision(self._revision)


class MemoryWatch(MailboxWatch):
    """A watch of a MemoryKV: its mailbox is filled in the same step as the write."""

    __slots__ = ("_kv",)

    def __init__(self, kv: MemoryKV, prefix: bytes, after_revision: int, prev_kv: bool) -> None:
        super().__init__(prefix, after_revision, prev_kv)
        self._kv = kv

    def _reached(self) -> int:
        return self._kv._revision

    def _forget(self) -> None:
        self._kv._watches.remove(self.prefix, self)


def _event(kv: KeyValue, prev: KeyValue | None) -> Event:
    return Event(EventType.PUT if kv.version else EventType.DELETE, kv, prev)


def _between(keys: list[bytes], start: bytes, end: bytes) -> list[bytes]:
    first = bisect_left(keys, start)
    return keys[first:] if end == b"\0" else keys[first : bisect_left(keys, end, first)]
