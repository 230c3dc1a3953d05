"""The rules of each sort of storage that a PersistentVolume can stand for, where they differ from a Pod's volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.volume_sources import (
    RULES,
    Source,
    SourceRule,
    is_iscsi_name,
    needs,
    validate_csi_driver_name,
    validate_flex,
)
from watchkeeper.apis.validation.names import (
    byte_length,
    inclusive_range_error,
    is_dns1123_label,
    is_dns1123_subdomain,
)
from watchkeeper.apis.validation.paths import validate_no_backsteps
from watchkeeper.meta.field import FieldError, forbidden, invalid, required

_ISCSI_PREFIXES = ("iqn", "eui", "naa")
_ISCSI_FORM = "must be valid format"
_MAX_ISCSI_SESSION = 64
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _secret_names(source: Source, path: str) -> list[FieldError]:
    ref = source.get("secretRef")
    if ref is None:
        return []
    return [required(f"{path}.secretRef.{name}") for name in ("name", "namespace") if not ref.get(name)]


def _glusterfs(source: Source, path: str) -> list[FieldError]:
    errors = needs("endpoints", "path")(source, path)
    namespace, at = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        why = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(at, namespace, why))
    elif namespace is not None:
        errors += [invalid(at, namespace, text) for text in is_dns1123_label(namespace)]
    return errors


def _cinder(source: Source, path: str) -> list[FieldError]:
    return needs("volumeID")(source, path) + _secret_names(source, path)


def _storage_os(source: Source, path: str) -> list[FieldError]:
    errors = needs("volumeName")(source, path)
    for name in ("volumeName", "volumeNamespace"):
        if value := source.get(name):
            errors += [invalid(f"{path}.{name}", value, text) for text in is_dns1123_label(value)]
    return errors + _secret_names(source, path)


def _azure_file(source: Source, path: str) -> list[FieldError]:
    errors = needs("secretName", "shareName")(source, path)
    if source.get("secretNamespace") == "":
        errors.append(required(f"{path}.secretNamespace"))
    return errors


def _local(source: Source, path: str) -> list[FieldError]:
    value = source.get("path")
    return validate_no_backsteps(value, f"{path}.path") if value else [required(f"{path}.path")]


def _csi(source: Source, path: str) -> list[FieldError]:
    errors = validate_csi_driver_name(source.get("driver") or "", f"{path}.driver")
    errors += needs("volumeHandle")(source, path)
    for name in _CSI_SECRETS:
        if source.get(name) is not None:
            errors += _secret_reference(source[name], f"{path}.{name}")
    return errors


def _secret_reference(ref: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, rule in (("name", is_dns1123_subdomain), ("namespace", is_dns1123_label)):
        value = ref.get(name)
        if value:
            errors += [invalid(f"{path}.{name}", value, text) for text in rule(value)]
        else:
            errors.append(required(f"{path}.{name}"))
    return errors


def _iscsi(source: Source, path: str, volume: str) -> list[FieldError]:
    portal, iqn, initiator = source.get("targetPortal") or "", source.get("iqn") or "", source.get("initiatorName")
    errors = needs("targetPortal")(source, path)
    if initiator is not None and byte_length(f"{volume}:{portal}") > _MAX_ISCSI_SESSION:
        why = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
            " if iscsi.initiatorName is specified."
        )
        errors.append(invalid(f"{path}.targetportal", portal, why))
    errors += needs("iqn")(source, path)
    if iqn and not (iqn.startswith(_ISCSI_PREFIXES) and is_iscsi_name(iqn)):
        errors.append(invalid(f"{path}.iqn", iqn, _ISCSI_FORM))
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, inclusive_range_error(0, 255)))
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        errors.append(required(f"{path}.secretRef"))
    if secret is not None and not secret.get("name"):
        errors.append(required(f"{path}.secretRef.name"))
    if initiator is not None and not (initiator.startswith(_ISCSI_PREFIXES) and is_iscsi_name(initiator)):
        errors.append(invalid(f"{path}.initiatorname", initiator, _ISCSI_FORM))
    return errors


_SOURCES: Sequence[tuple[str, SourceRule | None, str]] = (
    # (field, rule, the name of the field in error paths where it is another)
    ("hostPath", RULES["hostPath"], ""),
    ("gcePersistentDisk", RULES["gcePersistentDisk"], "persistentDisk"),
    ("awsElasticBlockStore", RULES["awsElasticBlockStore"], ""),
    ("glusterfs", _glusterfs, ""),
    ("flocker", RULES["flocker"], ""),
    ("nfs", RULES["nfs"], ""),
    ("rbd", RULES["rbd"], ""),
    ("quobyte", RULES["quobyte"], ""),
    ("cephfs", RULES["cephfs"], ""),
    ("iscsi", None, ""),
    ("cinder", _cinder, ""),
    ("fc", RULES["fc"], ""),
    ("flexVolume", validate_flex, ""),
    ("azureFile", _azure_file, ""),
    ("vsphereVolume", RULES["vsphereVolume"], ""),
    ("photonPersistentDisk", RULES["photonPersistentDisk"], ""),
    ("portworxVolume", RULES["portworxVolume"], ""),
    ("azureDisk", RULES["azureDisk"], ""),
    ("scaleIO", RULES["scaleIO"], ""),
    ("local", _local, ""),
    ("storageos", _storage_os, ""),
    ("csi", _csi, ""),
)
SOURCES = tuple(field for field, _, _ in _SOURCES)
"""The fields of a volume's spec that say what it is, in the order in which they are judged."""
_ALSO_SECOND = "flexVolume"
"""The reference does not refuse this one when another comes before it."""


def validate_source(spec: Mapping[str, Any], path: str, volume: str) -> list[FieldError]:
    """A volume has exactly one source, and that is in order. `volume` is the volume's name."""
    errors: list[FieldError] = []
    found = 0
    for field, rule, shown in _SOURCES:
        source = spec.get(field)
        if source is None:
            continue
        if found and field != _ALSO_SECOND:
            name = "cephFS" if field == "cephfs" else field
            errors.append(forbidden(f"{path}.{name}", "may not specify more than 1 volume type"))
            continue
        found += 1
        at = f"{path}.{shown or field}"
        errors += _iscsi(source, at, volume) if rule is None else rule(source, at)
        if field == "local" and spec.get("nodeAffinity") is None:
            errors.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    if not found:
        errors.append(required(path, "must specify a volume type"))
    return errors
