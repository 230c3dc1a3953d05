"""Events of events.k8s.io are Events of the core group by other names: one stored object, two views."""

from __future__ import annotations

from watchkeeper.apis.conversion import Conversion, Object
from watchkeeper.meta.gvk import GroupVersionKind

_CORE = GroupVersionKind("", "v1", "Event")
_EVENTS = GroupVersionKind("events.k8s.io", "v1", "Event")

_TO_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_FROM_CORE = {core: name for name, core in _TO_CORE.items()}


def event_to_core(event: Object) -> Object:
    """The core Event that is stored."""
    return {_TO_CORE.get(name, name): value for name, value in event.items()}


def event_from_core(event: Object) -> Object:
    """The Event of events.k8s.io that a stored one shows as."""
    return {_FROM_CORE.get(name, name): value for name, value in event.items()}


_FIELD_LABELS = {
    **{
        f"regarding.{name}": f"involvedObject.{name}"
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reason": "reason",
    "reportingController": "reportingComponent",
    "type": "type",
}

CONVERSIONS = {_EVENTS: Conversion(_CORE, event_to_core, event_from_core, _FIELD_LABELS)}
