"""PersistentVolumes."""

from __future__ import annotations

import time
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.node_labels import node_selector_term_warnings
from watchkeeper.apis.core.persistentvolume_validation import MOUNT_OPTIONS, validate_volume, validate_volume_update
from watchkeeper.apis.core.volume_defaults import default_volumes
from watchkeeper.apis.quantities import round_resources
from watchkeeper.meta.field import FieldError, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
CLASS_WARNING = f'metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'
_OPTIONS_WARNING = (
    f'metadata.annotations[{MOUNT_OPTIONS}]: deprecated since v1.31; use "mountOptions" attribute instead'
)
_RECYCLE_WARNING = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)
_GONE = {
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def default_volume(volume: Object) -> None:
    """Fill in a volume: it is kept when released, and a file system."""
    status = volume.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    spec = volume.setdefault("spec", {})
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    round_resources(spec.get("capacity"))
    default_volumes([spec])


def _prepare_for_create(volume: Object) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": _now()}


def _prepare_for_status_update(new: Object, old: Object) -> None:
    """Note when the phase changes, unless the client does."""
    status, was = new.setdefault("status", {}), old.get("status") or {}
    noted, before = status.get("lastPhaseTransitionTime"), was.get("lastPhaseTransitionTime")
    if status.get("phase") == was.get("phase"):
        if noted is None and before is not None:
            status["lastPhaseTransitionTime"] = before
    elif noted is None or noted == before:
        status["lastPhaseTransitionTime"] = _now()


def _validate_status_update(new: Object, _old: Object) -> list[FieldError]:
    return [] if new["metadata"].get("resourceVersion") else [required("resourceVersion")]


def _warnings(volume: Object) -> list[str]:
    spec = volume.get("spec") or {}
    annotations = volume["metadata"].get("annotations") or {}
    found: list[str] = []
    if BETA_CLASS in annotations:
        found.append(CLASS_WARNING)
    if MOUNT_OPTIONS in annotations:
        found.append(_OPTIONS_WARNING)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(_RECYCLE_WARNING)
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    for i, term in enumerate(terms):
        path = f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]"
        found += node_selector_term_warnings(term, path, weighted=False)
    found += [f"spec.{name}: {text}" for field, (name, text) in _GONE.items() if spec.get(field) is not None]
    return found


def class_of(obj: Object) -> str:
    """The storage class of a volume or claim, by the annotation of old or the field."""
    annotations = obj["metadata"].get("annotations") or {}
    if BETA_CLASS in annotations:
        return str(annotations[BETA_CLASS])
    return (obj.get("spec") or {}).get("storageClassName") or ""


def phase_of(obj: Object) -> str:
    """The phase of a volume or claim; Terminating when it is to go."""
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return (obj.get("status") or {}).get("phase") or ""


def _cells(volume: Object, now: float) -> list[Any]:
    spec = volume.get("spec") or {}
    claim = spec.get("claimRef")
    return [
        printing.name_of(volume),
        (spec.get("capacity") or {}).get("storage", "0"),
        printing.access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        phase_of(volume),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
        class_of(volume),
        spec.get("volumeAttributesClassName", printing.UNSET),
        (volume.get("status") or {}).get("reason") or "",
        printing.age(volume, now),
        spec.get("volumeMode", printing.UNSET),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "PersistentVolume"),
        prepare_for_create=_prepare_for_create,
        prepare_for_status_update=_prepare_for_status_update,
        validate=validate_volume,
        validate_update=validate_volume_update,
        validate_status_update=_validate_status_update,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Capacity", "string", "How much it holds."),
                Column("Access Modes", "string", "How it can be mounted."),
                Column("Reclaim Policy", "string", "What becomes of it when its claim goes."),
                Column("Status", "string", "Whether it is available, bound, released or failed."),
                Column("Claim", "string", "The claim it is bound to."),
                Column("StorageClass", "string", "The class it belongs to."),
                Column("VolumeAttributesClass", "string", "The class of its attributes."),
                Column("Reason", "string", "Why it is in its phase, in one word."),
                printing.AGE,
                Column("VolumeMode", "string", "Whether it is a file system or a block device.", priority=1),
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "PersistentVolume"): default_volume}
