"""Sets of fields, and their algebra.

A set is a tree in the very form in which it is stored as fieldsV1: a dict from path elements to the sets below them. A
node that is empty, or has the key ".", stands for a field that is a member; other nodes are only on the way to members.
The root stands for no field: an empty root is the empty set.

Sets are never changed. Operations share what they can with what they were given, and return one of their operands
itself when that is the answer. Entries are kept in the order of `path.sort_key`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from watchkeeper.runtime.managedfields.path import Path, PathError, canonical, sort_key

FieldSet = dict[str, Any]

SELF = "."
LEAF: FieldSet = {}
"""The node of a member without members below it, and the empty set. Shared; never to be changed."""


def is_member(node: FieldSet) -> bool:
    """Whether a node below the root stands for a member."""
    return not node or SELF in node


def has_children(node: FieldSet) -> bool:
    """Whether there is something below a node."""
    return len(node) > 1 or (len(node) == 1 and SELF not in node)


def with_self(node: FieldSet | None) -> FieldSet:
    """The node as a member; of no node, a leaf."""
    if not node or SELF in node:
        return node or LEAF
    return {SELF: LEAF, **node}


def of_paths(paths: Iterable[Path]) -> FieldSet:
    """The set with exactly these members. Paths must not be empty."""
    found: FieldSet = LEAF
    for path in paths:
        node: FieldSet = LEAF
        for element in reversed(path):
            node = {element: node}
        found = union(found, node)
    return found


def has(fields: FieldSet, path: Path) -> bool:
    """Whether a field is a member."""
    node = fields
    for element in path:
        found = node.get(element)
        if found is None:
            return False
        node = found
    return bool(path) and is_member(node)


def below(fields: FieldSet, element: str) -> FieldSet | None:
    """What is in the set below an element, as a set of its own; None for nothing."""
    node = fields.get(element)
    return node if node is not None and has_children(node) else None


def members(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """All members: those of a level in order, then those below each of them."""
    entries = [(e, n) for e, n in sorted(fields.items(), key=_entry_key) if e != SELF]
    for element, node in entries:
        if is_member(node):
            yield (*prefix, element)
    for element, node in entries:
        if has_children(node):
            yield from members(node, (*prefix, element))


def size(fields: FieldSet) -> int:
    """The number of members."""
    return sum(1 for _ in members(fields))


def ordered(node: FieldSet) -> FieldSet:
    """The node with its entries in order."""
    entries = sorted(node.items())
    if entries and entries[-1][0] >= "g":
        # Names are in order as texts, other elements are not.
        entries.sort(key=_entry_key)
    return dict(entries)


def all_ordered(node: FieldSet) -> FieldSet:
    """The node with the entries of all levels in order."""
    return ordered({element: all_ordered(inner) for element, inner in node.items()})


def _entry_key(entry: tuple[str, FieldSet]) -> tuple[Any, ...]:
    return sort_key(entry[0])


def covers(a: FieldSet, b: FieldSet) -> bool:
    """Whether all members of a set are members of another one, `a`."""
    for element, theirs in b.items():
        ours = a.get(element)
        if ours is None or (not is_member(ours) if not theirs else not (ours and covers(ours, theirs))):
            return False
    return True


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """What is in either of two sets."""
    if not a or a is b:
        return b
    if not b:
        return a
    return _union(a, b)


def union_of(sets: Sequence[FieldSet]) -> FieldSet:
    """What is in any of many sets: by halves, so that no large one is gone through for each small one."""
    if len(sets) <= 1:
        return sets[0] if sets else LEAF
    middle = len(sets) // 2
    return union(union_of(sets[:middle]), union_of(sets[middle:]))


def _union(a: FieldSet, b: FieldSet) -> FieldSet:
    """The union of two nodes of which neither is a leaf."""
    out: FieldSet | None = None
    grown = False
    for element, theirs in b.items():
        ours = a.get(element)
        if ours is None:
            node, grown = theirs, True
        elif ours is theirs or element == SELF:
            continue
        elif not ours or not theirs:
            node = with_self(theirs or ours)
        else:
            node = _union(ours, theirs)
        if node is not ours:
            if out is None:
                out = dict(a)
            out[element] = node
    if out is None:
        return a
    return ordered(out) if grown else out


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """What is in `a` but not in `b`. A member stays when only fields above or below it are in `b`."""
    return _difference(a, b) or LEAF if b else a


def _difference(a: FieldSet, b: FieldSet) -> FieldSet | None:
    """The difference of two nodes, of which the first is no leaf; None when nothing is left."""
    out = a
    for element in b if len(b) <= len(a) else a:
        ours, theirs = a.get(element), b.get(element)
        if ours is None or theirs is None:
            continue
        if element == SELF:
            node = None
        elif not ours:
            node = None if is_member(theirs) else ours
        elif not theirs:
            node = _without_self(ours)
        else:
            node = _difference(ours, theirs)
        if node is ours:
            continue
        if out is a:
            out = dict(a)
        if node is None:
            del out[element]
        else:
            out[element] = node
    return _shortened(out)


def _without_self(node: FieldSet) -> FieldSet:
    return {e: n for e, n in node.items() if e != SELF} if SELF in node else node


def _shortened(node: FieldSet) -> FieldSet | None:
    """A node as it should be that may have lost entries: a lone "." is a leaf, no entry is nothing."""
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """What is in both sets."""
    return _intersection(a, b) or LEAF if a and b else LEAF


def _intersection(a: FieldSet, b: FieldSet) -> FieldSet | None:
    out: FieldSet = {}
    for element, ours in a.items():
        theirs = b.get(element)
        if theirs is None:
            continue
        if not ours or not theirs:
            node = LEAF if is_member(ours) and is_member(theirs) else None
        elif ours is theirs:
            node = ours
        else:
            node = _intersection(ours, theirs)
        if node is not None:
            out[element] = node
    return _shortened(out)


def recursive_difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """What is in `a` and neither in `b` nor below a member of `b`."""
    return _recursive_difference(a, b) or LEAF if a and b else a


def _recursive_difference(a: FieldSet, b: FieldSet) -> FieldSet | None:
    out = a
    for element, theirs in b.items():
        ours = a.get(element)
        if ours is None or element == SELF:
            continue
        node = None if is_member(theirs) else _recursive_difference(ours, theirs) if ours else ours
        if node is ours:
            continue
        if out is a:
            out = dict(a)
        if node is None:
            del out[element]
        else:
            out[element] = node
    return _shortened(out)


def leaves(fields: FieldSet) -> FieldSet:
    """The members that have no members below them."""
    return {e: leaves(n) if has_children(n) else LEAF for e, n in fields.items() if e != SELF} if fields else LEAF


def read(fields: Any) -> FieldSet:
    """The set that somebody wrote as fieldsV1, in canonical form, without unknown elements. Raises PathError."""
    if fields is None:
        return LEAF
    if not isinstance(fields, dict):
        raise PathError("expect { or n")
    found = _read(fields)
    return {} if found is None else _without_self(found)


def _read(fields: FieldSet) -> FieldSet | None:
    out: FieldSet = {}
    for element, below_ in fields.items():
        if element == SELF:
            out[SELF] = LEAF
            continue
        known = canonical(element)
        if known is None:
            continue
        if below_ is not None and not isinstance(below_, dict):
            raise PathError("expect { or n")
        node = (_read(below_) if below_ else None) or LEAF
        earlier = out.get(known)
        out[known] = node if earlier is None else _repeated(earlier, node)
    shortened = _shortened(out)
    return ordered(shortened) if shortened else shortened


def _repeated(earlier: FieldSet, later: FieldSet) -> FieldSet:
    """What an element means that was written twice: the members below it are those of the last that had any."""
    node = later if has_children(later) else earlier
    return with_self(node) if is_member(earlier) or is_member(later) else node
