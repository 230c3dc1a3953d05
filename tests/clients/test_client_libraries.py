"""The official client and kr8s: create, read, page, watch, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import kr8s
from kr8s.objects import ConfigMap
from kubernetes import client, config, watch


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
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        watchkeeper_namespace,
        resource_version=since,
        label_selector="odd=1",
        timeout_seconds=20,
    )
    for event in stream:
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
