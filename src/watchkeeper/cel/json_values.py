"""Values as protobuf's JSON has them (google.protobuf.Value): all numbers are doubles, or texts beyond 53 bits."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

from watchkeeper.cel.conversions import to_string
from watchkeeper.cel.values import Duration, EvalError, Optional, Timestamp, TypeValue, Uint, runtime_type

_SAFE = 2**53 - 1
_KEYS: dict[type, str] = {
    bool: "type conversion error from bool to 'string'",
    bytes: "type conversion error from Bytes to 'string'",
    float: "type conversion error from Double to 'string'",
    int: "unsupported type conversion from 'int' to string",
    Uint: "unsupported type conversion from 'uint' to string",
}
"""What is said of keys that are no texts."""


def json_value(value: Any) -> Any:
    """What a value is in JSON, with a float for every number. Raises EvalError for what has no form there."""
    match value:
        case None | bool() | float() | str():
            return value
        case Timestamp() | Duration():
            return to_string(value)
        case int():
            return float(value) if -_SAFE <= value <= _SAFE else str(int(value))
        case bytes():
            return b64encode(value).decode()
        case list():
            return [json_value(item) for item in value]
        case dict():
            return {_key(key): json_value(item) for key, item in value.items()}
        case Optional():
            return json_value(value.value)
        case TypeValue():
            raise EvalError("type conversion not supported for 'type'")
    raise EvalError(f"type conversion error from '{_short_name(value)}' to '*structpb.Value'")


def check_finite(value: Any, message: str = "Value") -> None:
    """Refuse numbers that JSON has no text for. Raises EvalError."""
    if isinstance(value, float) and not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        why = f"proto: google.protobuf.Value.number_value: invalid {shown} value"
        raise EvalError(f"json: error calling MarshalJSON for type *structpb.{message}: {why}")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        check_finite(inner, message)


def _key(key: Any) -> str:
    if isinstance(key, Optional):
        key = key.value
    if isinstance(key, str):
        return key
    if isinstance(key, TypeValue):
        raise EvalError("type conversion not supported for 'type'")
    raise EvalError(_KEYS.get(key.__class__) or f"type conversion error from '{_short_name(key)}' to 'string'")


def _short_name(value: Any) -> str:
    kind = TypeValue(runtime_type(value)).name
    return kind.rpartition(".")[2]
