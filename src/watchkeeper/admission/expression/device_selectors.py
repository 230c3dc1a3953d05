"""Says what is wrong with the expressions that select devices when claims, templates and classes are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from watchkeeper.apis.behavior import Behaviors, KindBehavior
from watchkeeper.apis.resource.claim_validation import MAX_EXPRESSION
from watchkeeper.apis.validation.names import byte_length
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind

if TYPE_CHECKING:
    from watchkeeper.cel.environment import Environment

Object = dict[str, Any]
Located = Iterator[tuple[str, str]]
"""Paths of expressions with the expressions."""

_GROUP = "resource.k8s.io"


def with_device_selectors(behaviors: Behaviors) -> Behaviors:
    """The behaviors, those of kinds that select devices now with rules for how that is expressed."""
    return behaviors.including(
        [_checking(behaviors.of(GroupKind(_GROUP, kind)), find) for kind, find in _EXPRESSIONS.items()]
    )


def problem(expression: str) -> str | None:
    """What is wrong with an expression, in the compiler's words; None for nothing."""
    from watchkeeper.admission.expression.compiled import go_name
    from watchkeeper.cel import types
    from watchkeeper.cel.source import CompileError

    try:
        found = _environment().compile(expression).type
    except CompileError as error:
        stage = "program instantiation" if error.stage == "instantiation" else error.stage
        return f"{stage} failed: {error}"
    if found.same(types.BOOL) or found.same(types.ANY):
        return None
    return f"must evaluate to bool or the unknown type, not {go_name(found)}"


def _checking(behavior: KindBehavior, find: Callable[[Object], Located]) -> KindBehavior:
    def problems(obj: Object) -> list[FieldError]:
        found = ((path, text, problem(text)) for path, text in find(obj.get("spec") or {}))
        return [invalid(path, text, wrong) for path, text, wrong in found if wrong is not None]

    def validate_update(new: Object, old: Object) -> list[FieldError]:
        found = behavior.validate_update(new, old)
        if new.get("spec") == old.get("spec") or behavior.kind.kind == "ResourceClaim":
            return found  # the spec of a claim stays, which is all that is said of a new one
        if found and found[-1].field == "spec":
            return [*found[:-1], *problems(new), found[-1]]
        return found + problems(new)

    return replace(
        behavior,
        validate=lambda obj: behavior.validate(obj) + problems(obj),
        validate_update=validate_update,
    )


def _of_claim(spec: Mapping[str, Any]) -> Located:
    for i, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        path = f"spec.devices.requests[{i}]"
        yield from _of(request.get("exactly") or {}, f"{path}.exactly")
        for j, alternative in enumerate(request.get("firstAvailable") or ()):
            yield from _of(alternative, f"{path}.firstAvailable[{j}]")


def _of_template(spec: Mapping[str, Any]) -> Located:
    for path, text in _of_claim(spec.get("spec") or {}):
        yield f"spec.{path}", text


def _of_class(spec: Mapping[str, Any]) -> Located:
    return _of(spec, "spec")


def _of(holder: Mapping[str, Any], path: str) -> Located:
    selectors: Sequence[Mapping[str, Any]] = holder.get("selectors") or ()
    for i, selector in enumerate(selectors):
        expression = (selector.get("cel") or {}).get("expression") or ""
        if selector.get("cel") is not None and byte_length(expression) <= MAX_EXPRESSION:
            yield f"{path}.selectors[{i}].cel.expression", expression


_EXPRESSIONS: Mapping[str, Callable[[Object], Located]] = {
    "ResourceClaim": _of_claim,
    "ResourceClaimTemplate": _of_template,
    "DeviceClass": _of_class,
}


@cache
def _environment() -> Environment:
    """What expressions know of a device. It is made when it is first needed."""
    from watchkeeper.cel import types
    from watchkeeper.cel.environment import Environment, FieldDef, StructDef, base_environment

    class DeviceEnvironment(Environment):
        """Lets expressions name values."""

        binds = True

    by_domain = {
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, types.ANY)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.struct("kubernetes.Quantity"))),
    }
    fields = {"driver": types.STRING, "allowMultipleAllocations": types.BOOL, **by_domain}
    device = StructDef("kubernetes.DRADevice", {name: FieldDef(name, t) for name, t in fields.items()})
    return DeviceEnvironment(base_environment().functions).extend({"device": types.struct(device.name)}, [device])
