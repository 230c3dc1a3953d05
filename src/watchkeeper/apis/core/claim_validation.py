"""The rules of the spec of a PersistentVolumeClaim, wherever one is written: in a claim, a volume, or a StatefulSet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.metadata import validate_annotations, validate_labels
from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain
from watchkeeper.apis.validation.resources import validate_positive_quantity
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required
from watchkeeper.meta.object_meta import object_meta_without

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_ONE_POD = "ReadWriteOncePod"

_PATH: dict[str, Any] = {}
"""What shows where the reference takes the path of a field for its value."""


def validate_claim_spec(
    spec: Mapping[str, Any],
    path: str,
    *,
    allow_invalid_values: bool = False,
    allow_invalid_data_source_group: bool = False,
) -> list[FieldError]:
    """What is wrong with a claim's spec. The flags are for updates of claims that already break a newer rule."""
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    errors += validate_label_selector(
        spec.get("selector"), f"{path}.selector", allow_invalid_values=allow_invalid_values
    )
    unknown = [mode for mode in modes if mode not in ACCESS_MODES]
    errors += [not_supported(f"{path}.accessModes", mode, ACCESS_MODES) for mode in unknown]
    if _ONE_POD in modes and any(mode in ACCESS_MODES and mode != _ONE_POD for mode in modes):
        text = "may not use ReadWriteOncePod with other access modes"
        errors.append(forbidden(f"{path}.accessModes", text))
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        errors.append(required(f"{path}.resources[storage]"))
    else:
        errors += validate_positive_quantity(storage, f"{path}.resources[storage]")
    errors += _class_name(spec, "storageClassName", path)
    errors += validate_optional_enum(spec.get("volumeMode"), f"{path}.volumeMode", VOLUME_MODES)
    errors += _data_sources(spec, path, allow_invalid_data_source_group)
    errors += _class_name(spec, "volumeAttributesClassName", path)
    return errors


def _class_name(spec: Mapping[str, Any], field: str, path: str) -> list[FieldError]:
    name = spec.get(field)
    return [invalid(f"{path}.{field}", name, text) for text in is_dns1123_subdomain(name)] if name else []


def _data_sources(spec: Mapping[str, Any], path: str, allow_invalid_group: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        errors += _data_source(source, f"{path}.dataSource", allow_invalid_group)
    if ref is not None:
        errors += _data_source(ref, f"{path}.dataSourceRef", allow_invalid_group)
        namespace = ref.get("namespace")
        if namespace:
            at = f"{path}.dataSourceRef.namespace"
            errors += [invalid(at, namespace, text) for text in is_dns1123_label(namespace)]
            if source is not None:
                text = "may not be specified when dataSourceRef.namespace is specified"
                errors.append(invalid(path, _PATH, text))
        elif source is not None and not _same_source(source, ref):
            errors.append(invalid(path, _PATH, "must match dataSourceRef"))
    return errors


def _same_source(source: Mapping[str, Any], ref: Mapping[str, Any]) -> bool:
    """An empty group is another one than none."""
    same = all((source.get(name) or "") == (ref.get(name) or "") for name in ("kind", "name"))
    return same and source.get("apiGroup") == ref.get("apiGroup")


def _data_source(source: Mapping[str, Any], path: str, allow_invalid_group: bool) -> list[FieldError]:
    errors = [required(f"{path}.{name}") for name in ("name", "kind") if not source.get(name)]
    kind, group = source.get("kind") or "", source.get("apiGroup") or ""
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, text))
    if group and not allow_invalid_group:
        errors += [invalid(f"{path}.apiGroup", group, text) for text in is_dns1123_subdomain(group)]
    return errors


_NOT_IN_TEMPLATES = object_meta_without("labels", "annotations")


def template_metadata_errors(metadata: Mapping[str, Any], path: str) -> list[FieldError]:
    """What the metadata of a template holds besides labels and annotations: an empty list is too much."""
    extra = (name for name in _NOT_IN_TEMPLATES if _says(metadata, name))
    return [forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set") for name in extra]


def _says(metadata: Mapping[str, Any], name: str) -> bool:
    value = metadata.get(name)
    return value is not None and (name == "deletionGracePeriodSeconds" or value not in ("", 0))


def validate_claim_template(template: Mapping[str, Any], path: str) -> list[FieldError]:
    """A claim template within an ephemeral volume: labels, annotations and the spec, nothing else."""
    metadata = template.get("metadata") or {}
    errors = validate_annotations(metadata.get("annotations") or {}, f"{path}.metadata.annotations")
    errors += validate_labels(metadata.get("labels") or {}, f"{path}.metadata.labels")
    errors += template_metadata_errors(metadata, f"{path}.metadata")
    return errors + validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def keeps_invalid_values(old_spec: Mapping[str, Any]) -> bool:
    """Whether an update may keep invalid values in the selector, since the old claim has some."""
    return has_invalid_values(old_spec.get("selector"))
