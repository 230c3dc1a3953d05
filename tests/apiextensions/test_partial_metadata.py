"""Metadata of custom resources, which have it in protobuf as all kinds do; there is no such form of the whole."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from watchkeeper.apis.protobuf import object_of

PROTOBUF = "application/vnd.kubernetes.protobuf"
ONE = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
MANY = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def ask(api: Any, path: str, accept: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {api.handle.token}", "Accept": accept}
    return httpx.get(api.handle.url + path, headers=headers)


@pytest.fixture
def path(api: Any, kit: Any) -> str:
    made: str = api.install(kit.version())
    assert api.call("POST", made, api.widget("a", {"n": 1})).status == 201
    return made


def test_metadata_is_had_in_protobuf(api: Any, path: str) -> None:
    one = ask(api, f"{path}/a", f"{PROTOBUF};{ONE}, application/json")
    assert one.headers["content-type"] == PROTOBUF
    assert object_of(one.content)["metadata"]["name"] == "a"
    many = ask(api, path, f"{PROTOBUF};{MANY}, application/json;{MANY}, application/json")
    assert many.headers["content-type"] == PROTOBUF
    found = object_of(many.content)
    assert (found["kind"], found["items"][0]["metadata"]["name"]) == ("PartialObjectMetadataList", "a")
    watched = ask(api, f"{path}?watch=1&timeoutSeconds=1", f"{PROTOBUF};{ONE}")
    assert watched.headers["content-type"] == f"{PROTOBUF};stream=watch"
    assert b"ADDED" in watched.content


def test_the_whole_is_not(api: Any, path: str) -> None:
    assert ask(api, path, f"{PROTOBUF}, application/json").headers["content-type"] == "application/json"
    refused = ask(api, path, PROTOBUF)
    assert (refused.status_code, refused.headers["content-type"]) == (406, PROTOBUF)
    assert object_of(refused.content)["reason"] == "NotAcceptable"


def test_an_error_may_be_in_protobuf(api: Any, path: str) -> None:
    absent = ask(api, f"{path}/nosuch", f"{PROTOBUF}, application/json")
    assert (absent.status_code, absent.headers["content-type"]) == (404, PROTOBUF)
    assert object_of(absent.content)["reason"] == "NotFound"
