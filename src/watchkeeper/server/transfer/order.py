"""The order in which another server takes manifests: what others lie in, refer to or are defined by comes first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMESPACE = ("", "Namespace")
DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")

_EARLY = (
    NAMESPACE,
    DEFINITION,
    ("scheduling.k8s.io", "PriorityClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("", "ServiceAccount"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("", "Service"),
)
_LATE = frozenset(
    {
        ("storage.k8s.io", "StorageClass"),
        ("networking.k8s.io", "IngressClass"),
        ("", "LimitRange"),
        ("", "ResourceQuota"),
    }
)
"""What fills in, bounds or counts others when they are written: those that are there have not been subject to it."""
_LAST = "admissionregistration.k8s.io"
"""The group of what would judge, or stop, the others."""
_RANKS = {kind: rank for rank, kind in enumerate(_EARLY)}


def group_kind(obj: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind of an object."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def rank(obj: Mapping[str, Any]) -> int:
    """The lower, the earlier."""
    kind = group_kind(obj)
    if kind[0] == _LAST:
        return len(_EARLY) + 2
    if kind in _LATE:
        return len(_EARLY) + 1
    return _RANKS.get(kind, len(_EARLY))


def place(obj: Mapping[str, Any]) -> tuple[int, str, str, str, str]:
    """What to sort manifests by: the rank, then so that equal clusters make equal files."""
    meta = obj.get("metadata") or {}
    group, kind = group_kind(obj)
    return rank(obj), group, kind, str(meta.get("namespace") or ""), str(meta.get("name") or "")
