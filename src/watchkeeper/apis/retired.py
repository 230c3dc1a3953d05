"""Versions of built-in kinds that kube-apiserver serves no more, or only when told to, but still knows.

A body at one of them is told to be of the wrong version; at any other version it is told to be unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from watchkeeper.meta.gvk import GroupVersionKind

_POLICIES = (
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
)
_REVIEWS = "SelfSubjectRulesReview SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview"
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_ROLES = "Role RoleBinding ClusterRole ClusterRoleBinding"
_DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_KINDS: dict[str, str] = {
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": (
        f"{_POLICIES} ValidatingWebhookConfiguration MutatingWebhookConfiguration"
    ),
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
    "apiregistration.k8s.io/v1beta1": "APIService",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authorization.k8s.io/v1beta1": _REVIEWS,
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest",
    "coordination.k8s.io/v1beta1": "Lease",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "Deployment DaemonSet ReplicaSet Ingress NetworkPolicy Scale",
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOWS,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOWS,
    "networking.k8s.io/v1beta1": "Ingress IngressClass IPAddress ServiceCIDR",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "PodDisruptionBudget Eviction",
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "resource.k8s.io/v1beta1": _DEVICES,
    "resource.k8s.io/v1beta2": _DEVICES,
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": "VolumeAttachment CSIStorageCapacity VolumeAttributesClass",
    "storage.k8s.io/v1beta1": (
        "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass"
    ),
}
_OLD_INGRESS = r"spec\.(backend|rules\[\d+\]\.http\.paths\[\d+\]\.backend\.(serviceName|servicePort))"
_GROUP_OF_OLD = {
    "Deployment": "apps",
    "DaemonSet": "apps",
    "ReplicaSet": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
    "Scale": "autoscaling",
    "Event": "",
}
"""Where kinds are now that began in `extensions`; Events of both groups are the same."""


def _by_kind() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for version, kinds in _KINDS.items():
        for kind in kinds.split():
            found.setdefault(kind, []).append(version)
    return found


_OLD_FIELDS: dict[tuple[str, str], str] = {
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"): (
        r"spec\.(version|validation|subresources|additionalPrinterColumns"
        r"|conversion\.(webhookClientConfig|conversionReviewVersions)"
        r"|versions\[\d+\]\.additionalPrinterColumns\[\d+\]\.JSONPath)"
    ),
    ("discovery.k8s.io/v1beta1", "EndpointSlice"): r"endpoints\[\d+\]\.topology",
    ("extensions/v1beta1", "DaemonSet"): r"spec\.templateGeneration",
    ("extensions/v1beta1", "Deployment"): r"spec\.rollbackTo",
    ("extensions/v1beta1", "Ingress"): _OLD_INGRESS,
    ("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration"): r"spec\.limited\.assuredConcurrencyShares",
    ("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration"): r"spec\.limited\.assuredConcurrencyShares",
    ("networking.k8s.io/v1beta1", "Ingress"): _OLD_INGRESS,
    ("node.k8s.io/v1alpha1", "RuntimeClass"): "spec",
}
"""Paths of fields that are at an old version and not at v1."""
_VERSIONS = _by_kind()
_NONE: Mapping[str, str] = MappingProxyType({})


def retired_versions(gvk: GroupVersionKind) -> Mapping[str, str]:
    """The versions, as `group/version`, at which objects of a kind are recognized although none is served there.

    With each what its paths match that v1 does not have, "" for none.
    """
    versions = _VERSIONS.get(gvk.kind)
    if versions is None:
        return _NONE
    moved = _GROUP_OF_OLD.get(gvk.kind) == gvk.group
    found = [version for version in versions if moved or version.partition("/")[0] == gvk.group]
    return {version: _OLD_FIELDS.get((version, gvk.kind), "") for version in found}
