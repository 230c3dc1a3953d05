"""What users of API servers have reported of lists and watches, proven over HTTP not to happen here."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from fault_client import Client, NoAnswer, chunks

from watchkeeper.testing.handle import Handle

PATIENCE = 60.0
_fresh = itertools.count()


class Api:
    """Clients of one server, and a namespace of one's own."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.port = int(urlsplit(handle.url).port or 0)
        self.namespace = f"reports-{next(_fresh)}"
        self.path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        self._client = self.client()

    def client(self) -> Client:
        return Client(self.port, self.handle.token)

    async def begin(self) -> None:
        await self("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """One request that succeeds."""
        status, found = await self._client.call(method, path, body, **more)
        assert status < 300, found
        return found

    async def create(self, name: str, client: Client | None = None, **labels: str) -> int:
        body = {"metadata": {"name": name, "labels": labels}, "data": {"n": "0"}}
        status, found = await (client or self._client).call("POST", self.path, body)
        assert status == 201, found
        return int(found["metadata"]["resourceVersion"])

    async def change(self, name: str, patch: dict[str, Any], client: Client | None = None) -> int:
        kind = "application/merge-patch+json"
        status, found = await (client or self._client).call("PATCH", f"{self.path}/{name}", patch, kind)
        assert status == 200, found
        return int(found["metadata"]["resourceVersion"])

    async def names(self, query: str = "") -> list[str]:
        return [item["metadata"]["name"] for item in (await self("GET", self.path + query))["items"]]

    async def watch(self, query: str, path: str = "") -> AsyncIterator[dict[str, Any]]:
        """The events of a watch; fails when none comes."""
        events = self.client().stream(f"{path or self.path}?watch=1&{query}")
        try:
            while True:
                try:
                    yield await asyncio.wait_for(anext(events), PATIENCE)
                except StopAsyncIteration:
                    return
        finally:
            await events.aclose()


def proven(server: Handle, work: Callable[[Api], Awaitable[None]]) -> None:
    async def run() -> None:
        api = Api(server)
        await api.begin()
        await work(api)

    asyncio.run(run())


def told(event: dict[str, Any]) -> tuple[str, str, int]:
    meta = event["object"]["metadata"]
    return event["type"], meta.get("name", ""), int(meta["resourceVersion"])


async def take(events: AsyncIterator[dict[str, Any]], count: int) -> list[tuple[str, str, int]]:
    return [told(await anext(events)) for _ in range(count)]


def definition(plural: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.reports.example"},
        "spec": {
            "group": "reports.example",
            "names": {"plural": plural, "kind": plural.capitalize()},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_an_object_created_right_after_its_kind_appears_is_seen_by_a_watch_opened_at_the_same_time(
    server: Handle,
) -> None:
    async def work(api: Api) -> None:
        for n in range(5):
            plural = f"kinds{n}"
            path = f"/apis/reports.example/v1/namespaces/{api.namespace}/{plural}"
            await api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(plural))
            while (await api.client().call("GET", f"/apis/reports.example/v1/{plural}?limit=1"))[0] != 200:
                await asyncio.sleep(0.005)
            events = api.watch("timeoutSeconds=30", path)
            body = {"apiVersion": "reports.example/v1", "kind": plural.capitalize(), "metadata": {"name": "first"}}
            event, made = await asyncio.gather(anext(events), api("POST", path, body))
            assert told(event) == ("ADDED", "first", int(made["metadata"]["resourceVersion"]))
            await events.aclose()

    proven(server, work)


def test_own_writes_are_in_the_next_list_while_others_write(server: Handle) -> None:
    async def work(api: Api) -> None:
        async def own(prefix: str) -> None:
            client = api.client()
            for n in range(40):
                name = f"{prefix}-{n}"
                version = await api.create(name, client, owner=prefix)
                for query in ("", f"?labelSelector=owner%3D{prefix}", f"?resourceVersion={version}"):
                    status, found = await client.call("GET", api.path + query)
                    assert status == 200
                    assert name in [item["metadata"]["name"] for item in found["items"]]
                if n % 3 == 0:
                    await client.call("DELETE", f"{api.path}/{name}")
                    status, found = await client.call("GET", api.path)
                    assert name not in [item["metadata"]["name"] for item in found["items"]]

        await asyncio.gather(*(own(f"w{n}") for n in range(4)))

    proven(server, work)


def test_a_quiet_kind_can_be_watched_from_a_version_of_its_own_when_others_have_moved_on(server: Handle) -> None:
    async def work(api: Api) -> None:
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases"
        made = await api("POST", leases, {"metadata": {"name": "quiet"}, "spec": {"holderIdentity": "a"}})
        await api.create("busy")
        for n in range(400):
            await api.change("busy", {"data": {"n": str(n)}})
        events = api.watch(f"resourceVersion={made['metadata']['resourceVersion']}", leases)
        patch = {"spec": {"holderIdentity": "b"}}
        changed = await api("PATCH", f"{leases}/quiet", patch, kind="application/merge-patch+json")
        assert await take(events, 1) == [("MODIFIED", "quiet", int(changed["metadata"]["resourceVersion"]))]
        await events.aclose()

    proven(server, work)


def test_what_leaves_a_selection_is_deleted_with_its_old_content_and_the_new_version(server: Handle) -> None:
    async def work(api: Api) -> None:
        version = await api.create("x", app="web")
        events = api.watch(f"resourceVersion={version}&labelSelector=app%3Dweb")
        left = await api.change("x", {"metadata": {"labels": {"app": "db"}}, "data": {"n": "1"}})
        event = await anext(events)
        assert told(event) == ("DELETED", "x", left)
        assert (event["object"]["metadata"]["labels"], event["object"]["data"]) == ({"app": "web"}, {"n": "0"})
        back = await api.change("x", {"metadata": {"labels": {"app": "web"}}})
        event = await anext(events)
        assert told(event) == ("ADDED", "x", back)
        assert event["object"]["data"] == {"n": "1"}
        await events.aclose()

    proven(server, work)


def test_resuming_at_a_bookmark_repeats_nothing_and_misses_nothing(server: Handle) -> None:
    async def work(api: Api) -> None:
        await api.create("x")
        seen: list[int] = []
        written: list[int] = []
        done = asyncio.Event()

        async def write() -> None:
            client = api.client()
            for n in range(1, 60):
                written.append(await api.change("x", {"data": {"n": str(n)}}, client))
                await asyncio.sleep(0.05)
            done.set()

        start = (await api("GET", api.path))["metadata"]["resourceVersion"]
        writer = asyncio.create_task(write())
        bookmarks = 0
        while not done.is_set() or seen[-1] != written[-1]:
            # A bookmark comes two seconds before the end; go on from there, not from the last event.
            async for event in api.watch(f"resourceVersion={start}&allowWatchBookmarks=1&timeoutSeconds=3"):
                if event["type"] == "BOOKMARK":
                    start, bookmarks = event["object"]["metadata"]["resourceVersion"], bookmarks + 1
                    break
                seen.append(told(event)[2])
        await writer
        assert bookmarks
        assert seen == written

    proven(server, work)


def test_fifty_watches_opened_inside_a_burst_each_see_rising_versions_and_each_state_once(server: Handle) -> None:
    async def work(api: Api) -> None:
        names = [f"x{n}" for n in range(5)]
        for name in names:
            await api.create(name)
        written: list[tuple[str, int]] = []

        async def write(name: str) -> None:
            client = api.client()
            written.extend([(name, await api.change(name, {"data": {"n": str(n)}}, client)) for n in range(1, 40)])

        async def watch(number: int) -> None:
            await asyncio.sleep(number * 0.004)
            start = int((await api.client().call("GET", api.path))[1]["metadata"]["resourceVersion"])
            seen: list[tuple[str, int]] = []
            async for event in api.watch(f"resourceVersion={start}&timeoutSeconds=60"):
                what, name, version = told(event)
                if name == "the-end":
                    break
                assert what == "MODIFIED"
                seen.append((name, version))
            assert seen == [(name, version) for name, version in sorted(written, key=lambda w: w[1]) if version > start]

        watches = [asyncio.create_task(watch(number)) for number in range(50)]
        await asyncio.gather(*(write(name) for name in names))
        await asyncio.sleep(0.25)
        await api.create("the-end")
        await asyncio.gather(*watches)

    proven(server, work)


@pytest.mark.parametrize(
    "query", ["", "resourceVersion=0", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"]
)
def test_initial_events_come_in_the_order_of_their_keys(server: Handle, query: str) -> None:
    async def work(api: Api) -> None:
        names = [f"x-{n}" for n in range(60)] + ["x", "x.a", "y", "x0"]
        random.Random(1).shuffle(names)
        for name in names:
            await api.create(name)
        events = api.watch(query)
        assert [name for _, name, _ in await take(events, len(names))] == sorted(names)
        await events.aclose()

    proven(server, work)


def test_pages_are_one_state_while_objects_come_change_and_go(server: Handle) -> None:
    async def work(api: Api) -> None:
        names = [f"x{n:02}" for n in range(12)]
        for name in names:
            await api.create(name, app="web")
        for selector in ("", "&labelSelector=app%3Dweb"):
            page = await api("GET", f"{api.path}?limit=3{selector}")
            seen = [item["metadata"]["name"] for item in page["items"]]
            version = page["metadata"]["resourceVersion"]
            for turn in range(3):
                last = seen[-1]
                # At the exact next key, behind, and before; one relabeled, one deleted, one deleted and made again.
                made = [f"{last}-0", f"zz{turn}", f"a{turn}"]
                for name in made:
                    await api.create(name, app="web")
                await api.change(names[-1 - turn], {"metadata": {"labels": {"app": "db"}}})
                await api("DELETE", f"{api.path}/{names[-4 - turn]}")
                await api.create(names[-4 - turn], app="web")
                token = page["metadata"]["continue"]
                page = await api("GET", f"{api.path}?limit=3{selector}&continue={token}")
                assert page["metadata"]["resourceVersion"] == version
                seen += [item["metadata"]["name"] for item in page["items"]]
                assert all(item["metadata"]["labels"] == {"app": "web"} for item in page["items"])
                for name in made:
                    await api("DELETE", f"{api.path}/{name}")
            assert seen == names
            assert not page["metadata"].get("continue")
            for name in names:
                await api.change(name, {"metadata": {"labels": {"app": "web"}}})

    proven(server, work)


def test_a_limit_never_cuts_off_without_a_token_and_the_last_page_has_none(server: Handle) -> None:
    async def work(api: Api) -> None:
        for n in range(6):
            await api.create(f"x{n}")
        for version in ("", "0"):
            for limit in range(1, 8):
                names: list[str] = []
                token, pages = "", 0
                while True:
                    query = f"continue={token}" if token else f"resourceVersion={version}"
                    page = await api("GET", f"{api.path}?limit={limit}&{query}")
                    names += [item["metadata"]["name"] for item in page["items"]]
                    token, pages = page["metadata"].get("continue", ""), pages + 1
                    if not token:
                        break
                    assert len(page["items"]) == limit
                assert names == [f"x{n}" for n in range(6)]
                assert version == "0" or pages == -(-6 // limit)

    proven(server, work)


def test_empty_lists_are_empty_lists(server: Handle) -> None:
    async def work(api: Api) -> None:
        for query in ("", "?limit=5", "?resourceVersion=0", "?labelSelector=a%3Db", "?fieldSelector=metadata.name%3Dx"):
            assert (await api("GET", api.path + query))["items"] == []
        assert (await api("GET", f"/apis/apps/v1/namespaces/{api.namespace}/deployments"))["items"] == []

    proven(server, work)


def test_a_watch_of_one_name_that_races_its_creation_always_sees_it(server: Handle) -> None:
    async def work(api: Api) -> None:
        async def race(worker: int) -> None:
            client = api.client()
            for n in range(50):
                name = f"x-{worker}-{n}"
                events = api.watch(f"fieldSelector=metadata.name%3D{name}&timeoutSeconds=60")
                event, version = await asyncio.gather(anext(events), api.create(name, client))
                assert told(event) == ("ADDED", name, version)
                await events.aclose()

        await asyncio.gather(*(race(worker) for worker in range(10)))

    proven(server, work)


@pytest.mark.parametrize("count", [500, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_a_slow_reader_is_served_in_full_or_ended_and_delays_nobody(server: Handle, count: int) -> None:
    async def work(api: Api) -> None:
        size = 20_000_000 // count
        await api.create("x")
        start = int((await api("GET", api.path))["metadata"]["resourceVersion"])
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", api.port))
        slow.sendall(
            f"GET {api.path}?watch=1&resourceVersion={start} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n".encode()
        )
        fast = api.watch(f"resourceVersion={start}&timeoutSeconds=600")
        written: list[int] = []

        async def write() -> None:
            fill = "y" * size
            written.extend([await api.change("x", {"data": {"n": str(n), "fill": fill}}) for n in range(count)])

        writer = asyncio.create_task(write())
        seen = [version for _, _, version in await take(fast, count)]
        await writer
        assert seen == written
        await fast.aclose()
        slow.setblocking(False)
        reader, transport = await asyncio.open_connection(sock=slow, limit=1 << 24)
        got: list[int] = []
        try:
            await reader.readuntil(b"\r\n\r\n")
            async with asyncio.timeout(PATIENCE):
                async for event in _frames(reader):
                    got.append(told(event)[2])
                    if len(got) == count:
                        break
        except (NoAnswer, EOFError, OSError):
            pass  # it was cut off
        transport.close()
        assert got == written[: len(got)]
        rest = api.watch(f"resourceVersion={got[-1] if got else start}&timeoutSeconds=600")
        if len(got) < count:
            assert [version for _, _, version in await take(rest, count - len(got))] == written[len(got) :]
        await rest.aclose()

    proven(server, work)


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    rest = b""
    async for chunk in chunks(reader):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)
