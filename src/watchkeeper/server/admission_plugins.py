"""The admission plugins that every server has."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from watchkeeper.admission.pods import DefaultTolerationSeconds, Priority
from watchkeeper.admission.podsecurity.metrics import PodSecurityMetrics
from watchkeeper.admission.podsecurity.plugin import PodSecurity
from watchkeeper.admission.policy.param_access import ParamAccess
from watchkeeper.admission.runtime_class import RuntimeClass
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.server.policy_params import plural_of
from watchkeeper.server.security_labels import SecurityLabels
from watchkeeper.server.stored_objects import StoredObjects

if TYPE_CHECKING:
    from watchkeeper.admission.podsecurity.configuration import Configuration

_LIMITS = GroupResource("", "limitranges")
_PODS = GroupResource("", "pods")
_NAMESPACES = GroupResource("", "namespaces")


def builtin_plugins(
    stored: StoredObjects,
    authorizer: Authorizer,
    served: ServedTable,
    metrics: PodSecurityMetrics,
    pod_security: Configuration | None = None,
) -> list[Plugin]:
    """Those that nobody has to configure, in the order in which they run. Policies, webhooks and quotas come after."""
    return [
        NamespaceLifecycle(stored.namespace_is_ending),
        DeviceAccess(authorizer, stored.find_namespace),
        LimitRanger(lambda namespace: stored.list_in(_LIMITS, namespace)),
        TaintNodesByCondition(),
        PodSecurity(
            SecurityLabels(lambda: stored.store(*_NAMESPACES)),
            lambda namespace: stored.list_in(_PODS, namespace),
            metrics,
            pod_security,
        ),
        Priority(stored.find_priority_class),
        DefaultTolerationSeconds(),
        StorageObjectInUseProtection(),
        DefaultStorageClass(lambda: stored.list_objects(GroupResource("storage.k8s.io", "storageclasses"))),
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
