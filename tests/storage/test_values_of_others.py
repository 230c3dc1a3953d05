"""JSON that another server has written is decoded, what this one has written is taken as it is."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.codec import JsonCodec

KIND = GroupVersionKind("", "v1", "Thing")
OURS = b'{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"},"spec":{"z":1,"y":2}}'


def completed(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], "filled": True}}


def spec(codec: JsonCodec, value: bytes) -> Any:
    stored = codec.stored("/registry/things/a", value, 7)
    assert stored.data()["metadata"] == {"name": "a", "resourceVersion": "7"}
    return stored.data()["spec"]


def test_a_value_that_ends_with_a_newline_is_completed() -> None:
    codec = JsonCodec(KIND, decode_old=completed)
    assert spec(codec, OURS) == {"z": 1, "y": 2}
    assert spec(codec, OURS + b"\n") == {"z": 1, "y": 2, "filled": True}


def test_where_nobody_completes_values_they_are_taken_without_the_newline() -> None:
    codec = JsonCodec(KIND)
    stored = codec.stored("/registry/things/a", OURS + b"\n", 7)
    assert stored.tail == codec.stored("/registry/things/a", OURS, 7).tail
