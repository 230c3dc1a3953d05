"""A key-value store in one SQLite file, for one process. See the package for how the parts work together."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.workers import Workers, WorkersClosed
from watchkeeper.kv.errors import Closed, Compacted, FutureRevision
from watchkeeper.kv.interface import GetResult, KeyValue, RangeResult, Status, TxnResult, Watch, prefix_end
from watchkeeper.kv.limits import check_put
from watchkeeper.kv.sqlite import reading
from watchkeeper.kv.sqlite.checkpoint import Checkpointer
from watchkeeper.kv.sqlite.committer import Committer
from watchkeeper.kv.sqlite.compaction import Compactor
from watchkeeper.kv.sqlite.failure import translate
from watchkeeper.kv.sqlite.files import OpenFile, open_file
from watchkeeper.kv.sqlite.index import CurrentIndex, Entry
from watchkeeper.kv.sqlite.leases import Leases
from watchkeeper.kv.sqlite.maintenance import backup
from watchkeeper.kv.sqlite.residency import Residency
from watchkeeper.kv.sqlite.schema import Synchronous, connect
from watchkeeper.kv.sqlite.values import RecentValues
from watchkeeper.kv.sqlite.watching import SQLiteWatch, WatchHub


class _Dated(Protocol):
    @property
    def revision(self) -> int:
        """The newest revision that a read saw."""
        ...


R = TypeVar("R")
D = TypeVar("D", bound=_Dated)


class SQLiteKV:
    """Implements `interface.KV` on a local file that no other process may open for writing meanwhile.

    Opened by `open`; used by one event loop.
    """

    def __init__(self, file: OpenFile, index: CurrentIndex, *, clock: Clock, readers: int, upkeep: bool) -> None:
        """Use `open`."""
        self.path = file.path
        self._file = file
        self._index = index
        self._values = RecentValues()
        self._closed = False
        self._close_done: asyncio.Event | None = None
        self._started = not upkeep
        self._tasks = TaskOwner(f"sqlite {file.path.name}")
        self._hub = WatchHub(file.revision, self._read_log, self._tasks)
        name = f"sqlite-{file.path.name}"
        self._writer = Workers(f"{name}-writer", [file.connection], sqlite3.Connection.close)
        self._readers = Workers(
            f"{name}-reader",
            [connect(file.path, read_only=True) for _ in range(readers)],
            sqlite3.Connection.close,
        )
        # Single keys have a thread of their own: they do not wait behind lists, and what it needs stays in its caches.
        self._finder = Workers(f"{name}-finder", [connect(file.path, read_only=True)], sqlite3.Connection.close)
        self._near = connect(file.path, read_only=True, timeout=0)
        self._residency = Residency(file.all_paths())
        checkpoints = Workers(f"{name}-checkpoint", [file.another_writer()], sqlite3.Connection.close)
        self._checkpointer = Checkpointer(checkpoints, self._writer)
        self._committer = Committer(
            self._writer,
            index,
            self._values,
            self._hub,
            self._tasks,
            path=file.path,
            clock=clock,
            wrote=self._checkpointer.wrote,
        )
        self._leases = Leases(index, self._committer, self._tasks, clock)
        self._compactor = Compactor(
            self._committer,
            self._writer,
            self._hub,
            self._tasks,
            clock,
            compact_revision=file.compact_revision,
            wrote=self._checkpointer.wrote,
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "FULL",
        clock: Clock = SYSTEM_CLOCK,
        readers: int = 2,
        upkeep: bool = True,
    ) -> SQLiteKV:
        """Open the store in the file `path`, which is made (mode 0600) if it does not exist; its folder must.

        `synchronous`: FULL loses nothing that was acknowledged, whatever happens; NORMAL may lose the last moments
        when the machine (not just the process) crashes; OFF may damage the file then. After an unclean stop the whole
        file is checked, which takes a second for about a gigabyte. Blocks while it does all that. Without `upkeep`
        leases do not expire and compaction is not finished: what is stored stays as it is until somebody writes.

        Raises InUse when another process has it, Corrupt when it is damaged, Incompatible when it is not a store or
        newer than this program, Unavailable when it cannot be opened.
        """
        file = open_file(Path(path), synchronous)
        try:
            index = CurrentIndex()
            index.load(file.connection, monotonic=clock.monotonic(), now=clock.time())
            kv = cls(file, index, clock=clock, readers=readers, upkeep=upkeep)
        except BaseException as error:
            file.close()
            if isinstance(error, sqlite3.Error):
                raise translate(error, file.path) from error
            raise
        return kv

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"revision {self._hub.published}, {len(self._index.entries)} keys"
        return f"<SQLiteKV {self.path}: {state}, {self._committer!r}, {self._hub!r}>"

    # Reads

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Read one key, now or as `revision` left it. Raises Compacted, FutureRevision."""
        self._check_open()
        if revision > 0:
            self._check_readable(revision)
            return await self._read(lambda connection: reading.get_at(connection, key, revision))
        entry = self._index.entries.get(key)
        if not self._committer.unsettled(key, entry):
            # The index says what there is; only a value that was not used lately has to be fetched.
            published = self._hub.published
            if entry is None:
                return GetResult(None, published)
            if (kv := await self._find(key, entry)) is not None:
                return GetResult(kv, published)
        return await self._read(lambda connection: reading.get(connection, key), self._finder)

    async def _find(self, key: bytes, entry: Entry) -> KeyValue | None:
        """A key as a committed write left it; None when that has been replaced and compacted meanwhile."""
        at, create_revision, version, lease = entry
        value = self._values.find(key, at)
        if value is None:
            value = self._value_nearby(at)
            if value is None:
                value = await self._run(self._finder, lambda connection: self._value(connection, at))
            if value is None:
                return None
            self._values.keep(key, at, value)
        return KeyValue(key, value, create_revision, at, version, lease)

    def _value_nearby(self, at: int) -> bytes | None:
        """The value that a revision wrote, read here and now, if that cannot wait for a disk or for a lock."""
        if not self._residency.holds(time.monotonic()):
            return None
        try:
            return reading.get_value(self._near, at)
        except sqlite3.Error:
            return None  # the thread finds out, or waits for what is locked

    def _value(self, connection: sqlite3.Connection, at: int) -> bytes | None:
        value = reading.get_value(connection, at)
        self._residency.look(time.monotonic())
        return value

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

        def now(connection: sqlite3.Connection) -> RangeResult:
            return reading.range_now(
                connection, start, end, limit=limit, count_only=count_only, keys_only=keys_only, counted=counted
            )

        def then(connection: sqlite3.Connection) -> RangeResult:
            return reading.range_at(
                connection,
                start,
                end,
                revision,
                limit=limit,
                count_only=count_only,
                keys_only=keys_only,
                counted=counted,
            )

        if revision <= 0:
            return await self._read(now)
        self._check_readable(revision)
        return await self._read(then)

    async def current_revision(self) -> int:
        """The revision of the last write that was acknowledged."""
        self._check_open()
        return self._hub.published

    def current_revision_nowait(self) -> int | None:
        """The same; always known, because nobody else writes."""
        return self._hub.published

    async def status(self) -> Status:
        """Facts of the file; what is in use does not count the write-ahead log."""
        self._check_open()
        return await self._read(lambda connection: reading.status(connection, self._file.wal_size()))

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
        while True:
            entry = self._index.entries.get(key)
            if (entry.mod_revision if entry is not None else 0) == expected_mod_revision:
                if lease:
                    self._leases.check(lease)
                write = await self._committer.put(key, value, entry, lease)
                return TxnResult(True, write.revision)
            if (result := await self._refuse(key, entry, get_on_failure)) is not None:
                return result

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Delete `key` if its mod_revision is the expected one. An absent key never matches."""
        self._check_open()
        while True:
            entry = self._index.entries.get(key)
            if entry is not None and entry.mod_revision == expected_mod_revision:
                write = await self._committer.delete(key, entry, needs_prev=True)
                return TxnResult(True, write.revision, write.prev())
            if (result := await self._refuse(key, entry, get_on_failure)) is not None:
                return result

    async def _refuse(self, key: bytes, entry: Entry | None, get_on_failure: bool) -> TxnResult | None:
        """The answer to a write that found `entry` instead of what it expected; None when it must look again.

        Nobody is told of an entry that is not yet durable.
        """
        self._committer.check_ready()
        if self._committer.unsettled(key, entry):
            await self._committer.settle()
        if not get_on_failure or entry is None:
            return TxnResult(False, self._hub.published)
        published = self._hub.published
        kv = await self._find(key, entry)
        return TxnResult(False, published, kv) if kv is not None else None

    # Watches

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Follow all keys that begin with `prefix`, from after `after_revision` (0: from now on). Raises Compacted."""
        self._check_open()
        if 0 < after_revision < self._compactor.compact_revision:
            raise Compacted(self._compactor.compact_revision)
        return self._hub.open(prefix, after_revision, prev_kv=prev_kv)

    async def request_progress(self, watch: Watch) -> bool:
        """Give `watch` an empty batch with the store's revision, behind what it has not taken or not caught up with."""
        self._check_open()
        if not isinstance(watch, SQLiteWatch):
            raise TypeError(f"{watch!r} is not a watch of this store")
        watch.progress()
        return True

    async def _read_log(self, prefix: bytes, after: int, *, prev_kv: bool) -> reading.LogPart:
        end = prefix_end(prefix)
        return await self._read(lambda connection: reading.read_log(connection, prefix, end, after, prev_kv=prev_kv))

    # Leases

    async def grant_lease(self, ttl: int) -> int:
        """A new lease of `ttl` seconds. It outlives this process: what is left of it goes on at the next start."""
        self._check_open()
        return await self._leases.grant(ttl)

    async def revoke_lease(self, lease: int) -> None:
        """Delete the lease and its keys now. Raises LeaseNotFound."""
        self._check_open()
        await self._leases.revoke(lease)

    # Upkeep and end

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`. The rows are removed in the background."""
        self._check_open()
        await self._compactor.compact(revision)

    async def compaction_finished(self) -> None:
        """Wait until compaction has removed what it could and given the room back."""
        await self._compactor.finished()

    async def backup(self, target: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the store to the new file `target`, while serving. Raises Unavailable."""
        self._check_open()
        await asyncio.to_thread(backup, self.path, Path(target))

    async def close(self) -> None:
        """Finish what was accepted, end all watches with Closed, close the file. Idempotent."""
        if self._close_done is not None:
            await self._close_done.wait()
            return
        self._close_done = asyncio.Event()
        self._closed = True
        await self._committer.flush()
        await self._tasks.close()
        await self._committer.flush(last=True)
        self._hub.end(Closed("the store was closed"))
        await self._readers.close()
        await self._finder.close()
        self._near.close()
        await self._checkpointer.close()
        await self._writer.close()
        self._file.release()
        self._close_done.set()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("the store was closed")
        if not self._started:
            self._started = True
            self._leases.start()
            self._compactor.start()

    def _check_readable(self, revision: int) -> None:
        if revision > self._hub.published:
            raise FutureRevision(self._hub.published)
        reading.check_readable(revision, self._hub.published, self._compactor.compact_revision)

    async def _read(
        self, job: Callable[[sqlite3.Connection], D], workers: Workers[sqlite3.Connection] | None = None
    ) -> D:
        """Run a read on a thread; return once all that it saw is published, so that nobody knows more than watches."""
        result = await self._run(workers or self._readers, job)
        if result.revision > self._hub.published:
            await self._committer.published(result.revision)
        return result

    async def _run(self, workers: Workers[sqlite3.Connection], job: Callable[[sqlite3.Connection], R]) -> R:
        try:
            return await workers.run(job)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except WorkersClosed as error:
            raise Closed("the store was closed") from error
