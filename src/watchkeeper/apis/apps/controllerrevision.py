"""ControllerRevisions: the history of DaemonSets and StatefulSets."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.metadata import IMMUTABLE, validate_builtin_object_meta
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, in_declared_order, invalid, required
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.runtime.raw_json import RawJson

Object = dict[str, Any]


def _validate(revision: Object) -> list[FieldError]:
    errors = validate_nonnegative(revision.get("revision"), "revision")
    data = revision.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = validate_builtin_object_meta(new["metadata"], namespaced=True)
    errors += validate_nonnegative(new.get("revision"), "revision")
    data = new.get("data")
    if _written(data) != _written(old.get("data")):
        shown = orjson.loads(data.text) if isinstance(data, RawJson) else in_declared_order(data)
        errors.append(invalid("data", shown, IMMUTABLE))
    return errors


def _written(data: Any) -> bytes:
    """JSON of any value: data is compared as it is written, so that 1 and 1.0 are not the same."""
    return data.text.encode() if isinstance(data, RawJson) else orjson.dumps(data, option=orjson.OPT_SORT_KEYS)


def _cells(revision: Object, now: float) -> list[Any]:
    owners = revision["metadata"].get("ownerReferences") or ()
    controller = printing.NONE
    for owner in owners:
        if owner.get("controller"):
            group = (owner.get("apiVersion") or "").rpartition("/")[0]
            kind = (owner.get("kind") or "").lower()
            controller = f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
            break
    return [printing.name_of(revision), controller, revision.get("revision") or 0, printing.age(revision, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("apps", "ControllerRevision"),
        validate=_validate,
        validate_update=_validate_update,
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Controller", "string", "Controller of the object"),
                Column("Revision", "string", "The number of the revision."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
