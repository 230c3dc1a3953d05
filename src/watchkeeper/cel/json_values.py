"""Values as protobuf's JSON has them (google.protobuf.Value): all numbers are doubles, or texts beyond 53 bits."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

from watchkeeper.cel.conversions import to_string
from watchkeeper.cel.values import Duration, EvalError, Optional, Timestamp, TypeValue, Uint, runtime_type

_SAFE = 2**53 - 1
_REFUSALS: dict[type, str] = {
    bool: "type conversion error from bool to '{}'",
    bytes: "type conversion error from Bytes to '{}'",
    float: "type conversion error from Double to '{}'",
    dict: "type conversion error from map to '{}'",
    list: "type conversion error from list to '{}'",
    int: "unsupported type conversion from 'int' to {}",
    str: "unsupported native conversion from string to '{}'",
    Uint: "unsupported type conversion from 'uint' to {}",
    TypeValue: "type conversion not supported for 'type'",
}
"""What is said of values that are not of the type of Go that is wanted."""


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
    raise unconvertible(value, "*structpb.Value")


def unconvertible(value: Any, go_type: str) -> EvalError:
    """The error of making something of that type of Go of a value."""
    known = _REFUSALS.get(value.__class__)
    if known is not None:
        return EvalError(known.format(go_type))
    kind = TypeValue(runtime_type(value)).name.rpartition(".")[2]
    return EvalError(f"type conversion error from '{kind}' to '{go_type}'")


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
    raise unconvertible(key, "string")
