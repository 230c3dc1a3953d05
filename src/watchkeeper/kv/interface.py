"""The contract of a key-value store: what an API server asks of etcd, and no more.

One global revision counts writes: every successful put or delete is exactly one step. A store begins at revision 1
with nothing in it, so the first write makes revision 2 (etcd's numbering). A key carries the revision of its creation
and of its last change and how many times it has been written since it was created.

Reads without a revision are linearizable: they see every write that was acknowledged before the read began, by any
client of the store. Reads at a revision see exactly the state that this revision left.

Keys and values are bytes; keys are not empty and order bytewise. An end of b"\\0" means "to the end of all keys".
All methods raise the errors of `kv.errors` and nothing else, but for ValueError where no caller may ask such a thing
(an empty key, a lease of no time). A call that is cancelled may or may not take effect; the store stays sound.

Compaction at revision c leaves what a read at c or later needs. A read at r works if r >= c, and a watch can start
after r if a read at r works: so whoever has listed at r can follow from there, with every previous state known.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from watchkeeper.values import value


@value()
class KeyValue:
    """One key as one revision left it.

    For a deletion `value` is empty, `mod_revision` is the deletion's own, and create_revision, version and lease are 0.
    """

    key: bytes
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int = 0


@dataclass(frozen=True, slots=True)
class GetResult:
    """`kv` is None when the key does not exist. `revision` is the store's current revision at the time of the read."""

    kv: KeyValue | None
    revision: int


@dataclass(frozen=True, slots=True)
class RangeResult:
    """Keys in order. `count` is the number of all keys in the range, whatever the limit; `more`: some were left out.

    `revision` is the store's current revision at the time of the read, not the one that was read at.
    """

    kvs: list[KeyValue]
    count: int
    more: bool
    revision: int


@value()
class TxnResult:
    """The outcome of an optimistic write.

    `revision`: the new revision when it succeeded, else the store's current one. `kv`: on failure and when asked for,
    the key as it is now (None when it does not exist); after a successful delete, what was deleted.
    """

    succeeded: bool
    revision: int
    kv: KeyValue | None = None


class EventType(enum.Enum):
    """What happened to a key."""

    PUT = "put"
    DELETE = "delete"


@value()
class Event:
    """One change of one key. `prev` is the state before, when the watch asked for it and there was one."""

    type: EventType
    kv: KeyValue
    prev: KeyValue | None = None

    @property
    def is_create(self) -> bool:
        """Whether this put made the key."""
        return self.type is EventType.PUT and self.kv.create_revision == self.kv.mod_revision


@value()
class WatchBatch:
    """All events of one or more whole revisions, in order; or none, as a statement of progress.

    Everything up to and including `revision` has been delivered once this batch has been taken.
    """

    revision: int
    events: tuple[Event, ...] = ()


class Watch(Protocol):
    """A stream of batches. Iterate to receive; close when done.

    Iteration ends with `Compacted` when the start has been compacted, `Unavailable` when the stream broke and cannot
    be resumed without loss, `Closed` when the store was closed. It never ends silently except after `close()`.
    A consumer that does not read costs memory, never other consumers' time.
    """

    def __aiter__(self) -> AsyncIterator[WatchBatch]:
        """Return the stream itself."""
        ...

    async def __anext__(self) -> WatchBatch:
        """Wait for the next batch. Revisions of successive batches never fall."""
        ...

    def take_nowait(self) -> WatchBatch | None:
        """The next batch if one is there. Raises what iteration would raise."""
        ...

    def delivered_revision_nowait(self) -> int | None:
        """The revision up to which everything has been handed out, as far as that is known without asking anybody.

        Backends in this process know: when nothing waits to be taken, it is the store's current revision. None when
        only a round trip could tell (etcd); then `request_progress` helps.
        """
        ...

    def is_current_nowait(self) -> bool:
        """Whether it is known without asking anybody that what was handed out is all that the store has acknowledged.

        Then `delivered_revision_nowait` is the store's current revision. Never where only a round trip could tell, nor
        of a stream that has ended.
        """
        ...

    async def close(self) -> None:
        """End the stream and free what it holds. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Status:
    """What a store says of itself. Sizes in bytes."""

    backend: str
    version: str
    revision: int
    compact_revision: int
    db_size: int
    db_size_in_use: int


class KV(Protocol):
    """A revisioned key-value store."""

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Read one key, now or as `revision` left it. Raises Compacted, FutureRevision."""
        ...

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
        """Read the keys in [start, end) in key order, at most `limit` (0: all). Raises Compacted, FutureRevision.

        With `count_only` no keys come back; with `keys_only` their values are empty. Who does not need the count says
        so (`counted`): it then is any number from that of the keys that came back on, and may have cost less.
        """
        ...

    async def optimistic_put(
        self,
        key: bytes,
        value: bytes,
        expected_mod_revision: int,
        *,
        lease: int = 0,
        get_on_failure: bool = False,
    ) -> TxnResult:
        """Write `key` if its mod_revision is the expected one (0: if it does not exist).

        A returned success is durable, to the degree the store was configured for. Raises LeaseNotFound, ValueTooLarge.
        """
        ...

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Delete `key` if its mod_revision is the expected one. An absent key never matches."""
        ...

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Follow all keys that begin with `prefix`, from after `after_revision` (0: from now on).

        Once this returns, every later change is going to be delivered. Each event after `after_revision` comes exactly
        once, in revision order, all events of one revision in one batch. A start in the future is allowed: nothing
        comes until the store passes it. Raises Compacted at once, or from the stream, when the start is gone.
        """
        ...

    async def request_progress(self, watch: Watch) -> bool:
        """Ask that `watch` soon receives a batch, perhaps empty, that tells how far it has come.

        False when this store cannot be asked (an old etcd): then progress comes when the store sees fit, which may be
        never, and who must know reads from the store. An answer can get lost with a connection: ask again.
        """
        ...

    async def current_revision(self) -> int:
        """The store's revision, linearizable."""
        ...

    def current_revision_nowait(self) -> int | None:
        """The same when this process knows it for sure (it is the only writer), else None."""
        ...

    async def grant_lease(self, ttl: int) -> int:
        """A new lease of at least `ttl` seconds; its keys are deleted soon after it expires. Returns its id.

        They go in key order, each in a revision of its own, except on etcd, which deletes them all in one revision.
        A put without the lease, or with another one, takes a key off it.
        """
        ...

    async def revoke_lease(self, lease: int) -> None:
        """Delete the lease and its keys now. Raises LeaseNotFound."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`. Later reads and watches below it raise Compacted.

        Raises Compacted when that was done already, FutureRevision when there is no such revision yet.
        """
        ...

    async def status(self) -> Status:
        """Facts for health checks and metrics. Raises Unavailable when the store is out of reach."""
        ...

    async def close(self) -> None:
        """Finish what was acknowledged, end all watches with Closed, free everything. Idempotent."""
        ...


def prefix_end(prefix: bytes) -> bytes:
    """The first key after all keys that begin with `prefix`; b"\\0" (etcd's "to the end") when there is none."""
    trimmed = prefix.rstrip(b"\xff")
    if not trimmed:
        return b"\0"
    return trimmed[:-1] + bytes([trimmed[-1] + 1])
