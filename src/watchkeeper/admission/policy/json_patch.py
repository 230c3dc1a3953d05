"""Applying the operations that a JSONPatch expression makes to an object."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.admission.expression.patch_values import ObjectValue, PatchOperation, patched
from watchkeeper.admission.policy.params import ConfigurationError
from watchkeeper.cel.values import EvalError
from watchkeeper.runtime.json_text import with_digits
from watchkeeper.runtime.patch.json_patch import FailedTest, JsonPatch, PatchError

Object = dict[str, Any]


def apply_operations(live: Object, value: Any) -> Object:
    """The patched object, which shares nothing with `live`; the object as it was when a test fails.

    Raises ConfigurationError.
    """
    operations = [_operation(item) for item in value]
    document: Any = orjson.loads(with_digits(orjson.dumps(live)))
    try:
        result: Object = JsonPatch.of_webhook(with_digits(orjson.dumps(operations))).result(document)
    except FailedTest:
        unchanged: Object = orjson.loads(orjson.dumps(live))
        return unchanged
    except PatchError as problem:
        raise ConfigurationError(f"JSON Patch: {problem}") from problem
    return result


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
            found["value"] = patched(value)
        except EvalError as error:
            why = f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
            raise ConfigurationError(why) from error
    return found
