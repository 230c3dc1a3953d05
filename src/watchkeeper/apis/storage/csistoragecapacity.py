"""CSIStorageCapacities."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.core.node_labels import label_selector_warnings
from watchkeeper.apis.storage.classes import GROUP
from watchkeeper.apis.validation.metadata import IMMUTABLE, validate_immutable
from watchkeeper.apis.validation.names import is_dns1123_subdomain
from watchkeeper.apis.validation.resources import validate_nonnegative_quantity
from watchkeeper.apis.validation.selectors import has_invalid_values, validate_label_selector
from watchkeeper.meta.field import FieldError, in_declared_order, invalid
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]


def _validate(capacity: Object, *, lenient: bool = False) -> list[FieldError]:
    errors = validate_label_selector(capacity.get("nodeTopology"), "nodeTopology", allow_invalid_values=lenient)
    name = capacity.get("storageClassName", "")
    errors += [invalid("storageClassName", name, text) for text in is_dns1123_subdomain(name)]
    if capacity.get("capacity") is not None:
        errors += validate_nonnegative_quantity(capacity["capacity"], "capacity")
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    return _validate(new, lenient=has_invalid_values(old.get("nodeTopology")))


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    errors = validate_immutable(new.get("storageClassName"), old.get("storageClassName"), "storageClassName")
    topology, was = new.get("nodeTopology"), old.get("nodeTopology")
    if (topology is None) == (was is None):
        return validate_immutable(topology, was, "nodeTopology") + errors
    return [invalid("nodeTopology", in_declared_order(topology), IMMUTABLE), *errors]


def _warnings(capacity: Object) -> list[str]:
    return label_selector_warnings(capacity.get("nodeTopology"), "nodeTopology")


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "CSIStorageCapacity"),
        validate=_validate,
        validate_update=_validate_update,
        validate_change=_validate_change,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        allow_unconditional_update=False,
        has_status=False,
    )
]
