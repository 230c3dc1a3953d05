"""Pods as a cluster has them: 7.7 KB of JSON, of which a third are managed fields."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.codec import JsonCodec

KIND = GroupVersionKind("", "v1", "Pod")
ROOT = "/registry/pods/"

Object = dict[str, Any]


def pod(i: int, *, nodes: int = 1000, groups: int = 100) -> Object:
    """Pod number `i`, on one of `nodes` nodes and in one of `groups` groups."""
    env = [{"name": f"VARIABLE_{k}", "value": f"a value of some length, number {k}"} for k in range(40)]
    fields: Object = {f'k:{{"name":"VARIABLE_{k}"}}': {".": {}, "f:name": {}, "f:value": {}} for k in range(40)}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"pod-{i:06}",
            "namespace": f"ns-{i % 20:02}",
            "uid": f"2f4c1c9e-5d3a-4f67-9b1e-{i:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": f"app-{i % groups}", "tier": "backend", "pod-template-hash": f"{i % groups:08x}"},
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:env": fields}}}},
                }
            ],
        },
        "spec": {
            "nodeName": f"node-{i % nodes}",
            "containers": [{"name": "main", "image": "registry.example.com/team/app:1.2.3", "env": env}],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
        },
        "status": {"phase": "Running", "podIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"},
    }


def selectable_fields(obj: Object) -> dict[str, str]:
    """What Pods can be selected by."""
    spec, status = obj["spec"], obj["status"]
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


def codec() -> JsonCodec:
    """The Pods' codec."""
    return JsonCodec(KIND, selectable_fields)


def key(obj: Object) -> str:
    """Where a Pod is stored."""
    metadata = obj["metadata"]
    return f"{ROOT}{metadata['namespace']}/{metadata['name']}"
