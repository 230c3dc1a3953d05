"""What Events must say that are written through events.k8s.io, besides the rules of the core group.

Such Events are about something that happened once, or a series of it. They leave the fields of older clients alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from watchkeeper.apis.core.event import BEHAVIORS, validate_event
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import (
    IMMUTABLE,
    validate_builtin_object_meta,
    validate_builtin_object_meta_update,
)
from watchkeeper.meta.field import FieldError, invalid, required

Object = dict[str, Any]

_TYPES = ("Normal", "Warning")
_UNSET = ("firstTimestamp", "lastTimestamp", "count")
_SOURCE: InternalForm = {"component": ("Component", ""), "host": ("Host", "")}
_FIXED: tuple[tuple[str, str, Any], ...] = (
    ("involvedObject", "involvedObject", "ObjectReference"),
    ("reason", "reason", ""),
    ("message", "message", ""),
    ("source", "source", _SOURCE),
    ("firstTimestamp", "firstTimestamp", None),
    ("lastTimestamp", "lastTimestamp", None),
    ("count", "count", 0),
    ("reason", "reason", ""),
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingComponent", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)
"""Fields that stay, what errors call them and what they show when nothing is set, or the form of what they show.

They are in the reference's order, which checks the reason twice.
"""
_REPORTER = "reportingController"
_MIN_SERIES = 2


def _validate(event: Object) -> list[FieldError]:
    errors = validate_event(event, reporter=_REPORTER)
    errors += validate_builtin_object_meta(event["metadata"], namespaced=True) + _series_errors(event)
    if not event.get("eventTime"):
        errors.append(required("eventTime"))
    kind = event.get("type") or ""
    if kind not in _TYPES:
        errors.append(invalid("type", "", f"has invalid value: {kind}"))
    errors += [invalid(name, "", "needs to be unset") for name in _UNSET if event.get(name)]
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        errors.append(invalid("source", "", "needs to be unset"))
    return errors


def _series_errors(event: Object) -> list[FieldError]:
    series = event.get("series")
    if series is None:
        return []
    errors: list[FieldError] = []
    if (series.get("count") or 0) < _MIN_SERIES:
        errors.append(invalid("series.count", "", f"should be at least {_MIN_SERIES}"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    errors = validate_event(new, reporter=_REPORTER)
    errors += validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    if new.get("series") != old.get("series"):
        errors += _series_errors(new)
    for name, path, empty in _FIXED:
        value = _shown(name, new, empty)
        if value != _shown(name, old, empty):
            errors.append(invalid(path, value, IMMUTABLE))
    return errors


def _shown(name: str, event: Object, empty: Any) -> Any:
    value = event.get(name)
    if empty is _SOURCE:
        return internal_form(value, _SOURCE)
    if empty == "ObjectReference" or (name == "related" and value is not None):
        return go_form(value, "ObjectReference")
    return empty if value is None else value


STRICT_BEHAVIOR = replace(BEHAVIORS[0], validate=_validate, validate_update=_validate_update, name_rule=None)
"""The behavior of Events, stored in the core group, for clients of events.k8s.io."""
