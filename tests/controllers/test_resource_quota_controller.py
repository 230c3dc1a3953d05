"""The quota controller follows what quotas count, as it is served at the time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.waiting import until

from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server
from watchkeeper.testing import Handle

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
NAME = "carts.shop.example.com"


def versions(column: int) -> list[dict[str, Any]]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    columns = [{"name": f"C{column}", "type": "string", "jsonPath": ".spec.x"}]
    return [{"name": "v1", "served": True, "storage": True, "schema": schema, "additionalPrinterColumns": columns}]


def definition() -> dict[str, Any]:
    names = {"plural": "carts", "singular": "cart", "kind": "Cart", "listKind": "CartList"}
    spec = {"group": "shop.example.com", "names": names, "scope": "Namespaced", "versions": versions(0)}
    return {"metadata": {"name": NAME}, "spec": spec}


def feeds() -> int:
    return sum(task.get_name() == f"resource-quota-controller/feed {NAME}" for task in asyncio.all_tasks())


def test_a_resource_is_followed_once_however_often_its_definition_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        options = ServeOptions(
            data_dir=tmp_path, storage="memory:", port=0, insecure_http=True, controllers=("namespace", "resourcequota")
        )
        server = Server(options)
        await server.start()
        handle = Handle(server.urls[0], server.credentials.admin_token, server.kubeconfig, "")

        async def request(method: str, path: str, body: Any = None) -> Any:
            return await asyncio.to_thread(handle.request, method, path, body)

        try:
            await request("POST", DEFINITIONS, definition())
            hard = {f"count/{NAME}": "5"}
            await request("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
            await until(lambda: feeds() == 1)
            for column in range(1, 4):
                found = await request("GET", f"{DEFINITIONS}/{NAME}")
                found["spec"]["versions"] = versions(column)
                await request("PUT", f"{DEFINITIONS}/{NAME}", found)
            await asyncio.sleep(0.1)
            assert feeds() == 1
            await request("DELETE", f"{DEFINITIONS}/{NAME}")
            await until(lambda: feeds() == 0)
            await request("POST", DEFINITIONS, definition())
            await until(lambda: feeds() == 1)
        finally:
            await server.stop()

    asyncio.run(scenario())


def test_pods_are_counted_anew_when_they_get_a_deadline_or_are_resized(tmp_path: Path) -> None:
    pods = "/api/v1/namespaces/default/pods"

    async def scenario() -> None:
        options = ServeOptions(
            data_dir=tmp_path, storage="memory:", port=0, insecure_http=True, controllers=("namespace", "resourcequota")
        )
        server = Server(options)
        await server.start()
        handle = Handle(server.urls[0], server.credentials.admin_token, server.kubeconfig, "")

        async def request(method: str, path: str, body: Any = None) -> Any:
            return await asyncio.to_thread(handle.request, method, path, body)

        async def used(name: str, amount: dict[str, str]) -> None:
            async with asyncio.timeout(10):
                while (await request("GET", f"{QUOTAS}/{name}")).get("status", {}).get("used") != amount:
                    await asyncio.sleep(0.01)

        try:
            for name, scopes in (("ending", ["Terminating"]), ("lasting", ["NotTerminating"])):
                spec = {"hard": {"pods": "3", "requests.cpu": "9"}, "scopes": scopes}
                await request("POST", QUOTAS, {"metadata": {"name": name}, "spec": spec})
                await used(name, {"pods": "0", "requests.cpu": "0"})
            container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
            await request("POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
            await used("lasting", {"pods": "1", "requests.cpu": "3"})
            container["resources"] = {"requests": {"cpu": "2"}}
            await request("PATCH", f"{pods}/p/resize", {"spec": {"containers": [container]}})
            await used("lasting", {"pods": "1", "requests.cpu": "2"})
            await request("PATCH", f"{pods}/p", {"spec": {"activeDeadlineSeconds": 99}})
            await used("lasting", {"pods": "0", "requests.cpu": "0"})
            await used("ending", {"pods": "1", "requests.cpu": "2"})
            scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["no label"]}
            spec = {"hard": {"pods": "3"}, "scopeSelector": {"matchExpressions": [scope]}}
            await request("POST", QUOTAS, {"metadata": {"name": "unknowable"}, "spec": spec})
            await used("unknowable", {"pods": "0"})
        finally:
            await server.stop()

    asyncio.run(scenario())
