"""What differs between two values of a type: which fields the new one has anew or otherwise, and which it lost."""

from __future__ import annotations

from typing import Any, NamedTuple

from watchkeeper.runtime.managedfields.field_set import LEAF, SELF, FieldSet, ordered, recursive_difference, union
from watchkeeper.runtime.managedfields.nodes import DeducedNode, ListNode, MapNode, Mismatch, Node, TextNode, grouped
from watchkeeper.runtime.with_empties import WithEmpties, remembers_empties

ABSENT: Any = object()
"""In place of a value: there is none, not even null."""


class Comparison(NamedTuple):
    """Two sets of fields, empty when nothing differs."""

    changed: FieldSet
    """Added or modified."""
    removed: FieldSet

    def without(self, fields: FieldSet) -> Comparison:
        """The comparison as if some fields, and all below them, were equal."""
        if not fields:
            return self
        return Comparison(recursive_difference(self.changed, fields), recursive_difference(self.removed, fields))


def compare(node: MapNode, old: Any, new: Any) -> Comparison:
    """Compare two objects of a kind. Raises Mismatch when one of them is not of that type."""
    changed, removed = _maps(node, old, new)
    if _brings_empties(old, new) and (emptied := _emptied(node, old, new)):
        changed = union(changed or LEAF, emptied)
    return Comparison(changed or LEAF, removed or LEAF)


