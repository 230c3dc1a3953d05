"""Applying the operations that a JSONPatch expression makes to an object."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.admission.expression.patch_values import ObjectValue, PatchOperation, to_json
from watchkeeper.admission.policy.params import ConfigurationError
from watchkeeper.cel.values import EvalError
from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.patch.json_patch import JsonPatch

Object = dict[str, Any]

_QUOTED = frozenset({"add", "remove"})


def apply_operations(live: Object, value: Any) -> Object:
    """The patched object, which shares nothing with `live`; the object as it was when a test fails.

    Raises ConfigurationError.
    """
    operations = [_operation(item) for item in value]
    document: Any = orjson.loads(orjson.dumps(live))
    for operation in operations:
        try:
            document = JsonPatch(orjson.dumps([operation])).apply(document)
        except ApiError as error:
            if operation["op"] == "test":
                unchanged: Object = orjson.loads(orjson.dumps(live))
                return unchanged
            raise ConfigurationError(f"JSON Patch: {_complaint(operation, error)}") from error
    patched: Object = document
    return patched


def _operation(item: Any) -> Object:
    if not isinstance(item, PatchOperation):
        raise ConfigurationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    found: Object = {"op": item.get("op"), "path": item.get("path")}
    if item.has("from"):
        found["from"] = item.get("from")
    if item.has("value"):
        value = item.get("value")
        if isinstance(value, ObjectValue) and (wrong := value.misnamed()):
            raise ConfigurationError("type mismatch: " + "\n".join(wrong))
        try:
            found["value"] = to_json(value)
        except EvalError as error:
            why = f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
            raise ConfigurationError(why) from error
    return found


def _complaint(operation: Object, error: ApiError) -> str:
    name, path = operation["op"], operation["path"]
    if name not in ("add", "remove", "replace", "move", "copy"):
        return f"Unexpected kind: {name}"
    if error.code == 413:
        return error.message
    shown = f'"{path}"' if name in _QUOTED else path
    return f"{name} operation does not apply: doc is missing path: {shown}: missing value"
