"""`storage.Interface`: API objects of one resource by key, with optimistic concurrency, lists and watches.

Objects go in as dicts at the hub version and come out as `StoredObject`: their encoding, which most requests send on
without looking inside. A dict is made only for those who ask (`StoredObject.data`).

Keys are texts such as `/registry/pods/<namespace>/<name>`. A collection's key ends with `/`, so `a` never shows `a-b`.
Resource versions are the key-value store's revisions.
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.predicate import EVERYTHING, SelectionPredicate
from watchkeeper.values import value

Object = dict[str, Any]


class StoredObject:
    """One object as one revision left it. Immutable.

    `tail` is the object's JSON from `"metadata":{` to the final brace, with the resourceVersion spliced in as first
    member of metadata. `head` is what comes before it, `{"kind":…,"apiVersion":…,`, one bytes object per kind. So a GET
    sends head + tail, and a list of a built-in kind, whose items carry no kind, sends `{` + tail.
    """

    __slots__ = ("_attributes", "codec", "head", "key", "resource_version", "settled", "tail")

    def __init__(self, key: str, resource_version: int, head: bytes, tail: bytes, codec: ObjectCodec) -> None:
        self.key = key
        self.resource_version = resource_version
        self.head = head
        self.tail = tail
        self.codec = codec
        self.settled = False
        """Whether this process wrote it and found it valid as a whole, so that it is decoded and defaulted already."""
        self._attributes: Attributes | None = None

    def __repr__(self) -> str:
        return f"<StoredObject {self.key} at {self.resource_version}>"

    @property
    def encoded(self) -> bytes:
        """The whole object as JSON."""
        return self.head + self.tail

    def data(self) -> Object:
        """The object as a dict of the caller's own, parsed anew each time."""
        return self.codec.parse(self)

    def prove(self) -> None:
        """Raise CorruptObject for what is not as its kind says: asked when something fails on an object."""
        self.codec.prove(self)

    def proven_data(self) -> Object:
        """`data` for what works with an object without looking again. Raises CorruptObject as `prove` does.

        What this process wrote and found valid is not looked into.
        """
        if not self.settled:
            self.prove()
        return self.data()

    @property
    def attributes(self) -> Attributes:
        """Labels and selectable fields, worked out on first use and kept."""
        found = self._attributes
        if found is None:
            found = self._attributes = self.codec.attributes_of(self)
        return found

    @property
    def known_attributes(self) -> Attributes | None:
        """The attributes if they are known already."""
        return self._attributes

    def set_attributes(self, attributes: Attributes) -> None:
        """Provide what `attributes` would work out, where a dict is at hand."""
        self._attributes = attributes


@value()
class Attributes:
    """What selectors look at. `namespace` and `name` are also among the fields, as metadata.namespace and .name."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]
    uid: str = ""


class ObjectCodec(Protocol):
    """Between dicts, stored bytes and StoredObjects, for one resource at its hub version."""

    gvk: GroupVersionKind

    def encode(self, obj: Object) -> bytes:
        """The canonical stored encoding: head first, then metadata, keys sorted, no resourceVersion.

        Equal objects have equal encodings, whatever the order of their keys. Does not change `obj`.
        """
        ...

    def stored(self, key: str, value: bytes, revision: int) -> StoredObject:
        """Wrap stored bytes, splicing the revision in.

        Bytes that are not at the hub version (written by an older server) or that need defaults on reading are
        brought there first. Raises CorruptObject naming the key.
        """
        ...

    def parse(self, stored: StoredObject) -> Object:
        """A fresh dict of the object, with its resourceVersion."""
        ...

    def prove(self, stored: StoredObject) -> None:
        """Raise CorruptObject for an object whose fields are not what its kind says.

        Values that look as if this server wrote them are believed when they are read, and so not looked into.
        """
        ...

    def attributes(self, obj: Object) -> Attributes:
        """Labels and selectable fields of an object."""
        ...

    def attributes_of(self, stored: StoredObject) -> Attributes:
        """The same of an object that nobody has parsed yet. Raises CorruptObject for what is not JSON."""
        ...

    def restamp(self, stored: StoredObject, revision: int) -> StoredObject:
        """The same content at another version: what a DELETED event shows."""
        ...


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must hold of the stored object for a write to go on. None: nothing asked."""

    uid: str | None = None
    resource_version: str | None = None


