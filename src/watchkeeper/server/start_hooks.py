"""The steps of a start under kube-apiserver's names, as health checks: who waits for one there can wait for it here.

Nothing is answered before all are taken, so whoever can ask is told that they are. What follows the storage stands for
the informers of its own API that kube-apiserver has; `informer-sync` tells more of it. Steps that are not taken here,
such as the lease of each kube-apiserver, have no check.
"""

from __future__ import annotations

from watchkeeper.server.options import ServeOptions

_HOOK = "poststarthook/"
_DEFINITIONS = ("start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced")
_OBJECTS = (
    "start-system-namespaces-controller",
    "start-cluster-authentication-info-controller",
    "start-service-ip-repair-controllers",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-legacy-token-tracking-controller",
)
_REGISTRATION = ("apiservice-registration-controller", "kube-apiserver-autoregistration")
_AGGREGATION = (
    "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-wait-for-first-sync",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
)
_REGISTERED = "autoregister-completion"
_GENERIC = ("start-apiserver-admission-initializer", "generic-apiserver-start-informers")
_ROLES = "rbac/bootstrap-roles"


def hooks_taken(options: ServeOptions) -> list[str]:
    """The names of the checks, in the order of the steps."""
    hooks = [*_GENERIC, *_DEFINITIONS, "storage-readiness"]
    if not options.read_only:
        hooks += (*_OBJECTS, _ROLES, *_REGISTRATION)
    hooks += _AGGREGATION
    checks = [_HOOK + name for name in hooks]
    return checks if options.read_only else [*checks, _REGISTERED]
