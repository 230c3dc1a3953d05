"""Merging an applied configuration into an object, and taking fields out of an object, both by schema.

What is given is never changed; outcomes share parts with it.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.runtime.managedfields.compare import ABSENT
from watchkeeper.runtime.managedfields.field_set import FieldSet, below, is_member
from watchkeeper.runtime.managedfields.nodes import DeducedNode, ListNode, MapNode, Mismatch, Node
from watchkeeper.runtime.managedfields.path import element_text


def merge(node: Node, live: Any, applied: Any) -> Any:
    """The live value with an applied one merged in. Where both have a leaf the applied one counts.

    Raises Mismatch when a keyed list or set in the applied value has an item twice.
    """
    if applied is ABSENT:
        return live
    if live is ABSENT or node.leaf or not (live or applied):
        return applied
    if isinstance(node, DeducedNode):
        return _merge_deduced(node, live, applied)
    if not applied:
        return live
    if not live:
        return applied
    if isinstance(node, MapNode):
        return _merge_maps(node, live, applied)
    assert isinstance(node, ListNode)
    return _merge_lists(node, live, applied)


def _merge_maps(node: MapNode, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    out = dict(live)
    for name, value in applied.items():
        out[name] = merge(node.child(name), live.get(name, ABSENT), value)
    return out


def _merge_deduced(node: DeducedNode, live: Any, applied: Any) -> Any:
    if not isinstance(live, dict) or not live:
        return applied
    if applied is None or applied == {}:
        return live
    if not isinstance(applied, dict):
        return applied
    out = dict(live)
    for name, value in applied.items():
        out[name] = merge(node, live.get(name, ABSENT), value)
    return out


def _merge_lists(node: ListNode, live: list[Any], applied: list[Any]) -> list[Any]:
    """Items of both, in an order that keeps that of the applied list, and that of the live one where it may.

    Live items that occur twice stay as they are, unless the configuration has such an item: it takes their place.
    """
    ours, theirs = node.elements(live), node.elements(applied)
    theirs_by: dict[str, Any] = {}
    for element, item in zip(theirs, applied, strict=True):
        if element in theirs_by:
            raise Mismatch(f"duplicate entries for key {element_text(element)}")
        theirs_by[element] = item
    ours_by: dict[str, Any] = {}
    for element, item in zip(ours, live, strict=True):
        ours_by[element] = None if element in ours_by else item
    weave = _Weave(ours, theirs, ours_by)
    out: list[Any] = []
    for index, element in weave.order():
        if element not in theirs_by:
            out.append(live[index])
        else:
            out.append(merge(node.item, ours_by.get(element, ABSENT), theirs_by[element]))
    return out


class _Weave:
    """Puts the elements of two lists in one order. Those in both come in the order of the second list."""

    def __init__(self, ours: list[str], theirs: list[str], known: dict[str, Any]) -> None:
        self.ours = ours
        self.theirs = theirs
        self.wanted = set(theirs)
        self.shared = iter([e for e in theirs if e in known])
        self.next_shared = next(self.shared, None)
        self.merged: set[str] = set()

    def _advance(self) -> None:
        self.next_shared = next(self.shared, None)

    def order(self) -> list[tuple[int, str]]:
        """(index in the first list, element) of each; the index means nothing for elements of the second list."""
        ours, theirs = self.ours, self.theirs
        out: list[tuple[int, str]] = []
        left = right = 0
        while left < len(ours) or right < len(theirs):
            if left < len(ours) and right < len(theirs):
                element = ours[left]
                if element == theirs[right]:
                    out.append((left, element))
                    self.merged.add(element)
                    left, right = left + 1, right + 1
                    self._advance()
                    continue
                if element in self.wanted and self.next_shared is not None and self.next_shared != element:
                    # Shared, but its turn has not come or is over.
                    left += 1
                    continue
            if left < len(ours):
                element = ours[left]
                if element not in self.wanted:
                    out.append((left, element))
                    left += 1
                    continue
                if element in self.merged:
                    left += 1
            if right < len(theirs):
                element = theirs[right]
                out.append((0, element))
                self.merged.add(element)
                right += 1
                if self.next_shared == element:
                    self._advance()
        return out


def hides(node: Node, applied: Any, merged: Any) -> bool:
    """Whether a null or {} in a configuration stands over a map or list with something in it.

    Its applier owns that map or list as one, but not what is in it.
    """
    if node.leaf:
        return False
    if applied is None or applied == {}:
        return bool(merged)
    if isinstance(node, MapNode):
        _, nested, _ = node.plan(tuple(applied))
        return any(hides(child, applied[name], merged.get(name)) for name, _, child in nested)
    if isinstance(node, ListNode):
        by_element = dict(zip(node.elements(merged), merged, strict=True))
        return any(
            hides(node.item, item, by_element[element])
            for element, item in zip(node.elements(applied), applied, strict=True)
        )
    return isinstance(applied, dict) and any(hides(node, applied[name], merged.get(name)) for name in applied)


def remove(node: Node, value: Any, fields: FieldSet) -> Any:
    """The value without the members of a set, and without what is below them.

    Containers that become empty thereby stay as empty containers, but a value that was empty already becomes null.
    """
    if isinstance(node, MapNode):
        return _remove_fields(node, value, fields) if isinstance(value, dict) else None
    if isinstance(node, ListNode):
        return _remove_items(node, value, fields) if isinstance(value, list) else None
    if isinstance(node, DeducedNode):
        return _remove_deduced(node, value, fields)
    return None if isinstance(value, (dict, list)) else value


def _remove_fields(node: MapNode, value: dict[str, Any], fields: FieldSet) -> dict[str, Any] | None:
    return _remove_named(value, fields, {name: node.child(name) for name in value if f"f:{name}" in fields})


def _remove_deduced(node: DeducedNode, value: Any, fields: FieldSet) -> Any:
    if isinstance(value, dict):
        return _remove_named(value, fields, dict.fromkeys(value, node))
    return None if isinstance(value, list) else value


def _remove_named(value: dict[str, Any], fields: FieldSet, nodes: dict[str, Any]) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    touched = False
    for name, member in value.items():
        element = f"f:{name}"
        found = fields.get(element)
        if found is None:
            out[name] = member
        elif is_member(found):
            continue
        else:
            touched = True
            out[name] = _remove_below(nodes[name], member, found)
    return out if out or touched else None


def _remove_items(node: ListNode, value: list[Any], fields: FieldSet) -> list[Any] | None:
    out: list[Any] = []
    touched = False
    for item in value:
        element = node.element(item)
        found = fields.get(element)
        if found is not None and is_member(found):
            continue
        inner = below(fields, element)
        if inner is not None:
            touched = True
            item = _remove_below(node.item, item, inner)
        out.append(item)
    return out if out or touched else None


def _remove_below(node: Node, value: Any, fields: FieldSet) -> Any:
    left = remove(node, value, fields)
    if left is None and isinstance(value, dict):
        return {}
    if left is None and isinstance(value, list):
        return []
    return left
