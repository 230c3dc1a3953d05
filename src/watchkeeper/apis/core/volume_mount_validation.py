"""The rules of how containers use volumes: as mounted directories or as raw devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.paths import has_backsteps, validate_local_descending_path
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_found, not_supported, required

Object = Mapping[str, Any]

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
_PLAIN_FIELDS = frozenset(("name", "mountPath", "readOnly"))


def validate_mounts(container: Object, path: str, volumes: Mapping[str, Object]) -> list[FieldError]:
    """The mounts of a container at `path`: known volumes, distinct places."""
    errors: list[FieldError] = []
    places: set[str] = set()
    devices = container.get("volumeDevices") or ()
    for i, mount in enumerate(container.get("volumeMounts") or ()):
        name, place = mount.get("name") or "", mount.get("mountPath") or ""
        if name and place and name in volumes and place not in places and not devices and mount.keys() <= _PLAIN_FIELDS:
            places.add(place)
            continue
        at = f"{path}.volumeMounts[{i}]"
        if not name:
            errors.append(required(f"{at}.name"))
        if name not in volumes:
            errors.append(not_found(f"{at}.name", name))
        if not place:
            errors.append(required(f"{at}.mountPath"))
        if place in places:
            errors.append(invalid(f"{at}.mountPath", place, "must be unique"))
        places.add(place)
        if any(device.get("name") == name for device in devices):
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if any(device.get("devicePath") == place for device in devices):
            text = "must not already exist as a path in volumeDevices"
            errors.append(invalid(f"{at}.mountPath", place, text))
        errors += _detail_errors(mount, container, f"{path}.volumeMounts", at)
    return errors


def _detail_errors(mount: Object, container: Object, path: str, at: str) -> list[FieldError]:
    """The optional fields of a mount. Most errors name the list at `path`, as the reference's do."""
    errors: list[FieldError] = []
    sub, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub:
        errors += validate_local_descending_path(sub, f"{path}.subPath")
    if expression:
        if sub:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{at}.subPathExpr", expression, text))
        errors += validate_local_descending_path(expression, f"{path}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        elif propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(f"{path}.mountPropagation", text))
    return errors + _recursive_errors(mount, f"{path}.recursiveReadOnly")


def _recursive_errors(mount: Object, path: str) -> list[FieldError]:
    value = mount.get("recursiveReadOnly")
    if value is None or value == "Disabled":
        return []
    if value not in _READ_ONLY:
        return [not_supported(path, value, _READ_ONLY)]
    errors: list[FieldError] = []
    if not mount.get("readOnly"):
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        text = "may only be specified when mountPropagation is None or not specified"
        errors.append(forbidden(path, text))
    return errors


def validate_devices(container: Object, path: str, volumes: Mapping[str, Object]) -> list[FieldError]:
    """The raw devices of a container at `path`: volumes of claims, distinct names and places."""
    errors: list[FieldError] = []
    names: set[str] = set()
    places: set[str] = set()
    mounts = container.get("volumeMounts") or ()
    for i, device in enumerate(container.get("volumeDevices") or ()):
        at = f"{path}.volumeDevices[{i}]"
        name, place = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            errors.append(required(f"{at}.name"))
        if name in names:
            errors.append(invalid(f"{at}.name", name, "must be unique"))
        if volume is None:
            errors.append(not_found(f"{at}.name", name))
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{at}.name", name, text))
        errors += _device_path_errors(place, places, f"{at}.devicePath")
        if any(mount.get("name") == name for mount in mounts):
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if any(mount.get("mountPath") == place for mount in mounts):
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", place, text))
        if name:
            names.add(name)
    return errors


def _device_path_errors(place: str, places: set[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not place:
        errors.append(required(path))
    if place in places:
        errors.append(invalid(path, place, "must be unique"))
    if has_backsteps(place):
        errors.append(invalid(path, place, "can not contain backsteps ('..')"))
    else:
        places.add(place)
    return errors
