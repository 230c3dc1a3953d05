"""Short words for roles and bindings."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
API_VERSION = f"{GROUP}/v1"
READ = "get list watch"
WRITE = "create update patch delete deletecollection"
READ_WRITE = f"{READ} {WRITE}"
READ_UPDATE = f"{READ} update patch"
CORE = ""

_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}


def on(verbs: str, groups: str, resources: str, names: str = "") -> Object:
    """A rule about resources. Several verbs, resources and names are separated by blanks, groups by commas; the
    rule holds them sorted."""
    rule: Object = {
        "apiGroups": sorted(groups.split(",")),
        "resources": sorted(resources.split()),
        "verbs": sorted(verbs.split()),
    }
    if names:
        rule["resourceNames"] = sorted(names.split())
    return rule


def paths(verbs: str, urls: str) -> Object:
    """A rule about paths that are no resources, sorted."""
    return {"nonResourceURLs": sorted(urls.split()), "verbs": sorted(verbs.split())}


def events(verbs: str = "create update patch") -> Object:
    """A rule about events in both of their groups: by default what everybody needs who records them."""
    return on(verbs, f"{CORE},events.k8s.io", "events")


def _metadata(name: str, namespace: str = "", labels: dict[str, str] | None = None) -> Object:
    metadata: Object = {"name": name, "labels": {**_LABELS, **(labels or {})}, "annotations": dict(_ANNOTATIONS)}
    if namespace:
        metadata["namespace"] = namespace
    return metadata


def aggregated_to(name: str) -> dict[str, str]:
    """The label by which a role's rules become part of `admin`, `edit` or `view`."""
    return {f"{GROUP}/aggregate-to-{name}": "true"}


def cluster_role(name: str, *rules: Object, labels: dict[str, str] | None = None) -> Object:
    """A ClusterRole."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": _metadata(name, labels=labels),
        "rules": list(rules),
    }


def aggregate(name: str, rules: list[Object], labels: dict[str, str] | None = None) -> Object:
    """A ClusterRole that collects the rules of others; `rules` are those that it begins with."""
    selector = {"matchLabels": aggregated_to(name)}
    return {**cluster_role(name, *rules, labels=labels), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def role(namespace: str, name: str, *rules: Object) -> Object:
    """A Role."""
    return {"apiVersion": API_VERSION, "kind": "Role", "metadata": _metadata(name, namespace), "rules": list(rules)}


def user(name: str) -> Object:
    """A user as a subject."""
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def group(name: str) -> Object:
    """A group as a subject."""
    return {"apiGroup": GROUP, "kind": "Group", "name": name}


def account(name: str, namespace: str = "kube-system") -> Object:
    """A service account as a subject."""
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def cluster_binding(name: str, *subjects: Object) -> Object:
    """A ClusterRoleBinding to the ClusterRole of the same name."""
    binding: Object = {
        "apiVersion": API_VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
    }
    if subjects:
        binding["subjects"] = list(subjects)
    return binding


def binding(namespace: str, name: str, role_name: str, *subjects: Object) -> Object:
    """A RoleBinding to a Role of its namespace."""
    return {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding",
        "metadata": _metadata(name, namespace),
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": role_name},
        "subjects": list(subjects),
    }
