"""What a kube-apiserver has stored at versions that are served no more, or not yet stored at the version that is.

Release 1.36 itself stores CustomResourceDefinitions at v1beta1, and admission policies that mutate as well, so that the
release before can read them; what nobody has written for years is at the version of its day.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from watchkeeper.apis.admissionregistration.stored import webhooks_at_v1
from watchkeeper.apis.apps.stored import daemon_set_at_v1, deployment_at_v1, replica_set_at_v1
from watchkeeper.apis.certificates.stored import signing_request_at_v1
from watchkeeper.apis.definition_v1beta1 import definition_at_v1
from watchkeeper.apis.discovery.stored import slice_at_v1 as endpoint_slice_at_v1
from watchkeeper.apis.flowcontrol.stored import level_of_assured_shares, level_of_v1beta3
from watchkeeper.apis.networking.stored import ingress_at_v1, network_policy_at_v1
from watchkeeper.apis.node.stored import runtime_class_at_v1
from watchkeeper.apis.rbac.stored import binding_at_v1
from watchkeeper.apis.resource.stored import claim_at_v1, slice_at_v1, template_at_v1
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.scheme import gvk_of

Object = dict[str, Any]
Converter = Callable[[Object], Object]
"""Makes of a stored object, which it consumes, one with the fields of the version that is served."""

_POLICIES = (
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
)
_DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_ROLES = "Role RoleBinding ClusterRole ClusterRoleBinding"
_STORED: dict[str, str] = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": (
        f"{_POLICIES} ValidatingWebhookConfiguration MutatingWebhookConfiguration"
    ),
    "apiregistration.k8s.io/v1beta1": "APIService",
    "batch/v1beta1": "CronJob",
    "batch/v2alpha1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment ReplicaSet Ingress NetworkPolicy",
    "flowcontrol.apiserver.k8s.io/v1alpha1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": "Ingress IngressClass IPAddress ServiceCIDR",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "resource.k8s.io/v1beta1": _DEVICES,
    "resource.k8s.io/v1beta2": _DEVICES,
    "scheduling.k8s.io/v1alpha1": "PriorityClass",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": "VolumeAttachment CSIStorageCapacity VolumeAttributesClass",
    "storage.k8s.io/v1beta1": (
        "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass"
    ),
}
"""All but the definitions of custom resources. What has no converter has the fields and defaults that it has at v1."""

_MOVED = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
}
"""Where the kinds of `extensions` are now."""

_SAME_MESSAGES = {
    "batch.v2alpha1": "batch.v1beta1",
    "flowcontrol.v1alpha1": "flowcontrol.v1beta1",
    "scheduling.v1alpha1": "scheduling.v1beta1",
}
"""Versions whose descriptions are published no more, and those that took them over as they were."""


def _current() -> dict[GroupVersionKind, GroupVersionKind]:
    found = {}
    for api_version, kinds in _STORED.items():
        group, version = GroupVersion.parse(api_version)
        for kind in kinds.split():
            served = _MOVED[kind] if group == "extensions" else group
            found[GroupVersionKind(group, version, kind)] = GroupVersionKind(served, "v1", kind)
    return found


CURRENT = _current()
"""Kinds as they may be stored, and the kinds at the versions that are served."""

_BUDGET_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""No Pod has it."""


_UNLIKE_V1 = frozenset(
    {
        GroupVersionKind("extensions", "v1beta1", "NetworkPolicy"),
        GroupVersionKind("networking.k8s.io", "v1beta1", "IngressClass"),
    }
)
"""Kinds of which v1 fills in what is left open at the old version."""


def takes_defaults(gvk: GroupVersionKind) -> bool:
    """Whether an object of a kind has, beside what `current_form` fills in, the defaults of the served version."""
    return gvk not in _UNLIKE_V1


def message_name(gvk: GroupVersionKind) -> str:
    """The protobuf message of a kind at an old version, such as `k8s.io.api.discovery.v1beta1.EndpointSlice`."""
    package = f"{gvk.group.partition('.')[0]}.{gvk.version}"
    return f"k8s.io.api.{_SAME_MESSAGES.get(package, package)}.{gvk.kind}"


def current_form(obj: Object) -> Object:
    """A stored object, which says what it is, at the version that is served; others are returned as they are.

    Consumes `obj`. What comes out is not decoded as its kind yet, and has those defaults only that are not v1's.
    """
    gvk = gvk_of(obj)
    convert = _CONVERTERS.get(gvk)
    if convert is not None:
        obj = convert(obj)
    current = CURRENT.get(gvk)
    if current is not None:
        obj["apiVersion"] = current.api_version
    return obj


def _budget(obj: Object) -> Object:
    """At v1beta1 an empty selector chose no Pods, at v1 it chooses all."""
    spec = obj.get("spec") or {}
    match spec.get("selector"):
        case {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]} if key == _BUDGET_LABEL:
            spec["selector"] = {}
        case {} as selector if not any(selector.values()):
            spec["selector"] = {"matchExpressions": [{"key": _BUDGET_LABEL, "operator": "Exists"}]}
    return obj


_BY_KIND: dict[str, dict[str, Converter]] = {
    "admissionregistration.k8s.io/v1beta1": {
        "MutatingWebhookConfiguration": webhooks_at_v1,
        "ValidatingWebhookConfiguration": webhooks_at_v1,
    },
    "apiextensions.k8s.io/v1beta1": {"CustomResourceDefinition": definition_at_v1},
    "certificates.k8s.io/v1beta1": {"CertificateSigningRequest": signing_request_at_v1},
    "discovery.k8s.io/v1beta1": {"EndpointSlice": endpoint_slice_at_v1},
    "extensions/v1beta1": {
        "DaemonSet": daemon_set_at_v1,
        "Deployment": deployment_at_v1,
        "Ingress": ingress_at_v1,
        "NetworkPolicy": network_policy_at_v1,
        "ReplicaSet": replica_set_at_v1,
    },
    "flowcontrol.apiserver.k8s.io/v1alpha1": {"PriorityLevelConfiguration": level_of_assured_shares},
    "flowcontrol.apiserver.k8s.io/v1beta1": {"PriorityLevelConfiguration": level_of_assured_shares},
    "flowcontrol.apiserver.k8s.io/v1beta2": {"PriorityLevelConfiguration": level_of_assured_shares},
    "flowcontrol.apiserver.k8s.io/v1beta3": {"PriorityLevelConfiguration": level_of_v1beta3},
    "networking.k8s.io/v1beta1": {"Ingress": ingress_at_v1},
    "node.k8s.io/v1alpha1": {"RuntimeClass": runtime_class_at_v1},
    "policy/v1beta1": {"PodDisruptionBudget": _budget},
    "rbac.authorization.k8s.io/v1alpha1": {"ClusterRoleBinding": binding_at_v1, "RoleBinding": binding_at_v1},
    "resource.k8s.io/v1beta1": {
        "ResourceClaim": claim_at_v1,
        "ResourceClaimTemplate": template_at_v1,
        "ResourceSlice": slice_at_v1,
    },
}
_CONVERTERS = {
    GroupVersionKind(*GroupVersion.parse(api_version), kind): converter
    for api_version, converters in _BY_KIND.items()
    for kind, converter in converters.items()
}
