"""The rules of environment variables of containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.downward_validation import ENV_FIELDS, validate_field_ref, validate_resource_ref
from watchkeeper.apis.validation.names import (
    is_config_map_key,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_relaxed_env_var_name,
    name_is_dns_subdomain,
)
from watchkeeper.apis.validation.paths import validate_no_backsteps
from watchkeeper.meta.field import FieldError, invalid, required

_ONE_OF = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_ONE_ONLY = "may not have more than one field specified at a time"


FileKeys = list[tuple[str, str]]
"""Where variables come from files in volumes: the path of the reference, and the volume's name."""


def validate_env(variables: Sequence[Mapping[str, Any]], path: str, file_keys: FileKeys) -> list[FieldError]:
    """Variables need a name, and at most one source of their value. Adds references to files to `file_keys`."""
    errors: list[FieldError] = []
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            errors.append(required(f"{path}[{i}].name"))
        elif wrong := is_relaxed_env_var_name(name):
            errors += [invalid(f"{path}[{i}].name", name, text) for text in wrong]
        if "valueFrom" in variable:
            source, at = variable["valueFrom"] or {}, f"{path}[{i}].valueFrom"
            errors += _source_errors(source, variable.get("value"), at)
            if source.get("fileKeyRef") is not None:
                file_keys.append((f"{at}.fileKeyRef", source["fileKeyRef"].get("volumeName") or ""))
    return errors


def _source_errors(source: Mapping[str, Any], value: str | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    count = 0
    if (ref := source.get("fieldRef")) is not None:
        count += 1
        errors += validate_field_ref(ref, ENV_FIELDS, f"{path}.fieldRef")
    if (ref := source.get("resourceFieldRef")) is not None:
        count += 1
        errors += validate_resource_ref(ref, f"{path}.resourceFieldRef", in_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (ref := source.get(kind)) is not None:
            count += 1
            errors += _key_ref_errors(ref, f"{path}.{kind}")
    if (ref := source.get("fileKeyRef")) is not None:
        count += 1
        errors += _file_key_errors(ref, f"{path}.fileKeyRef")
    if count == 0:
        errors.append(invalid(path, "", _ONE_OF))
    elif value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(invalid(path, "", _ONE_ONLY))
    return errors


def _key_ref_errors(ref: Mapping[str, Any], path: str) -> list[FieldError]:
    name, key = ref.get("name") or "", ref.get("key") or ""
    errors = [invalid(f"{path}.name", name, text) for text in is_dns1123_subdomain(name)]
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, text) for text in is_config_map_key(key)]
    return errors


def _file_key_errors(ref: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    key, volume, file = ref.get("key") or "", ref.get("volumeName") or "", ref.get("path") or ""
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, text) for text in is_relaxed_env_var_name(key)]
    if not volume:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += [invalid(f"{path}.volumeName", volume, text) for text in is_dns1123_label(volume)]
    if not file:
        errors.append(required(f"{path}.path"))
    else:
        errors += validate_no_backsteps(file, f"{path}.path")
    return errors


def validate_env_from(sources: Sequence[Mapping[str, Any]], path: str) -> list[FieldError]:
    """Each source is one ConfigMap or one Secret, with a prefix that could start a variable's name."""
    errors: list[FieldError] = []
    for i, source in enumerate(sources):
        prefix = source.get("prefix")
        if prefix:
            errors += [invalid(f"{path}[{i}].prefix", prefix, text) for text in is_relaxed_env_var_name(prefix)]
        refs = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in refs:
            name, at = source[kind].get("name") or "", f"{path}[{i}].{kind}.name"
            if not name:
                errors.append(required(at))
            else:
                errors += [invalid(at, name, text) for text in name_is_dns_subdomain(name, prefix=True)]
        if not refs:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(refs) > 1:
            errors.append(invalid(path, "", _ONE_ONLY))
    return errors
