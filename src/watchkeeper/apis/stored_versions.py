"""What a kube-apiserver has stored at versions that are served no more, or not yet stored at the version that is.

Release 1.36 itself stores CustomResourceDefinitions at v1beta1, and admission policies that mutate as well, so that the
release before can read them; what nobody has written for years is at the version of its day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.scheme import gvk_of

if TYPE_CHECKING:
    from watchkeeper.apis.stored_conversions import Converter

Object = dict[str, Any]

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
    convert = _converters().get(gvk)
    if convert is not None:
        obj = convert(obj)
    current = CURRENT.get(gvk)
    if current is not None:
        obj["apiVersion"] = current.api_version
    return obj


def _converters() -> Mapping[GroupVersionKind, Converter]:
    """Imported with the first old object: most servers never read one."""
    from watchkeeper.apis.stored_conversions import CONVERTERS

    return CONVERTERS
