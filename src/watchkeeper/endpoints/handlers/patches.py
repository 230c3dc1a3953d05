"""Patch documents by their media type."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.endpoints.scope import JSON_PATCH, MERGE_PATCH, Scope
from watchkeeper.meta import errors
from watchkeeper.runtime.patch import JsonPatch, MergePatch, StrategicPatch
from watchkeeper.runtime.patch.documents import go_mismatch
from watchkeeper.runtime.patch.unstructured import go_numbers
from watchkeeper.runtime.yaml import load_yaml, repeated_text

Object = dict[str, Any]
Patch = JsonPatch | MergePatch | StrategicPatch


def patched_beside(patch: Patch, live: Object) -> Object:
    """The patched object, which shares with `live`, itself unchanged, what the patch leaves alone. Raises ApiError."""
    if not isinstance(patch, StrategicPatch):
        patched: Object = patch.apply(dict(live))
        return patched
    touched = patch.touches
    if touched is None:
        return patch.apply(copy_json(live))
    return patch.apply({name: copy_json({"": v})[""] if name in touched else v for name, v in live.items()})


def own_parts(new: Object, live: Object) -> None:
    """Let `new` share no dict of the second level with `live`."""
    for name, value in live.items():
        if value.__class__ is dict and name in new and new[name] is value:
            new[name] = value.copy()


def own_metadata(new: Object, live: Object) -> None:
    """Let `new` have metadata of its own."""
    metadata = new.get("metadata")
    if metadata.__class__ is dict and metadata is live["metadata"]:
        new["metadata"] = metadata.copy()


def read_patch(body: bytes, patch_type: str, scope: Scope, *, strict: bool) -> tuple[Patch, list[str]]:
    """The patch for objects at the scope's version, and its strict errors if those are asked for.

    Raises a 400 or 413 for a malformed document.
    """
    patch: Patch
    if patch_type == JSON_PATCH:
        patch = JsonPatch(body) if strict else JsonPatch.lenient(body)
    elif patch_type == MERGE_PATCH:
        patch = MergePatch(body, strict=strict)
    else:
        patch = StrategicPatch(body, scope.kind.schema)
    return patch, patch.strict_errors() if strict else []


def read_applied(body: bytes, *, strict: bool) -> tuple[Object, list[str]]:
    """The configuration of a server-side apply, which is YAML, and its strict errors. Raises a 400."""
    lines: list[str] = []
    try:
        applied = load_yaml(body, lines)
    except ValueError as error:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from error
    if applied is None:
        applied = {}
    if not isinstance(applied, dict):
        why = go_mismatch(applied, "value of type map[string]interface {}")
        raise errors.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    applied = go_numbers(body, applied)
    return applied, [f"error converting YAML to JSON: {repeated_text(lines)}"] if strict and lines else []


def copy_json(value: Object) -> Object:
    """A copy that shares nothing."""
    copied: Object = orjson.loads(orjson.dumps(value))
    return copied
