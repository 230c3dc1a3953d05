"""What a kube-apiserver has stored at versions that are served no more, or not yet stored at the version that is.

Release 1.36 itself stores CustomResourceDefinitions at v1beta1, and admission policies that mutate as well, so that the
release before can read them; what nobody has written for years is at the version of its day.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.apis.definition_v1beta1 import definition_at_v1
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]

_POLICIES = (
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
)
_ALIKE: dict[str, str] = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": (
        f"{_POLICIES} ValidatingWebhookConfiguration MutatingWebhookConfiguration"
    ),
    "apiregistration.k8s.io/v1beta1": "APIService",
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "flowcontrol.apiserver.k8s.io/v1beta1": "FlowSchema",
    "flowcontrol.apiserver.k8s.io/v1beta2": "FlowSchema",
    "flowcontrol.apiserver.k8s.io/v1beta3": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io/v1beta1": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1beta1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    "resource.k8s.io/v1beta1": "DeviceClass",
    "resource.k8s.io/v1beta2": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": "VolumeAttachment CSIStorageCapacity VolumeAttributesClass",
    "storage.k8s.io/v1beta1": (
        "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass"
    ),
}
"""Kinds of these versions have the fields, in JSON and in protobuf, that they have at v1."""


def _current() -> dict[GroupVersionKind, GroupVersionKind]:
    found = {}
    for api_version, kinds in _ALIKE.items():
        group, version = api_version.split("/")
        for kind in kinds.split():
            found[GroupVersionKind(group, version, kind)] = GroupVersionKind(group, "v1", kind)
    return found


_CURRENT = _current()
_BUDGET_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""No Pod has it."""


def alike(gvk: GroupVersionKind) -> GroupVersionKind | None:
    """The kind at v1, for a kind at an older version with the same fields; None for all others."""
    return _CURRENT.get(gvk)


def current_form(obj: Object) -> Object:
    """A stored object, which says what it is, at the version that is served; others are returned as they are.

    Consumes `obj`. What comes out is not decoded as its kind yet.
    """
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    gvk = GroupVersionKind(group, version, str(obj.get("kind") or ""))
    current = _CURRENT.get(gvk)
    if current is not None:
        obj["apiVersion"] = current.api_version
    convert = _CONVERSIONS.get(gvk)
    return obj if convert is None else convert(obj)


def _budget(obj: Object) -> Object:
    """At v1beta1 an empty selector chose no Pods, at v1 it chooses all."""
    spec = obj.get("spec") or {}
    match spec.get("selector"):
        case {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]} if key == _BUDGET_LABEL:
            spec["selector"] = {}
        case {} as selector if not any(selector.values()):
            spec["selector"] = {"matchExpressions": [{"key": _BUDGET_LABEL, "operator": "Exists"}]}
    return obj


_CONVERSIONS: dict[GroupVersionKind, Callable[[Object], Object]] = {
    GroupVersionKind("apiextensions.k8s.io", "v1beta1", "CustomResourceDefinition"): definition_at_v1,
    GroupVersionKind("policy", "v1beta1", "PodDisruptionBudget"): _budget,
}
