"""RuntimeClasses."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.affinity_validation import validate_tolerations
from watchkeeper.apis.core.node_labels import node_label_message
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import validate_immutable, validate_labels
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.apis.validation.resources import validate_requirements
from watchkeeper.meta.field import FieldError, duplicate, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

GROUP = "node.k8s.io"
_TOLERATION_KEY = ("key", "operator", "value", "effect")
_TOLERATION: InternalForm = {
    "key": ("Key", ""),
    "operator": ("Operator", ""),
    "value": ("Value", ""),
    "effect": ("Effect", ""),
    "tolerationSeconds": ("TolerationSeconds", None),
}


def _validate(runtime_class: Object) -> list[FieldError]:
    handler = runtime_class.get("handler", "")
    errors = [invalid("handler", handler, text) for text in is_dns1123_label(handler)] if handler else []
    if not handler:
        errors.append(required("handler"))
    overhead = runtime_class.get("overhead")
    if overhead is not None:
        errors += validate_requirements({"limits": overhead.get("podFixed") or {}}, "overhead")
    scheduling = runtime_class.get("scheduling") or {}
    errors += validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations, path = scheduling.get("tolerations") or [], "scheduling.tolerations"
    errors += validate_tolerations(tolerations, path)
    keys = [tuple(each.get(name) or "" for name in _TOLERATION_KEY) for each in tolerations]
    repeated = (i for i, key in enumerate(keys) if key in keys[:i])
    return errors + [duplicate(f"{path}[{i}]", internal_form(tolerations[i], _TOLERATION)) for i in repeated]


def _validate_change(new: Object, old: Object) -> list[FieldError]:
    return validate_immutable(new.get("handler"), old.get("handler"), "handler")


def _warnings(runtime_class: Object) -> list[str]:
    """Warnings about labels of nodes that have newer names."""
    selector = (runtime_class.get("scheduling") or {}).get("nodeSelector") or {}
    messages = (node_label_message(key) for key in sorted(selector))
    return [f"scheduling.nodeSelector: {message}" for message in messages if message]


def _cells(runtime_class: Object, now: float) -> list[Any]:
    handler = runtime_class.get("handler") or ""
    return [printing.name_of(runtime_class), handler, printing.age(runtime_class, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "RuntimeClass"),
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_change=_validate_change,
        warnings_on_create=_warnings,
        warnings_on_update=lambda new, _old: _warnings(new),
        allow_create_on_update=True,
        allow_unconditional_update=False,
        has_status=False,
        table=TableSpec(
            columns=(printing.NAME, Column("Handler", "string", "What runs the containers."), printing.AGE),
            cells=_cells,
        ),
    )
]
