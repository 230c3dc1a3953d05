"""The rules of each sort of volume that a Pod can mount."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.apis.core.claim_validation import validate_claim_template
from watchkeeper.apis.validation.enums import validate_enum, validate_optional_enum
from watchkeeper.apis.validation.names import (
    byte_length,
    inclusive_range_error,
    is_dns1123_label,
    is_dns1123_subdomain,
)
from watchkeeper.apis.validation.paths import (
    validate_file_mode,
    validate_local_descending_path,
    validate_local_non_reserved_path,
    validate_no_backsteps,
)
from watchkeeper.meta.field import FieldError, go_quote, invalid, not_supported, required, too_long

Source = Mapping[str, Any]
SourceRule = Callable[[Source, str], list[FieldError]]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_CSI_DRIVER_MAX = 63
_BYTE_RANGE = inclusive_range_error(0, 255)
_iqn = re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$").search
_eui = re.compile("eui.[A-Za-z0-9]{16}").fullmatch
_naa = re.compile("naa.[A-Za-z0-9]{32}").fullmatch
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"


def needs(*fields: str) -> SourceRule:
    """The rule of a source of which some fields must be set."""

    def rule(source: Source, path: str) -> list[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not source.get(field)]

    return rule


def _host_path(source: Source, path: str) -> list[FieldError]:
    value = source.get("path")
    if not value:
        return [required(f"{path}.path")]
    errors = validate_no_backsteps(value, f"{path}.path")
    return errors + validate_optional_enum(source.get("type"), f"{path}.type", _HOST_PATH_TYPES)


def _git_repo(source: Source, path: str) -> list[FieldError]:
    errors = needs("repository")(source, path)
    return errors + validate_local_descending_path(source.get("directory") or "", f"{path}.directory")


def _partitioned(field: str) -> SourceRule:
    def rule(source: Source, path: str) -> list[FieldError]:
        errors = needs(field)(source, path)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{path}.partition", partition, inclusive_range_error(1, 255)))
        return errors

    return rule


def validate_key_to_path(item: Source, path: str) -> list[FieldError]:
    """One item that maps a key to a file."""
    errors = [required(f"{path}.{name}") for name in ("key", "path") if not item.get(name)]
    errors += validate_local_non_reserved_path(item.get("path") or "", f"{path}.path")
    return errors + validate_file_mode(item.get("mode"), f"{path}.mode")


def _keyed(name_field: str) -> SourceRule:
    def rule(source: Source, path: str) -> list[FieldError]:
        errors = [] if source.get(name_field) else [required(f"{path}.{name_field}")]
        errors += validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
        for i, item in enumerate(source.get("items") or ()):
            errors += validate_key_to_path(item, f"{path}.items[{i}]")
        return errors

    return rule


def _nfs(source: Source, path: str) -> list[FieldError]:
    errors = needs("server", "path")(source, path)
    value = source.get("path") or ""
    if not value.startswith("/"):
        errors.append(invalid(f"{path}.path", value, "must be an absolute path"))
    return errors


def is_iscsi_name(name: str) -> bool:
    """Whether an iSCSI name that starts with iqn, eui or naa has the form of its kind."""
    if name.startswith("iqn"):
        return _iqn(name) is not None
    if name.startswith("eui"):
        return _eui(name) is not None
    return not name.startswith("naa") or _naa(name) is not None


def validate_iscsi(source: Source, path: str) -> list[FieldError]:
    """An iSCSI target; also in persistent volumes."""
    prefixes = ("iqn", "eui", "naa")
    errors = [required(f"{path}.{name}") for name in ("targetPortal", "iqn") if not source.get(name)]
    iqn = source.get("iqn") or ""
    if iqn and not iqn.startswith(prefixes):
        errors.append(invalid(f"{path}.iqn", iqn, "must be valid format starting with iqn, eui, or naa"))
    elif iqn and not is_iscsi_name(iqn):
        errors.append(invalid(f"{path}.iqn", iqn, "must be valid format"))
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, _BYTE_RANGE))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(required(f"{path}.secretRef"))
    initiator = source.get("initiatorName")
    if initiator is not None:
        at = f"{path}.initiatorname"
        if not initiator.startswith(prefixes):
            errors.append(invalid(at, initiator, "must be valid format starting with iqn, eui, or naa"))
        elif not is_iscsi_name(initiator):
            errors.append(invalid(at, initiator, "must be valid format"))
    return errors


def _fc(source: Source, path: str) -> list[FieldError]:
    names, ids = source.get("targetWWNs") or (), source.get("wwids") or ()
    at = f"{path}.targetWWNs"
    if not names and not ids:
        return [required(at, "must specify either targetWWNs or wwids, but not both")]
    errors: list[FieldError] = []
    if names and ids:
        errors.append(invalid(at, list(names), "targetWWNs and wwids can not be specified simultaneously"))
    if names:
        lun = source.get("lun")
        if lun is None:
            errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            errors.append(invalid(f"{path}.lun", lun, _BYTE_RANGE))
    return errors


def _quobyte(source: Source, path: str) -> list[FieldError]:
    registry = source.get("registry") or ""
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(f"{path}.registry", _HOST_PORTS))
    elif len(source.get("tenant") or "") >= 65:
        errors.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        wrong = [pair for pair in registry.split(",") if pair.count(":") != 1 and not pair.startswith("[")]
        errors += [invalid(f"{path}.registry", registry, _HOST_PORTS) for _ in wrong]
    return errors + needs("volume")(source, path)


def _flocker(source: Source, path: str) -> list[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    errors: list[FieldError] = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", text))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _named_secret(errors: list[FieldError], source: Source, path: str) -> list[FieldError]:
    ref = source.get("secretRef")
    if ref is not None and not ref.get("name"):
        errors.append(required(f"{path}.secretRef.name"))
    return errors


def _cinder(source: Source, path: str) -> list[FieldError]:
    return _named_secret(needs("volumeID")(source, path), source, path)


def validate_flex(source: Source, path: str) -> list[FieldError]:
    """A FlexVolume; also in persistent volumes."""
    errors = needs("driver")(source, path)
    for key in source.get("options") or ():
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, text))
    return errors


def validate_azure_disk(source: Source, path: str) -> list[FieldError]:
    """An Azure disk; also in persistent volumes."""
    errors = needs("diskName", "diskURI")(source, path)
    uri, kind = source.get("diskURI") or "", source.get("kind")
    caching = ("None", "ReadOnly", "ReadWrite")
    errors += validate_optional_enum(source.get("cachingMode"), f"{path}.cachingMode", caching)
    errors += validate_optional_enum(kind, f"{path}.kind", ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        errors.append(not_supported(f"{path}.diskURI", uri, [form]))
    elif kind is not None and kind != "Managed" and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        errors.append(not_supported(f"{path}.diskURI", uri, [form]))
    return errors


def _storage_os(source: Source, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    if not name:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += [invalid(f"{path}.volumeName", name, text) for text in is_dns1123_label(name)]
    if namespace:
        errors += [invalid(f"{path}.volumeNamespace", namespace, text) for text in is_dns1123_label(namespace)]
    return _named_secret(errors, source, path)


def validate_csi_driver_name(name: str, path: str) -> list[FieldError]:
    """The name of a CSI driver: a DNS subdomain in any case, at most 63 bytes."""
    if not name:
        return [required(path)]
    errors: list[FieldError] = []
    if byte_length(name) > _CSI_DRIVER_MAX:
        errors.append(too_long(path, "", _CSI_DRIVER_MAX))
    return errors + [invalid(path, name, text) for text in is_dns1123_subdomain(name.lower())]


def _csi(source: Source, path: str) -> list[FieldError]:
    errors = validate_csi_driver_name(source.get("driver") or "", f"{path}.driver")
    ref = source.get("nodePublishSecretRef")
    if ref is not None:
        name = ref.get("name") or ""
        if not name:
            errors.append(required(f"{path}.nodePublishSecretRef.name"))
        else:
            errors += [invalid(f"{path}.name", name, text) for text in is_dns1123_subdomain(name)]
    return errors


def _ephemeral(source: Source, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{path}.volumeClaimTemplate")]
    return validate_claim_template(template, f"{path}.volumeClaimTemplate")


def ephemeral_claim_name_errors(pod_name: str, volume: str, path: str) -> list[FieldError]:
    """The claim of an ephemeral volume is named after the pod and the volume; that name must be one."""
    claim = f"{pod_name}-{volume}"
    return [
        invalid(f"{path}.name", volume, f"PVC name {go_quote(claim)}: {text}") for text in is_dns1123_subdomain(claim)
    ]


def validate_image_volume(source: Source, path: str, *, in_pod: bool) -> list[FieldError]:
    """An image volume; templates may leave the reference to be filled in."""
    errors = [required(f"{path}.reference")] if in_pod and not source.get("reference") else []
    return errors + validate_enum(source.get("pullPolicy"), f"{path}.pullPolicy", PULL_POLICIES)


RULES: dict[str, SourceRule] = {
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _partitioned("pdName"),
    "awsElasticBlockStore": _partitioned("volumeID"),
    "secret": _keyed("secretName"),
    "nfs": _nfs,
    "iscsi": validate_iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": _cinder,
    "cephfs": needs("monitors"),
    "quobyte": _quobyte,
    "fc": _fc,
    "flexVolume": validate_flex,
    "configMap": _keyed("name"),
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": validate_azure_disk,
    "storageos": _storage_os,
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
}
"""The rule of every source that needs no more than itself to be judged."""
