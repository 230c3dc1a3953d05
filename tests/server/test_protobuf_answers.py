"""Answers and watches in protobuf, for clients of the Go types."""

from __future__ import annotations

import http.client
import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.apis.protobuf import object_of
from watchkeeper.runtime.protobuf import MAGIC, read_envelope
from watchkeeper.testing import Handle, Server

Object = dict[str, Any]
PROTOBUF = "application/vnd.kubernetes.protobuf"
BASE = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        handle.request("POST", BASE, {"metadata": {"name": "a"}, "data": {"k": "v"}})
        yield handle


def ask(
    server: Handle, path: str, accept: str, method: str = "GET", body: Object | None = None
) -> tuple[int, str, bytes]:
    address = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=10)
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept, "Content-Type": "application/json"}
    connection.request(method, path, json.dumps(body) if body is not None else None, headers)
    answer = connection.getresponse()
    found = answer.status, answer.headers["content-type"], answer.read()
    connection.close()
    return found


def test_objects_and_lists(server: Handle) -> None:
    status, content_type, body = ask(server, f"{BASE}/a", PROTOBUF)
    assert (status, content_type, body[:4]) == (200, PROTOBUF, MAGIC)
    found = object_of(body)
    assert (found["kind"], found["data"], found["metadata"]["name"]) == ("ConfigMap", {"k": "v"}, "a")
    status, content_type, body = ask(server, f"{BASE}?fieldSelector=metadata.name=a", PROTOBUF)
    assert (status, content_type) == (200, PROTOBUF)
    listed = object_of(body)
    assert (listed["kind"], listed["metadata"]["resourceVersion"].isdigit()) == ("ConfigMapList", True)
    assert [item["data"] for item in listed["items"]] == [{"k": "v"}]


def test_writes_and_errors(server: Handle) -> None:
    status, content_type, body = ask(server, BASE, PROTOBUF, "POST", {"metadata": {"name": "b"}})
    assert (status, content_type, object_of(body)["metadata"]["name"]) == (201, PROTOBUF, "b")
    status, content_type, body = ask(server, f"{BASE}/b", PROTOBUF, "DELETE")
    assert (status, object_of(body)["kind"], object_of(body)["status"]) == (200, "Status", "Success")
    status, content_type, body = ask(server, f"{BASE}/b", PROTOBUF)
    assert (status, content_type) == (404, PROTOBUF)
    assert object_of(body)["message"] == 'configmaps "b" not found'
    assert object_of(body)["details"] == {
        "name": "b",
        "group": "",
        "kind": "configmaps",
        "uid": "",
        "retryAfterSeconds": 0,
    }


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (f"{PROTOBUF},application/json", PROTOBUF),
        (f"application/json,{PROTOBUF}", "application/json"),
        (f"application/json;q=0.5,{PROTOBUF}", PROTOBUF),
        (f"{PROTOBUF};stream=watch", PROTOBUF),
    ],
)
def test_the_form_that_the_client_likes_best(server: Handle, accept: str, content_type: str) -> None:
    assert ask(server, f"{BASE}/a", accept)[:2] == (200, content_type)


