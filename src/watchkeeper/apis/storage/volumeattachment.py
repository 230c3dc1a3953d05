"""VolumeAttachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.persistentvolume_validation import validate_inline_spec
from watchkeeper.apis.core.volume_defaults import default_volumes
from watchkeeper.apis.core.volume_sources import validate_csi_driver_name
from watchkeeper.apis.quantities import round_resources
from watchkeeper.apis.status_metadata import keep_metadata
from watchkeeper.apis.storage.classes import GROUP
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import IMMUTABLE
from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, forbidden, invalid, required, too_long
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_MAX_METADATA = 256 * 1024
_MAX_MESSAGE = 1024
_CODES = "must be between 0 and 2147483647, inclusive"
_ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"

_SPEC: InternalForm = {
    "attacher": ("Attacher", ""),
    "source": (
        "Source",
        {"persistentVolumeName": ("PersistentVolumeName", None), "inlineVolumeSpec": ("InlineVolumeSpec", None)},
    ),
    "nodeName": ("NodeName", ""),
}


def default_attachment(attachment: Object) -> None:
    """Fill in what a volume is attached for that is described in place: the source, as that of a PersistentVolume."""
    inline = ((attachment.get("spec") or {}).get("source") or {}).get("inlineVolumeSpec")
    if inline is not None and len(inline):
        round_resources(inline.get("capacity"))
        default_volumes([inline])


def _spec_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    node = spec.get("nodeName", "")
    errors = validate_csi_driver_name(spec.get("attacher") or "", "spec.attacher")
    errors += _source_errors(spec.get("source") or {})
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
        error: Mapping[str, Any] = status.get(name) or {}
        if byte_length(error.get("message") or "") > _MAX_MESSAGE:
            errors.append(too_long(f"status.{name}.message", "", _MAX_METADATA))
        code = error.get("errorCode")
        if code is not None and code < 0:
            errors.append(invalid(f"status.{name}.errorCode", code, _CODES))
    return errors


def _validate(attachment: Object) -> list[FieldError]:
    spec = attachment.get("spec") or {}
    errors = _spec_errors(spec) + _status_errors(attachment.get("status") or {})
    name = (spec.get("source") or {}).get("persistentVolumeName")
    if name is not None:
        path = "spec.source.persistentVolumeName"
        errors += [invalid(path, name, text) for text in is_dns1123_subdomain(name)]
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    was = old.get("spec")
    errors = _validate(new)
    if (new.get("spec") or {}) != (was or {}):
        errors.append(invalid("spec", _shown(new.get("spec") or {}), IMMUTABLE))
    return errors


def _shown(spec: Mapping[str, Any]) -> dict[str, Any]:
    shown = internal_form(spec, _SPEC)
    inline = (spec.get("source") or {}).get("inlineVolumeSpec")
    if inline is not None:
        shown["Source"]["InlineVolumeSpec"] = go_form(inline, "PersistentVolumeSpec")
    return shown


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


DEFAULTS = {GroupVersionKind(GROUP, "v1", "VolumeAttachment"): default_attachment}

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
