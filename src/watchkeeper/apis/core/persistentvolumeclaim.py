"""PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.persistentvolume import BETA_CLASS, CLASS_WARNING, class_of, phase_of
from watchkeeper.apis.core.persistentvolumeclaim_validation import (
    validate_claim,
    validate_claim_status,
    validate_claim_update,
)
from watchkeeper.apis.core.volume_defaults import default_claim_spec
from watchkeeper.apis.core.volume_warnings import claim_spec_warnings
from watchkeeper.apis.quantities import round_resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]
_FILLED_ENDS = (b'"status":{}}', b'"status":{"phase":"Pending"}}')
"""How a new claim is stored, and how it is read."""

_SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")
_CLAIM = ("", "PersistentVolumeClaim")


def default_claim(claim: Object) -> None:
    """Fill in a claim: it is pending, and for a file system."""
    status = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    round_resources(status.get("capacity"))
    round_resources(status.get("allocatedResources"))
    default_claim_spec(claim.setdefault("spec", {}))


def _prepare_for_create(claim: Object) -> None:
    claim["status"] = {}
    spec = claim["spec"]
    _drop_unknown_sources(spec, None)
    equate_sources(spec)


def _complete_new(claim: Object) -> None:
    """Until then, who judges a new claim sees no phase."""
    claim["status"] = {"phase": "Pending"}


def _prepare_for_update(new: Object, old: Object) -> None:
    spec, was = new.setdefault("spec", {}), old.get("spec") or {}
    _drop_unknown_sources(spec, was)
    equate_sources(spec)
    equate_sources(was)


def _drop_unknown_sources(spec: Object, was: Object | None) -> None:
    """Sources in other namespaces need a feature that is off; dataSource names claims and snapshots only (KEP-1495)."""
    was = was or {}
    ref = spec.get("dataSourceRef")
    if ref is not None and ref.get("namespace") and was.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    if was.get("dataSource") is not None or was.get("dataSourceRef") is not None:
        return
    source = spec.get("dataSource")
    if source is not None and spec.get("dataSourceRef") is None:
        known = (source.get("apiGroup") or "", source.get("kind")) in (_CLAIM, _SNAPSHOT)
        if not known:
            del spec["dataSource"]


def equate_sources(spec: Object) -> None:
    """Who sets dataSource or dataSourceRef gets the other too."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is None:
        spec["dataSourceRef"] = dict(source)
    elif ref is not None and source is None and not ref.get("namespace"):
        spec["dataSource"] = {name: value for name, value in ref.items() if name != "namespace"}


def _warnings(claim: Object) -> list[str]:
    found = [CLASS_WARNING] if BETA_CLASS in (claim["metadata"].get("annotations") or {}) else []
    return found + list(claim_spec_warnings(claim.get("spec") or {}, "spec"))


def _cells(claim: Object, now: float) -> list[Any]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    bound = bool(spec.get("volumeName"))
    return [
        printing.name_of(claim),
        phase_of(claim),
        spec.get("volumeName") or "",
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        printing.access_modes(status.get("accessModes")) if bound else "",
        class_of(claim),
        spec.get("volumeAttributesClassName", printing.UNSET),
        printing.age(claim, now),
        spec.get("volumeMode", printing.UNSET),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "PersistentVolumeClaim"),
        prepare_for_create=_prepare_for_create,
        complete_new=_complete_new,
        extra={"filled_ends": _FILLED_ENDS},
        prepare_for_update=_prepare_for_update,
        validate=validate_claim,
        validate_update=validate_claim_update,
        validate_status_update=validate_claim_status,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Status", "string", "Whether it is bound to a volume."),
                Column("Volume", "string", "The volume it is bound to."),
                Column("Capacity", "string", "How much that holds."),
                Column("Access Modes", "string", "How that can be mounted."),
                Column("StorageClass", "string", "The class it asks for."),
                Column("VolumeAttributesClass", "string", "The class of attributes it asks for."),
                printing.AGE,
                Column("VolumeMode", "string", "Whether it is a file system or a block device.", priority=1),
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "PersistentVolumeClaim"): default_claim}
