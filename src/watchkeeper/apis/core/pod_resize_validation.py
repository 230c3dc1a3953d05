"""The rules of resizing a Pod and its containers while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_resources import is_restartable_init, qos_class
from watchkeeper.apis.semantic import same
from watchkeeper.meta.field import FieldError, forbidden, invalid

Object = Mapping[str, Any]

_RESIZABLE = ("cpu", "memory")
_AMOUNTS = ("requests", "limits")
_ONLY_RESOURCES = "only cpu and memory resources are mutable"
_ONLY_INIT_RESOURCES = "only cpu and memory resources for init or sidecar containers are mutable"
_NO_RESTART = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"


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
    errors += _pod_errors(spec.get("resources"), old_spec.get("resources"))
    moved = _order_errors(spec, old_spec, "containers") + _order_errors(spec, old_spec, "initContainers")
    if moved:
        return errors + moved
    for kind in ("initContainers", "containers"):
        for i, (now, before) in enumerate(_pairs(spec, old_spec, kind)):
            path = f"spec.{kind}[{i}].resources"
            errors += _removal_errors(now.get("resources") or {}, before.get("resources") or {}, path)
    for now, before in _pairs(spec, old_spec, "containers"):
        if _differs(now, before):
            errors.append(forbidden("spec", _ONLY_RESOURCES))
    for i, (now, before) in enumerate(_pairs(spec, old_spec, "initContainers")):
        errors += _init_errors(now, before, f"spec.initContainers[{i}]")
    return errors


def validate_empty_resources(new: Object, old: Object) -> list[FieldError]:
    """Where nothing else is wrong, resources of a Pod that say nothing do not come or go either."""
    now, before = ((each.get("spec") or {}).get("resources") for each in (new, old))
    if (now is None) == (before is None) or _has_amounts(now) or _has_amounts(before):
        return []
    return [forbidden("spec", _ONLY_RESOURCES)]


def _pairs(spec: Object, old: Object, kind: str) -> list[tuple[Object, Object]]:
    return list(zip(spec.get(kind) or (), old.get(kind) or (), strict=True))


def _is_supported(status: Object) -> bool:
    """The kubelet reports the resources of running containers if it can resize them."""
    for container in status.get("containerStatuses") or ():
        if (container.get("state") or {}).get("running") is not None:
            return container.get("resources") is not None
    return True


def _pod_errors(new: Object | None, old: Object | None) -> list[FieldError]:
    """What is wrong with the resources of a Pod as a whole, if it has or had some."""
    if not _has_amounts(new) and not _has_amounts(old):
        return []
    if new is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")]
    before = old or {}
    errors = _removal_errors(new, before, "spec.resources", of="pod-level resource")
    if not same(_unresizable(new), _unresizable(before), "core.v1.ResourceRequirements"):
        errors.append(forbidden("spec", f"{_ONLY_RESOURCES} at pod-level"))
    return errors


def _order_errors(spec: Object, old: Object, kind: str) -> list[FieldError]:
    now: Sequence[Object] = spec.get(kind) or ()
    before: Sequence[Object] = old.get(kind) or ()
    if len(now) != len(before):
        return [forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize")]
    text = f"{kind} may not be renamed or reordered on resize"
    return [
        forbidden(f"spec.{kind}[{i}].name", text) for i, c in enumerate(before) if now[i].get("name") != c.get("name")
    ]


def _removal_errors(new: Object, old: Object, path: str, of: str = "resource") -> list[FieldError]:
    return [
        forbidden(f"{path}.{kind}", f"{of} {kind} cannot be removed")
        for kind in _AMOUNTS
        if (old.get(kind) or {}).keys() - (new.get(kind) or {}).keys()
    ]


def _init_errors(new: Object, old: Object, path: str) -> list[FieldError]:
    errors = [forbidden(path, _ONLY_INIT_RESOURCES)] if _differs(new, old) else []
    if not is_restartable_init(new) and not same(new, old, "core.v1.Container"):
        policies = [policy.get("restartPolicy") for policy in new.get("resizePolicy") or ()]
        errors += [forbidden(path, _NO_RESTART)] * policies.count("RestartContainer")
    return errors


def _differs(container: Object, old: Object) -> bool:
    """Whether anything but the amounts of CPU and memory differs. Resource claims count as the old ones' own."""
    amounts = {kind: (container.get("resources") or {}).get(kind) for kind in _AMOUNTS}
    now = {**container, "resources": _unresizable(amounts)}
    return not same(now, {**old, "resources": _unresizable(old.get("resources") or {})}, "core.v1.Container")


def _unresizable(resources: Object) -> Object:
    """Resources without the amounts of CPU and memory."""
    rest = {
        kind: {name: text for name, text in (resources.get(kind) or {}).items() if name not in _RESIZABLE}
        for kind in _AMOUNTS
    }
    return {**resources, **rest}


def _has_amounts(resources: Object | None) -> bool:
    return any((resources or {}).get(kind) for kind in _AMOUNTS)
