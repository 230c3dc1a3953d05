"""Operators and client libraries at work with custom resources."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definition(group: str, plural: str, kind: str, *, scope: str = "Namespaced", **version: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": FREE, "status": FREE}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server() as handle:
        definitions = [
            definition("zoo.example.com", "animals", "Animal", subresources={"status": {}}),
            definition("kopf.dev", "clusterkopfpeerings", "ClusterKopfPeering", scope="Cluster"),
            definition("kopf.dev", "kopfpeerings", "KopfPeering"),
        ]
        for each in definitions:
            each["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] = True
            handle.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
        names = [each["metadata"]["name"] for each in definitions]
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

        def established(name: str) -> bool:
            conditions = handle.request("GET", f"{path}/{name}")["status"].get("conditions") or []
            return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)

        eventually(lambda: all(map(established, names)))
        yield handle


@pytest.fixture
def namespace(server: Handle) -> Iterator[str]:
    with server.namespace("zoo") as name:
        yield name


def animal(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "zoo.example.com/v1", "kind": "Animal", "metadata": {"name": name}, "spec": spec}


def test_an_operator_with_handlers_timers_daemons_and_peering_runs(
    server: Handle, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/apis/zoo.example.com/v1/namespaces/{namespace}/animals"
    kopf = pytest.importorskip("kopf")
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    registry = kopf.OperatorRegistry()
    seen: list[str] = []
    where = ("zoo.example.com", "v1", "animals")

    @kopf.on.login(registry=registry)
    def login(**arguments: Any) -> Any:
        return kopf.login_with_kubeconfig(**arguments)

    @kopf.on.create(*where, id="created", registry=registry)
    def created(spec: Any, name: str, **_: Any) -> dict[str, Any]:
        seen.append(f"created {name}")
        return {"legs": spec.get("legs")}

    @kopf.on.update(*where, field="spec.legs", registry=registry)
    def updated(old: Any, new: Any, **_: Any) -> None:
        seen.append(f"legs {old} {new}")

    @kopf.on.delete(*where, registry=registry)
    def deleted(name: str, **_: Any) -> None:
        seen.append(f"deleted {name}")

    @kopf.timer(*where, interval=0.2, registry=registry)
    def ticked(patch: Any, **_: Any) -> None:
        patch.status["ticked"] = True
        seen.append("timer")

    @kopf.daemon(*where, registry=registry, cancellation_polling=0.1)
    async def watched(stopped: Any, **_: Any) -> None:
        seen.append("daemon")
        while not stopped:
            await asyncio.sleep(0.05)
        seen.append("daemon stopped")

    stop, ready = threading.Event(), threading.Event()

    def run() -> None:
        asyncio.run(
            kopf.operator(
                registry=registry,
                stop_flag=stop,
                ready_flag=ready,
                namespaces=[namespace],
                peering_name="zoo",
                standalone=False,
                priority=1,
            )
        )

    server.request("POST", f"/apis/kopf.dev/v1/namespaces/{namespace}/kopfpeerings",
                   {"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": {"name": "zoo"}})  # fmt: skip
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        assert ready.wait(20)
        server.request("POST", path, animal("rex", legs=4))
        eventually(lambda: {"created rex", "timer", "daemon"} <= set(seen))
        eventually(lambda: "ticked" in server.request("GET", f"{path}/rex").get("status", {}))
        found = server.request("GET", f"{path}/rex")
        assert found["status"]["created"] == {"legs": 4}
        assert found["metadata"]["finalizers"], "the operator holds what it has a daemon for"
        headers = {"Content-Type": "application/merge-patch+json"}
        server.request("PATCH", f"{path}/rex", {"spec": {"legs": 3}}, headers=headers)
        eventually(lambda: "legs 4 3" in seen)
        peers = server.request("GET", f"/apis/kopf.dev/v1/namespaces/{namespace}/kopfpeerings/zoo")["status"]
        assert len(peers) == 1
        server.request("DELETE", f"{path}/rex")
        eventually(lambda: not server.request("GET", path)["items"])
        assert {"deleted rex", "daemon stopped"} <= set(seen)
    finally:
        stop.set()
        thread.join(20)


def test_the_official_dynamic_client_works(server: Handle, namespace: str) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    from kubernetes.dynamic import DynamicClient

    api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    animals = DynamicClient(api).resources.get(api_version="zoo.example.com/v1", kind="Animal")
    animals.create(body=animal("cat", legs=4), namespace=namespace)
    assert animals.get(name="cat", namespace=namespace).spec.legs == 4
    body = {"metadata": {"name": "cat"}, "spec": {"color": "red"}}
    animals.patch(body=body, namespace=namespace, content_type="application/merge-patch+json")
    event = next(iter(animals.watch(namespace=namespace, timeout=5)))
    assert (event["type"], event["raw_object"]["spec"]) == ("ADDED", {"legs": 4, "color": "red"})
    animals.delete(name="cat", namespace=namespace)
    assert animals.get(namespace=namespace).items == []


def test_kr8s_works(server: Handle, namespace: str) -> None:
    kr8s = pytest.importorskip("kr8s")
    from kr8s.objects import new_class

    api = kr8s.api(kubeconfig=str(server.kubeconfig))
    animals = new_class("Animal", version="zoo.example.com/v1", namespaced=True)
    dog = animals(animal("dog", legs=4) | {"metadata": {"name": "dog", "namespace": namespace}}, api=api)
    dog.create()
    dog.patch({"spec": {"name": "Rex"}})
    found = list(api.get("animals.zoo.example.com", namespace=namespace))
    assert [(a.name, a.raw["spec"]["name"]) for a in found] == [("dog", "Rex")]
    dog.delete()
    eventually(lambda: not list(api.get("animals.zoo.example.com", namespace=namespace)))


def test_lightkube_works(server: Handle, namespace: str) -> None:
    lightkube = pytest.importorskip("lightkube")
    from lightkube.generic_resource import create_namespaced_resource

    config = lightkube.KubeConfig.from_file(str(server.kubeconfig))
    client = lightkube.Client(config=config, namespace=namespace)
    animals = create_namespaced_resource("zoo.example.com", "v1", "Animal", "animals")
    client.create(animals(metadata={"name": "owl"}, spec={"legs": 2}))
    client.apply(animals(metadata={"name": "owl"}, spec={"wings": 2}), field_manager="test", force=True)
    assert client.get(animals, "owl").spec == {"legs": 2, "wings": 2}
    assert [a.metadata.name for a in client.list(animals)] == ["owl"]
    client.delete(animals, "owl")
