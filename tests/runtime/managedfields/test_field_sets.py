from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.runtime.managedfields.field_set import (
    LEAF,
    FieldSet,
    covers,
    difference,
    has,
    intersection,
    leaves,
    members,
    of_paths,
    ordered,
    read,
    recursive_difference,
    size,
    union,
)
from watchkeeper.runtime.managedfields.path import PathError

ELEMENTS = ("f:a", "f:b", "f:c", 'k:{"name":"x"}', "v:1", "i:0")
PATHS = st.lists(st.sampled_from(ELEMENTS), min_size=1, max_size=3).map(tuple)
SETS = st.frozensets(PATHS, max_size=8)

Paths = frozenset[tuple[str, ...]]


def paths(fields: FieldSet) -> Paths:
    found = list(members(fields))
    assert len(set(found)) == len(found) == size(fields)
    return frozenset(found)


def wellformed(fields: FieldSet, *, root: bool = True) -> None:
    """No node is without a member at or below it, none has a lone "."; entries are in order."""
    assert root or fields != {".": {}}
    assert list(fields) == list(ordered(fields))
    for element, node in fields.items():
        assert element != "." or (not root and node == {})
        wellformed(node, root=False)


@settings(max_examples=50, deadline=None)
@given(SETS)
def test_a_set_has_the_paths_it_was_made_of(a: Paths) -> None:
    made = of_paths(a)
    wellformed(made)
    assert paths(made) == a
    assert all(has(made, path) for path in a)
    assert not has(made, ())


@settings(max_examples=50, deadline=None)
@given(SETS, SETS)
def test_operations_are_those_of_sets_of_paths(a: Paths, b: Paths) -> None:
    x, y = of_paths(a), of_paths(b)
    for made, expected in (
        (union(x, y), a | b),
        (difference(x, y), a - b),
        (intersection(x, y), a & b),
    ):
        wellformed(made)
        assert paths(made) == expected
    assert covers(x, y) == (b <= a)
    assert (x, y) == (of_paths(a), of_paths(b)), "operands have changed"


@settings(max_examples=50, deadline=None)
@given(SETS, SETS)
def test_a_recursive_difference_takes_what_is_below_members_too(a: Paths, b: Paths) -> None:
    made = recursive_difference(of_paths(a), of_paths(b))
    wellformed(made)
    assert paths(made) == {path for path in a if not any(path[: len(other)] == other for other in b)}


@settings(max_examples=50, deadline=None)
@given(SETS)
def test_leaves_are_the_members_without_members_below(a: Paths) -> None:
    assert paths(leaves(of_paths(a))) == {p for p in a if not any(o[: len(p)] == p and o != p for o in a)}


@settings(max_examples=50, deadline=None)
@given(SETS, SETS, SETS)
def test_laws(a: Paths, b: Paths, c: Paths) -> None:
    x, y, z = of_paths(a), of_paths(b), of_paths(c)
    assert union(x, y) == union(y, x)
    assert union(union(x, y), z) == union(x, union(y, z))
    assert intersection(x, y) == intersection(y, x)
    assert intersection(x, union(y, z)) == union(intersection(x, y), intersection(x, z))
    assert difference(x, union(y, z)) == difference(difference(x, y), z)
    assert union(difference(x, y), intersection(x, y)) == x
    assert union(x, x) == x == intersection(x, x)
    assert difference(x, x) == LEAF


@settings(max_examples=50, deadline=None)
@given(SETS, SETS)
def test_operations_return_an_operand_when_that_is_the_answer(a: Paths, b: Paths) -> None:
    x, y = of_paths(a), of_paths(b)
    if not a & b:
        assert difference(x, y) is x
    if b <= a:
        assert union(x, y) is x


@settings(max_examples=50, deadline=None)
@given(SETS)
def test_what_is_written_is_read(a: Paths) -> None:
    written = of_paths(a)
    assert read(orjson.loads(orjson.dumps(written))) == written


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {}),
        (None, {}),
        ({"f:a": None}, {"f:a": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({"f:a": {"q:unknown": {}}}, {"f:a": {}}),
        ({"q:unknown": {"f:a": {}}}, {}),
        ({'k:{"b": 2.0, "a":"x"}': {}}, {'k:{"a":"x","b":2}': {}}),
        ({'k:{"a":"<"}': {}}, {'k:{"a":"\\u003c"}': {}}),
        ({"v: 1.0": {}, "v:1": {"f:a": {}}}, {"v:1": {".": {}, "f:a": {}}}),
        ({"v:1": {"f:a": {}}, "v:1.0": {"f:b": {}}}, {"v:1": {"f:b": {}}}),
        ({"v:1": {"f:a": {}, ".": {}}, "v:1.0": {}}, {"v:1": {".": {}, "f:a": {}}}),
    ],
)
def test_reading_makes_canonical(written: Any, expected: FieldSet) -> None:
    assert read(written) == expected


@pytest.mark.parametrize(
    "written", [[], "x", {"a": {}}, {"fa": {}}, {"f:a": []}, {"v:{": {}}, {"k:1": {}}, {"i:x": {}}]
)
def test_what_is_no_set_is_refused(written: Any) -> None:
    with pytest.raises(PathError):
        read(written)
