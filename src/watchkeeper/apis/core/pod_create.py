"""What becomes of a new Pod before it is checked: its first status, and what its labels add to its selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from watchkeeper.apis.core.pod_annotations import APPARMOR_CONTAINER
from watchkeeper.apis.core.pod_resources import qos_class
from watchkeeper.apis.core.security_validation import validate_apparmor_field

Object = dict[str, Any]

APPARMOR_DEPRECATED = 'deprecated since v1.30; use the "appArmorProfile" field instead'

_LOCALHOST = "localhost/"
_GATED = "Scheduling is blocked due to non-empty scheduling gates"


def prepare_for_create(pod: Object) -> None:
    """Give the Pod its first status, and complete what depends on its own labels and annotations."""
    spec: Object = pod.setdefault("spec", {})
    status: Object = {"phase": "Pending", "qosClass": (pod.get("status") or {}).get("qosClass") or qos_class(spec)}
    pod["status"] = status
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "reason": "SchedulingGated",
                "message": _GATED,
            }
        ]
    meta: Object = pod["metadata"]
    if "affinity" in spec:
        _complete_affinity(spec["affinity"] or {}, meta.get("labels") or {})
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("labelSelector") is not None:
            _add_label_keys(constraint, "matchLabelKeys", "In", meta.get("labels") or {})
    _sync_apparmor(spec, meta)


def _complete_affinity(affinity: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        terms = [*(pods.get("requiredDuringSchedulingIgnoredDuringExecution") or ())]
        preferred = pods.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [weighted.get("podAffinityTerm") or {} for weighted in preferred]
        for term in terms:
            if term.get("labelSelector") is not None:
                _add_label_keys(term, "matchLabelKeys", "In", labels)
                _add_label_keys(term, "mismatchLabelKeys", "NotIn", labels)


def _add_label_keys(term: Object, field: str, operator: str, labels: Mapping[str, str]) -> None:
    keys: Iterable[str] = term.get(field) or ()
    added = [{"key": key, "operator": operator, "values": [labels[key]]} for key in keys if key in labels]
    if added:
        selector = term["labelSelector"]
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def apparmor_warnings(pod: Object) -> list[str]:
    """Warnings about annotations that give containers AppArmor profiles other than their Pod's."""
    found = _annotated(pod.get("spec") or {}, pod["metadata"])
    return [f"metadata.annotations[{key}]: {APPARMOR_DEPRECATED}" for _, key, _ in found]


def _sync_apparmor(spec: Object, meta: Object) -> None:
    """An AppArmor profile that an annotation gives becomes the container's field, if that is not set."""
    for container, _, profile in _annotated(spec, meta):
        if profile is not None:
            container.setdefault("securityContext", {})["appArmorProfile"] = profile


def _annotated(spec: Object, meta: Object) -> list[tuple[Object, str, Object | None]]:
    """Containers without a profile, the annotations that give them one, and that, None where it makes no sense.

    Those with the profile that the Pod has are left out.
    """
    annotations: Mapping[str, str] = meta.get("annotations") or {}
    if not any(key.startswith(APPARMOR_CONTAINER) for key in annotations):
        return []
    if (spec.get("os") or {}).get("name") == "windows":
        return []
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    found: list[tuple[Object, str, Object | None]] = []
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            key = APPARMOR_CONTAINER + (container.get("name") or "")
            if key not in annotations or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
                continue
            profile = profile_of_annotation(annotations[key])
            if profile is None or validate_apparmor_field(profile, ""):
                found.append((container, key, None))
            elif profile != pod_profile:
                found.append((container, key, profile))
    return found


def profile_of_annotation(annotation: str) -> Object | None:
    """The AppArmor profile that an annotation names; None if it names none."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation.startswith(_LOCALHOST) and len(annotation) > len(_LOCALHOST):
        return {"type": "Localhost", "localhostProfile": annotation.removeprefix(_LOCALHOST)}
    return None
