"""Evaluates JSONPath nodes. Missing keys find nothing; what makes no sense raises."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from watchkeeper.runtime.jsonpath.parser import (
    Field,
    Filter,
    Identifier,
    Literal,
    Node,
    Nodes,
    Recursive,
    Slice,
    SyntaxProblem,
    Union,
    Wildcard,
    parse_nodes,
)

Path = Callable[[Any], list[Any]]
"""All values at a path, in order. Raises JSONPathError."""
_Step = Callable[[list[Any]], list[Any]]


class JSONPathError(ValueError):
    """A text that is no path, or a path that cannot be followed in a value."""


@functools.lru_cache(maxsize=1024)
def compile_path(text: str) -> Path:
    """The path that stands in `text`, without braces. Raises JSONPathError.

    Thousands of definitions name the same few paths, so these are kept.
    """
    try:
        nodes = parse_nodes(text)
    except SyntaxProblem as problem:
        raise JSONPathError(str(problem)) from None
    if nodes and all(isinstance(node, Field) for node in nodes):
        return _plain_path(tuple(node.name for node in nodes if isinstance(node, Field)))
    find = _compile(nodes)
    return lambda value: find([value])


def _plain_path(names: tuple[str, ...]) -> Path:
    def find(value: Any) -> list[Any]:
        for name in names:
            if value.__class__ is not dict or name not in value:
                return []
            value = value[name]
        return [value]

    return find


def _compile(nodes: Nodes) -> _Step:
    steps = [_step(node) for node in nodes]

    def run(values: list[Any]) -> list[Any]:
        for step in steps:
            values = step(values)
        return values

    return run


def _step(node: Node) -> _Step:
    match node:
        case Literal():
            literal = node.value
            return lambda values: [literal] if isinstance(literal, str) else [literal for _ in values]
        case Identifier():
            return functools.partial(_unknown, node.name)
        case Field():
            name = node.name
            return lambda values: [v[name] for v in values if v.__class__ is dict and name in v]
        case Wildcard():
            return lambda values: [inner for v in values for inner in _inside(v)]
        case Recursive():
            return _descend
        case Slice():
            return lambda values: [item for v in values if v is not None for item in _slice(v, node)]
        case Union():
            parts = [_compile(part) for part in node.parts]
            return lambda values: [item for part in parts for item in part(values)]
        case Filter():
            return _filter(node)


def _unknown(name: str, values: list[Any]) -> list[Any]:
    raise JSONPathError(f"unrecognized identifier {name}")


class _Byte(int):
    """A byte of a text: no number that JSON could have, though it prints as one."""


def _inside(value: Any) -> list[Any]:
    if value.__class__ is dict:
        return list(value.values())
    if value.__class__ is list:
        return list(value)
    return [_Byte(each) for each in value.encode()] if value.__class__ is str else []


def _descend(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        inside = _inside(value)
        if inside and value.__class__ is not str:
            found.append(value)
            found += _descend(inside)
    return found


def _slice(value: Any, node: Slice) -> list[Any]:
    if value.__class__ is not list:
        raise JSONPathError(f"{type(value).__name__} is not array or slice")
    size = len(value)
    start = node.start or 0
    # A single index that counts from the end ends where the list does.
    stop = (start + 1) if node.single else node.stop
    if start < 0:
        start += size
    if stop is None:
        stop = size
    elif stop < 0 or (stop == 0 and node.single):
        stop += size
    if start == stop:
        return []
    if not 0 <= start < size:
        raise JSONPathError(f"array index out of bounds: index {start}, length {size}")
    if not 0 <= stop <= size:
        raise JSONPathError(f"array index out of bounds: index {stop - 1}, length {size}")
    if start > stop:
        raise JSONPathError(f"starting index {start} is greater than ending index {stop}")
    if node.step is not None and node.step <= 0:
        raise JSONPathError("step must be > 0")
    items: list[Any] = value[start : stop : node.step or 1]
    return items


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
}


def _filter(node: Filter) -> _Step:
    left, right = _compile(node.left), _compile(node.right)
    compare = _OPERATORS.get(node.operator)

    def holds(item: Any) -> bool:
        if node.operator == "exists":
            return bool(left([item]))
        lefts, rights = left([item]), right([item])
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1:
            raise JSONPathError("can only compare one element at a time")
        if compare is None:
            raise JSONPathError(f"unrecognized filter operator {node.operator}")
        a, b = lefts[0], rights[0]
        if a.__class__ is not b.__class__ or a.__class__ not in (str, int, float, bool):
            raise JSONPathError("incompatible types for comparison")
        return compare(a, b)

    def run(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value.__class__ is not list:
                raise JSONPathError(f"{value} is not array or slice and cannot be filtered")
            found += [item for item in value if holds(item)]
        return found

    return run
