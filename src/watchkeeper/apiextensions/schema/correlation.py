"""Which part of an old object a part of a new one corresponds to, and whether it has changed.

What an update leaves as it was is not held against it, though the schema has become stricter since (ratcheting).
"""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.schema.structural import Structural


class Correlation:
    """A new value, the old one in its place, and what the schema says of them."""

    __slots__ = ("_children", "_items", "_unchanged", "node", "old", "value")

    def __init__(self, node: Structural | None, value: Any, old: Any) -> None:
        self.node, self.value, self.old = node, value, old
        self._unchanged: bool | None = None
        self._children: dict[Any, Correlation] = {}
        self._items: dict[Any, Any] | None = None

    def unchanged(self) -> bool:
        """Whether both values are deeply equal."""
        found = self._unchanged
        if found is None:
            found = self._unchanged = self._compare()
        return found

    def _compare(self) -> bool:
        """Items with keys may have moved; what the schema does not describe counts as changed."""
        value, old = self.value, self.old
        if value.__class__ is list and old.__class__ is list:
            if len(value) != len(old):
                return False
            if self.node is None or self.node.list_type != "map" or self.node.items is None:
                return same(value, old)
            children = (self.index(i) for i in range(len(value)))
            return all(child is not None and child.unchanged() for child in children)
        if value.__class__ is dict and old.__class__ is dict:
            if len(value) != len(old):
                return False
            fields = (self.key(name) for name in value)
            return all(child is not None and child.unchanged() for child in fields)
        return same(value, old)

    def key(self, name: str) -> Correlation | None:
        """A field of an object; None when it cannot be correlated."""
        if name in self._children:
            return self._children[name]
        if self.value.__class__ is not dict or self.old.__class__ is not dict:
            return None
        if name not in self.value or name not in self.old:
            return None
        child = None
        if self.node is not None:
            child = self.node.properties.get(name) or self.node.additional
        if child is None:
            return None
        found = self._children[name] = Correlation(child, self.value[name], self.old[name])
        return found

    def index(self, at: int) -> Correlation | None:
        """An item of a list whose items have keys; None where items cannot be told apart."""
        if at in self._children:
            return self._children[at]
        node = self.node
        if node is None or node.items is None or node.list_type != "map" or self.value.__class__ is not list:
            return None
        key = _item_key(self.value[at], node)
        old = self._old_items().get(key) if key is not None else None
        if old is None:
            return None
        found = self._children[at] = Correlation(node.items, self.value[at], old)
        return found

    def _old_items(self) -> dict[Any, Any]:
        items = self._items
        if items is None:
            items = {}
            if self.old.__class__ is list and self.node is not None:
                for item in self.old:
                    # Of items with one key the first counts.
                    items.setdefault(_item_key(item, self.node), item)
            self._items = items
        return items


def _item_key(item: Any, node: Structural) -> Any:
    """What tells an item from others; None for one that lacks a key, or has one that is no scalar."""
    if item.__class__ is not dict:
        return None
    key = []
    for name in node.list_map_keys:
        value = item.get(name)
        if value is None or isinstance(value, dict | list):
            return None
        # True is not 1.
        key.append((value.__class__, value))
    return tuple(key)


def same(a: Any, b: Any) -> bool:
    """Deep equality that tells true from 1."""
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is dict:
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if a.__class__ is list:
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
