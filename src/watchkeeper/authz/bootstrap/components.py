"""Roles for the parts of a cluster: nodes, proxies, the scheduler, the controller manager and their helpers."""

from __future__ import annotations

from watchkeeper.authz.bootstrap.words import (
    CORE,
    READ,
    READ_UPDATE,
    READ_WRITE,
    Object,
    cluster_role,
    events,
    on,
    paths,
)

_AUTHN = "authentication.k8s.io"
_AUTHZ = "authorization.k8s.io"
_CERTIFICATES = "certificates.k8s.io"
_COORDINATION = "coordination.k8s.io"
_RESOURCE = "resource.k8s.io"
_STORAGE = "storage.k8s.io"
_REQUESTS = "certificatesigningrequests"


def _node() -> Object:
    return cluster_role(
        "system:node",
        on("create", _AUTHN, "tokenreviews"),
        on("create", _AUTHZ, "subjectaccessreviews localsubjectaccessreviews"),
        on(READ, CORE, "services"),
        on("create get list watch", CORE, "nodes"),
        on("update patch", CORE, "nodes/status"),
        on("update patch", CORE, "nodes"),
        events(),
        on(READ, CORE, "pods"),
        on("create delete", CORE, "pods"),
        on("update patch", CORE, "pods/status"),
        on("create", CORE, "pods/eviction"),
        on(READ, CORE, "secrets configmaps"),
        on("get", CORE, "persistentvolumeclaims persistentvolumes"),
        on("get", CORE, "endpoints"),
        on("create get list watch", _CERTIFICATES, _REQUESTS),
        on("get create update patch delete", _COORDINATION, "leases"),
        on("get", _STORAGE, "volumeattachments"),
        on("create", CORE, "serviceaccounts/token"),
        on("get update patch", CORE, "persistentvolumeclaims/status"),
        on("get watch list", _STORAGE, "csidrivers"),
        on("get create update patch delete", _STORAGE, "csinodes"),
        on(READ, "node.k8s.io", "runtimeclasses"),
        on("get", _RESOURCE, "resourceclaims"),
        on("deletecollection", _RESOURCE, "resourceslices"),
        on("get", CORE, "serviceaccounts"),
    )


def _controller_manager() -> Object:
    return cluster_role(
        "system:kube-controller-manager",
        events(),
        on("create", _COORDINATION, "leases"),
        on("get update", _COORDINATION, "leases", "kube-controller-manager"),
        on("create", CORE, "secrets serviceaccounts"),
        on("delete", CORE, "secrets"),
        on("get", CORE, "namespaces secrets serviceaccounts configmaps"),
        on("update", CORE, "secrets serviceaccounts"),
        on("create", _AUTHN, "tokenreviews"),
        on("create", _AUTHZ, "subjectaccessreviews"),
        on("list watch", "*", "*"),
        on("create", CORE, "serviceaccounts/token"),
    )


def _scheduler() -> Object:
    return cluster_role(
        "system:kube-scheduler",
        events(),
        on("create", _COORDINATION, "leases"),
        on("get update list watch", _COORDINATION, "leases", "kube-scheduler"),
        on(READ_WRITE, _COORDINATION, "leasecandidates"),
        on(READ, CORE, "nodes"),
        on("get list watch delete", CORE, "pods"),
        on("create", CORE, "pods/binding bindings"),
        on("patch update", CORE, "pods/status"),
        on(READ, CORE, "services replicationcontrollers"),
        on(READ, "apps,extensions", "replicasets"),
        on(READ, "apps", "statefulsets"),
        on(READ, "policy", "poddisruptionbudgets"),
        on(READ, CORE, "persistentvolumeclaims persistentvolumes"),
        on("create", _AUTHN, "tokenreviews"),
        on("create", _AUTHZ, "subjectaccessreviews"),
        on(READ, _STORAGE, "csinodes"),
        on(READ, _STORAGE, "volumeattachments"),
        on(READ, CORE, "namespaces"),
        on(READ, _STORAGE, "csidrivers"),
        on(READ, _STORAGE, "csistoragecapacities"),
        on(READ, _RESOURCE, "deviceclasses"),
        on(READ_UPDATE, _RESOURCE, "resourceclaims"),
        on(READ_UPDATE, _RESOURCE, "resourceclaims/status"),
        on("update", CORE, "pods/finalizers"),
        on(READ, _RESOURCE, "resourceslices"),
        on("create delete", _RESOURCE, "resourceclaims"),
        on("patch update", _RESOURCE, "resourceclaims/binding"),
    )


def _certificates() -> list[Object]:
    roles = [
        cluster_role(f"system:{_CERTIFICATES}:{_REQUESTS}:{name}", on("create", _CERTIFICATES, f"{_REQUESTS}/{name}"))
        for name in ("nodeclient", "selfnodeclient")
    ]
    for name, signer in (
        ("legacy-unknown", "kubernetes.io/legacy-unknown"),
        ("kubelet-serving", "kubernetes.io/kubelet-serving"),
        ("kube-apiserver-client", "kubernetes.io/kube-apiserver-client"),
        ("kube-apiserver-client-kubelet", "kubernetes.io/kube-apiserver-client-kubelet"),
    ):
        rule = on("approve", _CERTIFICATES, "signers", signer)
        roles.append(cluster_role(f"system:{_CERTIFICATES}:{name}-approver", rule))
    return roles


def component_roles() -> list[Object]:
    """The roles."""
    return [
        cluster_role(
            "system:heapster", on(READ, CORE, "events pods nodes namespaces"), on(READ, "extensions", "deployments")
        ),
        _node(),
        cluster_role(
            "system:node-problem-detector", on("get", CORE, "nodes"), on("patch", CORE, "nodes/status"), events()
        ),
        cluster_role("system:node-bootstrapper", on("create get list watch", _CERTIFICATES, _REQUESTS)),
        cluster_role(
            "system:auth-delegator",
            on("create", _AUTHN, "tokenreviews"),
            on("create", _AUTHZ, "subjectaccessreviews"),
        ),
        cluster_role("system:kube-aggregator", on(READ, CORE, "services endpoints")),
        _controller_manager(),
        cluster_role("system:kube-dns", on("list watch", CORE, "endpoints services")),
        cluster_role(
            "system:persistent-volume-provisioner",
            on("get list watch create delete", CORE, "persistentvolumes"),
            on("get list watch update", CORE, "persistentvolumeclaims"),
            on(READ, _STORAGE, "storageclasses"),
            on("watch", CORE, "events"),
            events(),
        ),
        *_certificates(),
        cluster_role(
            "system:volume-scheduler",
            on(READ_UPDATE, CORE, "persistentvolumes"),
            on(READ, _STORAGE, "storageclasses"),
            on(READ_UPDATE, CORE, "persistentvolumeclaims"),
        ),
        cluster_role(
            "system:service-account-issuer-discovery",
            paths(
                "get",
                "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
            ),
        ),
        cluster_role(
            "system:kubelet-api-admin",
            on(READ, CORE, "nodes"),
            on("proxy", CORE, "nodes"),
            on("*", CORE, "nodes/proxy nodes/metrics nodes/stats nodes/log"),
            on("*", CORE, "nodes/pods nodes/healthz nodes/configz"),
        ),
        cluster_role(
            "system:node-proxier",
            on("list watch", CORE, "services endpoints"),
            on(READ, CORE, "nodes"),
            events(),
            on("list watch", "networking.k8s.io", "servicecidrs"),
            on("list watch", "discovery.k8s.io", "endpointslices"),
        ),
        _scheduler(),
    ]
