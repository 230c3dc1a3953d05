"""The rules of PersistentVolumeClaims that are objects."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from watchkeeper.apis.core.claim_validation import keeps_invalid_values, validate_claim_spec
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.persistentvolume import BETA_CLASS
from watchkeeper.apis.core.unified_diff import unified_diff
from watchkeeper.apis.quantities import compare, whole_value
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.metadata import IMMUTABLE, validate_immutable
from watchkeeper.apis.validation.names import is_qualified_name
from watchkeeper.apis.validation.resources import is_native_resource, validate_resource_quantity
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Object = dict[str, Any]
Spec = dict[str, Any]

_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
_SIZE = "spec.resources.requests.storage"
_CLASS = "spec.volumeAttributesClassName"
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def validate_claim(claim: Object) -> list[FieldError]:
    """What is wrong with a new claim."""
    return validate_claim_spec(claim.get("spec") or {}, "spec")


def validate_claim_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed claim: a bound one may grow, nothing else changes."""
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    errors = validate_claim_spec(
        spec,
        "spec",
        allow_invalid_values=keeps_invalid_values(was),
        allow_invalid_data_source_group=_has_source_group(was),
    )
    expected, shown = dict(was), deepcopy(spec)
    if not was.get("volumeName"):
        _copy(spec, expected, "volumeName")
    errors += _class_change(new, old, shown)
    if (new.get("status") or {}).get("phase") == "Bound":
        size = _size(was)
        requests = (shown.get("resources") or {}).get("requests")
        if size is not None and requests is not None:
            shown["resources"]["requests"] = {**requests, "storage": size}
        _copy(expected, shown, "volumeAttributesClassName")
    if not same(shown, expected, "core.v1.PersistentVolumeClaimSpec"):
        forms = (go_form(each, "PersistentVolumeClaimSpec") for each in (expected, shown))
        errors.append(forbidden("spec", f"{_FIXED}\n{unified_diff(*forms)}"))
    errors += _shrinking(spec, was, old)
    errors += validate_immutable(spec.get("volumeMode"), was.get("volumeMode"), "volumeMode")
    return errors + _attributes_class(spec, was, old)


def _copy(source: Spec, target: Spec, name: str) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _has_source_group(spec: Spec) -> bool:
    return any((spec.get(name) or {}).get("apiGroup") is not None for name in ("dataSource", "dataSourceRef"))


def _size(spec: Mapping[str, Any]) -> str | None:
    found: str | None = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return found


def _class_change(new: Object, old: Object, shown: Spec) -> list[FieldError]:
    """A class can move from the annotation of old into the field, or be set where there was none."""
    now = new["metadata"].get("annotations") or {}
    before = old["metadata"].get("annotations") or {}
    name, was = (new.get("spec") or {}).get("storageClassName"), (old.get("spec") or {}).get("storageClassName")
    annotated = before.get(BETA_CLASS)
    moves = annotated is not None and was is None and name == annotated
    if moves and now.get(BETA_CLASS, annotated) == annotated:
        shown.pop("storageClassName", None)
        return []
    errors: list[FieldError] = []
    if now.get(BETA_CLASS, "") != before.get(BETA_CLASS, ""):
        errors.append(invalid(f"metadata.annotations.{BETA_CLASS}", now.get(BETA_CLASS, ""), IMMUTABLE))
    if name is not None and was is None and (annotated is None or name == annotated):
        shown.pop("storageClassName", None)
    return errors


def _shrinking(spec: Spec, was: Spec, old: Object) -> list[FieldError]:
    """A claim may ask for less again only as long as its volume has not grown to that."""
    now, before = _size(spec) or "0", _size(was) or "0"
    has = ((old.get("status") or {}).get("capacity") or {}).get("storage") or "0"
    if compare(now, before) < 0 and compare(now, has) <= 0:
        return [forbidden(_SIZE, "field can not be less than status.capacity")]
    return []


def _attributes_class(spec: Spec, was: Spec, old: Object) -> list[FieldError]:
    name, before = spec.get("volumeAttributesClassName"), was.get("volumeAttributesClassName")
    if name == before or (old.get("status") or {}).get("currentVolumeAttributesClassName") is None:
        return []
    where = "is forbidden when status.currentVolumeAttributesClassName is not nil"
    if name is None:
        return [forbidden(_CLASS, f"update to nil {where}")]
    return [] if name else [forbidden(_CLASS, f"update to empty string {where}")]


def validate_claim_status(new: Object, _old: Object) -> list[FieldError]:
    """What is wrong with what a claim's status says."""
    errors: list[FieldError] = []
    if not new["metadata"].get("resourceVersion"):
        errors.append(required("resourceVersion"))
    if not (new.get("spec") or {}).get("accessModes"):
        errors.append(required("Spec.accessModes"))
    status = new.get("status") or {}
    for name, text in (status.get("capacity") or {}).items():
        errors += _basic(text, f"status.capacity[{name}]")
    at = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        errors += _resource_key(name, at)
        if state not in _RESIZES:
            errors.append(not_supported(at, name, _RESIZES))
    for name, text in (status.get("allocatedResources") or {}).items():
        wrong = _resource_key(name, "status.allocatedResources")
        at = f"status.allocatedResources[{name}]"
        errors += wrong or _basic(text, at) or validate_resource_quantity("storage", text, at)
    return errors


def _basic(text: str, path: str) -> list[FieldError]:
    value = whole_value(text)
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _resource_key(name: str, path: str) -> list[FieldError]:
    wrong = is_qualified_name(name)
    if wrong:
        return [invalid(path, name, text) for text in wrong]
    if is_native_resource(name) and name != "storage":
        return [not_supported(path, name, ["storage"])]
    return []
