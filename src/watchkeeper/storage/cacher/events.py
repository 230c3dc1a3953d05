"""One change as the cache remembers it."""

from __future__ import annotations

from watchkeeper.storage.interface import EventType, StoredObject, WatchEvent
from watchkeeper.storage.predicate import SelectionPredicate
from watchkeeper.storage.transition import selects


class CacheEvent:
    """What happened to one key at one revision: the state before and the state after (None: absent)."""

    __slots__ = ("_same", "current", "key", "previous", "revision", "time")

    def __init__(
        self, key: str, current: StoredObject | None, previous: StoredObject | None, revision: int, time: float
    ) -> None:
        """`time` is when it was seen, on the cache's monotonic clock."""
        self.key = key
        self.current = current
        self.previous = previous
        self.revision = revision
        self.time = time
        self._same: bool | None = None

    def __repr__(self) -> str:
        what = "deleted" if self.current is None else "created" if self.previous is None else "changed"
        return f"<CacheEvent {self.key} {what} at {self.revision}>"

    def type_for(self, predicate: SelectionPredicate | None) -> EventType | None:
        """What this is to a watcher with that selector (None: of everything), if anything."""
        current, previous = self.current, self.previous
        if current is None:
            return EventType.DELETED if selects(predicate, previous) else None
        now = predicate is None or selects(predicate, current)
        if previous is None:
            return EventType.ADDED if now else None
        before = now if predicate is None or self._looks_the_same() else selects(predicate, previous)
        if now:
            return EventType.MODIFIED if before else EventType.ADDED
        return EventType.DELETED if before else None

    def _looks_the_same(self) -> bool:
        """Whether no selector can tell the states apart, which both are there; worked out once."""
        same = self._same
        if same is None:
            assert self.current is not None
            assert self.previous is not None
            now, before = self.current.attributes, self.previous.attributes
            same = self._same = now.labels == before.labels and now.fields == before.fields
        return same

    def shown(self, type: EventType) -> WatchEvent:
        """A new WatchEvent of that type. Whoever has several watchers for it lets them share one."""
        if type is EventType.DELETED:
            previous = self.previous
            assert previous is not None
            return WatchEvent(type, previous.codec.restamp(previous, self.revision))
        return WatchEvent(type, self.current)
