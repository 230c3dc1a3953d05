"""Pods: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.core.new_pods import NewPods
from watchkeeper.apis.core.pod_create import apparmor_warnings, prepare_for_create
from watchkeeper.apis.core.pod_defaults import default_pod, default_pod_status
from watchkeeper.apis.core.pod_features import without_disabled_fields
from watchkeeper.apis.core.pod_parts import PARTS
from watchkeeper.apis.core.pod_resources import default_pod_level_resources
from watchkeeper.apis.core.pod_status_validation import validate_pod_status_update
from watchkeeper.apis.core.pod_table import TABLE
from watchkeeper.apis.core.pod_validation import validate_pod_metadata_update, validate_pod_update
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.apis.validation.net import ip_warnings
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


def _complete_new(pod: Object) -> None:
    """Readers fill in what the Pod asks for as a whole, with what admission has given to its containers."""
    default_pod_level_resources(pod["spec"])


def grace_period(pod: Object, options: Mapping[str, Any]) -> int:
    """Seconds that a Pod gets to end: what the client says, else what its spec says; none if nobody runs it."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    asked = options.get("gracePeriodSeconds")
    period: int = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        period = 0
    return 1 if period < 0 else period


_NEW = NewPods()
_ALPHA_STATUS = "nodeAllocatableResourceClaimStatuses"
"""What status writers cannot add yet, and neither can they say which image a volume was mounted from."""


def _warnings_on_create(pod: Object) -> list[str]:
    warnings = _NEW.warnings(pod)
    wrong = is_dns1123_label(pod["metadata"].get("name") or "")
    if wrong:
        text = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        warnings.insert(0, f"metadata.name: {text}: [{' '.join(wrong)}]")
    return warnings


def _status_warnings(pod: Object) -> list[str]:
    status = pod.get("status") or {}
    found: list[str] = []
    for field in ("podIPs", "hostIPs"):
        for i, address in enumerate(status.get(field) or ()):
            found += ip_warnings(address.get("ip") or "", f"status.{field}[{i}].ip")
    return found


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """A status writer can neither take back a deletion nor change who owns the Pod."""
    meta, before = new["metadata"], old["metadata"]
    if before.get("ownerReferences"):
        meta["ownerReferences"] = before["ownerReferences"]
    else:
        meta.pop("ownerReferences", None)
    meta.pop("deletionTimestamp", None)
    status, old_status = new.setdefault("status", {}), old.get("status") or {}
    for field in ("qosClass", "observedGeneration"):
        if not status.get(field) and old_status.get(field):
            status[field] = old_status[field]
    if not old_status.get(_ALPHA_STATUS):
        status.pop(_ALPHA_STATUS, None)
    if not any("volumeStatus" in mount for mount in _mounts(old_status)):
        for mount in _mounts(status):
            mount.pop("volumeStatus", None)
    _keep_observed_generations(status.get("conditions") or (), old_status.get("conditions") or ())


def _mounts(status: Object) -> Iterator[Object]:
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(kind) or ():
            yield from container.get("volumeMounts") or ()


def _keep_observed_generations(conditions: Sequence[Object], old: Sequence[Object]) -> None:
    """A writer that knows nothing of a condition's observedGeneration does not clear it; types may repeat."""
    before: dict[str, list[int]] = {}
    for condition in old:
        before.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    for condition in conditions:
        generations = before.get(condition.get("type") or "")
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("", "Pod"),
            prepare_for_create=prepare_for_create,
            complete_new=_complete_new,
            prepare_for_status_update=_prepare_for_status_update,
            validate=_NEW.validate,
            validate_update=validate_pod_update,
            validate_metadata_update=validate_pod_metadata_update,
            shares_parts=True,
            validate_status_update=validate_pod_status_update,
            warnings_as_sent=apparmor_warnings,
            warnings_on_create=_warnings_on_create,
            warnings_on_status_update=_status_warnings,
            selectable_fields=selectable_fields,
            selectable_labels=_LABELS,
            unsupported_field_label=lambda label: f"field label not supported: {label}",
            trigger_field="spec.nodeName",
            has_generation=True,
            grace_period=grace_period,
            table=TABLE,
            extra={"subresources": PARTS, "old_field_labels": {"spec.host": "spec.nodeName"}},
        ),
        lambda pod: pod.get("spec") or {},
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "Pod"): default_pod}
REST_DEFAULTS = {GroupVersionKind("", "v1", "Pod"): default_pod_status}
