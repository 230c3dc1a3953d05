"""Who follows this key? Found without asking everybody."""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, TypeVar

T = TypeVar("T")


class PrefixIndex(Generic[T]):
    """Items registered under key prefixes, found by key.

    A look-up is one binary search over the distinct prefixes, however many items there are. It rests on this: if `q`
    is a prefix of `key`, everything that sorts between `q` and `key` begins with `q` too. So the greatest prefix that
    is not above `key` is either an answer or nested in every answer, and the answers are on its chain of parents.
    """

    __slots__ = ("_chains", "_items", "_parents", "_prefixes", "_stale")

    def __init__(self) -> None:
        self._items: dict[bytes, list[T]] = {}
        self._prefixes: list[bytes] = []
        self._parents: list[int] = []
        self._chains: list[tuple[T, ...]] = []
        self._stale = False

    def __len__(self) -> int:
        return sum(map(len, self._items.values()))

    def add(self, prefix: bytes, item: T) -> None:
        """Register `item` for all keys that begin with `prefix`."""
        self._items.setdefault(prefix, []).append(item)
        self._stale = True

    def remove(self, prefix: bytes, item: T) -> None:
        """Undo `add`. Unknown items are ignored."""
        items = self._items.get(prefix)
        if items is None or item not in items:
            return
        items.remove(item)
        if not items:
            del self._items[prefix]
        self._stale = True

    def matching(self, key: bytes) -> tuple[T, ...]:
        """All items whose prefix `key` begins with, the shortest prefixes first."""
        if self._stale:
            self._rebuild()
        at = bisect_right(self._prefixes, key) - 1
        while at >= 0:
            if key.startswith(self._prefixes[at]):
                return self._chains[at]
            at = self._parents[at]
        return ()

    def all(self) -> list[T]:
        """Every item."""
        return [item for items in self._items.values() for item in items]

    def _rebuild(self) -> None:
        self._prefixes = sorted(self._items)
        self._parents, self._chains = [], []
        nested: list[int] = []
        for at, prefix in enumerate(self._prefixes):
            while nested and not prefix.startswith(self._prefixes[nested[-1]]):
                nested.pop()
            parent = nested[-1] if nested else -1
            self._parents.append(parent)
            self._chains.append((self._chains[parent] if nested else ()) + tuple(self._items[prefix]))
            nested.append(at)
        self._stale = False
