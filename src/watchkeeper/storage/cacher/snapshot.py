"""The current state of one resource: objects by key, and in key order.

Keys are kept in sorted chunks with their objects beside them, so that a list of everything is a concatenation, a list
of a prefix two binary searches and a concatenation, and an insertion moves one chunk's worth of pointers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain

from watchkeeper.storage.interface import StoredObject

_LOAD = 512
"""Objects in a fresh chunk; twice as many split it."""


def prefix_end(prefix: str) -> str:
    """The first key behind all keys that begin with `prefix`, which ends with `/`."""
    return prefix[:-1] + "0"  # the character behind the slash


class Snapshot:
    """An ordered mapping of keys to objects."""

    __slots__ = ("_by_key", "_keys", "_last_keys", "_objects", "get")

    def __init__(self) -> None:
        self._by_key: dict[str, StoredObject] = {}
        self._keys: list[list[str]] = []
        self._objects: list[list[StoredObject]] = []
        self._last_keys: list[str] = []
        self.get = self._by_key.get
        """The object under a key, or None."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self._by_key)} objects in {len(self._keys)} chunks>"

    def replace(self, objects: Iterable[StoredObject]) -> None:
        """Forget everything and take these instead."""
        ordered = sorted(objects, key=lambda stored: stored.key)
        self._by_key.clear()
        self._by_key.update((stored.key, stored) for stored in ordered)
        self._objects = [ordered[i : i + _LOAD] for i in range(0, len(ordered), _LOAD)]
        self._keys = [[stored.key for stored in part] for part in self._objects]
        self._last_keys = [keys[-1] for keys in self._keys]

    def put(self, stored: StoredObject) -> None:
        """Add an object, or replace the one under its key."""
        key = stored.key
        known = key in self._by_key
        self._by_key[key] = stored
        if not self._keys:
            self._keys, self._objects, self._last_keys = [[key]], [[stored]], [key]
            return
        chunk = min(bisect_left(self._last_keys, key), len(self._keys) - 1)
        keys = self._keys[chunk]
        at = bisect_left(keys, key)
        if known:
            self._objects[chunk][at] = stored
            return
        keys.insert(at, key)
        self._objects[chunk].insert(at, stored)
        self._last_keys[chunk] = keys[-1]
        if len(keys) > 2 * _LOAD:
            self._split(chunk)

    def _split(self, chunk: int) -> None:
        keys, objects = self._keys[chunk], self._objects[chunk]
        self._keys[chunk : chunk + 1] = [keys[:_LOAD], keys[_LOAD:]]
        self._objects[chunk : chunk + 1] = [objects[:_LOAD], objects[_LOAD:]]
        self._last_keys[chunk : chunk + 1] = [keys[_LOAD - 1], keys[-1]]

    def remove(self, key: str) -> None:
        """Forget an object. The key must be there."""
        del self._by_key[key]
        chunk = bisect_left(self._last_keys, key)
        keys = self._keys[chunk]
        at = bisect_left(keys, key)
        del keys[at], self._objects[chunk][at]
        if keys:
            self._last_keys[chunk] = keys[-1]
        else:
            del self._keys[chunk], self._objects[chunk], self._last_keys[chunk]

    def _locate(self, key: str) -> tuple[int, int]:
        """(chunk, index) of the first key that is not before `key`."""
        chunk = bisect_left(self._last_keys, key)
        return (chunk, bisect_left(self._keys[chunk], key)) if chunk < len(self._keys) else (chunk, 0)

    def objects(self, start: str = "", end: str = "", limit: int = 0) -> list[StoredObject]:
        """The objects with keys in [start, end) in key order, at most `limit`; "" and 0 mean no bound."""
        first, at = self._locate(start) if start else (0, 0)
        last, until = self._locate(end) if end else (len(self._keys), 0)
        if first == last:
            found = self._objects[first][at:until] if first < len(self._objects) else []
            return found[:limit] if limit else found
        parts = self._parts(first, at, last, until)
        if not limit:
            return list(chain.from_iterable(parts))
        out: list[StoredObject] = []
        for part in parts:
            out += part
            if len(out) >= limit:
                del out[limit:]
                break
        return out

    def _parts(self, first: int, at: int, last: int, until: int) -> Iterator[list[StoredObject]]:
        yield self._objects[first][at:] if at else self._objects[first]
        yield from self._objects[first + 1 : last]
        if until:
            yield self._objects[last][:until]

    def count(self, start: str = "", end: str = "") -> int:
        """How many keys are in [start, end)."""
        if not start and not end:
            return len(self._by_key)
        first, at = self._locate(start) if start else (0, 0)
        last, until = self._locate(end) if end else (len(self._keys), 0)
        return sum(map(len, self._keys[first:last])) - at + until

    def keys(self) -> list[str]:
        """All keys in order."""
        return list(chain.from_iterable(self._keys))

    def all(self) -> Iterable[StoredObject]:
        """All objects, in no particular order, without copying."""
        return self._by_key.values()
