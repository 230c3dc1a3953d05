"""Makes requests that are nearly right: sound paths, objects and parameters with something odd put in somewhere."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

NS = "/api/v1/namespaces/default"
_APPS, _META = "/apis/apps/v1/namespaces/default", {"name": "x"}
_CONTAINER = {
    "name": "c",
    "image": "i",
    "ports": [{"containerPort": 80}],
    "env": [{"name": "A", "value": "b"}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
}
_POD = {"containers": [_CONTAINER], "volumes": [{"name": "v", "emptyDir": {}}]}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": _POD}
_RULES = [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]  # fmt: skip  # noqa: E501
_VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a+$"}}}}}}}  # fmt: skip  # noqa: E501

OBJECTS: dict[str, dict[str, Any]] = {
    f"{NS}/configmaps": {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}},
    f"{NS}/secrets": {"kind": "Secret", "apiVersion": "v1", "data": {"a": "YQ=="}, "type": "Opaque"},
    f"{NS}/pods": {"kind": "Pod", "apiVersion": "v1", "spec": _POD},
    f"{NS}/services": {
        "kind": "Service",
        "apiVersion": "v1",
        "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}},
    },
    f"{_APPS}/deployments": {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE},
    },
    "/apis/batch/v1/namespaces/default/cronjobs": {
        "kind": "CronJob",
        "apiVersion": "batch/v1",
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}},
        },
    },
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": {
        "kind": "Ingress",
        "apiVersion": "networking.k8s.io/v1",
        "spec": {"rules": _RULES},
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-01T00:00:00.000000Z"},
    },
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
            "maxReplicas": 3,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        },
    },
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "kind": "ClusterRole",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    },
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "xs.fuzz.example"},
        "spec": {
            "group": "fuzz.example",
            "names": {"plural": "xs", "kind": "X"},
            "scope": "Namespaced",
            "versions": [_VERSION],
        },
    },
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods"}},
    },
}
"""By the path of their collection; each is sound as it is."""

_OTHER_PATHS = (
    *("/", "/api", "/apis", "/api/v1", "/apis/apps", "/version", "/openapi/v3", "/healthz", "/metrics", "/api/v1/pods"),
    *("/api/v1/nodes/x/proxy", f"{NS}/pods/x/log", f"{NS}/pods/x/exec", f"{NS}/serviceaccounts/default/token"),
    *("//", "/%", "/%zz", "/%00", "/api/v1/namespaces/%00/pods", "/api/v1/namespaces/a%2Fb/pods", "/api/v1/../v1/pods"),
    *("/api/v1//pods", "/api//", f"{NS}/pods/%ff", f"{NS}/pods/x/y/z", f"{NS}/pods/a%0d%0ab", "/apis/none/v1/xs"),
)
_PARAMETERS = (
    *("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "watch"),
    *("timeoutSeconds", "timeout", "allowWatchBookmarks", "sendInitialEvents", "fieldManager", "fieldValidation"),
    *("force", "dryRun", "pretty", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "includeObject"),
)
_VALUES = (
    *(
        "",
        "0",
        "-1",
        "1",
        "99999999999999999999",
        "9223372036854775807",
        "abc",
        "%00",
        "%ff",
        "true",
        "a=b",
        "a%20in%20(",
    ),
    *(
        "a%20in%20(b,c)",
        "!a",
        "a,,b",
        "=",
        "((((",
        "metadata.name=x",
        "1e5",
        "0x10",
        "%2B5",
        "bnVsbA",
        "W10",
        "eyJ2IjoxfQ",
    ),
    *(
        "Exact",
        "NotOlderThan",
        "Foreground",
        "All",
        "Strict",
        "Ignore",
        "1s",
        "-5m",
        "Object",
        "None",
        "%c3%28",
        "%ed%a0%80",
    ),
)
_SCALARS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        1e308,
        2**63,
        2**64,
        -(2**63) - 1,
        "",
        "x",
        "\0",
        "x" * 300,
        [],
        {},
        [None],
        [[]],
    ),
    *(
        {"": None},
        {"a": {"a": {}}},
        "2020-01-01T00:00:00Z",
        "10m",
        "1Gi",
        "-1",
        "1e3",
        "\U0001f600",
        "a/b",
        "../x",
        "$(x)",
    ),
)
_FIELDS = (
    *("metadata", "name", "namespace", "labels", "annotations", "ownerReferences", "finalizers", "generateName", "uid"),
    *("resourceVersion", "managedFields", "creationTimestamp", "deletionTimestamp", "spec", "status", "data", "type"),
    *("containers", "template", "selector", "replicas", "rules", "ports", "versions", "kind", "apiVersion", "items"),
    *("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"),
)
_RAW = (
    *(b"", b"{", b"null", b"[]", b'"x"', b"1", b"{}", b"\xff\xfe\0", b'{"a":"\xff"}', b"[" * 5000, b'{"a":' * 3000),
    *(b"a: &a [*a]\n", b"!!python/object:os.system x", b"? [a]\n: b", b"--- \n---\n", b"a: b: c", b"\t", b"k8s\0"),
    *(b"k8s\0\x0a\xff\xff\xff\xff\x0f", b"1e999", b'{"a":NaN}', b"\xef\xbb\xbf{}", b'{"a":1}{"b":2}', b'{"a":1,"a":2}'),
    *(b"<<: *x", b"a: !!binary x", b'{"kind":1,"apiVersion":[]}', b'{"metadata":{"name":"\\ud800"}}'),
)
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_KINDS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_ODD_KINDS = ("text/plain", "", ";;;", "application/json;charset=utf-7", "*/*", "application/cbor", 'a/b;c="')
_ACCEPTS = (
    *(
        "*/*",
        "",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "text/html",
        "application/json;q=abc",
        ";;,,;=",
    ),
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=x;v=y",
)
_POINTERS = (
    *("/metadata/labels/a", "", "/", "/a/-", "/spec/containers/0", "/spec/containers/-1", "/spec/containers/-", "/~2"),
    *("/spec/containers/99999999999", "/metadata/name", "/data/a", "/a/b/c", None, 5, "x", "/spec"),
)


@dataclass(slots=True)
class FuzzRequest:
    """One request."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None


