"""Objects in protobuf: what the bytes of real clients say in JSON, and what is refused."""

from __future__ import annotations

import pytest

from watchkeeper.apis.protobuf import object_of
from watchkeeper.runtime.protobuf import MAGIC, ProtobufError, read_envelope


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version.encode()) + field(2, kind.encode())) + field(2, message)


def hard(quantity: bytes) -> bytes:
    """The spec of a ResourceQuota for Pods."""
    return field(1, field(1, b"pods") + field(2, field(1, quantity)))


def test_a_config_map_as_kubectl_sends_it() -> None:
    sent = bytes.fromhex(
        "6b3873000a0f0a0276311209436f6e6669674d6170121b0a110a017812001a0022002a0032003800420012060a01611201621a002200"
    )
    assert object_of(sent) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": "x",
            "generateName": "",
            "namespace": "",
            "selfLink": "",
            "uid": "",
            "resourceVersion": "",
            "generation": 0,
            "creationTimestamp": None,
        },
        "data": {"a": "b"},
    }


def test_embedded_structs_stand_in_their_parents_place() -> None:
    http_get = field(1, b"/healthz") + field(2, field(1, 1) + field(2, 0) + field(3, b"http"))
    probe = field(1, field(2, http_get)) + field(2, 10)
    container = field(1, b"web") + field(10, probe)
    found = object_of(envelope("v1", "Pod", field(2, field(2, container))))
    assert found["spec"]["containers"] == [
        {"name": "web", "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "initialDelaySeconds": 10}}
    ]


def test_bytes_numbers_times_and_quantities_take_their_form_in_json() -> None:
    meta = field(1, b"s") + field(8, field(1, 1_700_000_000)) + field(7, -1)
    secret = object_of(envelope("v1", "Secret", field(1, meta) + field(2, field(1, b"k") + field(2, b"\x00\xff"))))
    assert secret["data"] == {"k": "AP8="}
    assert secret["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert secret["metadata"]["generation"] == -1
    quota = object_of(envelope("v1", "ResourceQuota", field(2, hard(b"5"))))
    assert quota["spec"]["hard"] == {"pods": "5"}


def test_texts_may_be_no_utf_8() -> None:
    data = field(2, field(1, b"a\xff") + field(2, b"x\xe2\x82y"))
    assert object_of(envelope("v1", "ConfigMap", data))["data"] == {"a\ufffd": "x\ufffd\ufffdy"}


def test_years_have_four_digits() -> None:
    at = field(1, -62_135_596_798) + field(2, 5000)
    lease = object_of(envelope("coordination.k8s.io/v1", "Lease", field(2, field(3, at)) + field(1, field(8, at))))
    assert lease["spec"]["acquireTime"] == "0001-01-01T00:00:02.000005Z"
    assert lease["metadata"]["creationTimestamp"] == "0001-01-01T00:00:02Z"


def test_fields_that_are_unknown_are_left_out() -> None:
    found = object_of(envelope("v1", "ConfigMap", field(15, b"later") + field(2, field(1, b"a") + field(2, b"b"))))
    assert found == {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{}", "expected prefix [107 56 115 0]"),
        (MAGIC + b"\x0a\x7f", "unexpected EOF"),
        (envelope("v1", "Nothing", b""), 'no kind "Nothing"'),
        (envelope("v1", "ConfigMap", b"\x0a\x05ab"), "unexpected EOF"),
        (envelope("v1", "ConfigMap", field(1, 5)), "proto: wrong wireType = 0 for field ObjectMeta"),
        (MAGIC, "empty body"),
        (envelope("v1", "ResourceQuota", field(2, hard(b"")) + field(1, 5)), "quantities must match"),
        (envelope("v1", "ResourceQuota", field(2, hard(b" 1"))), "quantities must match"),
        (envelope("v1", "ResourceQuota", field(2, hard(b"1x"))), "quantities must match"),
        (
            envelope("v1", "ResourceQuota", field(1, 5) + field(2, hard(b"x"))),
            "wrong wireType = 0 for field ObjectMeta",
        ),
    ],
)
def test_bytes_that_are_no_object_are_refused(data: bytes, words: str) -> None:
    with pytest.raises(ProtobufError) as caught:
        object_of(data)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"\x0a\x02\x08\x01", "proto: wrong wireType = 0 for field APIVersion"),
        (b"\x0a\x02\x10\x01", "proto: wrong wireType = 0 for field Kind"),
        (b"\x10\x01", "proto: wrong wireType = 0 for field Raw"),
        (b"\x18\x01", "proto: wrong wireType = 0 for field ContentEncoding"),
        (b"\x20\x01", "proto: wrong wireType = 0 for field ContentType"),
        (b"\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"\x0a\x01\x0c", "proto: TypeMeta: wiretype end group for non-group"),
        (b"\x02\x00", "proto: Unknown: illegal tag 0 (wire type 2)"),
        (b"\x2e", "proto: illegal wireType 6"),
    ],
)
def test_what_is_wrong_with_an_envelope_is_told_in_the_words_of_go(content: bytes, why: str) -> None:
    with pytest.raises(ProtobufError) as refused:
        read_envelope(MAGIC + content)
    assert str(refused.value) == why
