"""Lists: Kubernetes' own functions, the lists extension (version 3) and the sets extension."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from watchkeeper.cel import operators as op
from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.values import Duration, EvalError, NoSuchOverload

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE = ("int", "uint", "double", "duration")


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the libraries."""
    return [*_kubernetes(), *_extension(), *_sets()]


def _kubernetes() -> list[tuple[str, Overload]]:
    out: list[tuple[str, Overload]] = []
    for kind in _COMPARABLE:
        out += [
            overload(f"list_{kind}_is_sorted_bool", f"list({kind}).isSorted() -> bool", _is_sorted),
            overload(f"list_{kind}_max_{kind}", f"list({kind}).max() -> {kind}", _extreme("max", 1)),
            overload(f"list_{kind}_min_{kind}", f"list({kind}).min() -> {kind}", _extreme("min", -1)),
        ]
    for kind in _SUMMABLE:
        out.append(overload(f"list_{kind}_sum_{kind}", f"list({kind}).sum() -> {kind}", _sum(kind)))
    out += [
        overload("list_a_index_of_int", "list(A).indexOf(A) -> int", _index_of),
        overload("list_a_last_index_of_int", "list(A).lastIndexOf(A) -> int", _last_index_of),
    ]
    return out


def _is_sorted(items: list[Any]) -> bool:
    return all(op.compare(a, b) <= 0 for a, b in pairwise(items))


def _extreme(word: str, sign: int) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise EvalError(f"{word} called on empty list")
        best = items[0]
        for item in items[1:]:
            if op.compare(item, best) == sign:
                best = item
        return best

    return run


def _sum(kind: str) -> Callable[[list[Any]], Any]:
    from watchkeeper.cel.values import Uint

    zero: Any = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}[kind]

    def run(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = op.add(total, item)
        return total

    return run


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((i for i, item in enumerate(items) if op.equals(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if op.equals(items[i], wanted)), -1)


def _extension() -> list[tuple[str, Overload]]:
    out = [
        overload("list_slice", "list(A).slice(int, int) -> list(A)", _slice),
        overload("list_flatten", "list(list(A)).flatten() -> list(A)", lambda items: _flatten(items, 1), guarded=False),
        overload("list_flatten_int", "list(dyn).flatten(int) -> list(dyn)", _flatten, guarded=False),
        overload("lists_range", "::lists.range(int) -> list(int)", lambda n: list(range(n))),
        overload("list_reverse", "list(A).reverse() -> list(A)", lambda items: list(reversed(items))),
        overload("list_distinct", "list(A).distinct() -> list(A)", _distinct),
    ]
    for kind in _COMPARABLE:
        out.append(overload(f"list_{kind}_sort", f"list({kind}).sort() -> list({kind})", _sort))
        name = f"list_{kind}_sortByAssociatedKeys"
        text = f"list(A).@sortByAssociatedKeys(list({kind})) -> list(A)"
        out.append(overload(name, text, _sort_by_keys))
    return out


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    size = len(items)
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if size < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {size}")
    return items[start:end]


def _flatten(items: list[Any], depth: int) -> list[Any]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    out: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            out += _flatten(item, depth - 1)
        else:
            out.append(item)
    return out


def _distinct(items: list[Any]) -> list[Any]:
    out: list[Any] = []
    for item in items:
        if not any(op.equals(item, other) for other in out):
            out.append(item)
    return out


def _sort(items: list[Any]) -> list[Any]:
    return _sort_by_keys(items, items)


def _sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        raise EvalError(
            f"@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(items)} and {len(keys)} elements respectively."
        )
    if not items:
        return items
    if any(k.__class__ is not keys[0].__class__ for k in keys):
        raise EvalError("list elements must have the same type")
    try:
        by_key: Any = cmp_to_key(_compare_first)
        pairs = sorted(zip(keys, items, strict=True), key=by_key)
    except NoSuchOverload:
        raise EvalError("list elements must be comparable") from None
    return [item for _, item in pairs]


def _compare_first(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
    return op.compare(a[0], b[0])


def _sets() -> list[tuple[str, Overload]]:
    return [
        overload("list_sets_contains_list", "::sets.contains(list(A), list(A)) -> bool", _contains_all),
        overload(
            "list_sets_equivalent_list",
            "::sets.equivalent(list(A), list(A)) -> bool",
            lambda a, b: _contains_all(a, b) and _contains_all(b, a),
        ),
        overload(
            "list_sets_intersects_list",
            "::sets.intersects(list(A), list(A)) -> bool",
            lambda a, b: any(op.contains(x, b) for x in a),
        ),
    ]


def _contains_all(a: list[Any], b: list[Any]) -> bool:
    return all(op.contains(x, a) for x in b)
