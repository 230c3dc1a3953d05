"""The rules of PersistentVolumes, and of the inline specs of volumes that are attached without one."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.affinity_validation import validate_node_selector
from watchkeeper.apis.core.claim_validation import ACCESS_MODES, VOLUME_MODES
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.persistentvolume_sources import SOURCES, validate_source
from watchkeeper.apis.core.unified_diff import unified_diff
from watchkeeper.apis.quantities import amount, whole_value
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.metadata import IMMUTABLE, validate_builtin_object_meta, validate_immutable
from watchkeeper.apis.validation.names import is_dns1123_subdomain, is_label_value
from watchkeeper.apis.validation.numbers import NOT_POSITIVE
from watchkeeper.meta.field import FieldError, forbidden, in_key_order, invalid, not_supported, required

Object = dict[str, Any]
Spec = Mapping[str, Any]

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
"""The annotation that options stood in before there was a field for them."""
_MOUNTED_WITH_OPTIONS = {
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "gcePersistentDisk",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "quobyte",
    "rbd",
    "vsphereVolume",
}
_ONE_POD = "ReadWriteOncePod"
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_INLINE = "in the context of inline volumes"
_STABLE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_volume(volume: Object) -> list[FieldError]:
    """What is wrong with a new volume."""
    name = volume["metadata"].get("name", "")
    return validate_volume_spec(volume.get("spec") or {}, "spec", name=name) + _mount_options(volume)


def _mount_options(volume: Object) -> list[FieldError]:
    spec = volume.get("spec") or {}
    if MOUNT_OPTIONS not in (volume["metadata"].get("annotations") or {}) or _MOUNTED_WITH_OPTIONS & spec.keys():
        return []
    return [forbidden(f"metadata.annotations.{MOUNT_OPTIONS}", "may not specify mount options for this volume type")]


def validate_volume_spec(spec: Spec, path: str, *, name: str = "", old: Spec | None = None) -> list[FieldError]:
    """What is wrong with the spec of a volume that is an object."""
    errors = _access_modes(spec, path)
    errors += _capacity(spec.get("capacity"), f"{path}.capacity")
    policy = spec.get("persistentVolumeReclaimPolicy")
    errors += validate_optional_enum(policy or None, f"{path}.persistentVolumeReclaimPolicy", _RECLAIM_POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        errors += _node_affinity(affinity, f"{path}.nodeAffinity", lenient=_has_invalid_values(old))
    errors += validate_source(spec, path, name)
    host_path = (spec.get("hostPath") or {}).get("path")
    if host_path and policy == "Recycle" and posixpath.normpath(host_path) in ("/", "//"):
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    storage_class = spec.get("storageClassName")
    if storage_class:
        at = f"{path}.storageClassName"
        errors += [invalid(at, storage_class, text) for text in is_dns1123_subdomain(storage_class)]
    errors += validate_optional_enum(spec.get("volumeMode"), f"{path}.volumeMode", VOLUME_MODES)
    return errors + _attributes_class(spec, path)


def validate_inline_spec(spec: Spec, path: str) -> list[FieldError]:
    """What is wrong with the spec of a volume within a VolumeAttachment: only CSI, and no life of its own."""
    errors = []
    if spec.get("claimRef") is not None:
        errors.append(forbidden(f"{path}.claimRef", f"may not be specified {_INLINE}"))
    if spec.get("capacity"):
        errors.append(forbidden(f"{path}.capacity", f"may not be specified {_INLINE}"))
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", f"has to be specified {_INLINE}"))
    errors += _access_modes(spec, path)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", f"may only be Retain {_INLINE}"))
    if spec.get("nodeAffinity") is not None:
        errors.append(forbidden(f"{path}.nodeAffinity", f"may not be specified {_INLINE}"))
    errors += validate_source(spec, path, "")
    if spec.get("storageClassName"):
        errors.append(forbidden(f"{path}.storageClassName", f"may not be specified {_INLINE}"))
    if spec.get("volumeMode") not in (None, "Filesystem"):
        errors.append(forbidden(f"{path}.volumeMode", f"may not specify volumeMode other than Filesystem {_INLINE}"))
    return errors


def _access_modes(spec: Spec, path: str) -> list[FieldError]:
    modes, at = spec.get("accessModes") or (), f"{path}.accessModes"
    errors = [] if modes else [required(at)]
    errors += [not_supported(at, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if _ONE_POD in modes and any(mode in ACCESS_MODES and mode != _ONE_POD for mode in modes):
        errors.append(forbidden(at, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _capacity(capacity: Mapping[str, str] | None, path: str) -> list[FieldError]:
    errors = [] if capacity else [required(path)]
    if set(capacity or ()) != {"storage"}:
        errors.append(not_supported(path, in_key_order(capacity), ["storage"]))
    for name, text in (capacity or {}).items():
        at = f"{path}[{name}]"
        if whole_value(text) < 0:
            errors.append(invalid(at, whole_value(text), "must be a valid resource quantity"))
        if amount(text) <= 0:
            errors.append(invalid(at, text, NOT_POSITIVE))
    return errors


def _node_affinity(affinity: Spec, path: str, *, lenient: bool) -> list[FieldError]:
    wanted = affinity.get("required")
    if wanted is None:
        return [required(f"{path}.required", "must specify required node constraints")]
    return validate_node_selector(wanted, f"{path}.required", allow_invalid_values=lenient)


def _terms(spec: Spec | None) -> Sequence[Spec]:
    affinity = (spec or {}).get("nodeAffinity") or {}
    found: Sequence[Spec] = (affinity.get("required") or {}).get("nodeSelectorTerms") or ()
    return found


def _has_invalid_values(spec: Spec | None) -> bool:
    requirements = (r for term in _terms(spec) for r in term.get("matchExpressions") or ())
    return any(is_label_value(value) for r in requirements for value in r.get("values") or ())


def _attributes_class(spec: Spec, path: str) -> list[FieldError]:
    name, at = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if name is None:
        return []
    if not name:
        errors = [required(at, "an empty string is disallowed")]
    else:
        errors = [invalid(at, name, text) for text in is_dns1123_subdomain(name)]
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def validate_volume_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a changed volume, judged twice as a new one: what it stands for stays the same."""
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    errors = validate_builtin_object_meta(new["metadata"], namespaced=False)
    errors += validate_volume_spec(spec, "spec", name=new["metadata"].get("name", ""), old=was)
    errors = [*errors, *_mount_options(new), *errors]
    before, after = _source_of(was), _source_of(spec)
    if "csi" in before and "csi" in after and "controllerExpandSecretRef" not in before["csi"]:
        after["csi"] = {k: v for k, v in after["csi"].items() if k != "controllerExpandSecretRef"}
    if before != after:
        forms = (go_form(source, "PersistentVolumeSource") for source in (before, after))
        difference = unified_diff(*forms)
        why = f"spec.persistentvolumesource is immutable after creation\n{difference}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    errors += validate_immutable(spec.get("volumeMode"), was.get("volumeMode"), "volumeMode")
    affinity = was.get("nodeAffinity")
    if affinity is not None and not _same_affinity(spec, was):
        now = spec.get("nodeAffinity")
        shown = None if now is None else go_form(now, "VolumeNodeAffinity")
        why = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", shown, why))
    if was.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return errors


def _source_of(spec: Spec) -> dict[str, Any]:
    return {field: spec[field] for field in SOURCES if spec.get(field) is not None}


def _same_affinity(spec: Spec, was: Spec) -> bool:
    """Whether affinities are equal but for labels that have got their final names."""
    if spec.get("nodeAffinity") is None:
        return False
    now, before = _terms(spec), _terms(was)
    return len(now) == len(before) and all(map(_same_term, now, before))


def _same_term(now: Spec, before: Spec) -> bool:
    for field in ("matchExpressions", "matchFields"):
        new, old = now.get(field) or (), before.get(field) or ()
        if len(new) != len(old) or not all(map(_same_requirement, new, old)):
            return False
    return True


def _same_requirement(new: Spec, old: Spec) -> bool:
    return new == old or {**new, "key": new.get("key", "")} == {
        **old,
        "key": _STABLE_LABELS.get(old.get("key", ""), ""),
    }
