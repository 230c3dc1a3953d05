"""The priority levels and flow schemas that every cluster begins with, as kube-apiserver makes them.

This server limits requests by two numbers and does not queue by flow; the objects are there for those who read them.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.authn.service_accounts import ALL_SERVICE_ACCOUNTS
from watchkeeper.meta.field import go_bool, go_quote
from watchkeeper.request.user import AUTHENTICATED, SYSTEM_MASTERS, UNAUTHENTICATED

Object = dict[str, Any]

PRODUCER = "api-priority-and-fairness-config-producer-v1"
CONSUMER = "api-priority-and-fairness-config-consumer-v1"
"""Who writes the objects, and who what schemas say of their levels."""
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
"""The annotation of those whose spec is put right at each start and every minute; "false" lets a change stay."""
MANDATORY = frozenset({"exempt", "catch-all"})
"""Levels and schemas without which requests would belong nowhere."""
_API_VERSION = "flowcontrol.apiserver.k8s.io/v1"
_MANAGER, _SCHEDULER, _NODES = "system:kube-controller-manager", "system:kube-scheduler", "system:nodes"
_ALL = ["*"]


def _object(kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "annotations": {AUTO_UPDATE: "true"}}
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _limited(name: str, shares: int, lendable: int, queues: int = 0, hand: int = 0) -> Object:
    """A level with so many shares, of which others may borrow a percentage. It refuses unless it has queues."""
    response: Object = {"type": "Reject"}
    if queues:
        queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
        response = {"type": "Queue", "queuing": queuing}
    limited = {"nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response}
    return _object("PriorityLevelConfiguration", name, {"type": "Limited", "limited": limited})


def priority_levels() -> list[Object]:
    """The mandatory levels, then the suggested ones."""
    exempt = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
    return [
        _object("PriorityLevelConfiguration", "exempt", {"type": "Exempt", "exempt": exempt}),
        _limited("catch-all", 5, 0),
        _limited("system", 30, 33, 64, 6),
        _limited("node-high", 40, 25, 64, 6),
        _limited("leader-election", 10, 0, 16, 4),
        _limited("workload-high", 40, 50, 128, 6),
        _limited("workload-low", 100, 90, 128, 6),
        _limited("global-default", 20, 50, 128, 6),
    ]


def _groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _users(*names: str) -> list[Object]:
    return [{"kind": "User", "user": {"name": name}} for name in names]


def _system_accounts() -> list[Object]:
    return [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "kube-system"}}]


def _resources(verbs: str, group: str, resources: str, *, cluster_scope: bool = False) -> Object:
    rule: Object = {
        "verbs": verbs.split(),
        "apiGroups": [group],
        "resources": resources.split(),
        "namespaces": _ALL,
    }
    return {**rule, "clusterScope": True} if cluster_scope else rule


_EVERYTHING = [_resources("*", "*", "*", cluster_scope=True)]
_ALL_PATHS = [{"verbs": _ALL, "nonResourceURLs": _ALL}]


def _schema(
    name: str,
    level: str,
    precedence: int,
    by: str,
    subjects: list[Object],
    resources: list[Object] = _EVERYTHING,
    paths: list[Object] = _ALL_PATHS,
) -> Object:
    """A schema with one rule. `by` tells flows apart: ByUser, ByNamespace, or "" for one flow."""
    rule: Object = {"subjects": subjects}
    if resources:
        rule["resourceRules"] = resources
    if paths:
        rule["nonResourceRules"] = paths
    spec: Object = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [rule],
    }
    if by:
        spec["distinguisherMethod"] = {"type": by}
    return _object("FlowSchema", name, spec)


def flow_schemas() -> list[Object]:
    """The schemas, in the order in which they are tried."""
    everybody = _groups(UNAUTHENTICATED, AUTHENTICATED)
    leases = "coordination.k8s.io"
    probes = [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}]
    leading = [_resources("get create update", leases, "leases")]
    reporting = [_resources("*", "", "nodes nodes/status", cluster_scope=True), _resources("*", leases, "leases")]
    leaders = [*_users(_MANAGER, _SCHEDULER), *_system_accounts()]
    return [
        _schema("exempt", "exempt", 1, "", _groups(SYSTEM_MASTERS)),
        _schema("probes", "exempt", 2, "", everybody, [], probes),
        _schema("system-leader-election", "leader-election", 100, "ByUser", leaders, leading, []),
        _schema("system-node-high", "node-high", 400, "ByUser", _groups(_NODES), reporting, []),
        _schema("system-nodes", "system", 500, "ByUser", _groups(_NODES)),
        _schema("kube-controller-manager", "workload-high", 800, "ByNamespace", _users(_MANAGER)),
        _schema("kube-scheduler", "workload-high", 800, "ByNamespace", _users(_SCHEDULER)),
        _schema("kube-system-service-accounts", "workload-high", 900, "ByNamespace", _system_accounts()),
        _schema("service-accounts", "workload-low", 9000, "ByUser", _groups(ALL_SERVICE_ACCOUNTS)),
        _schema("global-default", "global-default", 9900, "ByUser", everybody),
        _schema("catch-all", "catch-all", 10000, "ByUser", everybody),
    ]


def dangling_condition(level: str, exists: bool, now: str) -> Object:
    """What a schema says of the level that it leads to."""
    known = "and it exists" if exists else "but there is no such object"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "lastTransitionTime": now,
        "reason": "Found" if exists else "NotFound",
        "message": f"This FlowSchema references the PriorityLevelConfiguration object named {go_quote(level)} {known}",
    }


def is_kept(obj: Object) -> bool | None:
    """Whether an object says that the server keeps its spec as it should be; None when it does not say."""
    return go_bool((obj["metadata"].get("annotations") or {}).get(AUTO_UPDATE, ""))


def revised(stored: Object, expected: Object) -> Object | None:
    """What to store in place of an object that is not as it should be, None to leave it alone.

    Of the mandatory ones the spec is put right in any case, of others if they say so, or if they say nothing and nobody
    has changed them since they were made. Each says afterwards what it is.
    """
    metadata = stored["metadata"]
    kept = is_kept(stored)
    wanted = metadata["name"] in MANDATORY or (metadata.get("generation") == 1 if kept is None else kept)
    other_spec = wanted and stored["spec"] != expected["spec"]
    if kept is wanted and not other_spec:
        return None
    annotations = {**(metadata.get("annotations") or {}), AUTO_UPDATE: str(wanted).lower()}
    metadata = {**metadata, **({} if kept is wanted else {"annotations": annotations})}
    if not other_spec:
        return {**stored, "metadata": metadata}
    metadata["generation"] = metadata.get("generation", 0) + 1
    return {**stored, "metadata": metadata, "spec": expected["spec"]}
