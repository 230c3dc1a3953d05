"""Clients that get in each other's way: no update is lost, nobody is told of a fault or of a conflict that is none."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient, ResourceClient
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionResource
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
HELD = {"metadata": {"finalizers": ["example.com/held"]}}
RACES = 1000
AT_A_TIME = 25

Object = dict[str, Any]


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    path: Path = tmp_path_factory.mktemp("races") / "db"
    storage = "memory:" if request.param == "memory" else f"sqlite:{path}"
    with Server(storage=storage, insecure_http=True, controllers=()) as handle:
        yield handle


def with_client(server: Handle, test: Callable[[ResourceClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with RestClient(ClientConfig(url=server.url, token=server.token)) as rest:
            await test(DynamicClient(rest).resource(CONFIG_MAPS, namespace="default"))

    asyncio.run(run())


def config_map(name: str, **data: str) -> Object:
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"race": "yes"}},
        "data": data,
    }


async def outcome(work: Awaitable[Object]) -> tuple[int, Object]:
    """The code of an answer, and the object of it."""
    try:
        return 200, await work
    except ApiError as error:
        return error.code, {}


async def in_turns(works: Sequence[Callable[[], Awaitable[str]]]) -> Counter[str]:
    """Do all of them, some at a time, and count what came of it."""
    found: Counter[str] = Counter()
    for start in range(0, len(works), AT_A_TIME):
        found.update(await asyncio.gather(*(work() for work in works[start : start + AT_A_TIME])))
    return found


def test_a_finalizer_that_was_accepted_holds_the_object_whenever_the_deletion_comes(server: Handle) -> None:
    async def test(maps: ResourceClient) -> None:
        async def race(n: int) -> str:
            name = f"race-{n}"
            await maps.create(config_map(name))
            requests = [outcome(maps.delete(name)), outcome(maps.patch(name, HELD))]
            if n % 2:
                requests.reverse()
            answers = await asyncio.gather(*requests)
            if n % 2:
                answers.reverse()
            (deleted, _), (patched, _) = answers
            assert deleted == 200
            assert patched in (200, 404)
            left, obj = await outcome(maps.get(name))
            if patched == 404:
                assert left == 404
                return "deleted first"
            assert obj["metadata"]["finalizers"] == HELD["metadata"]["finalizers"]
            assert obj["metadata"]["deletionTimestamp"]
            assert (await outcome(maps.patch(name, {"metadata": {"finalizers": None}})))[0] == 200
            assert (await outcome(maps.get(name)))[0] == 404
            return "held"

        found = await in_turns([lambda n=n: race(n) for n in range(RACES // 2)])  # type: ignore[misc]
        assert found.total() == RACES // 2  # for each of two stores
        assert min(found["held"], found["deleted first"]) > 0, found

    with_client(server, test)


def test_patches_of_different_keys_all_take_effect(server: Handle) -> None:
    async def test(maps: ResourceClient) -> None:
        await maps.create(config_map("shared", first="0"))
        for turn in range(5):
            patches = (maps.patch("shared", {"data": {f"k{n}": str(turn)}}) for n in range(32))
            answers = await asyncio.gather(*(outcome(patch) for patch in patches))
            assert Counter(code for code, _ in answers) == {200: 32}
            versions = {obj["metadata"]["resourceVersion"] for _, obj in answers}
            assert len(versions) == 32
        data = (await maps.get("shared"))["data"]
        assert data == {"first": "0", **{f"k{n}": "4" for n in range(32)}}
        await maps.delete("shared")

    with_client(server, test)


def test_counting_up_by_conditional_updates_loses_no_step(server: Handle) -> None:
    async def test(maps: ResourceClient) -> None:
        await maps.create(config_map("counter", n="0"))

        async def step() -> str:
            conflicts = 0
            while True:
                obj = await maps.get("counter")
                obj["data"]["n"] = str(int(obj["data"]["n"]) + 1)
                code, _ = await outcome(maps.update(obj))
                if code == 200:
                    return "done" if not conflicts else "done after conflicts"
                assert code == 409
                conflicts += 1

        found = await in_turns([step] * 50)
        assert found.total() == 50
        assert (await maps.get("counter"))["data"]["n"] == "50"
        await maps.delete("counter")

    with_client(server, test)


def test_two_deletions_of_a_collection_and_a_creator_do_not_hurt_each_other(server: Handle) -> None:
    async def test(maps: ResourceClient) -> None:
        await in_turns([lambda n=n: _created(maps, f"old-{n}") for n in range(100)])  # type: ignore[misc]
        done = asyncio.Event()
        made: list[str] = []

        async def keep_creating() -> None:
            while not done.is_set() or len(made) < 20:
                name = f"new-{len(made)}"
                code, _ = await outcome(maps.create(config_map(name)))
                assert code == 200
                made.append(name)

        async def delete_all() -> int:
            code, _ = await outcome(maps.delete_collection(labelSelector="race=yes"))
            return code

        creating = asyncio.ensure_future(keep_creating())
        assert set(await asyncio.gather(delete_all(), delete_all())) == {200}
        done.set()
        await creating
        left = {item["metadata"]["name"] for item in (await maps.list(labelSelector="race=yes"))["items"]}
        assert left <= set(made)
        assert await delete_all() == 200
        assert (await maps.list(labelSelector="race=yes"))["items"] == []

    with_client(server, test)


async def _created(maps: ResourceClient, name: str) -> str:
    await maps.create(config_map(name))
    return "created"
