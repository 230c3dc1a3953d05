"""The seams of the client: who is told of changes, who decides how long to wait, where a leader is written down."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Object = dict[str, Any]
"""An API object. Whatever comes from an informer or a lister is shared: copy it before changing it."""

K = TypeVar("K", bound=Hashable, contravariant=True)


@dataclass(frozen=True, slots=True)
class DeletedFinalStateUnknown:
    """Stands for an object that was found to be gone when its deletion had not been seen.

    `object` is the last state that was seen, which need not be the one that was deleted.
    """

    key: str
    object: Object


class Handler(Protocol):
    """Is told of changes, in order, for one object at a time and all of them.

    Calls are synchronous and made by the informer's task: what takes long is to be put into a work queue. An exception
    is logged and keeps nobody else from being told.
    """

    def on_add(self, obj: Object, *, is_in_initial_list: bool) -> None:
        """There is a new object, or one that was there when the handler came or the informer began."""
        ...

    def on_update(self, old: Object, new: Object) -> None:
        """An object has changed. At a resync both are the same."""
        ...

    def on_delete(self, obj: Object | DeletedFinalStateUnknown) -> None:
        """An object is gone; this is its final state, if that is known."""
        ...


class RateLimiter(Protocol[K]):
    """Says how long a failed item has to wait. Never blocks."""

    def when(self, item: K) -> float:
        """Seconds to wait before the item is worked on again; counts as one more failure."""
        ...

    def forget(self, item: K) -> None:
        """The item has succeeded, or is given up: its failures do not count any more."""
        ...

    def retries(self, item: K) -> int:
        """How often the item has failed since it was last forgotten."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderRecord:
    """Who leads, as it is written down. Times are RFC 3339 with microseconds."""

    holder: str
    lease_seconds: int
    acquire_time: str
    renew_time: str
    transitions: int


class LeaderLock(Protocol):
    """Where candidates write down who leads. Writes are conditional on what this lock has read or written last."""

    @property
    def identity(self) -> str:
        """Who writes through this lock; no two candidates may have the same."""
        ...

    async def get(self) -> LeaderRecord:
        """What is written. Raises ApiError, 404 when nothing is."""
        ...

    async def create(self, record: LeaderRecord) -> None:
        """Write the first record. Raises ApiError."""
        ...

    async def update(self, record: LeaderRecord) -> None:
        """Replace what was read or written last. Raises ApiError, 409 when somebody else was faster."""
        ...
