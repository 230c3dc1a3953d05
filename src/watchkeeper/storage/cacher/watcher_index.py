"""Which watchers may care about a change? Found by key, field and label instead of asking each.

Watchers with the same prefix and the same selectors form a group: what a change means to them is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator

from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.interface import Attributes
from watchkeeper.storage.predicate import SelectionPredicate


class Group:
    """Watchers that see the same."""

    __slots__ = ("place", "predicate", "watchers")

    def __init__(self, predicate: SelectionPredicate | None, place: tuple[str, str, str]) -> None:
        self.predicate = predicate
        self.place = place
        """(what is looked up, its name, its value) in the bucket; ("", "", "") for all changes under the prefix."""
        self.watchers: dict[CacheWatcher, None] = {}


_Groups = dict[SelectionPredicate | None, Group]
_ALL = ("", "", "")


class _Bucket:
    """The groups of one prefix."""

    __slots__ = ("all", "by_field", "by_label", "size")

    def __init__(self) -> None:
        self.size = 0
        self.all: _Groups = {}
        # name -> value -> groups; only the names that some watcher asks about, so few.
        self.by_field: dict[str, dict[str, _Groups]] = {}
        self.by_label: dict[str, dict[str, _Groups]] = {}

    def groups(self, place: tuple[str, str, str]) -> _Groups:
        kind, name, value = place
        if not kind:
            return self.all
        index = self.by_field if kind == "field" else self.by_label
        return index.setdefault(name, {}).setdefault(value, {})

    def drop(self, place: tuple[str, str, str]) -> None:
        kind, name, value = place
        if kind:
            index = self.by_field if kind == "field" else self.by_label
            del index[name][value]
            if not index[name]:
                del index[name]

    def interested(self, now: Attributes | None, before: Attributes | None) -> Iterator[Group]:
        yield from self.all.values()
        for name, by_value in self.by_field.items():
            new = now.fields.get(name, "") if now is not None else None
            old = before.fields.get(name, "") if before is not None else None
            yield from _look_up(by_value, new, old)
        for name, by_value in self.by_label.items():
            new = now.labels.get(name) if now is not None else None
            old = before.labels.get(name) if before is not None else None
            yield from _look_up(by_value, new, old)


def _look_up(by_value: dict[str, _Groups], new: str | None, old: str | None) -> Iterator[Group]:
    if new is not None and (groups := by_value.get(new)) is not None:
        yield from groups.values()
    if old is not None and old != new and (groups := by_value.get(old)) is not None:
        yield from groups.values()


class WatcherIndex:
    """All open watchers of one resource."""

    def __init__(self, root: str, index_fields: frozenset[str]) -> None:
        """`root`: the prefix of all keys of the resource, with its final slash."""
        self._root = root
        self._index_fields = index_fields
        self._buckets: dict[str, _Bucket] = {}
        self._places: dict[CacheWatcher, tuple[str, Group]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return f"<WatcherIndex of {len(self._places)} watchers>"

    def __iter__(self) -> Iterator[CacheWatcher]:
        return iter(list(self._places))

    def add(self, watcher: CacheWatcher, prefix: str, predicate: SelectionPredicate | None) -> None:
        """Register a watcher of a prefix (or of one key)."""
        bucket = self._buckets.get(prefix)
        if bucket is None:
            bucket = self._buckets[prefix] = _Bucket()
        place = self._place(predicate)
        groups = bucket.groups(place)
        group = groups.get(predicate)
        if group is None:
            group = groups[predicate] = Group(predicate, place)
        group.watchers[watcher] = None
        bucket.size += 1
        self._places[watcher] = (prefix, group)

    def _place(self, predicate: SelectionPredicate | None) -> tuple[str, str, str]:
        if predicate is None:
            return _ALL
        for name, value in predicate.field.equalities().items():
            if name in self._index_fields:
                return ("field", name, value)
        for name, value in predicate.label.equalities().items():
            return ("label", name, value)
        return _ALL

    def remove(self, watcher: CacheWatcher) -> None:
        """Forget a watcher. Unknown ones are ignored."""
        found = self._places.pop(watcher, None)
        if found is None:
            return
        prefix, group = found
        del group.watchers[watcher]
        bucket = self._buckets[prefix]
        bucket.size -= 1
        if not bucket.size:
            del self._buckets[prefix]
        elif not group.watchers:
            groups = bucket.groups(group.place)
            del groups[group.predicate]
            if not groups:
                bucket.drop(group.place)

    def interested(self, event: CacheEvent) -> list[Group]:
        """The groups that may have to be told; each decides by its predicate."""
        found: list[Group] = []
        if not self._buckets:
            return found
        key = event.key
        root = self._root
        parent = key[: key.rfind("/") + 1]
        for prefix in (root, parent, key) if parent != root else (root, key):
            bucket = self._buckets.get(prefix)
            if bucket is None:
                continue
            if bucket.by_field or bucket.by_label:
                now = event.current.attributes if event.current is not None else None
                before = event.previous.attributes if event.previous is not None else None
                found += bucket.interested(now, before)
            else:
                found += bucket.all.values()
        return found

    def covering(self, key: str) -> list[CacheWatcher]:
        """All watchers in whose prefix a key lies, whatever they select."""
        parent = key[: key.rfind("/") + 1]
        return [watcher for watcher, (prefix, _) in self._places.items() if prefix in (self._root, parent, key)]
