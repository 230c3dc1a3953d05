"""Defaults as they are filled in: without what the schema and the metadata of resources do not know.

A definition keeps them as they were written. What stands in the metadata of a resource is checked, but unknown fields
are no fault there, and definitions of old may have unknown fields in any default.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from watchkeeper.apiextensions.schema.embedded import CoercionError, compile_coercer, drop_malformed
from watchkeeper.apiextensions.schema.normalize import compile_normalizer
from watchkeeper.apiextensions.schema.structural import Structural

_Path = tuple[str | None, ...]
"""Where a value is, None standing for an item."""

_META = frozenset({"metadata", "apiVersion", "kind"})
_ANY_KEY = "*"


def settle_defaults(root: Structural) -> None:
    """Drop from the defaults of a schema, in place, what would not stay in an object that has them."""
    found = list(_suspects(root.as_resource(), (), inside=False))
    if not found:
        return
    prune = _pruner(root)
    for node, path in found:
        node.default, node.has_default = prune(node.default, path)


def _suspects(node: Structural, path: _Path, *, inside: bool) -> Iterator[tuple[Structural, _Path]]:
    """The nodes whose defaults something could be dropped of: they are in metadata, or have fields themselves."""
    inside = inside and not node.embedded
    if node.has_default and (inside or isinstance(node.default, dict | list)):
        yield node, path
    for name, child in node.properties.items():
        if not child.plain:
            yield from _suspects(child, (*path, name), inside=inside or (node.embedded and name in _META))
    if node.items is not None:
        yield from _suspects(node.items, (*path, None), inside=inside)
    if node.additional is not None:
        yield from _suspects(node.additional, (*path, _ANY_KEY), inside=inside)


def _pruner(root: Structural) -> Callable[[Any, _Path], tuple[Any, bool]]:
    """Takes a default and where it is to what is left of it and whether anything is."""
    coerce, normalize = compile_coercer(root, lenient=True), compile_normalizer(root)

    def prune(default: Any, path: _Path) -> tuple[Any, bool]:
        around = _wrapped(copy.deepcopy(default), path)
        with suppress(CoercionError):  # nobody reads an object that has it
            drop_malformed(around, None, "")
            if coerce is not None:
                coerce(around, None, "")
        normalize(around, None, "")
        return _found(around, path)

    return prune


def _wrapped(value: Any, path: _Path) -> Any:
    """An object that has nothing but the value, where it belongs."""
    for step in reversed(path):
        value = [value] if step is None else {step: value}
    return value


def _found(value: Any, path: _Path) -> tuple[Any, bool]:
    for step in path:
        if step is None:
            value = value[0]
        elif step in value:
            value = value[step]
        else:
            return None, False
    return value, True
