"""The official client, kr8s and lightkube: create, read, page, apply, scale, watch, wait, delete."""

from __future__ import annotations

import json
import queue
from pathlib import Path
from typing import Any

import kr8s
import pytest
from kr8s.objects import ConfigMap
from kubernetes import client, config, dynamic, watch
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.informer import SharedInformer
from kubernetes.stream import stream
from kubernetes.stream.ws_client import ERROR_CHANNEL
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.apps_v1 import Deployment as DeploymentModel
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap as LightConfigMap
from lightkube.resources.core_v1 import Namespace
from lightkube.types import CascadeType, PatchType


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_the_official_client_pages_and_watches(watchkeeper_kubeconfig: Path, watchkeeper_namespace: str) -> None:
    core = client.CoreV1Api(config.new_client_from_config(str(watchkeeper_kubeconfig)))
    for number in range(5):
        meta = client.V1ObjectMeta(name=f"c{number}", labels={"odd": str(number % 2)})
        core.create_namespaced_config_map(watchkeeper_namespace, client.V1ConfigMap(metadata=meta, data={"n": "0"}))
    names, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(watchkeeper_namespace, limit=2, _continue=token)
        assert len(page.items) <= 2
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert names == ["c0", "c1", "c2", "c3", "c4"]
    since = page.metadata.resource_version
    core.patch_namespaced_config_map("c1", watchkeeper_namespace, {"data": {"n": "1"}})
    core.delete_namespaced_config_map("c3", watchkeeper_namespace)
    core.delete_namespaced_config_map("c2", watchkeeper_namespace)
    seen: list[tuple[str, str]] = []
    events = watch.Watch().stream(
        core.list_namespaced_config_map,
        watchkeeper_namespace,
        resource_version=since,
        label_selector="odd=1",
        timeout_seconds=20,
    )
    for event in events:
        found: Any = event["object"]
        seen.append((event["type"], found.metadata.name))
        if len(seen) == 2:
            break
    assert seen == [("MODIFIED", "c1"), ("DELETED", "c3")]


def test_kr8s_creates_lists_and_deletes(watchkeeper_kubeconfig: Path, watchkeeper_namespace: str) -> None:
    api = kr8s.api(kubeconfig=str(watchkeeper_kubeconfig))
    meta = {"name": "one", "namespace": watchkeeper_namespace, "labels": {"a": "b"}}
    one = ConfigMap({"metadata": meta, "data": {"k": "v"}}, api=api)
    one.create()
    one.patch({"data": {"k": "w"}})
    found = list(api.get("configmaps", namespace=watchkeeper_namespace, label_selector="a=b"))
    assert [(item.name, item.raw["data"]) for item in found] == [("one", {"k": "w"})]
    one.delete()
    assert list(api.get("configmaps", namespace=watchkeeper_namespace, label_selector="a=b")) == []


def test_the_dynamic_client_applies_and_reaches_subresources(
    watchkeeper_kubeconfig: Path, watchkeeper_namespace: str
) -> None:
    resources = dynamic.DynamicClient(config.new_client_from_config(str(watchkeeper_kubeconfig))).resources
    assert {found.group_version for found in resources.search(kind="Event")} == {"v1", "events.k8s.io/v1"}
    maps = resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    maps.server_side_apply(name="a", namespace=watchkeeper_namespace, body=body, field_manager="me")
    other = {**body, "data": {"k": "w"}}
    with pytest.raises(ConflictError) as refused:
        maps.server_side_apply(name="a", namespace=watchkeeper_namespace, body=other, field_manager="you")
    assert refused.value.summary() == 'Apply failed with 1 conflict: conflict with "me": .data.k'
    assert [event["type"] for event in maps.watch(namespace=watchkeeper_namespace, timeout=1)] == ["ADDED"]
    assert maps.delete(name="a", namespace=watchkeeper_namespace).status == "Success"
    with pytest.raises(NotFoundError) as gone:
        maps.get(name="a", namespace=watchkeeper_namespace)
    assert gone.value.summary() == 'configmaps "a" not found'

    deployments = resources.get(api_version="apps/v1", kind="Deployment")
    deployments.create(namespace=watchkeeper_namespace, body=deployment("d"))
    merge = {"namespace": watchkeeper_namespace, "content_type": "application/merge-patch+json"}
    assert deployments.scale.patch(name="d", body={"spec": {"replicas": 5}}, **merge).spec.replicas == 5
    assert deployments.status.patch(name="d", body={"status": {"replicas": 5}}, **merge).status.replicas == 5


