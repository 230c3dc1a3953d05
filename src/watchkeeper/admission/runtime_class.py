"""RuntimeClass: what running a Pod by its runtime class costs besides, and where that can be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.pods import is_new_pod
from watchkeeper.admission.refusal import forbidden
from watchkeeper.apis.quantities import compare
from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]
FindRuntimeClass = Callable[[str], Awaitable["Object | None"]]
"""Name -> the RuntimeClass, None when there is none."""

_PREFIX = "pod rejected: "


class RuntimeClass(BasePlugin):
    """Gives new Pods the overhead, node selector and tolerations of their runtime class."""

    name = "RuntimeClass"
    deep = False
    operations = frozenset({Operation.CREATE})
    resources = frozenset({GroupResource("", "pods")})

    def __init__(self, find: FindRuntimeClass) -> None:
        self._find = find

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the class only when the Pod names one."""
        if not is_new_pod(attributes) or _class_name(attributes) is None:
            return None
        return self._admit(attributes)

    async def _admit(self, attributes: Attributes) -> None:
        found = await self._class(attributes)
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        if (overhead := found.get("overhead")) is not None:
            fixed = overhead.get("podFixed") or {}
            own = spec.get("overhead")
            if own is not None and not _same(fixed, own):
                raise _mismatch(attributes)
            if fixed:
                spec["overhead"] = dict(fixed)
        if (scheduling := found.get("scheduling")) is not None:
            _schedule(attributes, spec, scheduling)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """The overhead of a Pod is that of its class."""
        if not is_new_pod(attributes):
            return None
        if _class_name(attributes) is None:
            self._check(attributes, {})
            return None
        return self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        self._check(attributes, await self._class(attributes))

    @staticmethod
    def _check(attributes: Attributes, found: Object) -> None:
        assert attributes.obj is not None
        given, overhead = attributes.obj["spec"].get("overhead"), found.get("overhead")
        if overhead is not None:
            if not _same(overhead.get("podFixed") or {}, given or {}):
                raise _mismatch(attributes)
        elif given is not None:
            why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(attributes, f"{_PREFIX}{why}")

    async def _class(self, attributes: Attributes) -> Object:
        name = _class_name(attributes)
        if not name:
            raise ApiError(500, "", "resource name may not be empty")
        if problems := is_path_segment_name(name):
            raise ApiError(500, "", f"invalid resource name {go_quote(name)}: [{' '.join(problems)}]")
        found = await self._find(name)
        if found is None:
            raise forbidden(attributes, f"{_PREFIX}RuntimeClass {go_quote(name)} not found")
        return found


def _class_name(attributes: Attributes) -> str | None:
    assert attributes.obj is not None
    name: str | None = attributes.obj["spec"].get("runtimeClassName")
    return name


def _same(a: Object, b: Object) -> bool:
    return a.keys() == b.keys() and all(compare(a[name], b[name]) == 0 for name in a)


def _mismatch(attributes: Attributes) -> Exception:
    return forbidden(attributes, f"{_PREFIX}Pod's Overhead doesn't match RuntimeClass's defined Overhead")


def _schedule(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector: dict[str, str] = dict(spec.get("nodeSelector") or {})
    for key, value in sorted((scheduling.get("nodeSelector") or {}).items()):
        if selector.get(key, value) != value:
            ours, theirs = f"runtimeClass.scheduling.nodeSelector[{key}]", f"pod.spec.nodeSelector[{key}]"
            raise forbidden(attributes, f"conflict: {ours} = {value}; {theirs} = {selector[key]}")
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    if tolerations := merge_tolerations(spec.get("tolerations") or [], scheduling.get("tolerations") or []):
        spec["tolerations"] = tolerations


def merge_tolerations(first: list[Object], second: list[Object]) -> list[Object]:
    """All tolerations, without those that tolerate nothing but what another one tolerates too."""
    every = [*first, *second]
    merged: list[Object] = []
    for i, toleration in enumerate(every):
        known = any(_covers(other, toleration) for other in merged)
        if not known and not any(other != toleration and _covers(other, toleration) for other in every[i + 1 :]):
            merged.append(toleration)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    if wide == narrow:
        return True
    key, exists = wide.get("key") or "", wide.get("operator") == "Exists"
    if (narrow.get("key") or "") != key and (key or not exists):
        return False
    effect = wide.get("effect") or ""
    if effect and (narrow.get("effect") or "") != effect:
        return False
    seconds = wide.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None:
        shorter = narrow.get("tolerationSeconds")
        if shorter is None or shorter > seconds:
            return False
    if exists:
        return True
    return narrow.get("operator") == "Equal" and (narrow.get("value") or "") == (wide.get("value") or "")
