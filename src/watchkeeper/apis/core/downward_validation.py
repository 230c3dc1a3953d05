"""The rules of references to a Pod's own fields and to its containers' resources (the downward API)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.quantities import amount
from watchkeeper.apis.validation.names import is_qualified_name
from watchkeeper.apis.validation.paths import validate_file_mode, validate_local_non_reserved_path
from watchkeeper.meta.field import FieldError, invalid, not_supported, required

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KNOWN_FIELDS = frozenset(
    (*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host")
)
_SUBSCRIPTED = ("metadata.annotations", "metadata.labels")
_RESOURCE_FIELDS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGEPAGES = ("requests.hugepages-", "limits.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SIZE_OF = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def split_subscript(field_path: str) -> tuple[str, str | None]:
    """`metadata.labels['key']` is ("metadata.labels", "key"); a path without a subscript has None."""
    if field_path.endswith("']"):
        head, bracket, key = field_path[:-2].partition("['")
        if bracket and head:
            return head, key
    return field_path, None


def validate_field_ref(ref: Mapping[str, Any], supported: Sequence[str], path: str) -> list[FieldError]:
    """A reference to a field of the Pod; `supported` is sorted."""
    version, field_path = ref.get("apiVersion") or "", ref.get("fieldPath") or ""
    if not version:
        return [required(f"{path}.apiVersion")]
    if not field_path:
        return [required(f"{path}.fieldPath")]
    name, key = split_subscript(field_path)
    problem = _conversion_problem(version, name, key, field_path)
    if problem:
        return [invalid(f"{path}.fieldPath", field_path, f"error converting fieldPath: {problem}")]
    if name == "spec.host":
        name = "spec.nodeName"
    if key is None:
        return [] if name in supported else [not_supported(f"{path}.fieldPath", name, supported, plain=True)]
    if name == "metadata.annotations":
        key = key.lower()
    return [invalid(path, key, text) for text in is_qualified_name(key)]


def _conversion_problem(version: str, name: str, key: str | None, field_path: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if key is not None:
        return "" if name in _SUBSCRIPTED else f"field label does not support subscript: {field_path}"
    return "" if name in _KNOWN_FIELDS else f"field label not supported: {field_path}"


def validate_resource_ref(ref: Mapping[str, Any], path: str, *, in_volume: bool) -> list[FieldError]:
    """A reference to a container's limit or request; a volume must say whose."""
    errors: list[FieldError] = []
    resource = ref.get("resource") or ""
    if in_volume and not ref.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCE_FIELDS and not resource.startswith(_HUGEPAGES):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCE_FIELDS, plain=True))
    divisor = ref.get("divisor") or "0"
    if amount(divisor) != 0:
        errors += _divisor_errors(resource, divisor, f"{path}.divisor")
    return errors


def _divisor_errors(resource: str, divisor: str, path: str) -> list[FieldError]:
    if resource.startswith(_HUGEPAGES):
        kind = "hugepages"
    elif resource in _RESOURCE_FIELDS:
        name = resource.partition(".")[2]
        if name == "cpu":
            if divisor in _CPU_DIVISORS:
                return []
            return [invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource")]
        kind = _SIZE_OF[name]
    else:
        return []
    if divisor in _SIZES:
        return []
    text = f"only divisor's values {', '.join(_SIZES)} are supported with the {kind} resource"
    return [invalid(path, resource, text)]


def validate_downward_file(item: Mapping[str, Any], path: str) -> list[FieldError]:
    """One file of a downward API volume."""
    value = item.get("path") or ""
    errors = [] if value else [required(f"{path}.path")]
    errors += validate_local_non_reserved_path(value, f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        errors += validate_field_ref(field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif resource is not None:
        errors += validate_resource_ref(resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + validate_file_mode(item.get("mode"), f"{path}.mode")


def validate_downward_volume(source: Mapping[str, Any], path: str) -> list[FieldError]:
    """A downward API volume; errors of items name the volume."""
    errors = validate_file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        errors += validate_downward_file(item, path)
    return errors
