"""StorageClasses and VolumeAttributesClasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.node_labels import node_label_message
from watchkeeper.apis.validation.enums import validate_given_enum, validate_optional_enum
from watchkeeper.apis.validation.metadata import validate_immutable, validate_label_name
from watchkeeper.apis.validation.names import byte_length, is_qualified_name
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, required, too_long
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

GROUP = "storage.k8s.io"
_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024
_FIXED = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
"""What a StorageClass is, in the order in which changes are refused."""
_DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default_storage_class(storage_class: Object) -> None:
    """Volumes are deleted with their claims and bound at once, unless the class says otherwise."""
    if storage_class.get("reclaimPolicy") is None:
        storage_class["reclaimPolicy"] = "Delete"
    if storage_class.get("volumeBindingMode") is None:
        storage_class["volumeBindingMode"] = "Immediate"


def _validate_storage_class(storage_class: Object) -> list[FieldError]:
    errors = _driver_errors(storage_class.get("provisioner") or "", "provisioner")
    errors += _parameter_errors(storage_class.get("parameters") or {})
    policy = storage_class.get("reclaimPolicy")
    errors += validate_optional_enum(policy or None, "reclaimPolicy", _RECLAIM_POLICIES)
    errors += validate_given_enum(storage_class.get("volumeBindingMode"), "volumeBindingMode", _BINDING_MODES)
    return errors + _topology_errors(storage_class.get("allowedTopologies") or ())


def _validate_storage_class_change(new: Object, old: Object) -> list[FieldError]:
    return [error for name in _FIXED for error in validate_immutable(new.get(name), old.get(name), name)]


def _driver_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    shown = name.lower()
    return [invalid(path, shown, text) for text in is_qualified_name(shown)]


def _parameter_errors(parameters: Mapping[str, str]) -> list[FieldError]:
    path = "parameters"
    if len(parameters) > _MAX_PARAMETERS:
        return [too_long(path, "", _MAX_PARAMETERS)]
    errors = [invalid(path, key, "field can not be empty.") for key in parameters if not key]
    size = sum(byte_length(key) + byte_length(value) for key, value in parameters.items())
    if size > _MAX_PARAMETER_BYTES:
        errors.append(too_long(path, "", _MAX_PARAMETER_BYTES))
    return errors


def _topology_errors(terms: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: list[dict[str, frozenset[str]]] = [{} for _ in terms]
    """The reference begins with as many terms that say nothing, so that no term may say nothing."""
    for i, term in enumerate(terms):
        path = f"allowedTopologies[{i}].matchLabelExpressions"
        found: dict[str, frozenset[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            at, key = f"{path}[{j}]", requirement.get("key", "")
            values = requirement.get("values") or ()
            if not values:
                errors.append(required(f"{at}.values"))
            repeated = (k for k, value in enumerate(values) if value in values[:k])
            errors += [duplicate(f"{at}.values[{k}]", values[k]) for k in repeated]
            errors += validate_label_name(key, f"{at}.key")
            if key in found:
                errors.append(duplicate(f"{at}.key", key))
            found[key] = frozenset(values)
        errors += [duplicate(path, "")] * seen.count(found)
        seen.append(found)
    return errors


def _storage_class_warnings(storage_class: Object) -> list[str]:
    found: list[str] = []
    for i, term in enumerate(storage_class.get("allowedTopologies") or ()):
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            if message := node_label_message(requirement.get("key", "")):
                found.append(f"allowedTopologies[{i}].matchLabelExpressions[{j}].key: {message}")
    return found


def _storage_class_cells(storage_class: Object, now: float) -> list[Any]:
    annotations = storage_class["metadata"].get("annotations") or {}
    marked = any(annotations.get(mark) == "true" for mark in _DEFAULT_MARKS)
    return [
        printing.name_of(storage_class) + (" (default)" if marked else ""),
        storage_class.get("provisioner") or "",
        storage_class.get("reclaimPolicy", "Delete"),
        storage_class.get("volumeBindingMode", "Immediate"),
        storage_class.get("allowVolumeExpansion") or False,
        printing.age(storage_class, now),
    ]


def _validate_attributes_class(attributes_class: Object) -> list[FieldError]:
    parameters = attributes_class.get("parameters") or {}
    errors = _driver_errors(attributes_class.get("driverName") or "", "driverName")
    if not parameters:
        return [*errors, required("parameters", "must contain at least one key/value pair")]
    return errors + _parameter_errors(parameters)


def _validate_attributes_class_change(new: Object, old: Object) -> list[FieldError]:
    changed = (name for name in ("driverName", "parameters") if (new.get(name) or None) != (old.get(name) or None))
    return [forbidden(name, f"updates to {name} are forbidden.") for name in changed]


def _attributes_class_cells(attributes_class: Object, now: float) -> list[Any]:
    driver = attributes_class.get("driverName") or ""
    return [printing.name_of(attributes_class), driver, printing.age(attributes_class, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "StorageClass"),
        validate=_validate_storage_class,
        validate_update=lambda new, _old: _validate_storage_class(new),
        validate_change=_validate_storage_class_change,
        warnings_on_create=_storage_class_warnings,
        warnings_on_update=lambda new, _old: _storage_class_warnings(new),
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Provisioner", "string", "Who makes volumes of this class."),
                Column("ReclaimPolicy", "string", "What becomes of a volume when its claim goes."),
                Column("VolumeBindingMode", "string", "When claims are bound."),
                Column("AllowVolumeExpansion", "string", "Whether claims can grow."),
                printing.AGE,
            ),
            cells=_storage_class_cells,
        ),
    ),
    KindBehavior(
        kind=GroupKind(GROUP, "VolumeAttributesClass"),
        validate=_validate_attributes_class,
        validate_update=lambda new, _old: _validate_attributes_class(new),
        validate_change=_validate_attributes_class_change,
        has_status=False,
        table=TableSpec(
            columns=(printing.NAME, Column("DriverName", "string", "The driver it is for."), printing.AGE),
            cells=_attributes_class_cells,
        ),
    ),
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "StorageClass"): default_storage_class}
