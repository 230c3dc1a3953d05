"""Bindings as they were stored at v1alpha1, where subjects had a version and no group."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_GROUPS = {"ServiceAccount": "", "User": _GROUP, "Group": _GROUP}
_EVERYBODY = "system:authenticated"


def binding_at_v1(binding: Object) -> Object:
    """A binding of v1alpha1 as v1 has it (pkg/apis/rbac/v1alpha1/conversion.go). Consumes it."""
    for subject in binding.get("subjects") or ():
        version = subject.pop("apiVersion", None) or ""
        kind = subject.get("kind") or ""
        group = _GROUPS[kind] if kind in _GROUPS else _group(version)
        if group:
            subject["apiGroup"] = group
        if kind == "User" and subject.get("name") == "*":
            subject.update(kind="Group", name=_EVERYBODY)
    return binding


def _group(version: str) -> str:
    try:
        return GroupVersion.parse(version).group
    except ValueError:
        return ""
