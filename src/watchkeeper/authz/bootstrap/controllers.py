"""Roles for controllers, each of which has a service account of its own in kube-system."""

from __future__ import annotations

from watchkeeper.authz.bootstrap.words import CORE, READ, Object, account, cluster_binding, cluster_role, events, on

PREFIX = "system:controller:"
_APPS = "apps"
_BOTH = "extensions,apps"
_CERTIFICATES = "certificates.k8s.io"
_NETWORKING = "networking.k8s.io"
_RESOURCE = "resource.k8s.io"
_STORAGE = "storage.k8s.io"
_DISCOVERY = "discovery.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"
_MANAGE = "get list watch create update delete"
_CLIENT_KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
_SIGNERS = (
    f"kubernetes.io/legacy-unknown kubernetes.io/kube-apiserver-client {_CLIENT_KUBELET} kubernetes.io/kubelet-serving"
)


def _workloads() -> dict[str, list[Object]]:
    return {
        "cronjob-controller": [
            on("get list watch update", "batch", "cronjobs"),
            on("get list watch create update delete patch", "batch", "jobs"),
            on("update", "batch", "cronjobs/status"),
            on("update", "batch", "cronjobs/finalizers"),
            on("list watch delete", CORE, "pods"),
            events(),
        ],
        "daemon-set-controller": [
            on(READ, _BOTH, "daemonsets"),
            on("update", _BOTH, "daemonsets/status"),
            on("update", _BOTH, "daemonsets/finalizers"),
            on("list watch", CORE, "nodes"),
            on("list watch create delete patch", CORE, "pods"),
            on("create", CORE, "pods/binding"),
            on("get list watch create delete update patch", _APPS, "controllerrevisions"),
            events(),
        ],
        "deployment-controller": [
            on("get list watch update", _BOTH, "deployments"),
            on("update", _BOTH, "deployments/status"),
            on("update", _BOTH, "deployments/finalizers"),
            on("get list watch create update patch delete", "apps,extensions", "replicasets"),
            on("get list watch update", CORE, "pods"),
            events(),
        ],
        "disruption-controller": [
            on(READ, _BOTH, "deployments"),
            on(READ, "apps,extensions", "replicasets"),
            on(READ, CORE, "replicationcontrollers"),
            on(READ, "policy", "poddisruptionbudgets"),
            on(READ, _APPS, "statefulsets"),
            on("update", "policy", "poddisruptionbudgets/status"),
            on("patch update", CORE, "pods/status"),
            on("get", "*", "*/scale"),
            events(),
        ],
        "horizontal-pod-autoscaler": [
            on(READ, "autoscaling", "horizontalpodautoscalers"),
            on("update", "autoscaling", "horizontalpodautoscalers/status"),
            on("get update", "*", "*/scale"),
            on("list watch", CORE, "pods"),
            on("list watch", "metrics.k8s.io", "pods"),
            on(READ, "custom.metrics.k8s.io", "*"),
            on(READ, "external.metrics.k8s.io", "*"),
            events(),
        ],
        "job-controller": [
            on("get list watch update patch", "batch", "jobs"),
            on("update", "batch", "jobs/status"),
            on("update", "batch", "jobs/finalizers"),
            on("list watch create delete patch", CORE, "pods"),
            events(),
        ],
        "replicaset-controller": [
            on("get list watch update", "apps,extensions", "replicasets"),
            on("update", "apps,extensions", "replicasets/status"),
            on("update", "apps,extensions", "replicasets/finalizers"),
            on("list watch patch create delete", CORE, "pods"),
            events(),
        ],
        "replication-controller": [
            on("get list watch update", CORE, "replicationcontrollers"),
            on("update", CORE, "replicationcontrollers/status"),
            on("update", CORE, "replicationcontrollers/finalizers"),
            on("list watch patch create delete", CORE, "pods"),
            events(),
        ],
        "statefulset-controller": [
            on("list watch", CORE, "pods"),
            on(READ, _APPS, "statefulsets"),
            on("update", _APPS, "statefulsets/status"),
            on("update", _APPS, "statefulsets/finalizers"),
            on("get create delete update patch", CORE, "pods"),
            on("get create delete update patch list watch", _APPS, "controllerrevisions"),
            on("get create list watch", CORE, "persistentvolumeclaims"),
            on("update delete", CORE, "persistentvolumeclaims"),
            on("update", CORE, "pods/finalizers"),
            events(),
        ],
        "ttl-after-finished-controller": [on("get list watch delete", "batch", "jobs"), events()],
    }


