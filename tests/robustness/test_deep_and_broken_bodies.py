"""Bodies that are nested too deep, or say what no encoder can write, are the client's fault and never a panic."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.waiting import eventually

from watchkeeper.runtime.json_text import MAX_DEPTH
from watchkeeper.testing.handle import Handle

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KIND: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "anythings.deep.example"},
    "spec": {
        "group": "deep.example",
        "names": {"plural": "anythings", "kind": "Anything"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
PATH = "/apis/deep.example/v1/namespaces/default/anythings"
HEADER = '{"apiVersion":"deep.example/v1","kind":"Anything"'
PATCHES = {
    "application/merge-patch+json": '{"spec":%s}',
    "application/json-patch+json": '[{"op":"add","path":"/spec","value":%s}]',
    "application/apply-patch+yaml": f'{HEADER},"metadata":{{"name":"x"}},"spec":%s}}',
}
SHAPES = {"lists": ("[", "1", "]"), "maps": ('{"a":', "1", "}")}


@pytest.fixture(scope="module", autouse=True)
def kind_is_served(server: Handle) -> None:
    server.request("POST", DEFINITIONS, KIND)
    eventually(lambda: call(server, "GET", PATH)[0] == 200, seconds=60)


def call(handle: Handle, method: str, path: str, body: str | bytes = "", kind: str = "application/json") -> Any:
    connection = http.client.HTTPConnection(urlsplit(handle.url).netloc, timeout=20)
    headers = {"Authorization": f"Bearer {handle.token}", "Content-Type": kind}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    found = json.loads(text) if text[:1] == b"{" else text.decode()
    connection.close()
    return answer.status, found


def nested(shape: str, depth: int) -> str:
    begin, middle, end = SHAPES[shape]
    return begin * depth + middle + end * depth


def anything(name: str, spec: str) -> str:
    return f'{HEADER},"metadata":{{"name":"{name}"}},"spec":{spec}}}'


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_as_deep_as_allowed_can_be_written_patched_applied_and_watched(server: Handle, shape: str) -> None:
    spec = nested(shape, MAX_DEPTH - 1)
    assert call(server, "POST", PATH, anything(f"fits-{shape}", spec))[0] == 201
    path = f"{PATH}/fits-{shape}"
    for kind, patch in PATCHES.items():
        deep = nested(shape, MAX_DEPTH - 5)
        body = (patch % deep).replace('"x"', f'"fits-{shape}"')
        status, found = call(server, "PATCH", f"{path}?fieldManager=me" + "&force=1" * ("apply" in kind), body, kind)
        assert (status, json.dumps(found["spec"], separators=(",", ":"))) == (200, deep)
    assert call(server, "GET", PATH)[0] == 200


@pytest.mark.parametrize("depth", [MAX_DEPTH, 254, 300, 1000, 5000, 100_000])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
def test_deeper_bodies_are_refused(server: Handle, shape: str, depth: int, kind: str) -> None:
    status, found = call(server, "POST", PATH, anything("deep", nested(shape, depth)), kind)
    assert (status, found["reason"]) == (400, "BadRequest")
    assert "exceeded max" in found["message"]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 300, 2000])
@pytest.mark.parametrize("kind", PATCHES)
def test_deeper_patches_are_refused(server: Handle, kind: str, depth: int) -> None:
    call(server, "POST", PATH, anything("x", "{}"))
    status, found = call(server, "PATCH", f"{PATH}/x?fieldManager=m", PATCHES[kind] % nested("maps", depth), kind)
    assert status == 400, found


def test_what_patches_have_piled_up_is_refused_when_it_cannot_be_written(server: Handle) -> None:
    call(server, "POST", PATH, anything("pile", "{}"))
    path, where = f"{PATH}/pile", "/spec"
    answers = []
    for _ in range(4):
        patch = f'[{{"op":"add","path":"{where}/a","value":{nested("maps", 80)}}}]'
        answers.append(call(server, "PATCH", path, patch, "application/json-patch+json"))
        where += "/a" * 80
    assert [status for status, _ in answers[:2]] == [200, 200]
    assert answers[-1][0] in (400, 422)
    assert call(server, "GET", path)[0] == 200


def test_half_of_a_surrogate_pair_becomes_a_replacement_character(server: Handle) -> None:
    body = r'{"metadata":{"name":"half"},"data":{"a":"x\ud800y"}}'
    status, found = call(server, "POST", "/api/v1/namespaces/default/configmaps", body)
    assert (status, found["data"]) == (201, {"a": "x\ufffdy"})
    status, found = call(
        server, "POST", "/apis/apps/v1/namespaces/default/daemonsets", r'{"metadata":{"name":"\ud800"}}'
    )
    assert status == 422


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "1e20", "9" * 300])
def test_numbers_beyond_64_bits_are_floats_in_json_and_yaml(server: Handle, number: str) -> None:
    for n, (method, kind) in enumerate(
        [("POST", "application/json"), ("POST", "application/yaml"), ("PATCH", "application/apply-patch+yaml")]
    ):
        name = f"n{n}-{len(number)}{number[:1].strip('-')}"
        body = f"apiVersion: deep.example/v1\nkind: Anything\nmetadata: {{name: {name}}}\nspec: {{a: {number}}}\n"
        if kind == "application/json":
            body = anything(name, f'{{"a":{number}}}')
        path = PATH if method == "POST" else f"{PATH}/{name}?fieldManager=m"
        status, found = call(server, method, path, body, kind)
        assert (status, float(found["spec"]["a"])) == (201, float(number))


def test_a_time_beyond_all_years_in_protobuf_is_refused(server: Handle) -> None:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2]) + varint(len(content)) + content

    def varint(value: int) -> bytes:
        out = b""
        while value > 0x7F:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    time = b"\x08" + varint(2**62)
    metadata = field(1, b"late") + field(8, time)
    message = field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, field(1, metadata))
    path = "/api/v1/namespaces/default/configmaps"
    status, found = call(server, "POST", path, b"k8s\0" + message, "application/vnd.kubernetes.protobuf")
    assert (status, found["reason"]) == (400, "BadRequest")
