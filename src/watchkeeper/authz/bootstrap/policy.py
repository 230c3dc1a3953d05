"""All that a cluster begins with."""

from __future__ import annotations

from watchkeeper.authn.service_accounts import ALL_SERVICE_ACCOUNTS
from watchkeeper.authz.bootstrap.components import component_roles
from watchkeeper.authz.bootstrap.controllers import PREFIX, controller_bindings, controller_roles
from watchkeeper.authz.bootstrap.users import user_roles
from watchkeeper.authz.bootstrap.words import (
    CORE,
    READ,
    Object,
    account,
    binding,
    cluster_binding,
    events,
    group,
    on,
    role,
    user,
)
from watchkeeper.request.user import AUTHENTICATED, SYSTEM_MASTERS, UNAUTHENTICATED

_SYSTEM = "kube-system"
_PUBLIC = "kube-public"
_LEASES = "get watch list create update"
_READER = "extension-apiserver-authentication-reader"
_SCHEDULER = "system:kube-scheduler"
_CONTROLLER_MANAGER = "system:kube-controller-manager"


def initial_policy() -> list[Object]:
    """Roles before the bindings to them."""
    return [
        *user_roles(),
        *component_roles(),
        *controller_roles(),
        *_cluster_bindings(),
        *controller_bindings(),
        *_namespaced(),
    ]


def _cluster_bindings() -> list[Object]:
    return [
        cluster_binding("cluster-admin", group(SYSTEM_MASTERS)),
        cluster_binding("system:monitoring", group("system:monitoring")),
        cluster_binding("system:discovery", group(AUTHENTICATED)),
        cluster_binding("system:basic-user", group(AUTHENTICATED)),
        cluster_binding("system:public-info-viewer", group(AUTHENTICATED), group(UNAUTHENTICATED)),
        cluster_binding("system:node-proxier", user("system:kube-proxy")),
        cluster_binding(_CONTROLLER_MANAGER, user(_CONTROLLER_MANAGER)),
        cluster_binding("system:kube-dns", account("kube-dns")),
        cluster_binding(_SCHEDULER, user(_SCHEDULER)),
        cluster_binding("system:volume-scheduler", user(_SCHEDULER)),
        cluster_binding("system:node"),
        cluster_binding("system:service-account-issuer-discovery", group(ALL_SERVICE_ACCOUNTS)),
    ]


def _leader_lock(component: str) -> Object:
    return role(
        _SYSTEM,
        f"system::leader-locking-{component}",
        on(_LEASES, "coordination.k8s.io", "leases"),
        on(_LEASES, "coordination.k8s.io", "leasecandidates"),
    )


def _namespaced() -> list[Object]:
    signer, cloud, cleaner = (f"{PREFIX}{name}" for name in ("bootstrap-signer", "cloud-provider", "token-cleaner"))
    manager_lock = "system::leader-locking-kube-controller-manager"
    scheduler_lock = "system::leader-locking-kube-scheduler"
    return [
        role(_SYSTEM, _READER, on(READ, CORE, "configmaps", "extension-apiserver-authentication")),
        role(_SYSTEM, signer, on(READ, CORE, "secrets")),
        role(_SYSTEM, cloud, on("create get list watch", CORE, "configmaps")),
        role(_SYSTEM, cleaner, on("get list watch delete", CORE, "secrets"), events()),
        _leader_lock("kube-controller-manager"),
        _leader_lock("kube-scheduler"),
        role(
            _PUBLIC,
            signer,
            on(READ, CORE, "configmaps"),
            on("update", CORE, "configmaps", "cluster-info"),
            events(),
        ),
        binding(_SYSTEM, f"system::{_READER}", _READER, user(_CONTROLLER_MANAGER), user(_SCHEDULER)),
        binding(
            _SYSTEM,
            manager_lock,
            manager_lock,
            user(_CONTROLLER_MANAGER),
            account("kube-controller-manager"),
            account("leader-election-controller"),
        ),
        binding(_SYSTEM, scheduler_lock, scheduler_lock, user(_SCHEDULER), account("kube-scheduler")),
        binding(_SYSTEM, signer, signer, account("bootstrap-signer")),
        binding(_SYSTEM, cloud, cloud, account("cloud-provider")),
        binding(_SYSTEM, cleaner, cleaner, account("token-cleaner")),
        binding(_PUBLIC, signer, signer, account("bootstrap-signer")),
    ]