def test_the_official_client_is_told_on_a_channel_why_nothing_runs(
    watchkeeper_kubeconfig: Path, watchkeeper_namespace: str
) -> None:
    core = client.CoreV1Api(config.new_client_from_config(str(watchkeeper_kubeconfig)))
    name = f"node-{watchkeeper_namespace}"
    address = client.V1NodeAddress(type="InternalIP", address="127.0.0.1")
    port = client.V1NodeDaemonEndpoints(kubelet_endpoint=client.V1DaemonEndpoint(port=1))
    status = client.V1NodeStatus(addresses=[address], daemon_endpoints=port)
    core.create_node(client.V1Node(metadata={"name": name}, status=status))
    spec = {"nodeName": name, "containers": [{"name": "c", "image": "i"}]}
    core.create_namespaced_pod(watchkeeper_namespace, client.V1Pod(metadata={"name": "p"}, spec=spec))
    answer = stream(
        core.connect_get_namespaced_pod_exec, "p", watchkeeper_namespace, command=["ls"], _preload_content=False
    )
    answer.run_forever(timeout=10)
    refused = "dial tcp 127.0.0.1:1: connect: connection refused"
    sent = f'Post "https://127.0.0.1:1/exec/{watchkeeper_namespace}/p/c?command=ls": {refused}'
    told = json.loads(answer.read_channel(ERROR_CHANNEL))
    assert (told["reason"], told["message"]) == (
        "InternalError",
        f"Internal error occurred: error sending request: {sent}",
    )
    core.delete_namespaced_pod("p", watchkeeper_namespace, grace_period_seconds=0)
    core.delete_node(name)


def test_an_informer_of_the_official_client_follows_changes(
    watchkeeper_kubeconfig: Path, watchkeeper_namespace: str
) -> None:
    core = client.CoreV1Api(config.new_client_from_config(str(watchkeeper_kubeconfig)))
    core.create_namespaced_config_map(watchkeeper_namespace, client.V1ConfigMap(metadata={"name": "early"}))
    seen: queue.Queue[tuple[str, str]] = queue.Queue()
    informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace=watchkeeper_namespace)
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda found, kind=kind: seen.put((kind, found.metadata.name)))
    informer.start()
    try:
        assert seen.get(timeout=10) == ("ADDED", "early")
        core.create_namespaced_config_map(watchkeeper_namespace, client.V1ConfigMap(metadata={"name": "late"}))
        core.patch_namespaced_config_map("late", watchkeeper_namespace, {"data": {"a": "b"}})
        core.delete_namespaced_config_map("early", watchkeeper_namespace)
        changes = [("ADDED", "late"), ("MODIFIED", "late"), ("DELETED", "early")]
        assert [seen.get(timeout=10) for _ in changes] == changes
        assert [found.metadata.name for found in informer.cache.list()] == ["late"]
    finally:
        informer.stop()


def test_lightkube_patches_pages_scales_and_waits(watchkeeper_kubeconfig: Path, watchkeeper_namespace: str) -> None:
    settings = KubeConfig.from_file(str(watchkeeper_kubeconfig))
    light = Client(config=settings, namespace=watchkeeper_namespace, field_manager="light")
    assert watchkeeper_namespace in [found.metadata.name for found in light.list(Namespace, chunk_size=2)]
    first = light.create(LightConfigMap(metadata=ObjectMeta(name="one"), data={"a": "1"}))
    steps: list[tuple[PatchType, Any]] = [
        (PatchType.STRATEGIC, {"data": {"b": "2"}}),
        (PatchType.MERGE, {"data": {"a": None}}),
        (PatchType.JSON, [{"op": "add", "path": "/data/c", "value": "3"}]),
        (PatchType.APPLY, LightConfigMap(apiVersion="v1", kind="ConfigMap", data={"d": "4"})),
    ]
    for kind, body in steps:
        patched = light.patch(LightConfigMap, "one", body, patch_type=kind)
    assert patched.data == {"b": "2", "c": "3", "d": "4"}
    with pytest.raises(ApiError) as stale:
        light.replace(first)
    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")

    light.create(Deployment.from_dict(deployment("d")))
    scale = light.get(Deployment.Scale, "d")
    scale.spec.replicas = 3
    assert light.replace(scale, "d").spec.replicas == 3
    done = {"conditions": [{"type": "Available", "status": "True"}]}
    light.patch(Deployment.Status, "d", {"status": done})
    waited: DeploymentModel = light.wait(Deployment, "d", for_conditions=["Available"])
    assert waited.status.conditions[0].status == "True"
    since = waited.metadata.resourceVersion
    light.delete(Deployment, "d", cascade=CascadeType.FOREGROUND)
    assert next(light.watch(Deployment, resource_version=since, server_timeout=5))[0] in ("MODIFIED", "DELETED")
    with pytest.raises(ApiError, match="not found"):
        light.get(Deployment, "d")
