"""The subresources that change part of a Pod's spec: ephemeralcontainers and resize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.behavior import PartHooks
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.pod_features import drop_disabled_fields
from watchkeeper.apis.core.pod_resize_validation import validate_empty_resources, validate_resize
from watchkeeper.apis.core.pod_validation import validate_whole_pod
from watchkeeper.apis.core.unified_diff import unified_diff
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta_update
from watchkeeper.meta.field import FieldError, forbidden, go_quote

Object = dict[str, Any]

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a Pod that stands for a static one."""
_KEPT_METADATA = ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences")


def _restore(new: Object, old: Object) -> None:
    """Put back all but the spec."""
    if "status" in old:
        new["status"] = old["status"]
    else:
        new.pop("status", None)
    meta, before = new["metadata"], old["metadata"]
    for field in _KEPT_METADATA:
        if field in before:
            meta[field] = before[field]
        else:
            meta.pop(field, None)


def _count_change(new: Object, old: Object) -> None:
    if not same(new.get("spec"), old.get("spec"), "core.v1.PodSpec"):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _prepare_ephemeral(new: Object, old: Object) -> None:
    containers = (new.get("spec") or {}).get("ephemeralContainers")
    spec = dict(old.get("spec") or {})
    spec.pop("ephemeralContainers", None)
    if containers:
        spec["ephemeralContainers"] = containers
    new["spec"] = spec
    drop_disabled_fields(spec, old.get("spec") or {})
    _restore(new, old)
    _count_change(new, old)


def _validate_ephemeral(new: Object, old: Object) -> list[FieldError]:
    """Ephemeral containers are only added."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods do not support ephemeral containers")]
    errors = validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_whole_pod(new, old)
    path = "spec.ephemeralContainers"
    now = {c.get("name"): c for c in (new.get("spec") or {}).get("ephemeralContainers") or ()}
    for before in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = go_quote(before.get("name") or "")
        found = now.get(before.get("name"))
        if found is None:
            errors.append(forbidden(path, f"existing ephemeral containers {name} may not be removed\n"))
        elif not same(found, before, "core.v1.EphemeralContainer"):
            forms = (go_form(each, "EphemeralContainer") for each in (before, found))
            difference = unified_diff(*forms)
            text = f"existing ephemeral containers {name} may not be changed\n{difference}"
            errors.append(forbidden(path, text))
    return errors


def _prepare_resize(new: Object, old: Object) -> None:
    """Keep resources and resize policies of the new state. Where containers changed, validation tells."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    kinds = ("containers", "initContainers")
    if all(len(spec.get(kind) or ()) == len(old_spec.get(kind) or ()) for kind in kinds):
        resized = dict(old_spec)
        for kind in kinds:
            if spec.get(kind):
                resized[kind] = _resized(spec[kind], old_spec[kind])
        _take(resized, spec, "resources")
        new["spec"] = resized
        _restore(new, old)
    drop_disabled_fields(new.get("spec") or {}, old_spec)
    _count_change(new, old)


def _resized(new: Sequence[Object], old: Sequence[Object]) -> list[Object]:
    if any(now.get("name") != before.get("name") for now, before in zip(new, old, strict=True)):
        return list(new)
    resized = [dict(container) for container in old]
    for container, now in zip(resized, new, strict=True):
        _take(container, now, "resources")
        _take(container, now, "resizePolicy")
    return resized


def _take(target: Object, source: Mapping[str, Any], field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _validate_resize(new: Object, old: Object) -> list[FieldError]:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods cannot be resized")]
    if ((old.get("spec") or {}).get("os") or {}).get("name") == "windows":
        return [forbidden("[]", "windows pods cannot be resized")]
    errors = validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_whole_pod(new, old, with_annotation_changes=False) + validate_resize(new, old)
    return errors or validate_empty_resources(new, old)


PARTS: Mapping[str, PartHooks] = {
    "ephemeralcontainers": PartHooks(_prepare_ephemeral, _validate_ephemeral),
    "resize": PartHooks(_prepare_resize, _validate_resize),
}
