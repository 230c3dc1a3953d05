"""Defaults in a schema must be objects that the schema itself accepts, and say nothing that would be pruned."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from watchkeeper.apiextensions.schema.embedded import (
    CoercionError,
    coerce_resource,
    compile_coercer,
    compile_embedded_check,
    resource_errors,
)
from watchkeeper.apiextensions.schema.normalize import compile_normalizer
from watchkeeper.apiextensions.schema.rule_set import RuleSet
from watchkeeper.apiextensions.schema.rules import compile_rules
from watchkeeper.apiextensions.schema.structural import NotStructural, Structural, read_structural
from watchkeeper.apiextensions.schema.validator import Validator
from watchkeeper.meta.field import FieldError, aggregate, in_key_order, invalid

_META = frozenset({"metadata", "apiVersion", "kind"})


_Meta = tuple[str | None, ...] | None
"""Where in the kind, apiVersion or metadata of a resource a node is, None standing for an item; None for outside."""


def default_errors(root: Structural, path: str, *, require_pruned: bool) -> list[FieldError]:
    """What is wrong with the defaults of a schema and all below. Defaults in map values are told of elsewhere."""
    errors: list[FieldError] = []
    _walk(root.as_resource(), path, None, errors, require_pruned)
    return errors


def _walk(node: Structural, path: str, meta: _Meta, errors: list[FieldError], pruned: bool) -> None:
    if node.embedded:
        meta = None
    if node.has_default:
        where = f"{path}.default"
        if meta is None and pruned and not is_pruned(node):
            errors.append(invalid(where, in_key_order(node.default), "must not have unknown fields"))
        found = _metadata_default(node, where, meta) if meta is not None else _resource_errors(node, where)
        errors += found or _value_errors(node, where)
    if node.items is not None and not node.items.plain:
        _walk(node.items, f"{path}.items", None if meta is None else (*meta, None), errors, pruned)
    for name, child in node.properties.items():
        if child.plain:
            continue
        inner: _Meta = None
        if meta is not None:
            inner = (*meta, name)
        elif node.embedded and name in _META:
            inner = (name,)
        _walk(child, f"{path}.properties[{name}]", inner, errors, pruned)


def settle_metadata(schema: dict[str, Any]) -> None:
    """Drop from the defaults of a schema, in place, what the metadata of resources in them cannot have.

    Those that are wrong otherwise, and schemas that are not structural, are left to validation.
    """
    try:
        root = read_structural(schema)
    except NotStructural:
        return
    _settle(root.as_resource(), inside=False)


def _settle(node: Structural, *, inside: bool) -> None:
    """`inside`: whether the node is, or is in, the kind, apiVersion or metadata of a resource."""
    inside = inside and not node.embedded
    if node.has_default and not inside:
        # A default that cannot be coerced stays, for the error to show it.
        with suppress(CoercionError):
            node.source["default"] = _coerced(node, "")
    if node.items is not None:
        _settle(node.items, inside=inside)
    for name, child in node.properties.items():
        _settle(child, inside=inside or (node.embedded and name in _META))


def _coerced(node: Structural, where: str) -> Any:
    """The default with the metadata of all resources in it decoded. Raises CoercionError."""
    value = copy.deepcopy(node.default)
    if node.embedded and isinstance(value, dict):
        coerce_resource(value, None, where)
    coerce = compile_coercer(node)
    if coerce is not None:
        coerce(value, None, where)
    return value


def _resource_errors(node: Structural, where: str) -> list[FieldError]:
    """What is wrong with the metadata of resources in a default, the default itself included."""
    errors: list[FieldError] = []
    try:
        value = _coerced(node, where)
    except CoercionError as problem:
        return [problem.error]
    if node.embedded and isinstance(value, dict):
        errors += resource_errors(value, where)
    check = compile_embedded_check(node)
    if check is not None:
        errors += check(value, where)
    return errors


def _metadata_default(node: Structural, where: str, place: tuple[str | None, ...]) -> list[FieldError]:
    """A default within the metadata of a resource has to make valid metadata of it."""
    value = copy.deepcopy(node.default)
    for step in reversed(place):
        value = [value] if step is None else {step: value}
    resource: dict[str, Any] = {"apiVersion": "validation/v1", "kind": "Validation", **value}
    try:
        coerce_resource(resource, None, "")
    except CoercionError as problem:
        wrong = str(problem)
    else:
        found = resource_errors(resource, "")
        if not found:
            return []
        wrong = aggregate(found)
    return [invalid(where, in_key_order(node.default), f"must result in valid metadata: {wrong}")]


def _value_errors(node: Structural, where: str) -> list[FieldError]:
    """The value against its own schema, and against the rules both as a new value and as one that stays."""
    errors = Validator(_by_type_alone(node)).errors(node.default, where)
    if errors:
        return errors
    rules = compile_rules(node, is_root=node.embedded)
    if rules is None:
        return []
    rule_set = RuleSet(rules)
    found = rule_set.errors(node.default, node.default, path=where)
    return found or rule_set.errors(node.default, None, path=where)


def is_pruned(node: Structural) -> bool:
    """Whether the default of a node has no unknown fields."""
    value = {"value": copy.deepcopy(node.default)}
    around = Structural(source={}, type="object", properties={"value": node})
    unknown: list[str] = []
    compile_normalizer(around, is_root=False)(value, unknown, "")
    return not unknown


def has_unpruned_default(node: Structural) -> bool:
    """Whether any default at a node or below has unknown fields."""
    if node.has_default and not is_pruned(node):
        return True
    return any(has_unpruned_default(child) for child in node.children())


def _by_type_alone(node: Structural) -> Structural:
    """The node without x-kubernetes-int-or-string, which the reference does not hold against defaults."""
    found = copy.copy(node)
    found.int_or_string = False
    found.properties = {name: _by_type_alone(child) for name, child in node.properties.items()}
    found.items = _by_type_alone(node.items) if node.items is not None else None
    found.additional = _by_type_alone(node.additional) if node.additional is not None else None
    return found