def test_metadata_has_a_form_in_protobuf_and_tables_have_none(server: Handle) -> None:
    metadata = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    status, content_type, body = ask(server, f"{BASE}?fieldSelector=metadata.name=a", metadata)
    assert (status, content_type, object_of(body)["kind"]) == (200, PROTOBUF, "PartialObjectMetadataList")
    one = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v="
    (name, found), (old_name, old) = [
        (read_envelope(body)[0], read_envelope(body)[2])
        for version in ("v1", "v1beta1")
        for _, _, body in [ask(server, f"{BASE}/a", one + version)]
    ]
    assert (name, old_name, old) == ("meta.k8s.io/v1", "meta.k8s.io/v1beta1", found)
    status, content_type, body = ask(server, f"{BASE}/a", f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1")
    assert (status, content_type) == (406, "application/json")
    assert b"only the following media types are accepted" in body


def test_the_old_list_of_metadata_has_its_items_first(server: Handle) -> None:
    """Tag 1 is that of the items, tag 2 that of the list's own metadata; in v1 it is the other way round."""
    path, first = f"{BASE}?fieldSelector=metadata.name=a", {}
    for version in ("v1", "v1beta1"):
        accept = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v={version}"
        status, content_type, body = ask(server, path, accept)
        assert (status, content_type) == (200, PROTOBUF)
        api_version, kind, message = read_envelope(body)
        assert (api_version, kind) == (f"meta.k8s.io/{version}", "PartialObjectMetadataList")
        first[version] = b"\x0a\x01a" in message[: message.index(b"\x12", 2 + message[1])]
        assert object_of(body)["items"][0]["metadata"]["name"] == "a"
    assert first == {"v1": False, "v1beta1": True}


def test_discovery(server: Handle) -> None:
    for path, kind in (("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/api/v1", "APIResourceList")):
        status, content_type, body = ask(server, path, PROTOBUF)
        assert (status, content_type) == (200, PROTOBUF)
        served = json.loads(ask(server, path, "application/json")[2])
        assert read_envelope(body)[:2] == (served.get("apiVersion", ""), kind)
        assert all(name.encode() in body for name in _names(served))


def _names(served: Object) -> list[str]:
    return [each["name"] for each in [*served.get("groups", ()), *served.get("resources", ())]] or served["versions"]


def frames(data: bytes) -> Iterator[Object]:
    """The events of a watch: each a length and a WatchEvent, which has no envelope of its own."""
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        event = data[at + 4 : at + 4 + length]
        at += 4 + length
        kind = event[2 : 2 + event[1]].decode()
        yield {"type": kind, "object": object_of(event[event.index(MAGIC) :])}


def test_a_watch_is_a_stream_of_frames_with_their_lengths(server: Handle) -> None:
    path = (
        f"{BASE}?watch=true&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=0&fieldSelector=metadata.name=a"
    )
    status, content_type, body = ask(server, path, PROTOBUF)
    assert (status, content_type) == (200, f"{PROTOBUF};stream=watch")
    first, *others = frames(body)
    assert (first["type"], first["object"]["data"]) == ("ADDED", {"k": "v"})
    assert {other["type"] for other in others} <= {"BOOKMARK"}
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    *_, last = frames(ask(server, f"{BASE}?watch=true&timeoutSeconds=1&{initial}", PROTOBUF)[2])
    assert last["type"] == "BOOKMARK"
    assert last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_custom_resources_have_no_protobuf(server: Handle) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "cogs", "singular": "cog", "kind": "Cog"}
    definition = {
        "metadata": {"name": "cogs.example.io"},
        "spec": {"group": "example.io", "scope": "Cluster", "names": names, "versions": [version]},
    }
    status, content_type, body = ask(server, CRDS, PROTOBUF, "POST", definition)
    assert (status, content_type, object_of(body)["kind"]) == (201, PROTOBUF, "CustomResourceDefinition")
    path = "/apis/example.io/v1/cogs"
    while ask(server, path, "application/json")[0] == 404:
        pass
    status, content_type, body = ask(server, path, PROTOBUF)
    assert (status, content_type, object_of(body)["reason"]) == (406, PROTOBUF, "NotAcceptable")
    assert ask(server, path, f"{PROTOBUF},application/json")[:2] == (200, "application/json")


@pytest.mark.parametrize(("body", "why"), [(b"", "empty data (<empty>)"), (b"abc", "[107 56 115 0] (616263)")])
def test_what_is_no_protobuf_is_refused_as_what_it_should_have_been(server: Handle, body: bytes, why: str) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=10)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": PROTOBUF}
    connection.request("POST", BASE, body, headers)
    message = json.loads(connection.getresponse().read())["message"]
    connection.close()
    assert message.startswith("the object provided is unrecognized (must be of type ConfigMap): ")
    assert message.endswith(why)
