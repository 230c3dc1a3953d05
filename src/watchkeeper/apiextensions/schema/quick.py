"""Compiles a schema into a function that says whether a value is valid, and nothing else.

Nearly all objects are valid, so this is what requests pay for. When it says no, `validator` is asked for errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.apiextensions.schema.validator import Validator, schema_types
from watchkeeper.cel.formats import format_check
from watchkeeper.cel.regex import compile_pattern

Check = Callable[[Any], bool]

_PLAIN: dict[str, type] = {"string": str, "boolean": bool, "integer": int}


def compile_check(node: Structural) -> Check:
    """Whether a value is valid against a node and all below."""
    found = _compile(node)
    if isinstance(found, type):
        wanted = found
        return lambda value: value.__class__ is wanted
    return found


def _compile(node: Structural) -> Check | type:
    """A check; or a type, when being of that type is all there is to it."""
    types = schema_types(node)
    structure = _structure(node, types)
    extras = _extras(node)
    if not extras and not node.nullable:
        return structure
    checks = (*(() if structure is _anything else (_as_check(structure),)), *extras)
    nullable, enum = node.nullable or not types, node.get("enum")

    def check(value: Any) -> bool:
        if value is None:
            return nullable and not enum
        return all(c(value) for c in checks)

    return check


def _as_check(found: Check | type) -> Check:
    if isinstance(found, type):
        wanted = found
        return lambda value: value.__class__ is wanted
    return found


def _anything(value: Any) -> bool:
    return True


def _structure(node: Structural, types: tuple[str, ...]) -> Check | type:
    if not types:
        return _untyped(node)
    if len(types) == 1:
        kind = types[0]
        if kind == "object":
            return _object(node)
        if kind == "array":
            return _array(node)
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind == "number":
            return lambda value: value.__class__ is int or value.__class__ is float
    return lambda value: value.__class__ is int or value.__class__ is str  # int-or-string


def _untyped(node: Structural) -> Check:
    """A node without type says something of objects and lists only."""
    if not (node.properties or node.items or node.additional or node.closed_map or node.get("required")):
        return _anything
    as_object = _object(node)
    as_array = _array(node)

    def check(value: Any) -> bool:
        if value.__class__ is dict:
            return as_object(value)
        return as_array(value) if value.__class__ is list else True

    return check


def _object(node: Structural) -> Check:
    table = {name: _compile(child) for name, child in node.properties.items()}
    required = tuple(node.get("required") or ())
    rest = _compile(node.additional) if node.additional is not None else None
    closed = node.closed_map
    find = table.get
    if not table and rest is not None:
        return _map(rest, required)

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        for key, item in value.items():
            wanted = find(key)
            if wanted is item.__class__:
                continue
            if wanted is None:
                if closed:
                    return False
                if rest is None:
                    continue
                wanted = rest
                if wanted is item.__class__:
                    continue
            if wanted.__class__ is type or not wanted(item):
                return False
        for key in required:  # noqa: SIM110 (a generator costs more)
            if key not in value:
                return False
        return True

    return check


def _map(rest: Check | type, required: tuple[str, ...]) -> Check:
    is_type = isinstance(rest, type)

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        for item in value.values():
            if item.__class__ is not rest and (is_type or not rest(item)):
                return False
        return all(key in value for key in required)

    return check


def _array(node: Structural) -> Check:
    item = _compile(node.items) if node.items is not None else _anything
    if item is _anything:
        return lambda value: value.__class__ is list
    if isinstance(item, type):
        wanted = item

        def check_types(value: Any) -> bool:
            if value.__class__ is not list:
                return False
            for each in value:  # noqa: SIM110 (a generator costs more)
                if each.__class__ is not wanted:
                    return False
            return True

        return check_types
    check_item = item

    def check(value: Any) -> bool:
        if value.__class__ is not list:
            return False
        for each in value:  # noqa: SIM110 (a generator costs more)
            if not check_item(each):
                return False
        return True

    return check


def _extras(node: Structural) -> tuple[Check, ...]:
    """What else the keywords of a node ask. Junctors are left to the validator, which knows what they mean."""
    checks: list[Check] = []
    if node.all_of or node.any_of or node.one_of or node.negated is not None:
        if node.int_or_string and _only_int_or_string(node):
            pass
        else:
            validator = Validator.of_junctors(node)
            checks.append(lambda value: validator.is_valid(value))
    checks += _string_checks(node)
    checks += _number_checks(node)
    checks += _size_checks(node)
    enum = node.get("enum")
    if enum:
        checks.append(_enum(enum))
    return tuple(checks)


def _only_int_or_string(node: Structural) -> bool:
    pattern = [{"type": "integer"}, {"type": "string"}]
    if node.one_of or node.negated is not None:
        return False
    if not node.all_of:
        return bool(node.source.get("anyOf") == pattern)
    return not node.any_of and node.source["allOf"] == [{"anyOf": pattern}]


def _enum(values: list[Any]) -> Check:
    if all(isinstance(v, str) for v in values):
        allowed = frozenset(values)
        return lambda value: value.__class__ is str and value in allowed
    from watchkeeper.apiextensions.schema.validator import in_enum

    return lambda value: in_enum(value, values)


def _string_checks(node: Structural) -> list[Check]:
    checks: list[Check] = []
    low, high, pattern = node.get("minLength"), node.get("maxLength"), node.get("pattern")
    if low is not None or high is not None:
        least, most = low or 0, high if high is not None else 2**63
        checks.append(lambda value: value.__class__ is not str or least <= len(value) <= most)
    if pattern:
        accepts = compile_pattern(pattern).accepts
        checks.append(lambda value: value.__class__ is not str or accepts(value))
    name = node.get("format")
    if name and (node.type in ("", "string") or node.int_or_string):
        has_format = format_check(name)
        if has_format is not None:
            known = has_format
            checks.append(lambda value: value.__class__ is not str or known(value))
    return checks


def _number_checks(node: Structural) -> list[Check]:
    low, high, step = node.get("minimum"), node.get("maximum"), node.get("multipleOf")
    form = node.get("format")
    bounded = node.type in ("integer", "number") and form in ("int32", "float")
    # Whole numbers with a bound that is none: each of them is told of that.
    bounded |= node.type == "integer" and any(isinstance(b, float) and not b.is_integer() for b in (low, high))
    if low is None and high is None and step is None and not bounded:
        return []
    validator = Validator.of_number(node)
    if step is None and not bounded:
        open_low, open_high = bool(node.get("exclusiveMinimum")), bool(node.get("exclusiveMaximum"))

        def check(value: Any) -> bool:
            if value.__class__ is not int and value.__class__ is not float:
                return True
            if low is not None and (value <= low if open_low else value < low):
                return validator.is_valid(value)
            if high is not None and (value >= high if open_high else value > high):
                return validator.is_valid(value)
            return True

        return [check]
    return [lambda value: (value.__class__ is not int and value.__class__ is not float) or validator.is_valid(value)]


_SIZES: tuple[tuple[type[list[Any]] | type[dict[str, Any]], str, str], ...] = (
    (list, "minItems", "maxItems"),
    (dict, "minProperties", "maxProperties"),
)


def _size_checks(node: Structural) -> list[Check]:
    checks: list[Check] = []
    for kind, low_word, high_word in _SIZES:
        low, high = node.get(low_word), node.get(high_word)
        if low is not None or high is not None:
            checks.append(_size(kind, low or 0, high if high is not None else 2**63))
    if node.get("uniqueItems"):
        validator = Validator(node)
        checks.append(lambda value: value.__class__ is not list or validator.is_valid(value))
    return checks


def _size(kind: type[list[Any]] | type[dict[str, Any]], least: int, most: int) -> Check:
    return lambda value: value.__class__ is not kind or least <= len(value) <= most
