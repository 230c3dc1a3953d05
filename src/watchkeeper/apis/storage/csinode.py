"""CSINodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.volume_sources import validate_csi_driver_name
from watchkeeper.apis.storage.classes import GROUP
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.names import byte_length, is_qualified_name
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, duplicate, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_MAX_NODE_ID = 256
_DRIVER: InternalForm = {
    "name": ("Name", ""),
    "nodeID": ("NodeID", ""),
    "topologyKeys": ("TopologyKeys", None),
    "allocatable": ("Allocatable", None),
}


def _drivers(node: Object) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (node.get("spec") or {}).get("drivers") or []
    return found


def _validate(node: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, driver in enumerate(_drivers(node)):
        path, name = f"spec.drivers[{i}]", driver.get("name", "")
        errors += validate_csi_driver_name(name, f"{path}.name")
        errors += _node_id_errors(driver.get("nodeID", ""), f"{path}.nodeID")
        errors += validate_nonnegative((driver.get("allocatable") or {}).get("count"), f"{path}.allocatable.count")
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        errors += _key_errors(driver.get("topologyKeys") or [], path)
    return errors


def _node_id_errors(node_id: str, path: str) -> list[FieldError]:
    if not node_id:
        return [required(path)]
    if byte_length(node_id) > _MAX_NODE_ID:
        return [invalid(path, node_id, f"must be {_MAX_NODE_ID} characters or less")]
    return []


def _key_errors(keys: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, key in enumerate(keys):
        if not key:
            errors.append(required(path))
        if key in keys[:i]:
            errors.append(duplicate(path, key))
        errors += [invalid(path, key, text) for text in is_qualified_name(key)]
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    """A driver's entry does not change, but for how many volumes it takes."""
    errors = _validate(new)
    for before in _drivers(old):
        for after in _drivers(new):
            if after.get("name") == before.get("name") and _is_another(after, before):
                shown = internal_form(after, _DRIVER) | {"Allocatable": None}
                errors.append(invalid("spec.drivers", shown, IMMUTABLE))
    return errors


def _is_another(after: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    return any((after.get(name) or None) != (before.get(name) or None) for name in ("nodeID", "topologyKeys"))


def _cells(node: Object, now: float) -> list[Any]:
    return [printing.name_of(node), len(_drivers(node)), printing.age(node, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "CSINode"),
        validate=_validate,
        validate_update=_validate_update,
        allow_unconditional_update=False,
        has_status=False,
        table=TableSpec(
            columns=(printing.NAME, Column("Drivers", "integer", "How many drivers the node has."), printing.AGE),
            cells=_cells,
        ),
    )
]
