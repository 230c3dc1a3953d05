"""Gathers what the modules of built-in kinds contribute: defaults, conversions and behavior.

A module that needs code for a kind is named in `MODULES` and has any of these names at its top level:

    BEHAVIORS: list[KindBehavior]                                    hooks of the generic registry
    DEFAULTS: dict[GroupVersionKind, Callable[[Object], None]]       fill in defaults, in place, at that version
    REST_DEFAULTS: dict[GroupVersionKind, Callable[[Object], None]]  those outside of the spec, of kinds many of whose
                                                                     objects have the same spec (`runtime.alike.Specs`)
    CONVERSIONS: dict[GroupVersionKind, Conversion]                  for each version that is not the hub
    WARNINGS: dict[GroupVersionKind, str]                            sent with every answer at that version

Several modules may give defaults for one version; they run in the order of `MODULES`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from watchkeeper.apis.behavior import Behaviors, KindBehavior
from watchkeeper.apis.conversion import Conversion
from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]
Defaulter = Callable[[Object], None]

MODULES: tuple[str, ...] = (
    "watchkeeper.apis.core.pod",
    "watchkeeper.apis.apps.statefulset",
    "watchkeeper.apis.apps.replicaset",
    "watchkeeper.apis.apps.deployment",
    "watchkeeper.apis.apps.daemonset",
    "watchkeeper.apis.apps.controllerrevision",
    "watchkeeper.apis.apps.beta_versions",
    "watchkeeper.apis.core.replicationcontroller",
    "watchkeeper.apis.core.podtemplate",
    "watchkeeper.apis.core.node",
    "watchkeeper.apis.batch.job",
    "watchkeeper.apis.batch.cronjob",
    "watchkeeper.apis.core.namespace",
    "watchkeeper.apis.core.service",
    "watchkeeper.apis.core.configmap",
    "watchkeeper.apis.core.secret",
    "watchkeeper.apis.core.serviceaccount",
    "watchkeeper.apis.core.endpoints",
    "watchkeeper.apis.core.event",
    "watchkeeper.apis.core.limitrange",
    "watchkeeper.apis.core.resourcequota",
    "watchkeeper.apis.core.componentstatus",
    "watchkeeper.apis.core.persistentvolume",
    "watchkeeper.apis.core.persistentvolumeclaim",
    "watchkeeper.apis.networking.ingress",
    "watchkeeper.apis.networking.ingressclass",
    "watchkeeper.apis.networking.networkpolicy",
    "watchkeeper.apis.networking.ipaddress",
    "watchkeeper.apis.networking.servicecidr",
    "watchkeeper.apis.discovery.endpointslice",
    "watchkeeper.apis.coordination.lease",
    "watchkeeper.apis.storage.classes",
    "watchkeeper.apis.storage.csidriver",
    "watchkeeper.apis.storage.csinode",
    "watchkeeper.apis.storage.csistoragecapacity",
    "watchkeeper.apis.storage.volumeattachment",
    "watchkeeper.apis.node.runtimeclass",
    "watchkeeper.apis.authentication.token_request",
    "watchkeeper.apis.certificates.signingrequest",
    "watchkeeper.apis.admissionregistration.webhooks",
    "watchkeeper.apis.admissionregistration.validating",
    "watchkeeper.apis.admissionregistration.mutating",
    "watchkeeper.apis.apiregistration.apiservice",
    "watchkeeper.apis.flowcontrol.flowschema",
    "watchkeeper.apis.flowcontrol.prioritylevel",
    "watchkeeper.apis.rbac.roles",
    "watchkeeper.apis.rbac.bindings",
    "watchkeeper.apis.policy.budget",
    "watchkeeper.apis.resource.claim",
    "watchkeeper.apis.resource.publication",
    "watchkeeper.apis.scheduling.priorityclass",
    "watchkeeper.apis.autoscaling.conversion",
    "watchkeeper.apis.autoscaling.autoscaler",
    "watchkeeper.apis.events.conversion",
)


@dataclass(frozen=True, slots=True)
class Contributions:
    """What all modules together say."""

    defaults: Mapping[GroupVersionKind, Defaulter]
    rest_defaults: Mapping[GroupVersionKind, Defaulter]
    conversions: Mapping[GroupVersionKind, Conversion]
    behaviors: Behaviors
    warnings: Mapping[GroupVersionKind, str]


@functools.cache
def contributions() -> Contributions:
    """Import the modules of kinds and gather what they say. Raises ValueError where two contradict each other."""
    defaults: dict[GroupVersionKind, list[Defaulter]] = {}
    rest: dict[GroupVersionKind, Defaulter] = {}
    conversions: dict[GroupVersionKind, Conversion] = {}
    behaviors: list[KindBehavior] = []
    warnings: dict[GroupVersionKind, str] = {}
    for name in MODULES:
        module = import_module(name)
        for gvk, defaulter in getattr(module, "DEFAULTS", {}).items():
            defaults.setdefault(gvk, []).append(defaulter)
        rest.update(getattr(module, "REST_DEFAULTS", {}))
        found = getattr(module, "CONVERSIONS", {})
        if twice := conversions.keys() & found.keys():
            raise ValueError(f"{name} converts {twice}, which another module does, too")
        conversions.update(found)
        behaviors += getattr(module, "BEHAVIORS", ())
        warnings.update(getattr(module, "WARNINGS", {}))
    kinds = [behavior.kind for behavior in behaviors]
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"two modules give behavior to one of {sorted(k for k in kinds if kinds.count(k) > 1)}")
    in_turn = {gvk: _in_turn(each) for gvk, each in defaults.items()}
    return Contributions(in_turn, rest, conversions, Behaviors(behaviors), warnings)


def _in_turn(defaulters: list[Defaulter]) -> Defaulter:
    if len(defaulters) == 1:
        return defaulters[0]

    def default(obj: Object) -> None:
        for each in defaulters:
            each(obj)

    return default