def _network() -> dict[str, list[Object]]:
    return {
        "endpoint-controller": [
            on(READ, CORE, "services pods"),
            on(_MANAGE, CORE, "endpoints"),
            on("create", CORE, "endpoints/restricted"),
            events(),
        ],
        "endpointslice-controller": [
            on(READ, CORE, "services pods nodes"),
            on("update", CORE, "services/finalizers"),
            on(_MANAGE, _DISCOVERY, "endpointslices"),
            events(),
        ],
        "endpointslicemirroring-controller": [
            on(READ, CORE, "services endpoints"),
            on("update", CORE, "services/finalizers"),
            on("update", CORE, "endpoints/finalizers"),
            on(_MANAGE, _DISCOVERY, "endpointslices"),
            events(),
        ],
        "route-controller": [on("list watch", CORE, "nodes"), on("patch", CORE, "nodes/status"), events()],
        "service-controller": [
            on(READ, CORE, "services"),
            on("patch update", CORE, "services/status"),
            on("list watch", CORE, "nodes"),
            events(),
        ],
        "service-cidrs-controller": [
            on("get list watch patch update", _NETWORKING, "servicecidrs"),
            on("patch update", _NETWORKING, "servicecidrs/finalizers"),
            on("patch update", _NETWORKING, "servicecidrs/status"),
            on(READ, _NETWORKING, "ipaddresses"),
            events(),
        ],
    }


def _volumes() -> dict[str, list[Object]]:
    return {
        "attachdetach-controller": [
            on("list watch", CORE, "persistentvolumes persistentvolumeclaims"),
            on(READ, CORE, "nodes"),
            on("patch update", CORE, "nodes/status"),
            on("list watch", CORE, "pods"),
            events(),
            on("get create delete list watch", _STORAGE, "volumeattachments"),
            on("get watch list", _STORAGE, "csidrivers"),
            on("get watch list", _STORAGE, "csinodes"),
        ],
        "expand-controller": [
            on("get list watch update patch", CORE, "persistentvolumes"),
            on("update patch", CORE, "persistentvolumeclaims/status"),
            on(READ, CORE, "persistentvolumeclaims"),
            events(),
        ],
        "ephemeral-volume-controller": [
            on(READ, CORE, "pods"),
            on("update", CORE, "pods/finalizers"),
            on("get list watch create", CORE, "persistentvolumeclaims"),
            events(),
        ],
        "persistent-volume-binder": [
            on("get list watch update create delete", CORE, "persistentvolumes"),
            on("update", CORE, "persistentvolumes/status"),
            on("get list watch update", CORE, "persistentvolumeclaims"),
            on("update", CORE, "persistentvolumeclaims/status"),
            on("list watch get create delete", CORE, "pods"),
            on(READ, _STORAGE, "storageclasses"),
            on("list watch", CORE, "nodes"),
            events(),
            on("watch", CORE, "events"),
        ],
        "pvc-protection-controller": [
            on("get list watch update", CORE, "persistentvolumeclaims"),
            on("update", CORE, "persistentvolumeclaims/status"),
            on("list watch get", CORE, "pods"),
            events(),
        ],
        "pv-protection-controller": [on("get list watch update", CORE, "persistentvolumes"), events()],
        "volumeattributesclass-protection-controller": [
            on("list watch get", CORE, "persistentvolumeclaims"),
            on("list watch get", CORE, "persistentvolumes"),
            on("get list watch update", _STORAGE, "volumeattributesclasses"),
            events(),
        ],
        "selinux-warning-controller": [
            events(),
            on(READ, CORE, "persistentvolumes"),
            on(READ, CORE, "persistentvolumeclaims"),
            on(READ, CORE, "pods"),
            on(READ, _STORAGE, "csidrivers"),
        ],
        "resource-claim-controller": [
            on(READ, CORE, "pods"),
            on("update", CORE, "pods/finalizers"),
            on("get list watch create delete", _RESOURCE, "resourceclaims"),
            on("update patch", _RESOURCE, "resourceclaims resourceclaims/status"),
            on("update patch", CORE, "pods/status"),
            events(),
            on("update patch", _RESOURCE, "resourceclaims/binding"),
        ],
        "device-taint-eviction-controller": [
            on("get list watch delete", CORE, "pods"),
            on("update patch", CORE, "pods/status"),
            on(READ, _RESOURCE, "resourceclaims"),
            on(READ, _RESOURCE, "resourceslices"),
            on(READ, _RESOURCE, "deviceclasses"),
            events(),
        ],
    }