def _brings_empties(old: Any, new: Any) -> bool:
    """Whether the new object remembers what was sent empty, which what it shares with a stored one does not."""
    if old.__class__ is dict and new.__class__ is dict:
        return remembers_empties([value for name, value in new.items() if name not in old or value is not old[name]])
    return remembers_empties(new)


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: unlike in Python, true is not 1 and false is not 0."""
    return bool(one == other) and _alike(one, other)


def _alike(one: Any, other: Any) -> bool:
    """The same for values that are equal in Python. They may share parts, and then most of them."""
    if one is other:
        return True
    kind = one.__class__
    if kind is dict:
        for name, value in one.items():
            theirs = other[name]
            if value is not theirs and not _alike(value, theirs):
                return False
        return True
    if kind is list:
        return all(map(_alike, one, other))
    return (kind is bool) is (other.__class__ is bool)


def _emptied(node: Node, old: Any, new: Any) -> FieldSet:
    """What is owned as a whole and equal, but for empty lists and maps that were sent in items of lists.

    Go compares lists of structs deeply, so that they count there, and structs field by field without what is empty.
    """
    found: FieldSet = {}
    if isinstance(node, MapNode) and old.__class__ is dict and isinstance(new, dict):
        for name in old.keys() & new.keys():
            ours, theirs, child = old[name], new[name], node.find(name)
            if child is None or ours is theirs:
                continue
            if not child.leaf:
                if inner := _emptied(child, ours, theirs):
                    found[f"f:{name}"] = inner
            elif ours == theirs and _sent_in_lists(theirs, within=False):
                found[f"f:{name}"] = LEAF
    elif isinstance(node, ListNode) and old.__class__ is list and new.__class__ is list:
        ours_by, theirs_by = _indexed(node, old), _indexed(node, new)
        for element in ours_by.keys() & theirs_by.keys():
            ours, theirs = ours_by[element], theirs_by[element]
            if len(ours) == len(theirs) == 1 and (inner := _emptied(node.item, ours[0], theirs[0])):
                found[element] = inner
    return ordered(found) if found else LEAF


def _sent_in_lists(value: Any, *, within: bool) -> bool:
    """Whether an item of a list in a value, or something in one, was sent with an empty list or map."""
    if value.__class__ is list:
        return any(_sent_in_lists(each, within=True) for each in value)
    if not isinstance(value, dict):
        return False
    if within and value.__class__ is WithEmpties and value.sent() != dict(value):
        return True
    return any(_sent_in_lists(each, within=within) for each in value.values())


_Difference = tuple[FieldSet | None, FieldSet | None]
"""(changed, removed), each None when there is nothing."""
_SAME: _Difference = (None, None)
_CHANGED: _Difference = (LEAF, None)


def _values(node: Node, old: Any, new: Any) -> _Difference:
    """The difference of two values that are not equal, both there."""
    if node.__class__ is TextNode:
        node.everything(new)
    if node.leaf or not (old or new):
        # Empty and null are leaves, too, so that the difference between them counts.
        return _CHANGED
    kind = node.__class__
    if kind is MapNode:
        return _maps(node, old or {}, new or {})  # type: ignore[arg-type]
    if kind is ListNode:
        return _lists(node, old or [], new or [])  # type: ignore[arg-type]
    assert isinstance(node, DeducedNode)
    return _deduced(node, old, new)


def _maps(node: MapNode, old: dict[str, Any], new: dict[str, Any]) -> _Difference:
    if old.__class__ is not dict or new.__class__ is not dict:
        old, new = _shown(old), _shown(new)
    changed = removed = None
    gone: list[str] = []
    if old.keys() != new.keys():
        if added := [name for name in new if name not in old]:
            changed = node.parts(tuple(added), new)
        if gone := [name for name in old if name not in new]:
            removed = node.parts(tuple(gone), old)
    modified: FieldSet = {}
    lost: FieldSet = {}
    untyped = node.untyped
    for name, ours in old.items():
        if gone and name in gone:
            continue
        theirs = new[name]
        if ours is theirs or (ours == theirs and not (untyped and not _alike(ours, theirs))):
            continue
        more, less = _values(node.child(name), ours, theirs)
        if more is not None:
            modified[f"f:{name}"] = more
        if less is not None:
            lost[f"f:{name}"] = less
    if modified:
        changed = _joined(changed, modified)
    if lost:
        removed = _joined(removed, lost)
    return changed, removed


def _joined(found: FieldSet | None, more: FieldSet) -> FieldSet:
    if found:
        return ordered({**found, **more})
    return ordered(more) if len(more) > 1 else more


def _shown(value: Any) -> dict[str, Any]:
    if value.__class__ is WithEmpties:
        shown: dict[str, Any] = value.shown()
        return shown
    if value.__class__ is not dict:
        raise Mismatch("expected map")
    return value


def _lists(node: ListNode, old: list[Any], new: list[Any]) -> _Difference:
    if old.__class__ is not list or new.__class__ is not list:
        raise Mismatch("expected list")
    if not old:
        return _without_self(node.everything(new)), None
    ours_by, theirs_by = _indexed(node, old), _indexed(node, new)
    changed: FieldSet = {}
    removed: FieldSet = {}
    for element, theirs in theirs_by.items():
        ours = ours_by.get(element)
        if ours == theirs and not (node.untyped and not _alike(ours, theirs)):
            continue
        more, less = _items(node.item, ours or [], theirs)
        if more is not None:
            changed[element] = more
        if less is not None:
            removed[element] = less
    for element, ours in ours_by.items():
        if element not in theirs_by:
            removed[element] = node.item.everything(ours[0]) if len(ours) == 1 else LEAF
    return ordered(changed) if changed else None, ordered(removed) if removed else None


def _without_self(fields: FieldSet) -> FieldSet:
    return {element: node for element, node in fields.items() if element != SELF}


def _indexed(node: ListNode, items: list[Any]) -> dict[str, list[Any]]:
    return grouped(node.elements(items), items)


def _items(node: Node, ours: list[Any], theirs: list[Any]) -> _Difference:
    """Items of one element. Where it occurs twice it counts as one value, without fields."""
    if len(ours) > 1 and len(theirs) > 1:
        return _CHANGED
    if len(ours) > 1:
        return node.everything(theirs[0]), LEAF
    if len(theirs) > 1:
        return LEAF, node.everything(ours[0]) if ours else None
    if not ours:
        return node.everything(theirs[0]), None
    return _values(node, ours[0], theirs[0])


def _deduced(node: DeducedNode, old: Any, new: Any) -> _Difference:
    """Maps key by key; where only one side is a map, its keys come or go, and another value than null is changed."""
    was_map, is_map = old.__class__ is dict, new.__class__ is dict
    if not was_map and not is_map:
        return _CHANGED
    changed: FieldSet = {}
    removed: FieldSet = {}
    before: dict[str, Any] = old if was_map else {}
    after: dict[str, Any] = new if is_map else {}
    for name in sorted(before.keys() | after.keys()):
        element = f"f:{name}"
        ours, theirs = before.get(name, ABSENT), after.get(name, ABSENT)
        if ours is ABSENT:
            changed[element] = node.everything(theirs)
        elif theirs is ABSENT:
            removed[element] = node.everything(ours)
        elif not equal(ours, theirs):
            more, less = _values(node, ours, theirs)
            if more is not None:
                changed[element] = more
            if less is not None:
                removed[element] = less
    if not (was_map and is_map) and (old if is_map else new) is not None:
        return {SELF: LEAF, **changed} if changed else LEAF, removed or None
    return changed or None, removed or None
