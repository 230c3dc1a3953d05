"""Raw objects are compared as they are written: a patch changes what came with blanks, sending it again does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
JSON, YAML = "application/json", "application/yaml"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
SPACED = '{"b": 1, "a": [1, 2]}'
IN_ORDER, SORTED = '{"b":1,"a":[1,2]}', '{"a":[1,2],"b":1}'


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as running:
        yield running


def send(server: Handle, method: str, path: str, body: str | bytes, kind: str = JSON, **params: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": kind}
    return httpx.request(method, server.url + path, content=body, headers=headers, params=params)


def revision(name: str, data: str, number: int = 1) -> str:
    return f'{{"metadata":{{"name":"{name}"}},"revision":{number},"data":{data}}}'


def refused(data: str) -> str:
    return f"Invalid value: {data}: field is immutable"


def outcome(answer: httpx.Response) -> Any:
    """What was refused, or the code."""
    body = answer.json()
    return body["details"]["causes"][0]["message"] if answer.status_code == 422 else answer.status_code


@pytest.mark.parametrize(
    ("sent", "method", "kind", "body", "expected"),
    [
        (SPACED, "PATCH", MERGE, '{"revision":2}', refused(IN_ORDER)),
        (SPACED, "PATCH", JSON_PATCH, '[{"op":"add","path":"/data/z","value":4}]', refused('{"a":[1,2],"b":1,"z":4}')),
        (SPACED, "PATCH", STRATEGIC, "{}", refused(SORTED)),
        (SPACED, "PUT", JSON, revision("r", SPACED, 2), 200),
        (SPACED, "PUT", JSON, revision("r", IN_ORDER, 2), refused(IN_ORDER)),
        (SPACED, "PUT", YAML, "{metadata: {name: r}, revision: 2, data: {b: 1, a: [1, 2]}}", refused(SORTED)),
        (IN_ORDER, "PATCH", MERGE, '{"revision":2}', 200),
        (IN_ORDER, "PATCH", STRATEGIC, '{"revision":2}', refused(SORTED)),
        (SORTED, "PATCH", STRATEGIC, '{"revision":2}', 200),
        (SORTED, "PUT", YAML, "{metadata: {name: r}, revision: 2, data: {b: 1, a: [1, 2]}}", 200),
        ("{ }", "PATCH", MERGE, "{}", refused("{}")),
        ("{}", "PATCH", MERGE, '{"revision":2}', 200),
    ],
)
def test_the_data_of_a_revision(server: Handle, sent: str, method: str, kind: str, body: str, expected: Any) -> None:
    assert send(server, "POST", REVISIONS, revision("r", sent)).status_code == 201
    try:
        assert outcome(send(server, method, f"{REVISIONS}/r", body, kind)) == expected
    finally:
        send(server, "DELETE", f"{REVISIONS}/r", "")


def test_an_apply_writes_anew_what_it_changes_somewhere(server: Handle) -> None:
    assert send(server, "POST", REVISIONS, revision("applied", SPACED)).status_code == 201
    configuration = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"applied"%s}}'
    path = f"{REVISIONS}/applied"
    same = send(server, "PATCH", path, configuration % "", APPLY, fieldManager="m")
    assert outcome(same) == 200
    labeled = send(server, "PATCH", path, configuration % ',"labels":{"a":"b"}', APPLY, fieldManager="m")
    assert outcome(labeled) == refused(SORTED)


def test_an_apply_that_leaves_out_defaults_writes_anew_what_it_does_not_change(server: Handle) -> None:
    claim = (
        '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"applied"},"spec":{"devices":'
        '{"requests":[{"name":"r","exactly":{"deviceClassName":"c.example.com"%s}}],'
        '"config":[{"opaque":{"driver":"d.example.com","parameters":{"a": "b"}}}]}}}'
    )
    assert send(server, "POST", CLAIMS, claim % "").status_code == 201
    defaults = ',"allocationMode":"ExactCount","count":1'
    same = send(server, "PATCH", f"{CLAIMS}/applied", claim % defaults, APPLY, fieldManager="m", force="true")
    assert same.status_code == 200
    changed = send(server, "PATCH", f"{CLAIMS}/applied", claim % "", APPLY, fieldManager="m", force="true")
    assert (changed.status_code, changed.json()["message"].rpartition(": ")[2]) == (422, "field is immutable")


def test_who_reads_is_shown_one_line(server: Handle) -> None:
    created = send(server, "POST", REVISIONS, revision("lines", '{"b":\n1,\t"a": "<"}'))
    assert created.json()["data"] == {"b": 1, "a": "<"}
    read = send(server, "GET", f"{REVISIONS}/lines", "")
    assert b"\n" not in read.content.rstrip()
    assert read.json() == created.json()


def test_the_parameters_of_devices_count_generations_and_change_owners(server: Handle) -> None:
    config = '[{"opaque":{"driver":"d.example.com","parameters":{"b": 1}}}]'
    body = f'{{"metadata":{{"name":"c"}},"spec":{{"config":{config}}}}}'
    assert send(server, "POST", CLASSES, body, fieldManager="one").json()["metadata"]["generation"] == 1
    path, label = f"{CLASSES}/c", '{"metadata":{"labels":{"x":"%s"}}}'
    patched = send(server, "PATCH", path, label % "y", MERGE, fieldManager="two").json()["metadata"]
    assert patched["generation"] == 2
    (owner,) = patched["managedFields"]
    assert (owner["manager"], "f:config" in owner["fieldsV1"]["f:spec"]) == ("two", True)
    again = send(server, "PATCH", path, label % "z", MERGE, fieldManager="two").json()["metadata"]
    assert again["generation"] == 2
    assert send(server, "PUT", path, body, fieldManager="one").json()["metadata"]["generation"] == 3
    emptied = send(server, "PUT", path, '{"metadata":{"name":"c"},"spec":{"config":[]}}', fieldManager="one").json()
    assert (emptied["metadata"]["generation"], emptied["spec"]) == (4, {})


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b'{"k": "x\xffy"}', {"k": "x\ufffdy"}),
        (b'{"\xff": 1}', {"\ufffd": 1}),
        (rb'{"k": "\ud800"}', {"k": "\ufffd"}),
        (rb'{"k": "\ud83d\ude00"}', {"k": "\U0001f600"}),
    ],
    ids=["no UTF-8", "no UTF-8 in a key", "half a surrogate pair", "a surrogate pair"],
)
def test_texts_that_are_none_are_stored_so_that_they_can_be_read(server: Handle, data: bytes, shown: Any) -> None:
    body = b'{"metadata":{"name":"odd"},"revision":1,"data":' + data + b"}"
    made = send(server, "POST", REVISIONS, body)
    try:
        assert (made.status_code, made.json()["data"]) == (201, shown)
        assert send(server, "PUT", f"{REVISIONS}/odd", body).status_code == 200
        assert server.request("GET", f"{REVISIONS}/odd")["data"] == shown
    finally:
        assert send(server, "DELETE", f"{REVISIONS}/odd", "").status_code == 200
