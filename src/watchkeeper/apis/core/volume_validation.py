"""The rules of a Pod's list of volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.downward_validation import validate_downward_volume
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.projected_validation import validate_projected
from watchkeeper.apis.core.volume_defaults import FILE_MODE
from watchkeeper.apis.core.volume_sources import (
    RULES,
    ephemeral_claim_name_errors,
    validate_image_volume,
)
from watchkeeper.apis.quantities import amount
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.meta.field import FieldError, duplicate, forbidden, invalid, required

Volume = Mapping[str, Any]

_ORDER = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
_FORBIDDEN_AT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_CHECKED_AT = {"gcePersistentDisk": "persistentDisk"}
"""Where the reference's errors name another field than the source's own."""


def validate_volumes(
    volumes: Sequence[Volume], path: str, options: PodOptions, pod_name: str = ""
) -> tuple[dict[str, Volume], list[FieldError]]:
    """The valid volumes by name, and what is wrong with the others. `pod_name` is "" in templates."""
    errors: list[FieldError] = []
    found: dict[str, Volume] = {}
    for i, volume in enumerate(volumes):
        name = volume.get("name") or ""
        if len(volume) == 2 and name not in found and not is_dns1123_label(name) and _is_plain(volume):
            found[name] = volume
            continue
        at = f"{path}[{i}]"
        wrong = _source_errors(volume, at, name, options, pod_name)
        if not name:
            wrong.append(required(f"{at}.name"))
        elif texts := is_dns1123_label(name):
            wrong += [invalid(f"{at}.name", name, text) for text in texts]
        if name in found:
            wrong.append(duplicate(f"{at}.name", name))
        if wrong:
            errors += wrong
        else:
            found[name] = volume
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and pod_name and _is_generated(claim.get("claimName"), volumes, pod_name):
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim["claimName"], text))
    return found, errors


def _is_plain(volume: Volume) -> bool:
    """Whether a volume is of the usual sort, in which nothing can be wrong."""
    if "emptyDir" in volume:
        return not volume["emptyDir"]
    for source, name in (("configMap", "name"), ("secret", "secretName")):
        if source in volume:
            value = volume[source]
            return bool(value.get(name)) and len(value) == 2 and value.get("defaultMode") == FILE_MODE
    return False


def _is_generated(claim: str | None, volumes: Sequence[Volume], pod_name: str) -> bool:
    return any(v.get("ephemeral") is not None and f"{pod_name}-{v.get('name', '')}" == claim for v in volumes)


def _source_errors(volume: Volume, path: str, name: str, options: PodOptions, pod_name: str) -> list[FieldError]:
    present = [source for source in volume if source != "name"]
    if not present:
        return [required(path, "must specify a volume type")]
    if len(present) > 1:
        present.sort(key=lambda source: _ORDER.index(source) if source in _ORDER else len(_ORDER))
    first = present[0]
    errors = _one_source(first, volume[first], f"{path}.{_CHECKED_AT.get(first, first)}", options)
    for source in present[1:]:
        at = f"{path}.{_FORBIDDEN_AT.get(source, source)}"
        errors.append(forbidden(at, "may not specify more than 1 volume type"))
    iscsi = volume.get("iscsi")
    if iscsi is not None and iscsi.get("initiatorName") is not None:
        errors += _initiator_errors(name, iscsi, path)
    if first == "ephemeral" and pod_name and name:
        errors += ephemeral_claim_name_errors(pod_name, name, path)
    return errors


def _initiator_errors(name: str, source: Mapping[str, Any], path: str) -> list[FieldError]:
    if len(f"{name}:{source.get('targetPortal', '')}") <= 64:
        return []
    text = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [invalid(f"{path}.name", name, text)]


def _one_source(source: str, value: Mapping[str, Any], path: str, options: PodOptions) -> list[FieldError]:
    if source == "emptyDir":
        limit = value.get("sizeLimit")
        if limit is not None and amount(limit) < 0:
            return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
        return []
    if source == "projected":
        return validate_projected(value, path, allow_non_local_token_path=options.allow_non_local_token_path)
    if source == "downwardAPI":
        return validate_downward_volume(value, path)
    if source == "image":
        return validate_image_volume(value, path, in_pod=options.in_pod)
    rule = RULES.get(source)
    return rule(value, path) if rule is not None else []
