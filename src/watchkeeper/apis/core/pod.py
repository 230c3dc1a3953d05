"""Pods: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.core.pod_create import prepare_for_create
from watchkeeper.apis.core.pod_defaults import default_pod
from watchkeeper.apis.core.pod_status_validation import validate_pod_status_update
from watchkeeper.apis.core.pod_table import TABLE
from watchkeeper.apis.core.pod_validation import validate_pod, validate_pod_update
from watchkeeper.apis.core.pod_warnings import warnings_for_pod
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_LABELS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)


def selectable_fields(pod: Object) -> Mapping[str, str]:
    """The fields that pods can be selected by, besides name and namespace."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses = status.get("podIPs")
    return {
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.restartPolicy": spec.get("restartPolicy") or "",
        "spec.schedulerName": spec.get("schedulerName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase") or "",
        "status.podIP": (addresses[0].get("ip") or "") if addresses else "",
        "status.nominatedNodeName": status.get("nominatedNodeName") or "",
    }


def grace_period(pod: Object, options: Mapping[str, Any]) -> int:
    """Seconds that a Pod gets to end: what the client says, else what its spec says; none if nobody runs it."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    asked = options.get("gracePeriodSeconds")
    period: int = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        period = 0
    return 1 if period < 0 else period


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """A status writer can neither take back a deletion nor change who owns the Pod."""
    meta, before = new["metadata"], old["metadata"]
    if before.get("ownerReferences"):
        meta["ownerReferences"] = before["ownerReferences"]
    else:
        meta.pop("ownerReferences", None)
    meta.pop("deletionTimestamp", None)
    status, old_status = new.setdefault("status", {}), old.get("status") or {}
    if not status.get("qosClass") and old_status.get("qosClass"):
        status["qosClass"] = old_status["qosClass"]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Pod"),
        prepare_for_create=prepare_for_create,
        prepare_for_status_update=_prepare_for_status_update,
        validate=validate_pod,
        validate_update=validate_pod_update,
        validate_status_update=validate_pod_status_update,
        warnings_on_create=warnings_for_pod,
        warnings_on_update=lambda new, _old: warnings_for_pod(new),
        selectable_fields=selectable_fields,
        selectable_labels=_LABELS,
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        trigger_field="spec.nodeName",
        has_generation=True,
        grace_period=grace_period,
        table=TABLE,
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Pod"): default_pod}
