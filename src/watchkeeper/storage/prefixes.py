"""Where each resource lies in the key-value store: kube-apiserver's layout, which other tools know."""

from __future__ import annotations

from watchkeeper.storage.interface import RESOURCE_PREFIX

_SPECIAL: dict[tuple[str, str], str] = {
    ("", "endpoints"): "/services/endpoints",
    ("", "nodes"): "/minions",
    ("", "replicationcontrollers"): "/controllers",
    ("", "services"): "/services/specs",
    ("extensions", "ingresses"): "/ingress",
    ("networking.k8s.io", "ingresses"): "/ingress",
}
"""What kube-apiserver stores under another name than the resource's."""

_GROUP_IN_PATH = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
"""Compiled-in groups whose keys begin with the group."""

_BUILTIN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""Groups whose resources lie directly below the root, without the group's name."""


def resource_prefix(group: str, resource: str, *, root: str = RESOURCE_PREFIX) -> str:
    """The key under which all objects of a resource lie: `/registry/pods`, without a final slash.

    Custom resources, and any group this project does not know, lie under `/registry/<group>/<resource>`. Resources that
    two groups serve, such as Events, have one place.
    """
    special = _SPECIAL.get((group, resource))
    if special is not None:
        return root + special
    if group in _BUILTIN_GROUPS and group not in _GROUP_IN_PATH:
        return f"{root}/{resource}"
    return f"{root}/{group}/{resource}"


def custom_prefix(group: str, resource: str, *, root: str = RESOURCE_PREFIX) -> str:
    """The same for a custom resource, whose group is always in it, even where that is one of built-in resources."""
    return f"{root}/{group}/{resource}"


def object_key(prefix: str, namespace: str, name: str) -> str:
    """The key of one object under its resource's prefix; `namespace` is "" for cluster-scoped kinds."""
    return f"{prefix}/{namespace}/{name}" if namespace else f"{prefix}/{name}"
