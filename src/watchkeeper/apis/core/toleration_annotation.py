"""The annotation in which old clients say which taints a Pod tolerates: nobody heeds it, but it must be readable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.affinity_validation import validate_tolerations
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.runtime.json_text import JsonError, WrittenNumber, read_text
from watchkeeper.runtime.unmarshal import INT_RANGES, described

TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_TEXT_FIELDS = {
    "key": ("Key", "string"),
    "operator": ("Operator", "core.TolerationOperator"),
    "value": ("Value", "string"),
    "effect": ("Effect", "core.TaintEffect"),
}
_SECONDS = "tolerationSeconds"
_NAMES = {name.lower(): name for name in (*_TEXT_FIELDS, _SECONDS)}


def validate_toleration_annotation(text: str, path: str) -> list[FieldError]:
    """What is wrong with the annotation's text; `path` is that of the annotations."""
    faults: list[str] = []
    try:
        tolerations = _read(read_text(text), faults)
    except JsonError as error:
        return [invalid(path, TOLERATIONS, str(error))]
    if faults:
        return [invalid(path, TOLERATIONS, faults[0])]
    return validate_tolerations(tolerations, f"{path}.{TOLERATIONS}")


def _read(value: Any, faults: list[str]) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        faults.append(f"json: cannot unmarshal {described(value)} into Go value of type []core.Toleration")
        return []
    return [_toleration(item, faults) for item in value]


def _toleration(value: Any, faults: list[str]) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        faults.append(f"json: cannot unmarshal {described(value)} into Go value of type core.Toleration")
        return {}
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = _NAMES.get(key.lower())
        if name is None or item is None:
            continue
        if name == _SECONDS:
            wrong, field, kind = not _is_int64(item), "TolerationSeconds", "int64"
        else:
            wrong, (field, kind) = not isinstance(item, str), _TEXT_FIELDS[name]
        if wrong:
            shown = described(item)
            if name == _SECONDS and shown == "number":
                shown = f"number {item.text if isinstance(item, WrittenNumber) else item}"
            faults.append(f"json: cannot unmarshal {shown} into Go struct field Toleration.{field} of type {kind}")
        else:
            found[name] = item
    return found


def _is_int64(value: Any) -> bool:
    low, high = INT_RANGES["int64"]
    return value.__class__ is int and low <= value <= high
