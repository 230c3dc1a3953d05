"""Objects as manifests that another server takes: without what this server, its controllers and its clock wrote.

The strategies of the reference once did this for `kubectl get --export`; here it goes further, so that what comes out
can be applied as it is. Names stay, since other objects refer to them.
"""

from __future__ import annotations

import copy
from typing import Any

from watchkeeper.apis.apiregistration.apiservice import MANAGED
from watchkeeper.apis.networking.ipaddress import MANAGER, MANAGER_LABEL
from watchkeeper.registry.export_kinds import CLEANERS, group_kind

Object = dict[str, Any]

_KEPT = ("name", "namespace", "labels", "annotations", "finalizers")
"""Metadata that a client writes. Owners are known by the uid that they have here, so references to them go, too."""
_SERVER_FINALIZERS = frozenset(
    {"foregroundDeletion", "orphan", "kubernetes.io/pv-protection", "kubernetes.io/pvc-protection"}
)
_SERVER_ANNOTATIONS = frozenset(
    {
        "control-plane.alpha.kubernetes.io/leader",
        "deployment.kubernetes.io/revision",
        "deprecated.daemonset.template.generation",
        "endpoints.kubernetes.io/last-change-trigger-time",
        "kubectl.kubernetes.io/last-applied-configuration",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.beta.kubernetes.io/storage-provisioner",
        "volume.kubernetes.io/selected-node",
        "volume.kubernetes.io/storage-provisioner",
    }
)
_BOOTSTRAPPED = "kubernetes.io/bootstrapping"
_KEPT_UP_TO_DATE = "apf.kubernetes.io/autoupdate-spec"
_SLICE_MANAGER = "endpointslice.kubernetes.io/managed-by"
_ENDPOINTS_MANAGER = "endpoints.kubernetes.io/managed-by"
_CONTROLLERS = frozenset(
    {"endpoint-controller", "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}
)
_MOMENTARY = frozenset(
    {("", "Event"), ("events.k8s.io", "Event"), ("", "ComponentStatus"), ("coordination.k8s.io", "Lease")}
)
"""Kinds that tell of a moment of this cluster."""
_INITIAL = frozenset(
    {
        ("", "Namespace", "default"),
        ("", "Namespace", "kube-node-lease"),
        ("", "Namespace", "kube-public"),
        ("", "Namespace", "kube-system"),
        ("", "ConfigMap", "extension-apiserver-authentication"),
        ("", "ConfigMap", "kube-apiserver-legacy-service-account-token-tracking"),
        ("", "ConfigMap", "kube-root-ca.crt"),
        ("networking.k8s.io", "ServiceCIDR", "kubernetes"),
        ("scheduling.k8s.io", "PriorityClass", "system-cluster-critical"),
        ("scheduling.k8s.io", "PriorityClass", "system-node-critical"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", "catch-all"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema", "exempt"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "catch-all"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "exempt"),
    }
)
"""Objects, by group, kind and name, that every server begins with."""
_INITIAL_SERVICE = frozenset({("", "Service"), ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")})
"""Kinds of objects that stand for the server itself: default/kubernetes."""


def export(obj: Object) -> Object:
    """A manifest of an object, at the version the object is at. The object stays as it is."""
    found = copy.deepcopy({key: value for key, value in obj.items() if key not in ("metadata", "status")})
    meta = obj.get("metadata") or {}
    kept = copy.deepcopy({name: meta[name] for name in _KEPT if meta.get(name)})
    _filter(kept, "annotations", _SERVER_ANNOTATIONS)
    finalizers = [name for name in kept.pop("finalizers", ()) if name not in _SERVER_FINALIZERS]
    if finalizers:
        kept["finalizers"] = finalizers
    head: Object = {name: found.pop(name) for name in ("apiVersion", "kind") if name in found}
    manifest = {**head, "metadata": kept, **found}
    clean = CLEANERS.get(group_kind(obj))
    if clean is not None:
        clean(manifest, obj)
    return manifest


def _filter(meta: Object, name: str, unwanted: frozenset[str]) -> None:
    left = {key: value for key, value in meta.pop(name, {}).items() if key not in unwanted}
    if left:
        meta[name] = left


def is_exportable(obj: Object) -> bool:
    """Whether another server needs a manifest of this object.

    It does not where a controller makes it anew, where it has its own from the start, or where it is about to go.
    """
    meta = obj.get("metadata") or {}
    labels = meta.get("labels") or {}
    kind = group_kind(obj)
    if kind in _MOMENTARY or (*kind, meta.get("name")) in _INITIAL:
        return False
    if kind in _INITIAL_SERVICE and (meta.get("namespace"), meta.get("name")) == ("default", "kubernetes"):
        return False
    if meta.get("deletionTimestamp") or any(owner.get("controller") for owner in meta.get("ownerReferences") or ()):
        return False
    if _BOOTSTRAPPED in labels or MANAGED in labels or labels.get(MANAGER_LABEL) == MANAGER:
        return False
    if (meta.get("annotations") or {}).get(_KEPT_UP_TO_DATE) == "true":
        return False
    return labels.get(_SLICE_MANAGER) not in _CONTROLLERS and labels.get(_ENDPOINTS_MANAGER) not in _CONTROLLERS
