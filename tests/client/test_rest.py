"""Requests, resources and watches against a real server, and against peers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import JSON_PATCH, STRATEGIC_PATCH
from watchkeeper.client.errors import ClientError
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionResource
from watchkeeper.testing.clock import FastClock

MAPS = GroupVersionResource("", "v1", "configmaps")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


def test_objects_are_created_read_changed_and_deleted(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        async with kit.rest() as rest:
            maps = kit.dynamic().resource(MAPS).within(namespace)
            maps.rest = rest
            created = await maps.create({"metadata": {"name": "a"}, "data": {"k": "1"}})
            assert await maps.get("a") == created
            created["data"]["k"] = "2"
            updated = await maps.update(created)
            assert updated["data"] == {"k": "2"}
            assert (await maps.patch("a", {"data": {"l": "3"}}))["data"] == {"k": "2", "l": "3"}
            removal = [{"op": "remove", "path": "/data/k"}]
            assert (await maps.patch("a", removal, content_type=JSON_PATCH))["data"] == {"l": "3"}
            labels = {"metadata": {"labels": {"x": "y"}}}
            assert (await maps.patch("a", labels, content_type=STRATEGIC_PATCH))["metadata"]["labels"] == {"x": "y"}
            applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"m": "4"}}
            assert (await maps.apply(applied, manager="me"))["data"] == {"m": "4"}
            listed = await maps.list(labelSelector="x=y")
            assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
            with pytest.raises(ApiError) as caught:
                await maps.update(created)
            assert (caught.value.code, caught.value.reason) == (409, "Conflict")
            await maps.delete("a", {"preconditions": {"uid": created["metadata"]["uid"]}})
            await maps.delete_collection()
            with pytest.raises(ApiError) as caught:
                await maps.get("a")
            assert caught.value.reason == "NotFound"
            assert caught.value.details == {"name": "a", "kind": "configmaps"}

    run(scenario())


@pytest.mark.parametrize("name", ["", ".", "..", "../secrets/a", "a/status", "a%2fstatus"])
def test_no_name_leads_to_anything_but_one_object(kit: Any, namespace: str, name: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        maps = client.resource(MAPS, namespace=namespace)
        await maps.create({"metadata": {"name": "kept"}})
        wrong = {"metadata": {"name": name}}
        for call in (maps.delete(name), maps.get(name), maps.patch(name, {"data": {}}), maps.update(wrong)):
            with pytest.raises(ClientError, match=r"empty|invalid name"):
                await call
        if name:
            with pytest.raises(ClientError, match="invalid namespace"):
                maps.within(name)
        assert (await maps.get("kept"))["metadata"]["name"] == "kept"
        await client.rest.close()

    run(scenario())


def test_status_and_subresources_are_written_by_their_names(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        deployments = await client.of_kind("apps/v1", "Deployment", namespace=namespace)
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        created = await deployments.create({"metadata": {"name": "d"}, "spec": spec})
        created["status"] = {"replicas": 1, "observedGeneration": 1}
        assert (await deployments.update(created, subresource="status"))["status"]["replicas"] == 1
        assert (await deployments.get("d", subresource="scale"))["spec"] == {"replicas": 1}
        scaled = await deployments.patch("d", {"spec": {"replicas": 3}}, subresource="scale")
        assert scaled["spec"] == {"replicas": 3}
        await client.rest.close()

    run(scenario())


def test_kinds_are_found_by_discovery(kit: Any) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        assert (await client.of_kind("v1", "Pod", namespace="x")).path == "/api/v1/namespaces/x/pods"
        assert (await client.of_kind("v1", "Node", namespace="x")).path == "/api/v1/nodes"
        roles = await client.of_kind("rbac.authorization.k8s.io/v1", "Role")
        assert roles.path == "/apis/rbac.authorization.k8s.io/v1/roles"
        for api_version, kind in (("v1", "Nothing"), ("none.example.io/v1", "Nothing")):
            with pytest.raises(ApiError) as caught:
                await client.of_kind(api_version, kind)
            assert caught.value.code == 404
            assert str(caught.value) == f'no matches for kind "Nothing" in version "{api_version}"'
        await client.rest.close()

    run(scenario())


def test_a_watch_gives_events_until_it_is_closed_and_errors_as_errors(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        maps = kit.dynamic().resource(MAPS, namespace=namespace)
        version = (await maps.list())["metadata"]["resourceVersion"]
        watch = await maps.watch(resourceVersion=version)
        await maps.create({"metadata": {"name": "a"}})
        await maps.delete("a")
        seen = [(kind, obj["metadata"]["name"]) async for kind, obj in _first(watch, 2)]
        assert [s for s in seen if s[1] == "a"] == [("ADDED", "a"), ("DELETED", "a")]
        watch.close()
        watch.close()
        short = await maps.watch(resourceVersion=version, timeoutSeconds="1")
        assert len([event async for event in short]) >= 2
        with pytest.raises(ApiError) as caught:
            await maps.watch(resourceVersion="nonsense")
        assert caught.value.code == 500
        await maps.rest.close()

    run(scenario())


async def _first(events: AsyncIterator[Any], count: int) -> AsyncIterator[Any]:
    async for event in events:
        if event[1]["metadata"]["name"] != "kube-root-ca.crt":
            yield event
            count -= 1
            if not count:
                return


def test_credentials_go_with_each_request(kit: Any, tmp_path: Any) -> None:
    async def scenario() -> None:
        token = tmp_path / "token"
        token.write_text(f"{kit.handle.token}\n")
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with kit.rest(token="", token_file=token) as rest:
            answer = await rest.request("POST", path, body=review)
            assert "system:masters" in answer["status"]["userInfo"]["groups"]
            token.write_text("another")
            with pytest.raises(ApiError) as caught:
                await rest.request("POST", path, body=review)
            assert caught.value.code == 401
            token.unlink()
            with pytest.raises(ClientError, match="No such file"):
                await rest.request("POST", path, body=review)
        async with kit.rest(headers={"Impersonate-User": "somebody"}) as rest:
            answer = await rest.request("POST", path, body=review)
            assert answer["status"]["userInfo"]["username"] == "somebody"

    run(scenario())


def test_connections_are_kept_and_a_closed_one_is_replaced() -> None:
    async def scenario() -> None:
        connections = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            for _ in range(2):
                with contextlib.suppress(asyncio.IncompleteReadError):
                    await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            await asyncio.sleep(0.01)
            writer.close()

        async with _server(serve) as url, RestClient(ClientConfig(url=url)) as rest:
            assert [await rest.request("GET", "/") for _ in range(2)] == [{}, {}]
            assert connections == 1
            # The third goes out before this side knows that the connection is gone, or after.
            assert await rest.request("GET", "/") == {}
            await asyncio.sleep(0.05)
            assert await rest.request("GET", "/") == {}
            assert connections >= 2

    run(scenario())


@contextlib.asynccontextmanager
async def _server(serve: Any) -> AsyncIterator[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def test_a_busy_server_is_asked_again() -> None:
    async def scenario() -> None:
        answers = [b"429 Too Many\r\nRetry-After: 1\r\n", b"503 Later\r\nRetry-After: 2\r\n", b"200 OK\r\n"]

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while answers:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 " + answers.pop(0) + b"Content-Length: 4\r\n\r\nfine")
            writer.close()

        async with _server(serve) as url:
            rest = RestClient(ClientConfig(url=url), clock=FastClock(speed=1000))
            assert await rest.request("GET", "/") == "fine"
            assert answers == []
            await rest.close()

    run(scenario())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed before the answer was complete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "closed before the answer was complete"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{", "not JSON"),
    ],
)
def test_answers_that_are_none_are_told(answer: bytes, words: str) -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        async with _server(serve) as url, RestClient(ClientConfig(url=url)) as rest:
            with pytest.raises(ClientError, match=words):
                await rest.request("POST", "/")

    run(scenario())


def test_bodies_may_end_with_the_connection_and_errors_need_not_be_a_status() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = await reader.readuntil(b"\r\n\r\n")
            code = b"200 OK" if b"/fine" in line else b"502 Bad Gateway"
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 " + code + b"\r\nConnection: close\r\n\r\nall of it")
            writer.close()

        async with _server(serve) as url, RestClient(ClientConfig(url=url)) as rest:
            assert await rest.request("GET", "/fine") == "all of it"
            with pytest.raises(ApiError, match="all of it") as caught:
                await rest.request("GET", "/")
            assert caught.value.code == 502

    run(scenario())


def test_nobody_there_is_told_and_so_are_urls_that_are_none() -> None:
    async def scenario() -> None:
        async with _server(None) as url:
            pass
        async with RestClient(ClientConfig(url=url)) as rest:
            with pytest.raises(ClientError, match=url):
                await rest.request("GET", "/")

    run(scenario())


@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"])
def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(beginning: bytes) -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(beginning)
            await reader.read()
            writer.close()

        async with _server(serve) as url, RestClient(ClientConfig(url=url, timeout=0.05)) as rest:
            with pytest.raises(ClientError, match=r"no answer within 0\.05 s"):
                await rest.request("GET", "/")
            if not beginning:
                with pytest.raises(ClientError, match=r"no answer within 0\.05 s"):
                    await rest.lines("/")

    run(scenario())


def test_a_stream_that_has_begun_may_be_silent_for_longer(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        maps = kit.dynamic().resource(MAPS, namespace=namespace)
        maps.rest = kit.rest(timeout=1.0)
        watch = await maps.watch(resourceVersion=(await maps.list())["metadata"]["resourceVersion"])
        await asyncio.sleep(1.2)
        await maps.create({"metadata": {"name": "late"}})
        assert [obj["metadata"]["name"] async for _, obj in _first(watch, 1)] == ["late"]

    run(scenario())


def test_who_is_asked_to_stay_away_for_long_is_told_at_once() -> None:
    async def scenario() -> None:
        asked = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 429 Too Many\r\nRetry-After: 99999999999\r\nContent-Length: 5\r\n\r\nlater")
            writer.close()

        async with _server(serve) as url, RestClient(ClientConfig(url=url)) as rest:
            with pytest.raises(ApiError, match="later") as caught:
                await rest.request("GET", "/")
        assert (caught.value.code, asked) == (429, 1)

    run(scenario())
