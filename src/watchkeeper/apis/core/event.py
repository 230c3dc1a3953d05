"""Events, stored as those of the core group."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.validation.names import (
    byte_length,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_qualified_name,
)
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.gvk import GroupKind

Object = dict[str, Any]

_FIELDS_OF_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE = (
    *(f"involvedObject.{name}" for name in _FIELDS_OF_OBJECT),
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_WRONG_NAMESPACE = "does not match event.namespace"
_LENGTHS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_MAX_MESSAGE = 1024


def validate_event(event: Object, *, reporter: str = "reportingComponent") -> list[FieldError]:
    """What is wrong with an Event. Those with an eventTime, which newer clients write, must say more.

    `reporter` is what errors call the field of the reporting controller.
    """
    namespace = event["metadata"].get("namespace", "")
    if event.get("eventTime"):
        errors = _recent_errors(event, namespace, reporter)
    else:
        errors = _legacy_errors(event, namespace)
    return errors + [invalid("namespace", namespace, text) for text in is_dns1123_subdomain(namespace)]


def _legacy_errors(event: Object, namespace: str) -> list[FieldError]:
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    allowed = (involved,) if involved else ("", "default")
    return [] if namespace in allowed else [invalid("involvedObject.namespace", involved, _WRONG_NAMESPACE)]


def _recent_errors(event: Object, namespace: str, reporter: str) -> list[FieldError]:
    errors: list[FieldError] = []
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    if not involved and namespace not in ("default", "kube-system"):
        errors.append(invalid("involvedObject.namespace", involved, _WRONG_NAMESPACE))
    controller = event.get("reportingComponent") or ""
    if not controller:
        errors.append(required(reporter))
    errors += [invalid(reporter, controller, text) for text in is_qualified_name(controller)]
    for name, limit in _LENGTHS:
        value = event.get(name) or ""
        if not value:
            errors.append(required(name))
        if byte_length(value) > limit:
            errors.append(invalid(name, "", f"can have at most {limit} characters"))
    if byte_length(event.get("message") or "") > _MAX_MESSAGE:
        errors.append(invalid("message", "", f"can have at most {_MAX_MESSAGE} characters"))
    return errors


def _fields(event: Object) -> dict[str, str]:
    involved = event.get("involvedObject") or {}
    component = event.get("reportingComponent") or ""
    found = {f"involvedObject.{name}": involved.get(name) or "" for name in _FIELDS_OF_OBJECT}
    found["reason"] = event.get("reason") or ""
    found["reportingComponent"] = component
    found["source"] = (event.get("source") or {}).get("component") or component
    found["type"] = event.get("type") or ""
    return found


def _source(event: Object) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


def _cells(event: Object, now: float) -> list[Any]:
    involved = event.get("involvedObject") or {}
    kind, name = (involved.get("kind") or "").lower(), involved.get("name")
    first = printing.since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = printing.since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    count = event.get("count") or 1
    series = event.get("series")
    if series is not None:
        last, count = printing.since(series.get("lastObservedTime"), now), series.get("count") or 0
    return [
        last,
        event.get("type") or "",
        event.get("reason") or "",
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath") or "",
        _source(event),
        (event.get("message") or "").strip(),
        first,
        count,
        printing.name_of(event),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "Event"),
        default_propagation="Unsupported",
        validate=validate_event,
        validate_update=lambda new, _old: validate_event(new),
        name_rule=is_path_segment_name,
        selectable_fields=_fields,
        selectable_labels=_SELECTABLE,
        unsupported_field_label=lambda label: f"field label not supported: {label}",
        allow_create_on_update=True,
        has_status=False,
        table=TableSpec(
            columns=(
                Column("Last Seen", "string", "When it was last recorded."),
                Column("Type", "string", "Normal or Warning."),
                Column("Reason", "string", "Why it happened, in one word."),
                Column("Object", "string", "What it is about."),
                Column("Subobject", "string", "The part of the object it is about.", priority=1),
                Column("Source", "string", "Who reports it.", priority=1),
                Column("Message", "string", "What happened."),
                Column("First Seen", "string", "When it was first recorded.", priority=1),
                Column("Count", "string", "How often it has happened.", priority=1),
                Column("Name", "string", "The name, unique within its namespace.", format="name", priority=1),
            ),
            cells=_cells,
        ),
    )
]
