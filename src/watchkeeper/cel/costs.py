"""What evaluation costs: the units and estimates of cel-go and of Kubernetes' libraries.

An estimate is made when a rule is written (`estimate`), from the sizes that the schema allows; the actual cost of a
call is reckoned while it is evaluated (`call_cost`). Clients see both, in errors that name limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from watchkeeper.cel.values import Optional
from watchkeeper.cel.words import words

SELECT, LIST, MAP, STRUCT = 1, 10, 30, 40
TRAVERSAL = 0.1
REGEX = 0.25
COMPARISON = 2.0
"""Of a list's items with each other, each pair."""
UNLIMITED = 2**64 - 1
PER_CALL_LIMIT = 1_000_000
RUNTIME_BUDGET = 10_000_000
AUTHORIZATION_CHECK = 350_000
MAX_NAME_FORMAT_REGEX = 128

ONE_FUNCTIONS = words(
    """serviceAccount path group resource subresource namespace name allowed reason error errored
    masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast
    format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub
    major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery"""
)
TRAVERSALS = words(
    """url lowerAscii upperAscii substring trim jsonpatch.escapeKey cidr isIP isCIDR quantity isQuantity semver
    isSemver"""
)
ORDERING = frozenset(
    f"{word}_{kind}" for word in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")
) | frozenset(("equals", "not_equals"))
ONE_TRAVERSAL = frozenset(
    ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "strings_quote", "string_format")
)
SETS = {"list_sets_contains_list": 1, "list_sets_intersects_list": 1, "list_sets_equivalent_list": 2}
"""What each pair of items costs that these compare."""
CONSTANT_EQUALITY = frozenset(
    ("kubernetes.Quantity", "kubernetes.NamedFormat", "kubernetes.URL", "kubernetes.Semver", "net.IP", "net.CIDR")
)


def ceil(value: float) -> int:
    """Round up, no further than the largest number of 64 bits."""
    return min(math.ceil(value), UNLIMITED) if value < UNLIMITED else UNLIMITED


def plus(a: int, b: int) -> int:
    """The sum, no more than the largest number of 64 bits."""
    return min(a + b, UNLIMITED)


def times(a: int, b: int) -> int:
    """The product, no more than the largest number of 64 bits."""
    return min(a * b, UNLIMITED)


def size_of(value: Any) -> int:
    """The size that costs are reckoned by."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return 1


def traversal(value: Any) -> int:
    """The cost of looking at every part of a value."""
    match value:
        case str():
            return int(len(value.encode()) * TRAVERSAL)
        case bytes():
            return int(len(value) * TRAVERSAL)
        case list():
            return sum(map(traversal, value))
        case dict():
            return sum(traversal(k) + traversal(v) for k, v in value.items())
        case _:
            return 1


def _regex_cost(text: Any, pattern: Any) -> int:
    return ceil((1 + size_of(text)) * TRAVERSAL) * ceil(size_of(pattern) * REGEX)


def call_cost(function: str, overload_id: str, args: list[Any], result: Any) -> int:
    """The actual cost of one call with these arguments (the target first), without that of evaluating them."""
    special = _ACTUAL.get(function)
    if special is not None:
        return special(overload_id, args, result)
    if function in ONE_FUNCTIONS:
        return 1
    if function in TRAVERSALS:
        return ceil(size_of(args[0]) * TRAVERSAL)
    return _standard_cost(overload_id, args)


def _standard_cost(overload_id: str, args: list[Any]) -> int:
    if overload_id in ONE_TRAVERSAL:
        return ceil(size_of(args[0]) * TRAVERSAL)
    if overload_id == "in_list":
        return size_of(args[1])
    if overload_id in ORDERING:
        return ceil(min(size_of(args[0]), size_of(args[1])) * TRAVERSAL)
    if overload_id in ("add_string", "add_bytes"):
        return ceil((size_of(args[0]) + size_of(args[1])) * TRAVERSAL)
    if overload_id in ("matches_string", "matches"):
        return _regex_cost(args[0], args[1])
    if overload_id == "contains_string":
        return ceil(size_of(args[0]) * TRAVERSAL) * ceil(size_of(args[1]) * TRAVERSAL)
    return 1


def _equality(overload_id: str, args: list[Any], result: Any) -> int:
    from watchkeeper.cel.values import NoSuchOverload, runtime_type

    try:
        name = runtime_type(args[0]).name
    except NoSuchOverload:
        return 1
    return 1 if name in CONSTANT_EQUALITY else _standard_cost(overload_id, args)


def _contains_ip(overload_id: str, args: list[Any], _: Any) -> int:
    cost = ceil(2 * size_of(args[0]) * TRAVERSAL)
    return cost + (ceil(size_of(args[1]) * TRAVERSAL) if overload_id.endswith("_string") else 0)


def _contains_cidr(overload_id: str, args: list[Any], _: Any) -> int:
    cost = ceil(2 * size_of(args[0]) * TRAVERSAL) + ceil(size_of(args[0]) * TRAVERSAL) + 1
    return cost + (ceil(size_of(args[1]) * TRAVERSAL) if overload_id.endswith("_string") else 0)


def _new_list(factor: float, size: int) -> int:
    return int(size * factor) + 1 + LIST


def _compare_all(_: str, args: list[Any], __: Any) -> int:
    items = args[-1]
    texts = bool(items) and isinstance(items[0], str | bytes)
    return _new_list(COMPARISON + (TRAVERSAL if texts else 0), len(items) ** 2)


def _sets(overload_id: str, args: list[Any], _: Any) -> int:
    return 1 + size_of(args[0]) * size_of(args[1]) * SETS[overload_id]


def _output(_: str, __: list[Any], result: Any) -> int:
    return _new_list(1, size_of(result))


def _selector(_: str, args: list[Any], __: Any) -> int:
    length = size_of(args[1])
    return LIST + ceil(length * TRAVERSAL) + ceil(ceil(length * 0.5) * (LIST + STRUCT))


Actual = Callable[[str, list[Any], Any], int]
_ACTUAL: dict[str, Actual] = {
    "check": lambda *_: AUTHORIZATION_CHECK,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda _, args, __: traversal(args[0])
    ),
    **dict.fromkeys(("replace", "split"), lambda _, args, __: ceil(size_of(args[0]) * 2 * TRAVERSAL)),
    "join": lambda _, args, result: ceil(size_of(result) * 2 * TRAVERSAL),
    **dict.fromkeys(("find", "findAll"), lambda _, args, __: _regex_cost(args[0], args[1])),
    "ip": lambda o, args, _: 1 if o == "cidr_ip" else ceil(size_of(args[0]) * TRAVERSAL),
    "ip.isCanonical": lambda _, args, __: ceil(size_of(args[0]) * 2 * TRAVERSAL),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": lambda _, args, __: ceil((1 + size_of(args[1])) * TRAVERSAL) * ceil(args[0].max_regex_size * REGEX),
    "_==_": _equality,
    **dict.fromkeys(("slice", "lists.range", "reverse"), _output),
    "flatten": lambda _, args, __: _new_list(args[1] if len(args) > 1 else 1, size_of(args[0])),
    **dict.fromkeys(("distinct", "sort", "@sortByAssociatedKeys"), _compare_all),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _sets),
}
