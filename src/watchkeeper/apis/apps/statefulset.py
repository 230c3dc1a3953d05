"""StatefulSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.apps.statefulset_validation import (
    validate_stateful_set,
    validate_stateful_set_status_update,
    validate_stateful_set_update,
)
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_warnings import warnings_for_template
from watchkeeper.apis.core.volume_defaults import default_claim_spec
from watchkeeper.apis.core.volume_warnings import claim_spec_warnings
from watchkeeper.apis.validation.names import name_is_dns_label
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_stateful_set(stateful_set: Object) -> None:
    """Fill in a StatefulSet: one replica, pods one after another, claims kept."""
    spec = stateful_set.setdefault("spec", {})
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for when in ("whenDeleted", "whenScaled"):
        if not retention.get(when):
            retention[when] = "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
        claim.setdefault("metadata", {})
        default_claim_spec(claim.setdefault("spec", {}))
        status = claim.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
    default_pod_template(spec.setdefault("template", {}))


def _prepare_for_create(stateful_set: Object) -> None:
    stateful_set["status"] = {"replicas": 0, "availableReplicas": 0}
    _drop_max_unavailable(stateful_set)


def _prepare_for_update(new: Object, old: Object) -> None:
    if "maxUnavailable" not in _rolling(old):
        _drop_max_unavailable(new)


def _drop_max_unavailable(stateful_set: Object) -> None:
    """Kubernetes 1.36 has turned MaxUnavailableStatefulSet off again: only who has the field already keeps it."""
    rolling = _rolling(stateful_set)
    if "maxUnavailable" in rolling:
        spec = stateful_set["spec"]
        kept = {name: value for name, value in rolling.items() if name != "maxUnavailable"}
        spec["updateStrategy"] = {**spec["updateStrategy"], "rollingUpdate": kept}


def _rolling(stateful_set: Object) -> Mapping[str, Any]:
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    rolling: Mapping[str, Any] = strategy.get("rollingUpdate") or {}
    return rolling


def _warnings(stateful_set: Object) -> list[str]:
    found = warnings_for_template(workloads.template_of(stateful_set), "spec.template")
    return found + _warnings_beside_template(stateful_set, "")


def _warnings_beside_template(stateful_set: Object, of_claims: str) -> list[str]:
    """`of_claims` is what is put behind the path of a claim."""
    spec: Mapping[str, Any] = stateful_set.get("spec") or {}
    found: list[str] = []
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        found += claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}]{of_claims}")
    if spec.get("revisionHistoryLimit", 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        found.append(f"spec.revisionHistoryLimit: {text}")
    return found


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    """The template is looked at only when it may have changed."""
    found: list[str] = []
    if new["metadata"].get("generation") != old["metadata"].get("generation"):
        found += warnings_for_template(workloads.template_of(new), "spec.template")
    return found + _warnings_beside_template(new, ".Spec")


def _cells(stateful_set: Object, now: float) -> list[Any]:
    spec, status = stateful_set.get("spec") or {}, stateful_set.get("status") or {}
    return [
        printing.name_of(stateful_set),
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        printing.age(stateful_set, now),
        *workloads.container_cells(stateful_set),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Ready", "string", "Number of the pod with ready state"),
        printing.AGE,
        printing.CONTAINERS,
        printing.IMAGES,
    ),
    cells=_cells,
)

BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("apps", "StatefulSet"),
            fill_blank=workloads.show_no_replicas,
            prepare_for_create=_prepare_for_create,
            prepare_for_update=_prepare_for_update,
            validate=validate_stateful_set,
            validate_update=validate_stateful_set_update,
            validate_status_update=validate_stateful_set_status_update,
            warnings_on_create=_warnings,
            warnings_on_update=_warnings_on_update,
            name_rule=name_is_dns_label,
            has_generation=True,
            table=_TABLE,
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("apps", "v1", "StatefulSet"): default_stateful_set}
