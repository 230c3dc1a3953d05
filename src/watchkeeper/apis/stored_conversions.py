"""How objects at versions that are only stored get the fields of the version that is served, by kind."""

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
from watchkeeper.apis.policy.budget import OLD_LABEL as OLD_BUDGET_LABEL
from watchkeeper.apis.rbac.stored import binding_at_v1
from watchkeeper.apis.resource.stored import claim_at_v1, slice_at_v1, template_at_v1
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind

Object = dict[str, Any]
Converter = Callable[[Object], Object]
"""Makes of a stored object, which it consumes, one with the fields of the version that is served."""


def _budget(obj: Object) -> Object:
    """At v1beta1 an empty selector chose no Pods, at v1 it chooses all."""
    spec = obj.get("spec") or {}
    match spec.get("selector"):
        case {"matchExpressions": [{"key": key, "operator": "DoesNotExist"}]} if key == OLD_BUDGET_LABEL:
            spec["selector"] = {}
        case {} as selector if not any(selector.values()):
            spec["selector"] = {"matchExpressions": [{"key": OLD_BUDGET_LABEL, "operator": "Exists"}]}
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
CONVERTERS = {
    GroupVersionKind(*GroupVersion.parse(api_version), kind): converter
    for api_version, converters in _BY_KIND.items()
    for kind, converter in converters.items()
}
