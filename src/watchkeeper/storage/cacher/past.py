"""The state as a past revision left it: today's, but for the keys that have changed since."""

from __future__ import annotations

from bisect import bisect_left, insort

from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.cacher.snapshot import Snapshot, prefix_end
from watchkeeper.storage.interface import StoredObject


class Past:
    """One past revision, brought up to date before each use: what changes later must be undone, too."""

    __slots__ = ("_keys", "_position", "revision", "undone")

    def __init__(self, revision: int, position: int) -> None:
        """`position` in the history: the first change after the revision."""
        self.revision = revision
        self._position = position
        self.undone: dict[str, StoredObject | None] = {}
        """Changed keys, with their state at the revision."""
        self._keys: list[str] = []

    def catch_up(self, history: History) -> bool:
        """Take in what has changed since the last use. False when the history does not reach back so far any more."""
        if self._position < history.start:
            return False
        undone = self.undone
        fresh = []
        for event in history.since(self._position):
            if event.key not in undone:
                undone[event.key] = event.previous
                fresh.append(event.key)
        self._position = history.end
        if len(fresh) > 16:
            self._keys = sorted(undone)
        else:
            for key in fresh:
                insort(self._keys, key)
        return True

    def objects(self, now: Snapshot, prefix: str, start: str, limit: int) -> list[StoredObject]:
        """The objects under a prefix, from `start` on, in key order, at most `limit` (0: all)."""
        end = prefix_end(prefix)
        undone = self.undone
        # More of today's may be passed over than the limit leaves room for, but no more than were changed.
        reach = limit + len(undone) if limit else 0
        today = now.objects(start, end, reach)
        if reach and len(today) == reach:
            end = today[-1].key + "\0"
        found = [stored for stored in today if stored.key not in undone]
        then = [stored for key in self._between(start, end) if (stored := undone[key]) is not None]
        if then:
            found += then
            found.sort(key=_key)
        return found[:limit] if limit else found

    def count(self, now: Snapshot, prefix: str, start: str) -> int:
        """How many objects there were under a prefix from `start` on."""
        end = prefix_end(prefix)
        count = now.count(start, end)
        for key in self._between(start, end):
            count += (self.undone[key] is not None) - (now.get(key) is not None)
        return count

    def _between(self, start: str, end: str) -> list[str]:
        return self._keys[bisect_left(self._keys, start) : bisect_left(self._keys, end)]


def _key(stored: StoredObject) -> str:
    return stored.key
