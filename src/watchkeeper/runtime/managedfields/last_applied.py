"""The annotation in which kubectl's client-side apply keeps what it applied, and the way from there to ownership."""

from __future__ import annotations

import json
from typing import Any

from watchkeeper.runtime.managedfields.compare import compare
from watchkeeper.runtime.managedfields.conflicts import Conflict, Conflicts
from watchkeeper.runtime.managedfields.field_set import FieldSet, difference, has
from watchkeeper.runtime.managedfields.named import fields_of
from watchkeeper.runtime.managedfields.nodes import MapNode, Mismatch
from watchkeeper.runtime.managedfields.validate import check

Object = dict[str, Any]

KUBECTL = "kubectl"
"""The only manager that takes over what the annotation records."""
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATIONS_BYTES = 256 * 1024


def last_applied(obj: Object) -> str:
    """The annotation of an object, "" for none."""
    found = ((obj.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
    return found if isinstance(found, str) else ""


def remaining_conflicts(node: MapNode, live: Object, conflicts: Conflicts) -> list[Conflict]:
    """The conflicts over fields that client-side apply has not set to what they are now."""
    allowed = _allowed(node, live)
    if allowed is None:
        return list(conflicts.conflicts)
    return [c for c in conflicts.conflicts if not has(allowed, c.path)]


def _allowed(node: MapNode, live: Object) -> FieldSet | None:
    """The fields of the recorded configuration that the object still has as recorded; None when it tells nothing."""
    try:
        applied = json.loads(last_applied(live) or "null")
        if not isinstance(applied, dict) or applied.get("apiVersion") != live["apiVersion"]:
            return None
        check(node, applied, allow_repeated=False)
        check(node, live, allow_repeated=False)
        differing = compare(node, applied, live)
        return difference(difference(fields_of(node, applied), differing.changed), differing.removed)
    except (ValueError, RecursionError, Mismatch):
        return None


def record(obj: Object, applied: Object) -> Object:
    """The object with its annotation telling of `applied`; without one when there is no room for it."""
    annotations = {**obj["metadata"]["annotations"], ANNOTATION: _encoded(applied)}
    if sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items()) > _MAX_ANNOTATIONS_BYTES:
        del annotations[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def _encoded(applied: Object) -> str:
    metadata = dict(applied.get("metadata") or {})
    annotations = metadata.pop("annotations", None)
    if annotations is not None:
        metadata["annotations"] = {k: v or "" for k, v in annotations.items() if k != ANNOTATION}
    text = json.dumps({**applied, "metadata": metadata}, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_HTML) + "\n"


_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
