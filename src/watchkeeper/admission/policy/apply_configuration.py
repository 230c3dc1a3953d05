"""Merging what an ApplyConfiguration expression makes into an object, by the schema of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from watchkeeper.admission.expression.patch_values import ObjectValue, Unfit, applied
from watchkeeper.admission.policy.params import ConfigurationError
from watchkeeper.cel.values import EvalError
from watchkeeper.runtime.managedfields.merge import merge
from watchkeeper.runtime.managedfields.nodes import (
    DeducedNode,
    MapNode,
    Mismatch,
    Node,
    NodeTable,
    WholeNode,
)
from watchkeeper.runtime.managedfields.validate import check
from watchkeeper.runtime.scheme import Kind

Object = dict[str, Any]

_BUILTIN_NODES = NodeTable()
_PREFIX = "error applying patch: "


def apply_configuration(kind: Kind, live: Object, value: Any, *, described: bool = True) -> Object:
    """The object with the configuration merged in; shares nothing with `live`. Raises ConfigurationError.

    `described` tells whether the API description of the kind's own version has it; nothing else can be merged.
    """
    if not isinstance(value, ObjectValue):
        raise ConfigurationError("unsupported return type from ApplyConfiguration expression")
    if wrong := value.misnamed():
        raise ConfigurationError("type mismatch: " + "\n".join(wrong))
    try:
        patch: Object = {**applied(value), "kind": kind.gvk.kind, "apiVersion": kind.gvk.api_version}
    except EvalError as error:
        raise ConfigurationError("invalid return type: *dynamic.ObjectVal") from error
    except Unfit as error:
        why = f"{error.path}: expected map, got &{{{error.shown}}}"
        raise ConfigurationError(f"{_PREFIX}failed to convert patch object to typed object: {why}") from error
    if not described:
        why = f"no corresponding type for {kind.gvk}"
        raise ConfigurationError(f"{_PREFIX}failed to convert patch object to typed object: {why}")
    node = (_BUILTIN_NODES if kind.builtin else NodeTable()).root(kind.schema)
    merged: Object = orjson.loads(orjson.dumps(_merged(node, live, patch)))
    return merged


def _merged(node: MapNode, live: Object, patch: Object) -> Object:
    try:
        check(node, patch, allow_repeated=False)
    except Mismatch as error:
        raise ConfigurationError(f"{_PREFIX}failed to convert patch object to typed object: {error}") from error
    if atomics := list(_atomics(node, patch, "")):
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomics)}"
        raise ConfigurationError(f"{_PREFIX}invalid ApplyConfiguration: {why}")
    try:
        check(node, live, allow_repeated=True)
    except Mismatch as error:
        raise ConfigurationError(f"{_PREFIX}failed to convert original object to typed object: {error}") from error
    try:
        merged: Object = merge(node, live, patch)
    except Mismatch as error:
        raise ConfigurationError(f"{_PREFIX}failed to merge patch: {error}") from error
    return merged


def _atomics(node: Node, value: Any, path: str) -> Iterator[str]:
    """The paths of maps and lists that are replaced as a whole, which a configuration must not do by accident.

    What is below keys that the schema does not name is not looked at.
    """
    if isinstance(value, dict):
        if isinstance(node, WholeNode):
            yield path
        fields = node.schema.fields if node.schema is not None else {}
        for name, inner in value.items():
            if name in fields:
                yield from _atomics(node.table.node(fields[name].schema), inner, f"{path}.{name}")
    elif isinstance(value, list):
        if isinstance(node, WholeNode | DeducedNode):
            yield path
        element = node.schema.element if node.schema is not None else None
        if element is not None:
            for i, inner in enumerate(value):
                yield from _atomics(node.table.node(element), inner, f"{path}[{i}]")
