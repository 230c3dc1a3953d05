"""The steps of a start under kube-apiserver's names, as health checks: who waits for one there can wait for it here.

Nothing is answered before all are taken, so whoever can ask is told that they are. Steps that this server does not
have, such as informers of its own API, have no check.
"""

from __future__ import annotations

from watchkeeper.server.options import ServeOptions

_HOOK = "poststarthook/"
_DEFINITIONS = ("start-apiextensions-informers", "start-apiextensions-controllers", "crd-informer-synced")
_OBJECTS = (
    "start-system-namespaces-controller",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
    "start-legacy-token-tracking-controller",
)
_REGISTRATION = ("apiservice-registration-controller", "kube-apiserver-autoregistration")
_REGISTERED = "autoregister-completion"
_POLICIES = "start-apiserver-admission-initializer"
_ROLES = "rbac/bootstrap-roles"


def hooks_taken(options: ServeOptions) -> list[str]:
    """The names of the checks, in the order of the steps."""
    hooks = [_POLICIES, *_DEFINITIONS, "storage-readiness"]
    if not options.read_only:
        hooks += (*_OBJECTS, _ROLES, *_REGISTRATION)
    checks = [_HOOK + name for name in hooks]
    return checks if options.read_only else [*checks, _REGISTERED]
