"""In which order the garbage collector's workers get to what they are to look at."""

from __future__ import annotations

import asyncio
from typing import Any

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.controllers.gc_graph import Graph, Identity, Node, Work
from watchkeeper.controllers.gc_workers import Workers
from watchkeeper.controllers.loopback import Loopback, Resource
from watchkeeper.controllers.remote_resources import RemoteResource, RemoteResources
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import ServedResource, ServedTable
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

Object = dict[str, Any]
FAR = GroupVersion("far.io", "v1")


def owned_by(gv: GroupVersion) -> Object:
    return {"apiVersion": str(gv), "kind": "Thing", "name": "absent", "uid": "absent"}


class Hanging(Loopback):
    """Another server never answers, and this one always does."""

    def __init__(self) -> None:
        self.served = ServedTable()
        self.served.remote[FAR] = lambda _request: Response(503)
        self.remote = RemoteResources(self.served, Discovery())
        self.answered = asyncio.Event()

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        gv = GroupVersion.parse(api_version)
        info = ResourceInfo(GroupVersionResource(*gv, "things"), GroupVersionKind(*gv, kind), "thing", True, ("get",))
        return RemoteResource(info) if gv == FAR else ServedResource(info)

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if isinstance(resource, RemoteResource):
            await asyncio.get_running_loop().create_future()
        if name == "here":
            self.answered.set()
        return {"metadata": {"name": name, "uid": name, "resourceVersion": "1", "ownerReferences": [owned_by(FAR)]}}


def test_a_server_that_does_not_answer_holds_up_nothing_else() -> None:
    async def main() -> None:
        api = Hanging()
        graph, tasks = Graph(), TaskOwner("workers")
        workers = Workers(api, graph, tasks, lambda: True)
        workers.start()

        def show(name: str, owner: Object) -> None:
            meta = {"uid": name, "name": name, "namespace": "default", "ownerReferences": [owner]}
            workers.put(graph.observe(Identity("v1", "ConfigMap", "default", name), meta))

        for number in range(50):
            show(f"far-{number}", owned_by(FAR))
        await asyncio.sleep(0)
        show("here", owned_by(GroupVersion("", "v1")))
        async with asyncio.timeout(10):
            await api.answered.wait()
        await tasks.close()

    asyncio.run(main())


class Failing(Hanging):
    """It answers when it is asked for the third time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.asked.append(asyncio.get_running_loop().time())
        if len(self.asked) < 3:
            raise errors.timeout("the store does not answer")
        self.answered.set()
        raise errors.not_found(resource.info.group_resource, name)


def test_what_cannot_be_told_is_asked_again_later_and_later() -> None:
    async def main() -> list[float]:
        api = Failing()
        graph, tasks = Graph(), TaskOwner("workers")
        workers = Workers(api, graph, tasks, lambda: True)
        meta = {"uid": "d", "name": "d", "namespace": "default", "ownerReferences": [owned_by(GroupVersion("", "v1"))]}
        work = graph.observe(Identity("v1", "Thing", "default", "d"), meta)
        for _ in range(2):
            workers.put(work)
        assert len(workers) == 1, "each node once, however often it is put"
        workers.start()
        async with asyncio.timeout(10):
            await api.answered.wait()
        await tasks.close()
        return api.asked

    first, second, third = asyncio.run(main())
    assert second - first > 0.09
    assert third - second > 0.19


def test_what_is_in_no_graph_any_more_is_not_asked_for_again() -> None:
    async def main() -> int:
        api = Failing()
        tasks = TaskOwner("workers")
        workers = Workers(api, Graph(), tasks, lambda: True)
        workers.put(Work(delete=[Node("d", Identity("v1", "Thing", "default", "d"))]))
        workers.start()
        await asyncio.sleep(0.25)
        await tasks.close()
        return len(api.asked)

    assert asyncio.run(main()) == 1