def _cluster() -> dict[str, list[Object]]:
    return {
        "clusterrole-aggregation-controller": [
            on("escalate get list watch update patch", "rbac.authorization.k8s.io", "clusterroles"),
        ],
        "generic-garbage-collector": [on("get list watch patch update delete", "*", "*"), events()],
        "namespace-controller": [
            on("get list watch delete", CORE, "namespaces"),
            on("update", CORE, "namespaces/finalize namespaces/status"),
            on("get list watch delete deletecollection", "*", "*"),
        ],
        "node-controller": [
            on("get list watch update delete patch", CORE, "nodes"),
            on("patch update", CORE, "nodes/status"),
            on("patch update", CORE, "pods/status"),
            on("list watch get delete", CORE, "pods"),
            events(),
        ],
        "pod-garbage-collector": [
            on("list watch delete", CORE, "pods"),
            on(READ, CORE, "nodes"),
            on("patch", CORE, "pods/status"),
        ],
        "resourcequota-controller": [
            on("list watch", "*", "*"),
            on("update", CORE, "resourcequotas/status"),
            events(),
        ],
        "service-account-controller": [on("create", CORE, "serviceaccounts"), events()],
        "ttl-controller": [on("update patch list watch", CORE, "nodes"), events()],
        "certificate-controller": [
            on("get list watch delete", _CERTIFICATES, "certificatesigningrequests"),
            on("update", _CERTIFICATES, "certificatesigningrequests/status certificatesigningrequests/approval"),
            on("approve", _CERTIFICATES, "signers", _CLIENT_KUBELET),
            on("sign", _CERTIFICATES, "signers", _SIGNERS),
            on("create", "authorization.k8s.io", "subjectaccessreviews"),
            events(),
        ],
        "root-ca-cert-publisher": [on("create update", CORE, "configmaps"), events()],
        "validatingadmissionpolicy-status-controller": [
            on(READ, _ADMISSION, "validatingadmissionpolicies"),
            on("get patch update", _ADMISSION, "validatingadmissionpolicies/status"),
            events(),
        ],
        "legacy-service-account-token-cleaner": [
            on("get", CORE, "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
            on("patch delete", CORE, "secrets"),
        ],
    }


def _all() -> dict[str, list[Object]]:
    return {**_workloads(), **_network(), **_volumes(), **_cluster()}


def controller_roles() -> list[Object]:
    """The roles."""
    return [cluster_role(PREFIX + name, *rules) for name, rules in _all().items()]


def controller_bindings() -> list[Object]:
    """Each role's binding to its service account."""
    return [cluster_binding(PREFIX + name, account(name)) for name in _all()]
