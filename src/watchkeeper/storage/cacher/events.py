"""One change as the cache remembers it."""

from __future__ import annotations

from watchkeeper.storage.interface import EventType, StoredObject, WatchEvent
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.transition import outcome


class CacheEvent:
    """What happened to one key at one revision: the state before and the state after (None: absent)."""

    __slots__ = ("current", "key", "previous", "revision", "time")

    def __init__(
        self, key: str, current: StoredObject | None, previous: StoredObject | None, revision: int, time: float
    ) -> None:
        """`time` is when it was seen, on the cache's monotonic clock."""
        self.key = key
        self.current = current
        self.previous = previous
        self.revision = revision
        self.time = time

    def __repr__(self) -> str:
        what = "deleted" if self.current is None else "created" if self.previous is None else "changed"
        return f"<CacheEvent {self.key} {what} at {self.revision}>"

    def type_for(self, predicate: SelectionPredicate | None) -> EventType | None:
        """What this is to a watcher with that selector (None: of everything), if anything."""
        if predicate is not None:
            return outcome(predicate, self.current, self.previous)
        if self.current is None:
            return EventType.DELETED
        return EventType.ADDED if self.previous is None else EventType.MODIFIED

    def shown(self, type: EventType) -> WatchEvent:
        """A new WatchEvent of that type. Whoever has several watchers for it lets them share one."""
        if type is EventType.DELETED:
            previous = self.previous
            assert previous is not None
            return WatchEvent(type, previous.codec.restamp(previous, self.revision))
        return WatchEvent(type, self.current)