class Match(enum.Enum):
    """resourceVersionMatch."""

    UNSET = ""
    EXACT = "Exact"
    NOT_OLDER_THAN = "NotOlderThan"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What a list is to contain. `resource_version` is as the client sent it: "", "0" or a decimal number."""

    resource_version: str = ""
    match: Match = Match.UNSET
    limit: int = 0
    continue_token: str = ""
    predicate: SelectionPredicate = EVERYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """Where a watch begins and what it shows.

    `send_initial_events` None: decided by the resource version as always ("0" and "" begin with the current state).
    `bookmarks`: the client asked for BOOKMARK events. `deadline` is the loop time at which the watch is going to end,
    None for never: a bookmark comes shortly before.
    """

    resource_version: str = ""
    match: Match = Match.UNSET
    send_initial_events: bool | None = None
    bookmarks: bool = False
    predicate: SelectionPredicate = EVERYTHING
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class ListResult:
    """Objects in key order, the version of the list, and how to go on.

    `remaining` is None when unknown or when nothing remains.
    """

    items: list[StoredObject]
    resource_version: int
    continue_token: str = ""
    remaining: int | None = None


class EventType(enum.StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent:
    """An event as a watcher sees it, shared by all watchers that see it so.

    For ADDED, MODIFIED and DELETED `object` is set. A DELETED carries the last state at the version of the deletion.
    A BOOKMARK has only `resource_version`; with `initial_events_end` it marks the end of a watch-list's state. An ERROR
    has `error`, is the last event, and was translated by nobody yet. `encodings` is where the endpoints keep the frames
    they made of this event, by representation.
    """

    __slots__ = ("encodings", "error", "initial_events_end", "object", "resource_version", "type")

    def __init__(
        self,
        type: EventType,
        object: StoredObject | None = None,
        resource_version: int = 0,
        *,
        initial_events_end: bool = False,
        error: Exception | None = None,
    ) -> None:
        self.type = type
        self.object = object
        self.resource_version = object.resource_version if object is not None else resource_version
        self.initial_events_end = initial_events_end
        self.error = error
        self.encodings: dict[Hashable, bytes] = {}

    def __repr__(self) -> str:
        return f"<WatchEvent {self.type.value} {self.object!r} at {self.resource_version}>"


class Watcher(Protocol):
    """A stream of events for one client.

    It ends by StopAsyncIteration: after `close()`, after an ERROR event, when the server shuts it down because the
    client was too slow, or because its source was restarted. A client may always resume from the last version it saw.
    """

    async def next_batch(self, max_events: int = 1000) -> list[WatchEvent]:
        """Wait for at least one event, then return all that are there, at most `max_events`. [] when it has ended."""
        ...

    def finish(self) -> None:
        """End once the client has taken what is there already; for a source that is to go. Synchronous, idempotent."""
        ...

    def close(self) -> None:
        """Stop watching and free what it holds. Synchronous and idempotent."""
        ...


@runtime_checkable
class PushingWatcher(Watcher, Protocol):
    """A watcher that can give events to a function, so that thousands of readers need not be woken for each."""

    def push_to(self, take: Callable[[list[WatchEvent]], bool]) -> None:
        """Hand what comes while the reader waits in `next_batch` to `take`, in the order and at the time at which the
        reader would have got it; the reader sleeps on.

        `take` must not wait. It takes all it is given and returns True, or nothing and returns False: then the reader
        is woken and gets the same. It is never given an ERROR, and nothing once the watcher is closed.
        """
        ...


@runtime_checkable
class BeginningWatcher(Watcher, Protocol):
    """A watcher that can hand out what it begins with as objects, sparing an event for each that nobody shares."""

    def take_initial(self, max_bytes: int) -> list[StoredObject] | None:
        """The next objects of the state that the watch begins with, each an ADDED event: about `max_bytes` of them.

        [] when nothing of this stretch is selected; None when no such object is left, and `next_batch` has what
        follows. Both give out the same sequence, wherever one goes on after the other.
        """
        ...


UpdateFunc = Callable[["StoredObject | None"], "Object | Awaitable[Object]"]
"""Given the current state (None: it does not exist), return the state to be or raise. May be called several times,
each time with a newer state; must not rely on side effects of earlier calls."""

ValidateFunc = Callable[[StoredObject], "Awaitable[None] | None"]
"""Raise if the object may not be deleted. Called with the latest state before the deletion takes effect."""


@dataclass(frozen=True, slots=True)
class Stats:
    """How much is stored. `estimated_average_size` in bytes."""

    object_count: int
    estimated_average_size: int = 0


@value(kw_only=True)
class UpdateOptions:
    """How `guaranteed_update` goes about it.

    `suggestion`: a state known from a cache. It spares a read; whenever anything fails on it, or the write finds the
    object changed, the latest state is read and tried again before an error is returned.
    `settled`: the new state is found valid as a whole (`StoredObject.settled`); `keeps_settled`: if the old one was.
    `exact`: whether anything changes is for the stored bytes to tell, not for what a cache shows of them.
    """

    ignore_not_found: bool = False
    preconditions: Preconditions | None = None
    suggestion: StoredObject | None = None
    ttl: int = 0
    settled: bool = False
    keeps_settled: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How `delete` goes about it. `unsafe` removes an object that cannot be decoded, without looking at it."""

    preconditions: Preconditions | None = None
    validate: ValidateFunc | None = None
    suggestion: StoredObject | None = None
    unsafe: bool = False


