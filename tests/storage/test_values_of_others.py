"""JSON that another server has written is decoded, what this one has written is taken as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.codec import JsonCodec

KIND = GroupVersionKind("", "v1", "Thing")
OURS = (
    b'{"kind":"Thing","apiVersion":"v1","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","name":"a"},'
    b'"spec":{"y":2}}'
)


def completed(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], "filled": True}}


def spec(codec: JsonCodec, value: bytes) -> Any:
    stored = codec.stored("/registry/things/a", value, 7)
    metadata = stored.data()["metadata"]
    assert metadata["name"] == "a"
    assert metadata["resourceVersion"] == "7"
    assert stored.tail.count(b'"resourceVersion"') == 1
    return stored.data()["spec"]


def test_a_value_that_ends_with_a_newline_is_completed() -> None:
    codec = JsonCodec(KIND, decode_old=completed)
    assert spec(codec, OURS) == {"y": 2}
    assert spec(codec, OURS + b"\n") == {"y": 2, "filled": True}


BY_HAND = [
    b'{"apiVersion":"v1","kind":"Thing","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","name":"a",'
    b'"resourceVersion":"3"},"spec":{"y":2}}',  # as kubectl shows objects
    b'{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"3","name":"a"},"spec":{"y":2}}',
    b'{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"3"},"spec":{"y":2}}',
]


@pytest.mark.parametrize("value", BY_HAND)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_what_somebody_has_put_there_is_completed_and_has_the_version_of_its_key(value: bytes, end: bytes) -> None:
    assert spec(JsonCodec(KIND, decode_old=completed), value + end) == {"y": 2, "filled": True}
    assert spec(JsonCodec(KIND), value + end) == {"y": 2}


def test_where_nobody_completes_values_they_are_taken_without_the_newline() -> None:
    codec = JsonCodec(KIND)
    stored = codec.stored("/registry/things/a", OURS + b"\n", 7)
    assert stored.tail == codec.stored("/registry/things/a", OURS, 7).tail


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [({"selfLink": "/x", "name": "a"}, "/x"), ({"name": "a", "selfLink": "/x", "uid": "u"}, "/x"),
     ({"name": "a", "selfLink": ""}, None)],
)  # fmt: skip
def test_a_link_that_is_stored_is_shown_until_somebody_writes(metadata: dict[str, Any], shown: str | None) -> None:
    codec = JsonCodec(KIND, decode_old=completed)
    value = json.dumps({"kind": "Thing", "apiVersion": "v1", "metadata": metadata, "spec": {"y": 2}}).encode()
    stored = codec.stored("/registry/things/a", value, 7)
    assert stored.data()["metadata"].get("selfLink") == shown
    assert stored.data()["spec"] == {"y": 2, "filled": True}
    assert b"selfLink" not in codec.encode(stored.data())
