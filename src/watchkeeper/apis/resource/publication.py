"""DeviceClasses and ResourceSlices, which administrators and drivers write: their behavior in the generic registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.resource.claim_validation import Compile, unchecked, validate_class_spec
from watchkeeper.apis.resource.slice_validation import LIST_VALUES, validate_slice_spec
from watchkeeper.apis.validation.names import name_is_long_name
from watchkeeper.meta.field import FieldError, go_quote
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_GROUP = "resource.k8s.io"
_MAPPINGS = "nodeAllocatableResourceMappings"


def default_slice(published: Object) -> None:
    """Taints of devices say since when they are there."""
    for device in (published.get("spec") or {}).get("devices") or ():
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None:
                taint["timeAdded"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _drop_alpha_fields(published: Object, old: Object | None) -> bool:
    """Drop what belongs to features that are off, of each that the old object does not use. Whether there was any."""
    devices, before = _devices(published), _devices(old or {})
    dropped = False
    if not any(device.get(_MAPPINGS) for device in before):
        for device in devices:
            dropped |= bool(device.pop(_MAPPINGS, None))
    if not any(name in attribute for attribute in _attributes(before) for name in LIST_VALUES):
        for attribute in _attributes(devices):
            for name in LIST_VALUES:
                dropped |= bool(attribute.pop(name, None))
    return dropped


def _devices(published: Object) -> list[Object]:
    return (published.get("spec") or {}).get("devices") or []


def _attributes(devices: list[Object]) -> Iterator[Object]:
    for device in devices:
        yield from (device.get("attributes") or {}).values()


def _prepare_slice(published: Object) -> None:
    _drop_alpha_fields(published, None)


def _prepare_changed_slice(new: Object, old: Object) -> None:
    """What is dropped counts as a change all the same."""
    if _drop_alpha_fields(new, old):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _selectable_fields(published: Object) -> Mapping[str, str]:
    spec = published.get("spec") or {}
    return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver") or ""}


def _slice_warnings(published: Object) -> list[str]:
    driver = (published.get("spec") or {}).get("driver") or ""
    if driver == driver.lower():
        return []
    return [f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters"]


def _slice_cells(published: Object, now: float) -> list[Any]:
    spec = published.get("spec") or {}
    return [
        printing.name_of(published),
        spec.get("nodeName") or "",
        spec.get("driver") or "",
        (spec.get("pool") or {}).get("name") or "",
        printing.age(published, now),
    ]


def class_behavior(compiled: Compile) -> KindBehavior:
    """The behavior of classes, with what can compile the expressions of their selectors."""

    def validate_change(new: Object, old: Object) -> list[FieldError]:
        return validate_class_spec(new.get("spec") or {}, old.get("spec") or {}, "spec", compiled)

    return KindBehavior(
        kind=GroupKind(_GROUP, "DeviceClass"),
        name_rule=name_is_long_name,
        validate=lambda each: validate_class_spec(each.get("spec") or {}, {}, "spec", compiled),
        validate_change=validate_change,
        has_generation=True,
        table=TableSpec(
            columns=(printing.NAME, printing.AGE),
            cells=lambda each, now: [printing.name_of(each), printing.age(each, now)],
        ),
    )


BEHAVIORS = [
    class_behavior(unchecked),
    KindBehavior(
        kind=GroupKind(_GROUP, "ResourceSlice"),
        prepare_for_create=_prepare_slice,
        prepare_for_update=_prepare_changed_slice,
        validate=lambda published: validate_slice_spec(published.get("spec") or {}, None),
        validate_update=lambda new, old: validate_slice_spec(new.get("spec") or {}, old.get("spec") or {}),
        warnings_on_create=_slice_warnings,
        warnings_on_update=lambda new, _old: _slice_warnings(new),
        selectable_fields=_selectable_fields,
        selectable_labels=("spec.nodeName", "spec.driver"),
        unsupported_field_label=lambda label: (
            f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}"
        ),
        trigger_field="spec.nodeName",
        has_generation=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Node", "string", "The node whose devices these are."),
                Column("Driver", "string", "The driver that publishes the slice."),
                Column("Pool", "string", "The pool that the slice is part of."),
                printing.AGE,
            ),
            cells=_slice_cells,
        ),
    ),
]
DEFAULTS = {GroupVersionKind(_GROUP, "v1", "ResourceSlice"): default_slice}
