"""The admission plugins that every server has."""

from __future__ import annotations

from watchkeeper.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from watchkeeper.admission.device_access import DeviceAccess
from watchkeeper.admission.interface import Plugin
from watchkeeper.admission.limits.ranger import LimitRanger
from watchkeeper.admission.namespace_lifecycle import NamespaceLifecycle
from watchkeeper.admission.node_features import NodeDeclaredFeatureValidator
from watchkeeper.admission.objects import (
    DefaultIngressClass,
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
)
from watchkeeper.admission.pod_resize import PodResizeValidator
from watchkeeper.admission.pod_topology_labels import PodTopologyLabels
from watchkeeper.admission.pods import DEFAULT_TOLERATION_SECONDS, DefaultTolerationSeconds, Priority
from watchkeeper.admission.podsecurity.metrics import PodSecurityMetrics
from watchkeeper.admission.podsecurity.plugin import PodSecurity
from watchkeeper.admission.policy.param_access import ParamAccess
from watchkeeper.admission.runtime_class import RuntimeClass
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.names import generate_name
from watchkeeper.server.admission_configuration import NOTHING_SAID, AdmissionConfiguration
from watchkeeper.server.policy_params import plural_of
from watchkeeper.server.security_labels import SecurityLabels
from watchkeeper.server.stored_objects import StoredObjects

_LIMITS = GroupResource("", "limitranges")
_PODS = GroupResource("", "pods")
_NAMESPACES = GroupResource("", "namespaces")


def builtin_plugins(
    stored: StoredObjects,
    authorizer: Authorizer,
    served: ServedTable,
    metrics: PodSecurityMetrics,
    told: AdmissionConfiguration = NOTHING_SAID,
    toleration_seconds: tuple[int, int] = (DEFAULT_TOLERATION_SECONDS, DEFAULT_TOLERATION_SECONDS),
) -> list[Plugin]:
    """kube-apiserver's, in the order in which they run. Policies, webhooks and quotas come after.

    Nodes that are not ready, and that are unreachable, are tolerated by default for so many seconds.
    """
    return [
        NamespaceLifecycle(stored.namespace_is_ending),
        DeviceAccess(authorizer, stored.find_namespace),
        LimitRanger(lambda namespace: stored.list_in(_LIMITS, namespace)),
        *_service_accounts(stored, told),
        TaintNodesByCondition(),
        *_image_policy(told),
        PodSecurity(
            SecurityLabels(lambda: stored.store(*_NAMESPACES)),
            lambda namespace: stored.list_in(_PODS, namespace),
            metrics,
            told.pod_security,
        ),
        *_pod_node_selector(stored, told),
        Priority(stored.find_priority_class),
        DefaultTolerationSeconds(*toleration_seconds),
        *_event_rate_limit(told),
        StorageObjectInUseProtection(),
        DefaultStorageClass(lambda: stored.list_objects(GroupResource("storage.k8s.io", "storageclasses"))),
        *_owner_references(authorizer, served, told),
        PersistentVolumeClaimResize(lambda: stored.list_objects(GroupResource("storage.k8s.io", "storageclasses"))),
        RuntimeClass(lambda name: stored.find(stored.store("node.k8s.io", "runtimeclasses"), name)),
        CertificateApproval(authorizer),
        CertificateSigning(authorizer),
        CertificateSubjectRestriction(),
        DefaultIngressClass(lambda: stored.list_objects(GroupResource("networking.k8s.io", "ingressclasses"))),
        PodTopologyLabels(stored.node_labels),
        NodeDeclaredFeatureValidator(lambda name: stored.find(stored.store("", "nodes"), name)),
        PodResizeValidator(lambda name: stored.find(stored.store("", "nodes"), name)),
        ParamAccess(
            authorizer,
            lambda resource, name: stored.find(stored.store(*resource), name),
            lambda kind: plural_of(served, kind),
        ),
    ]


def _service_accounts(stored: StoredObjects, told: AdmissionConfiguration) -> list[Plugin]:
    if not told.service_accounts:
        return []
    from watchkeeper.admission.service_accounts import ServiceAccounts

    return [
        ServiceAccounts(lambda namespace, name: stored.find_core("serviceaccounts", namespace, name), generate_name)
    ]


def _owner_references(authorizer: Authorizer, served: ServedTable, told: AdmissionConfiguration) -> list[Plugin]:
    if not told.owner_references:
        return []
    from watchkeeper.admission.owner_references import OwnerReferences, Plural

    def find(kind: GroupVersionKind) -> Plural | None:
        found = (resource.info for resource in served.resources(kind.group, kind.version))
        return next((Plural(info.gvr.resource, info.namespaced) for info in found if info.kind == kind), None)

    return [OwnerReferences(authorizer, find)]


def _image_policy(told: AdmissionConfiguration) -> list[Plugin]:
    if told.image_policy is None:
        return []
    from watchkeeper.admission.image_policy import ImagePolicyWebhook

    policy, backend = told.image_policy
    return [ImagePolicyWebhook(backend, policy)]


def _pod_node_selector(stored: StoredObjects, told: AdmissionConfiguration) -> list[Plugin]:
    if told.node_selectors is None:
        return []
    from watchkeeper.admission.pod_node_selector import PodNodeSelector

    return [PodNodeSelector(stored.find_namespace, told.node_selectors)]


def _event_rate_limit(told: AdmissionConfiguration) -> list[Plugin]:
    if not told.event_limits:
        return []
    from watchkeeper.admission.event_rate_limit import EventRateLimit

    return [EventRateLimit(told.event_limits)]
