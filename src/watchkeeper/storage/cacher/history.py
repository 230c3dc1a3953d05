"""The window of recent changes: what a watch from a past version replays and a list of a past version goes back by."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter

from watchkeeper.storage.cacher.events import CacheEvent

FRESH_SECONDS = 75.0
"""Changes younger than that are kept, within bounds: a bookmark comes every 60 s, so one lies within the window."""

LOWER_CAPACITY = 100
UPPER_CAPACITY = 100 * 1024
MAX_BYTES = 64 << 20
"""Of superseded states that only the window keeps in memory."""

_revision = attrgetter("revision")


class History:
    """Changes in the order of their revisions, the oldest dropped as new ones come.

    The capacity doubles when it would drop what is younger than `fresh_seconds`, and halves when three quarters of what
    it holds are older. Positions count all changes ever appended, so they stay valid while others are dropped.
    """

    __slots__ = (
        "_bytes",
        "_capacity",
        "_dropped",
        "_events",
        "_fresh_seconds",
        "_lower",
        "_max_bytes",
        "_offset",
        "_upper",
        "floor",
    )

    def __init__(
        self,
        *,
        fresh_seconds: float = FRESH_SECONDS,
        lower: int = LOWER_CAPACITY,
        upper: int = UPPER_CAPACITY,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._events: list[CacheEvent] = []
        self._dropped = 0  # of `_events`, from its beginning: removed in bulk
        self._offset = 0  # position of `_events[0]`
        self._bytes = 0
        self._fresh_seconds = fresh_seconds
        self._lower = lower
        self._upper = upper
        self._capacity = lower
        self._max_bytes = max_bytes
        self.floor = 0
        """The oldest revision from which everything since is known."""

    def __len__(self) -> int:
        return len(self._events) - self._dropped

    def __repr__(self) -> str:
        return f"<History of {len(self)} changes after {self.floor}, capacity {self._capacity}>"

    @property
    def capacity(self) -> int:
        """How many changes are kept at present."""
        return self._capacity

    @property
    def end(self) -> int:
        """The position behind the last change."""
        return self._offset + len(self._events)

    @property
    def start(self) -> int:
        """The position of the oldest change that is kept."""
        return self._offset + self._dropped

    @property
    def last_revision(self) -> int:
        """Of the newest change; the floor if there is none."""
        return self._events[-1].revision if len(self) else self.floor

    def reset(self, revision: int) -> None:
        """Begin anew: the state as of `revision` is known and nothing since."""
        self._offset = self.end
        self._events = []
        self._dropped = 0
        self._bytes = 0
        self.floor = revision

    def append(self, event: CacheEvent) -> None:
        """Add the newest change."""
        size = len(self._events) - self._dropped
        if size >= self._capacity:
            self._adapt(event.time)
            while len(self._events) - self._dropped >= self._capacity:
                self._drop_oldest()
        self._events.append(event)
        if event.previous is not None:
            self._bytes += len(event.previous.tail)
            while self._bytes > self._max_bytes and len(self._events) - self._dropped > self._lower:
                self._drop_oldest()

    def _adapt(self, now: float) -> None:
        events = self._events
        if now - events[self._dropped].time < self._fresh_seconds:
            self._capacity = min(self._capacity * 2, self._upper)
        elif now - events[-max(self._capacity // 4, 1)].time > self._fresh_seconds:
            self._capacity = max(self._capacity // 2, self._lower)

    def _drop_oldest(self) -> None:
        event = self._events[self._dropped]
        self.floor = event.revision
        if event.previous is not None:
            self._bytes -= len(event.previous.tail)
        self._dropped += 1
        if self._dropped * 2 > len(self._events):
            del self._events[: self._dropped]
            self._offset += self._dropped
            self._dropped = 0

    def position_after(self, revision: int) -> int:
        """The position of the first change after `revision`, which must not be below the floor."""
        return self._offset + bisect_right(self._events, revision, lo=self._dropped, key=_revision)

    def since(self, position: int) -> list[CacheEvent]:
        """All changes from a position on, which must not be below `start`."""
        return self._events[position - self._offset :]
