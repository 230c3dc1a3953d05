"""ConfigMaps, and what they share with Secrets: keyed data of limited size that can be made immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.names import is_config_map_key
from watchkeeper.meta.field import FieldError, forbidden, invalid, too_long
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.runtime.with_empties import as_sent

Object = dict[str, Any]

MAX_BYTES = 1024 * 1024
_IMMUTABLE = "field is immutable when `immutable` is set"


def validate_keys(data: Iterable[str] | None, path: str) -> list[FieldError]:
    """Keys that cannot be names of files."""
    return [invalid(f"{path}[{key}]", key, text) for key in sorted(data or ()) for text in is_config_map_key(key)]


def decoded_size(values: Iterable[str]) -> int:
    """The number of bytes that base64 texts stand for."""
    return sum(len(v) // 4 * 3 - v.count("=", max(len(v) - 2, 0)) for v in values)


def validate_unchanged(new: Object, old: Object, names: tuple[str, ...]) -> list[FieldError]:
    """What an immutable object may not change: that it is, and its data."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden("immutable", _IMMUTABLE)]
    return errors + [forbidden(n, _IMMUTABLE) for n in names if new.get(n) != old.get(n)]


def _validate(obj: Object) -> list[FieldError]:
    data: Mapping[str, str] = obj.get("data") or {}
    binary: Mapping[str, str] = obj.get("binaryData") or {}
    errors: list[FieldError] = []
    for key in sorted(data):
        errors += validate_keys((key,), "data")
        if key in binary:
            errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    errors += validate_keys(binary, "binaryData")
    size = sum(len(v.encode()) for v in data.values()) + decoded_size(binary.values())
    if size > MAX_BYTES:
        errors.append(too_long("[]", "", MAX_BYTES))
    return errors


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    return validate_unchanged(_with_data(new), _with_data(old), ("data", "binaryData"))


def _with_data(obj: Object) -> Object:
    """Without data it is as good as one with none, unlike that of a Secret."""
    return {**as_sent(obj), "data": obj.get("data") or {}}


def _cells(obj: Object, now: float) -> list[Any]:
    size = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [printing.name_of(obj), size, printing.age(obj, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "ConfigMap"),
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_change=_validate_change,
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Data", "string", "How many entries the ConfigMap holds."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