def requests(rng: random.Random, count: int) -> Iterator[FuzzRequest]:
    """`count` requests, the same for the same seed."""
    for _ in range(count):
        yield _request(rng)


def _request(rng: random.Random) -> FuzzRequest:
    method = rng.choice(["GET", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE"])
    path, sound = rng.choice(list(OBJECTS.items()))
    if rng.random() < 0.15:
        path = rng.choice(_OTHER_PATHS)
    elif method in ("PUT", "PATCH", "DELETE"):
        path += rng.choice(["/x", "/x", "/xs.fuzz.example", "/x/status", "/x/scale", ""])
    kind = rng.choice(_PATCHES if method == "PATCH" else _KINDS) if rng.random() < 0.95 else rng.choice(_ODD_KINDS)
    names = rng.choices(_PARAMETERS, k=rng.choice([0, 0, 0, 1, 2]))
    query = [f"{name}={rng.choice(_VALUES)}" for name in names]
    if kind == _PATCHES[-1]:
        query.append("fieldManager=fuzz")
    if "watch" in path + str(names):
        query.insert(0, "timeoutSeconds=1")
    headers = {"Content-Type": kind} if kind else {}
    if rng.random() < 0.2:
        headers["Accept"] = rng.choice(_ACCEPTS)
    body = _body(rng, sound, kind) if method in ("POST", "PUT", "PATCH") or rng.random() < 0.1 else None
    return FuzzRequest(method, path + ("?" + "&".join(query) if query else ""), headers, body)


def _body(rng: random.Random, sound: dict[str, Any], kind: str) -> bytes:
    dice = rng.random()
    if dice < 0.08:
        return rng.choice(_RAW)
    if kind == _PATCHES[0] and dice < 0.9:
        return json.dumps([_operation(rng) for _ in range(rng.randint(0, 4))]).encode()
    obj = {"metadata": dict(_META), **copy.deepcopy(sound)}
    if dice < 0.85:
        for _ in range(rng.randint(1, 3)):
            _spoil(rng, obj)
    text = json.dumps(obj).encode()
    if dice > 0.97:
        at = rng.randrange(len(text))
        text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    return text


def _operation(rng: random.Random) -> Any:
    if rng.random() < 0.05:
        return rng.choice(_SCALARS)
    return {
        "op": rng.choice(["add", "remove", "replace", "move", "copy", "test", "x", None]),
        "path": rng.choice(_POINTERS),
        "value": rng.choice(_SCALARS),
        "from": rng.choice(_POINTERS),
    }


def _spoil(rng: random.Random, obj: Any) -> None:
    """Replace, take away, or add something somewhere."""
    places: list[tuple[Any, Any]] = []
    todo = [obj]
    while todo:
        node = todo.pop()
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                todo.append(node[key])
    parent, key = rng.choice(places)
    dice = rng.random()
    if isinstance(parent, dict) and dice < 0.2:
        del parent[key]
    elif isinstance(parent, dict) and dice < 0.4:
        parent[rng.choice(_FIELDS)] = _scalar(rng)
    else:
        parent[key] = _scalar(rng)


def _scalar(rng: random.Random) -> Any:
    """A value of its own: a shared one would be spoilt for all requests, and could come to hold itself."""
    return copy.deepcopy(rng.choice(_SCALARS))
