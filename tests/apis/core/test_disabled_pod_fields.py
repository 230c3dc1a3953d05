"""Fields of features that are off: new objects lose them, and those that have them keep them."""

from typing import Any

import pytest
from kind_writer import create, created, pod, template, update

SELECTOR = {"matchLabels": {"app": "x"}}
BUNDLE = {"clusterTrustBundle": {"name": "a", "path": "p"}}
CERTIFICATE = {"podCertificate": {"signerName": "a.example/b", "keyType": "ED25519", "credentialBundlePath": "p"}}
MAP = {"configMap": {"name": "c"}}


def projected(*sources: Any) -> Any:
    return [{"name": "v", "projected": {"sources": list(sources)}}]


def kinds(**spec: Any) -> list[Any]:
    """An object of each kind that has a pod spec, and where that is."""
    pods = template(**spec)
    jobs = template(restartPolicy="Never", **spec)
    meta = {"name": "a"}
    keeping = {"selector": SELECTOR, "template": pods}
    found = [
        (pod(**spec), ("spec",)),
        ({"apiVersion": "v1", "kind": "PodTemplate", "metadata": meta, "template": pods}, ("template", "spec")),
        (
            {"apiVersion": "v1", "kind": "ReplicationController", "metadata": meta, "spec": {"template": pods}},
            ("spec", "template", "spec"),
        ),
    ]
    found += [
        ({"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": keeping}, ("spec", "template", "spec"))
        for kind in ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")
    ]
    job = {"template": jobs}
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    return [
        *found,
        ({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job}, ("spec", "template", "spec")),
        (
            {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": cron},
            ("spec", "jobTemplate", "spec", "template", "spec"),
        ),
    ]


def at(obj: Any, path: Any) -> Any:
    for name in path:
        obj = obj[name]
    return obj


@pytest.mark.parametrize("index", range(9))
def test_every_kind_with_pods_loses_them(index: int) -> None:
    hooks = {"stopSignal": "SIGTERM", "preStop": {"exec": {"command": ["x"]}}}
    body, path = kinds(schedulingGroup={}, volumes=projected(BUNDLE, MAP))[index]
    containers = [{"name": "a", "image": "i:1", "lifecycle": hooks}]
    containers.append({"name": "b", "image": "i:1", "lifecycle": {"stopSignal": "SIGTERM"}})
    at(body, path)["containers"] = containers
    spec = at(created(body), path)
    assert "schedulingGroup" not in spec
    bundle, kept = spec["volumes"][0]["projected"]["sources"]
    assert bundle == {}
    assert kept == MAP
    assert spec["containers"][0]["lifecycle"] == {"preStop": {"exec": {"command": ["x"]}}}
    assert "lifecycle" not in spec["containers"][1]


def test_what_is_lost_is_not_judged() -> None:
    wrong = [{"name": "a", "image": "i:1", "lifecycle": {"stopSignal": "NONE"}}]
    assert create(pod(containers=wrong, volumes=projected({"podCertificate": {}}))).errors == []


def test_who_has_them_keeps_them() -> None:
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": template()}
    old = created(body)
    spec = old["template"]["spec"]
    spec["volumes"] = projected(BUNDLE)
    new = {**body, "template": template(volumes=projected(BUNDLE, BUNDLE | {}), schedulingGroup={})}
    new["template"]["spec"]["volumes"][0]["projected"]["sources"][1] = {
        "clusterTrustBundle": {"name": "b", "path": "q"}
    }
    changed = update(old, new)
    assert changed.errors == []
    sources = changed.obj["template"]["spec"]["volumes"][0]["projected"]["sources"]
    assert [source["clusterTrustBundle"]["name"] for source in sources] == ["a", "b"]
    assert "schedulingGroup" not in changed.obj["template"]["spec"]


def test_an_update_cannot_begin_with_one() -> None:
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": template()}
    old = created(body)
    changed = update(old, {**body, "template": template(volumes=projected(CERTIFICATE))})
    assert changed.errors == []
    assert changed.obj["template"]["spec"]["volumes"][0]["projected"]["sources"] == [{}]
