"""Filters of field sets: which fields a resource or subresource lets clients write, and so own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from watchkeeper.runtime.managedfields.field_set import (
    LEAF,
    SELF,
    FieldSet,
    has_children,
    of_paths,
    recursive_difference,
    union,
)

Filter = Callable[[FieldSet], FieldSet]
"""Takes a set, returns the part of it that counts."""

ANY = "*"
"""Stands for any one name, key or value in a pattern."""


def excluding(*paths: str) -> Filter:
    """All but some fields and what is below them, given like `spec` or `metadata.labels`."""
    excluded = of_paths(tuple(f"f:{name}" for name in path.split(".")) for path in paths)
    return lambda fields: recursive_difference(fields, excluded)


def including(*patterns: str) -> Filter:
    """Only what is at or below some places, given like `spec.containers.*.resources`."""
    paths = [tuple(ANY if name == ANY else f"f:{name}" for name in pattern.split(".")) for pattern in patterns]

    def keep(fields: FieldSet) -> FieldSet:
        found = LEAF
        for path in paths:
            found = union(found, _at(fields, path) or LEAF)
        return found

    return keep


def _at(fields: FieldSet, path: tuple[str, ...]) -> FieldSet | None:
    """The part of a node that a pattern leads to; a member on the way counts, as the reference has it."""
    if not path:
        return fields
    out: FieldSet = {}
    for element, node in _matching(fields, path[0]):
        inner = _at(node, path[1:]) if has_children(node) or len(path) == 1 else None
        if not node or SELF in node:
            out[element] = {SELF: LEAF, **inner} if inner else LEAF
        elif inner is not None:
            out[element] = inner
    return out or None


def _matching(fields: FieldSet, step: str) -> Iterable[tuple[str, FieldSet]]:
    if step == ANY:
        return [(e, n) for e, n in fields.items() if e != SELF]
    found = fields.get(step)
    return [] if found is None else [(step, found)]