class Interface(Protocol):
    """Storage of one resource. Raises the errors of `storage.errors`."""

    @property
    def codec(self) -> ObjectCodec:
        """How objects are encoded."""
        ...

    async def create(self, key: str, obj: Object, *, ttl: int = 0, settled: bool = False) -> StoredObject:
        """Store a new object; `ttl` seconds from now it vanishes (0: never). Raises KeyExists.

        `settled`: the caller has found it valid as a whole (`StoredObject.settled`).
        """
        ...

    async def get(self, key: str, *, resource_version: str = "") -> StoredObject:
        """Read one object: "" the latest, "0" whatever is at hand, else not older than that. Raises KeyNotFound."""
        ...

    def get_nowait(self, key: str, *, resource_version: str = "") -> StoredObject | None:
        """The same when it can be answered at once; None when it takes `get` to know, also whether it exists."""
        ...

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """List what is under `prefix` (ends with `/`, or is an object's own key for a list of one)."""
        ...

    def is_absent_nowait(self, key: str) -> bool:
        """Whether it can be told at once that there is no such object."""
        ...

    def list_nowait(self, prefix: str) -> list[StoredObject] | None:
        """What `get_list` with version "0" gives of all under `prefix`, when it can be given at once; else None."""
        ...

    async def guaranteed_update(
        self, key: str, update: UpdateFunc, options: UpdateOptions = UpdateOptions()
    ) -> StoredObject:
        """Change an object by a function of its current state, retrying until no other writer interferes.

        When the function returns what is stored already, nothing is written and the current state is returned.
        Raises KeyNotFound, PreconditionFailed, and whatever `update` raises on the latest state.
        """
        ...

    async def delete(self, key: str, options: DeleteOptions = DeleteOptions()) -> StoredObject:
        """Delete an object; returns its last state, at the version of the deletion.

        Raises KeyNotFound, PreconditionFailed.
        """
        ...

    async def watch(self, prefix: str, options: WatchOptions) -> Watcher:
        """Follow what is under `prefix` (or one object by its own key). Raises InvalidRequest, NotReady.

        Whatever else goes wrong, now or later, is an ERROR event of the stream: Expired, TooLargeResourceVersion, ….
        """
        ...

    async def count(self, prefix: str) -> int:
        """How many objects are under `prefix`."""
        ...

    async def stats(self) -> Stats:
        """How much is stored, cheaply; may be a little stale."""
        ...

    async def current_resource_version(self) -> int:
        """The storage's latest version, linearizable."""
        ...

    def ready(self) -> str:
        """ "" when requests are served as they should be, else why not."""
        ...

    async def close(self) -> None:
        """End watches and tasks. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class WatchDecision:
    """What one change means to a watcher with a selector: which event, and which state it shows."""

    type: EventType
    object: StoredObject


RESOURCE_PREFIX = "/registry"
