"""apps/v1beta1 and apps/v1beta2: what they fill in otherwise, and how they become apps/v1 and come back.

A Deployment of v1beta1 can be told to go back to a revision, in its spec; at the other versions, and in storage, an
annotation says so (pkg/apis/apps/v1/conversion.go). Scales tell of selectors in two forms.
"""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.apps.beta_schemas import KINDS, ROLLBACK, SCALE, V1BETA1, V1BETA2, beta
from watchkeeper.apis.apps.daemonset import default_daemon_set
from watchkeeper.apis.apps.deployment import default_deployment
from watchkeeper.apis.apps.replicaset import default_replica_set
from watchkeeper.apis.apps.rollback import ROLLBACK_TO, rollback_target
from watchkeeper.apis.apps.statefulset import default_stateful_set
from watchkeeper.apis.conversion import Conversion
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.meta.label_parser import parse_requirements
from watchkeeper.meta.label_selector import Operator

Object = dict[str, Any]

_AUTOSCALING_SCALE = GroupVersionKind("autoscaling", "v1", SCALE)


def rolled_back(deployment: Object) -> Object:
    """A Deployment of v1beta1 as v1 has it."""
    spec = dict(deployment.get("spec") or {})
    target = spec.pop("rollbackTo", None)
    meta = dict(deployment.get("metadata") or {})
    annotations = dict(meta.pop("annotations", None) or {})
    annotations.pop(ROLLBACK_TO, None)
    if target is not None:
        annotations[ROLLBACK_TO] = str(target.get("revision") or 0)
    if annotations:
        meta["annotations"] = annotations
    return {**deployment, "metadata": meta, "spec": spec}


def _told_to_roll_back(deployment: Object) -> Object:
    revision = rollback_target(deployment)
    if revision is None:
        return deployment
    meta = deployment["metadata"]
    left = {name: value for name, value in meta["annotations"].items() if name != ROLLBACK_TO}
    meta = {name: value for name, value in meta.items() if name != "annotations"}
    if left:
        meta["annotations"] = left
    target = {"revision": revision} if revision else {}
    return {**deployment, "metadata": meta, "spec": {**(deployment.get("spec") or {}), "rollbackTo": target}}


def _same(obj: Object) -> Object:
    return obj


def _scale_to_hub(scale: Object) -> Object:
    status = dict(scale.get("status") or {})
    labels, text = status.pop("selector", None), status.pop("targetSelector", "")
    selector = text or ",".join(sorted(f"{name}={value}" for name, value in (labels or {}).items()))
    if selector:
        status["selector"] = selector
    return {**scale, "status": status}


def _scale_from_hub(scale: Object) -> Object:
    status = dict(scale.get("status") or {})
    text = status.pop("selector", "")
    if text:
        status["targetSelector"] = text
        labels = _labels_of(text)
        if labels:
            status["selector"] = labels
    return {**scale, "status": status}


def _labels_of(text: str) -> dict[str, str] | None:
    """The labels that a selector asks for, if it asks for nothing else. Raises ValueError."""
    wanted: dict[str, str] = {}
    for requirement in parse_requirements(text):
        if requirement.operator not in (Operator.EQUALS, Operator.DOUBLE_EQUALS):
            return None
        (wanted[requirement.key],) = requirement.values
    return wanted


def default_labels(workload: Object) -> None:
    """The Pods' labels also select them, and are the workload's own unless it has some."""
    spec = workload.setdefault("spec", {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels is None:
        return
    if spec.get("selector") is None:
        spec["selector"] = {"matchLabels": dict(labels)} if labels else {}
    meta = workload.setdefault("metadata", {})
    if not meta.get("labels") and labels:
        meta["labels"] = dict(labels)


def _default_old_deployment(deployment: Object) -> None:
    default_labels(deployment)
    deployment["spec"].setdefault("revisionHistoryLimit", 2)
    default_deployment(deployment)


def _default_old_stateful_set(stateful_set: Object) -> None:
    default_labels(stateful_set)
    strategy = stateful_set["spec"].setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "OnDelete"
    default_stateful_set(stateful_set)


DEFAULTS = {
    beta(V1BETA1, "Deployment"): _default_old_deployment,
    beta(V1BETA1, "StatefulSet"): _default_old_stateful_set,
    beta(V1BETA2, "Deployment"): default_deployment,
    beta(V1BETA2, "StatefulSet"): default_stateful_set,
    beta(V1BETA2, "DaemonSet"): default_daemon_set,
    beta(V1BETA2, "ReplicaSet"): default_replica_set,
}
CONVERSIONS = {
    beta(version, kind): Conversion(beta("v1", kind), _same, _same)
    for version, kinds in KINDS.items()
    for kind in kinds
}
CONVERSIONS[beta(V1BETA1, "Deployment")] = Conversion(beta("v1", "Deployment"), rolled_back, _told_to_roll_back)
for _version in KINDS:
    CONVERSIONS[beta(_version, SCALE)] = Conversion(_AUTOSCALING_SCALE, _scale_to_hub, _scale_from_hub)

_DEPRECATED = {V1BETA1: "v1.8+", V1BETA2: "v1.9+"}


def _warning(version: str, kind: str) -> str:
    instead = "autoscaling/v1" if kind == SCALE else "apps/v1"
    since = _DEPRECATED[version]
    return f"apps/{version} {kind} is deprecated in {since}, unavailable in v1.16+; use {instead} {kind}"


WARNINGS = {
    beta(version, kind): _warning(version, kind) for version, kinds in KINDS.items() for kind in (*kinds, SCALE)
}
WARNINGS[beta(V1BETA1, ROLLBACK)] = _warning(V1BETA1, ROLLBACK)
