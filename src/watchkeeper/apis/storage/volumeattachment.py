"""VolumeAttachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.persistentvolume_validation import validate_inline_spec
from watchkeeper.apis.core.volume_sources import validate_csi_driver_name
from watchkeeper.apis.status_metadata import keep_metadata
from watchkeeper.apis.storage.classes import GROUP
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, forbidden, invalid, required, too_long
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_MAX_METADATA = 256 * 1024
_MAX_MESSAGE = 1024
_ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def _spec_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    attacher, node, source = spec.get("attacher") or "", spec.get("nodeName", ""), spec.get("source") or {}
    errors = [] if attacher else [required("spec.attacher")]
    errors += _source_errors(source)
    return errors + [invalid("spec.nodeName", node, text) for text in is_dns1123_subdomain(node)]


def _source_errors(source: Mapping[str, Any]) -> list[FieldError]:
    path, name, inline = "spec.source", source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        return [required(path, _ONE)]
    if name is not None and inline is not None:
        return [forbidden(path, _ONE)]
    if inline is not None:
        return validate_inline_spec(inline, f"{path}.inlineVolumeSpec")
    return [] if name else [required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")]


def _status_errors(status: Mapping[str, Any]) -> list[FieldError]:
    errors: list[FieldError] = []
    metadata = status.get("attachmentMetadata") or {}
    if sum(byte_length(key) + byte_length(value) for key, value in metadata.items()) > _MAX_METADATA:
        errors.append(too_long("status.attachmentMetadata", "", _MAX_METADATA))
    for name in ("attachError", "detachError"):
        message = (status.get(name) or {}).get("message") or ""
        if byte_length(message) > _MAX_MESSAGE:
            errors.append(too_long(f"status.{name}.message", "", _MAX_METADATA))
    return errors


def _name_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    """The rules that came with v1."""
    errors = validate_csi_driver_name(spec.get("attacher") or "", "spec.attacher")
    name = (spec.get("source") or {}).get("persistentVolumeName")
    if name is not None:
        path = "spec.source.persistentVolumeName"
        errors += [invalid(path, name, text) for text in is_dns1123_subdomain(name)]
    return errors


def _validate(attachment: Object) -> list[FieldError]:
    spec = attachment.get("spec") or {}
    return _spec_errors(spec) + _status_errors(attachment.get("status") or {}) + _name_errors(spec)


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = _spec_errors(new.get("spec") or {}) + _status_errors(new.get("status") or {})
    return errors + validate_immutable(new.get("spec"), old.get("spec"), "spec")


def _cells(attachment: Object, now: float) -> list[Any]:
    spec = attachment.get("spec") or {}
    return [
        printing.name_of(attachment),
        spec.get("attacher") or "",
        (spec.get("source") or {}).get("persistentVolumeName") or "",
        spec.get("nodeName") or "",
        (attachment.get("status") or {}).get("attached") or False,
        printing.age(attachment, now),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "VolumeAttachment"),
        prepare_for_status_update=keep_metadata,
        validate=_validate,
        validate_update=_validate_update,
        validate_status_update=_validate_update,
        allow_unconditional_update=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Attacher", "string", "The driver that attaches the volume.", format="name"),
                Column("PV", "string", "The volume."),
                Column("Node", "string", "The node it is attached to."),
                Column("Attached", "boolean", "Whether it is attached."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
