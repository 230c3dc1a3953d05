"""OpenAPI documents with many custom resources: made in slices, joined from parts, right whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import orjson
import pytest

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.openapi import CustomVersion, Document, OpenAPI
from watchkeeper.endpoints.openapi.gnostic import CONTENT_TYPE
from watchkeeper.endpoints.openapi.gnostic_v3 import CONTENT_TYPE as CONTENT_TYPE_V3
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from watchkeeper.testing import Server

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {f"field{i}": {"type": "string"} for i in range(30)}}},
}


def custom(number: int, schema: dict[str, Any] = SCHEMA, *, version: str = "v1", group: str = "") -> CustomVersion:
    gvk = GroupVersionKind(group or f"g{number % 7}.example.io", version, f"Thing{number}")
    info = ResourceInfo(GroupVersionResource(gvk.group, version, f"things{number}"), gvk, "thing", True, VERBS)
    return CustomVersion(info, f"Thing{number}List", orjson.dumps(schema))


def server_with(*customs: CustomVersion) -> OpenAPI:
    found = OpenAPI(resources(), "v1.36.0")
    for each in customs:
        found.set_custom(each)
    return found


async def everything(openapi: OpenAPI) -> dict[str, Document | None]:
    """All documents, by what they are."""
    index = openapi.v3_index()
    found: dict[str, Document | None] = {"v2": await openapi.v2(), "v2/protobuf": await openapi.v2_protobuf()}
    found["index"] = index
    for path in orjson.loads(index.body)["paths"]:
        found[path] = await openapi.v3(path)
    return found


def contents(documents: dict[str, Document | None]) -> dict[str, tuple[bytes, str] | None]:
    return {name: None if found is None else (found.body, found.hash) for name, found in documents.items()}


def definitions(document: Document) -> set[str]:
    return {name for name in orjson.loads(document.body)["definitions"] if name.startswith("io.example.")}


def test_documents_are_the_same_however_their_resources_came() -> None:
    customs = [custom(i) for i in range(20)]
    one = server_with(*customs)
    other = server_with(*reversed(customs))
    asyncio.run(everything(other))
    other.set_custom(custom(3, {"type": "object"}))
    other.set_custom(custom(99))
    asyncio.run(everything(other))
    other.set_custom(custom(3))
    other.remove_custom(custom(99).info.gvr.group_version, "things99")
    assert contents(asyncio.run(everything(one))) == contents(asyncio.run(everything(other)))


def test_a_change_makes_only_what_has_changed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    from watchkeeper.endpoints.openapi import custom as module

    made: list[str] = []
    definitions_of: Callable[..., Any] = module.custom_definitions

    def noting(each: CustomVersion, *args: Any) -> Any:
        made.append(each.info.gvr.resource)
        return definitions_of(each, *args)

    monkeypatch.setattr(module, "custom_definitions", noting)
    openapi = server_with(*(custom(i) for i in range(20)))
    asyncio.run(everything(openapi))
    assert len(made) == 3 * 20, "once in each form"
    made.clear()
    openapi.set_custom(custom(4, {"type": "object"}))
    openapi.set_custom(custom(5))
    asyncio.run(everything(openapi))
    assert made == ["things4"] * 3


def test_the_hash_is_known_before_the_document_is_made() -> None:
    openapi = server_with(custom(1))
    v2, v3 = openapi.v2_hash(), openapi.v3_hash("apis/g1.example.io/v1")
    documents = asyncio.run(everything(openapi))
    for name, digest in (("v2", v2), ("v2/protobuf", v2), ("apis/g1.example.io/v1", v3)):
        found = documents[name]
        assert found is not None
        assert found.hash == digest
    openapi.set_custom(replace(custom(1), list_kind="Heap"))
    assert openapi.v2_hash() != v2
    assert openapi.v3_hash("apis/g1.example.io/v1") != v3
    assert openapi.v3_hash("apis/nosuch.example.io/v1") is None


def test_many_may_ask_at_once_and_others_get_their_turn_between() -> None:
    async def body() -> None:
        openapi = server_with(*(custom(i) for i in range(300)))
        asking = [asyncio.ensure_future(openapi.v2()) for _ in range(20)]
        asking += [asyncio.ensure_future(openapi.v2_protobuf()) for _ in range(5)]
        turns = 0
        while not all(each.done() for each in asking):
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10
        assert len({id(each.result()) for each in asking}) == 2
        assert await asyncio.wait_for(openapi.v3("apis/apps/v1"), 5) is not None

    asyncio.run(body())


def test_who_gives_up_waiting_leaves_the_others_to_go_on() -> None:
    async def body() -> None:
        openapi = server_with(*(custom(i) for i in range(200)))
        first, second = (asyncio.ensure_future(openapi.v2()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        found = await asyncio.wait_for(second, 10)
        assert len(definitions(found)) == 400
        assert first.cancelled()

    asyncio.run(body())


def test_a_document_has_what_there_is_when_it_is_done() -> None:
    async def body() -> None:
        openapi = server_with(*(custom(i) for i in range(200)))
        asking = asyncio.ensure_future(openapi.v2())
        for _ in range(3):
            await asyncio.sleep(0)
        assert not asking.done()
        for i in range(100):
            openapi.remove_custom(custom(i).info.gvr.group_version, f"things{i}")
        openapi.set_custom(custom(500))
        found = await asyncio.wait_for(asking, 10)
        assert definitions(found) == definitions(await server_with(*map(custom, [*range(100, 200), 500])).v2())
        assert found.hash == openapi.v2_hash()

    asyncio.run(body())


def test_a_version_that_goes_while_its_document_is_made_leaves_none_behind() -> None:
    async def body() -> None:
        openapi = server_with(*(custom(i, group="one.example.io") for i in range(200)))
        asking = asyncio.ensure_future(openapi.v3("apis/one.example.io/v1"))
        await asyncio.sleep(0)
        for i in range(200):
            openapi.remove_custom(GroupVersion("one.example.io", "v1"), f"things{i}")
        assert await asyncio.wait_for(asking, 10) is None
        assert await openapi.v3("apis/one.example.io/v1") is None

    asyncio.run(body())


def test_large_schemas_are_written_off_the_loop() -> None:
    async def body() -> None:
        fields = {f"field{i}": {"type": "object", "properties": {"a": {"type": "string"}}} for i in range(3000)}
        openapi = server_with(custom(1, {"type": "object", "properties": fields}), custom(2))
        asking = asyncio.ensure_future(openapi.v2_protobuf())
        while not asking.done():
            await asyncio.sleep(0)
        assert asking.result().body.count(b"field") >= 3000
        assert len(definitions(await openapi.v2())) == 4

    asyncio.run(body())


def test_a_hundred_versions_have_a_document_each() -> None:
    openapi = server_with(*(custom(1, version=f"v{i}") for i in range(1, 101)))
    documents = asyncio.run(everything(openapi))
    for i in range(1, 101):
        found = documents[f"apis/g1.example.io/v{i}"]
        assert found is not None
        assert f"io.example.g1.v{i}.Thing1" in orjson.loads(found.body)["components"]["schemas"]


def test_clients_are_told_over_http_what_they_have_and_what_there_is() -> None:
    with Server(insecure_http=True) as server:
        client = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"})

        def get(path: str, accept: str = "*/*", **headers: str) -> httpx.Response:
            return client.get(path, headers={"Accept": accept, **headers})

        whole = get("/openapi/v2")
        assert whole.headers["content-type"] == "application/json"
        etag = whole.headers["etag"]
        assert whole.json()["swagger"] == "2.0"
        protobuf = get("/openapi/v2", f"{CONTENT_TYPE},application/json")
        assert (protobuf.headers["content-type"], protobuf.headers["etag"]) == (CONTENT_TYPE, etag)
        assert get("/openapi/v2", f"{CONTENT_TYPE};q=0.5,application/*").headers["content-type"] == "application/json"
        for accept in ("application/yaml", "text/html"):
            assert (get("/openapi/v2", accept).status_code, get("/openapi/v3/apis/apps/v1", accept).status_code) == (
                406,
                406,
            )
        unchanged = get("/openapi/v2", **{"If-None-Match": etag})
        assert (unchanged.status_code, unchanged.content) == (304, b"")

        assert get("/openapi/v3").headers["content-type"] == "text/plain; charset=utf-8"
        location = get("/openapi/v3").json()["paths"]["apis/apps/v1"]["serverRelativeURL"]
        found = get(location)
        assert found.headers["cache-control"] == "public, immutable"
        moved = get("/openapi/v3/apis/apps/v1?hash=OLD")
        assert (moved.status_code, moved.headers["location"]) == (301, location)
        assert (moved.headers["content-type"], moved.headers["etag"]) == ("application/json", found.headers["etag"])
        for name in (CONTENT_TYPE_V3, CONTENT_TYPE_V3.replace("v3.v1.0", "v3@v1.0")):
            packed = get(location, f"{name}, application/json;q=0.5")
            assert packed.headers["content-type"] == CONTENT_TYPE_V3
            assert packed.headers["etag"] == found.headers["etag"]
            assert packed.content.startswith(b"\n\x053.0.0")
        assert get(location, **{"If-None-Match": found.headers["etag"]}).status_code == 304
        assert client.post("/openapi/v2").content == get("/openapi/v2").content


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/apis/apps/v1"])
def test_documents_are_sent_under_the_conditions_that_a_client_sets(path: str) -> None:
    with Server(insecure_http=True) as server:
        client = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"})
        found = client.get(path)
        etag, date = found.headers["etag"], found.headers["last-modified"]
        future, past = "Fri, 01 Jan 2100 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"
        for headers, expected in (
            ({"If-None-Match": f"W/{etag}"}, 304),
            ({"If-None-Match": "*"}, 304),
            ({"If-None-Match": f'"a" , W/"b",{etag}'}, 304),
            ({"If-None-Match": f"a, {etag}"}, 200),
            ({"If-None-Match": '"a"', "If-Modified-Since": future}, 200),
            ({"If-Modified-Since": date}, 304),
            ({"If-Modified-Since": past}, 200),
            ({"If-Modified-Since": "yesterday"}, 200),
            ({"If-Match": f'"a", {etag}'}, 200),
            ({"If-Match": "*", "If-Unmodified-Since": past}, 200),
            ({"If-Match": f"W/{etag}"}, 412),
            ({"If-Unmodified-Since": date}, 200),
            ({"If-Unmodified-Since": past}, 412),
        ):
            answer = client.get(path, headers=headers)
            assert (headers, answer.status_code) == (headers, expected)
            assert answer.headers["etag"] == etag
            assert ("last-modified" in answer.headers) == (expected != 304)
            assert bool(answer.content) == (expected == 200)
        assert client.post(path, headers={"If-None-Match": etag}).status_code == 412
        assert client.post(path, headers={"If-Modified-Since": future}).status_code == 200


def test_the_v2_document_is_compressed_and_v3_documents_name_the_end_of_their_life() -> None:
    with Server(insecure_http=True) as server:
        client = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {server.token}"})
        plain = client.get("/openapi/v2", headers={"Accept-Encoding": "identity"})
        assert plain.headers.get_list("vary") == ["Accept-Encoding", "Accept"]
        for accepted, packed in (("gzip", "gzip"), ("br, GZIP;q=0.1", "gzip"), ("gzip;q=0", None), ("*", None)):
            answer = client.get("/openapi/v2", headers={"Accept-Encoding": accepted})
            assert (accepted, answer.headers.get("content-encoding")) == (accepted, packed)
            assert answer.content == plain.content
        location = client.get("/openapi/v3").json()["paths"]["apis/apps/v1"]["serverRelativeURL"]
        document = client.get(location)
        assert "content-encoding" not in document.headers
        assert document.headers["expires"].endswith(" UTC")
        assert "expires" not in client.get("/openapi/v3/apis/apps/v1").headers
