"""The rules of resizing a Pod's containers while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_resources import is_restartable_init, qos_class
from watchkeeper.meta.field import FieldError, forbidden, invalid

Object = Mapping[str, Any]

_RESIZABLE = ("cpu", "memory")
_ONLY_RESOURCES = "only cpu and memory resources are mutable"


def validate_resize(new: Object, old: Object) -> list[FieldError]:
    """What a resize may not do: change the QoS class, containers, what is removed, or any other resource."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    status = old.get("status") or {}
    errors: list[FieldError] = []
    if (status.get("qosClass") or qos_class(old_spec)) != qos_class(spec):
        shown = (new.get("status") or {}).get("qosClass") or ""
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    if not _is_supported(status):
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    moved = _order_errors(spec, old_spec, "containers") + _order_errors(spec, old_spec, "initContainers")
    if moved:
        return errors + moved
    errors += _removal_errors(spec.get("resources") or {}, old_spec.get("resources") or {}, "spec.resources")
    for i, (now, before) in enumerate(_pairs(spec, old_spec, "initContainers")):
        if is_restartable_init(before):
            path = f"spec.initContainers[{i}].resources"
            errors += _removal_errors(now.get("resources") or {}, before.get("resources") or {}, path)
    for i, (now, before) in enumerate(_pairs(spec, old_spec, "containers")):
        path = f"spec.containers[{i}].resources"
        errors += _removal_errors(now.get("resources") or {}, before.get("resources") or {}, path)
    return errors + _other_changes(spec, old_spec)


def _pairs(spec: Object, old: Object, kind: str) -> list[tuple[Object, Object]]:
    return list(zip(spec.get(kind) or (), old.get(kind) or (), strict=True))


def _is_supported(status: Object) -> bool:
    """The kubelet reports the resources of running containers if it can resize them."""
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _order_errors(spec: Object, old: Object, kind: str) -> list[FieldError]:
    now: Sequence[Object] = spec.get(kind) or ()
    before: Sequence[Object] = old.get(kind) or ()
    if len(now) != len(before):
        return [forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize")]
    text = f"{kind} may not be renamed or reordered on resize"
    return [
        forbidden(f"spec.{kind}[{i}].name", text) for i, c in enumerate(before) if now[i].get("name") != c.get("name")
    ]


def _removal_errors(new: Object, old: Object, path: str) -> list[FieldError]:
    return [
        forbidden(f"{path}.{kind}", f"resource {kind} cannot be removed")
        for kind in ("requests", "limits")
        if (old.get(kind) or {}).keys() - (new.get(kind) or {}).keys()
    ]


def _other_changes(spec: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for now, before in _pairs(spec, old, "containers"):
        if _differs(now, before):
            errors.append(forbidden("spec", _ONLY_RESOURCES))
    for now, before in _pairs(spec, old, "initContainers"):
        if not is_restartable_init(now):
            if now != before:
                errors.append(forbidden("spec", "resources for non-sidecar init containers are immutable"))
        elif _differs(now, before):
            text = "only cpu and memory resources for sidecar containers are mutable"
            errors.append(forbidden("spec", text))
    if not errors and _differs({"resources": spec.get("resources")}, {"resources": old.get("resources")}):
        errors.append(forbidden("spec", _ONLY_RESOURCES))
    return errors


def _differs(container: Object, old: Object) -> bool:
    """Whether anything but the amounts of CPU and memory differs. Resource claims count as the old ones' own."""
    resources, before = container.get("resources") or {}, old.get("resources") or {}
    for kind in ("requests", "limits"):
        if before.get(kind) and _without_resizable(resources.get(kind)) != _without_resizable(before[kind]):
            return True
    if before.get("claims"):
        return True
    return {**container, "resources": None} != {**old, "resources": None}


def _without_resizable(amounts: Mapping[str, str] | None) -> dict[str, str]:
    return {name: text for name, text in (amounts or {}).items() if name not in _RESIZABLE}
