"""Says what is wrong with the expressions that select devices when claims, templates and classes are written."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.resource.claim import claim_behaviors
from watchkeeper.apis.resource.publication import class_behavior
from watchkeeper.meta.field import FieldError, forbidden, internal_error, invalid

if TYPE_CHECKING:
    from watchkeeper.cel.environment import Environment
    from watchkeeper.cel.estimate import Path, Span
    from watchkeeper.cel.program import Program

_MAX_COST = 1_000_000
_MAX_DRIVER, _MAX_DOMAIN, _MAX_IDENTIFIER, _MAX_ATTRIBUTE = 63, 63, 32, 64
_MAX_ENTRIES = 32
_MAPS = ("attributes", "capacity")


def device_selecting_behaviors() -> list[KindBehavior]:
    """What to give `Behaviors.including`, so that selectors are compiled when they are written."""
    return [*claim_behaviors(selector_errors), class_behavior(selector_errors)]


def selector_errors(path: str, expression: str) -> list[FieldError]:
    """What is wrong with an expression: it does not compile, is not true or false, or may cost too much."""
    from watchkeeper.admission.expression.compiled import go_name
    from watchkeeper.cel import types
    from watchkeeper.cel.source import CompileError, UnwantedTypeError
    from watchkeeper.cel.types import Type

    def judge(found: Type) -> None:
        if not found.same(types.BOOL) and not found.same(types.ANY):
            raise UnwantedTypeError(f"must evaluate to bool or the unknown type, not {go_name(found)}")

    try:
        program = device_environment().compile(expression, judge)
    except CompileError as error:
        if error.stage == "instantiation":
            return [internal_error(path, f"program instantiation failed: {error}")]
        return [invalid(path, expression, f"{error.stage} failed: {error}")]
    except UnwantedTypeError as error:
        return [invalid(path, expression, str(error))]
    if worst_cost(program) > _MAX_COST:
        return [forbidden(path, "too complex, exceeds cost limit")]
    return []


def worst_cost(program: Program) -> int:
    """The greatest cost of evaluating an expression for one device."""
    return program.estimate(_size_of).high


def _size_of(path: Path) -> Span | None:
    """How long what a device has may be. Attributes are as long as the longest, whatever they are called."""
    from watchkeeper.cel.estimate import Span

    match path:
        case ("device", "driver"):
            return Span(0, _MAX_DRIVER)
        case ("device", name) | ("device", name, "@items" | "@values") if name in _MAPS:
            return Span(0, _MAX_ENTRIES)
        case ("device", name, "@keys") if name in _MAPS:
            return Span(0, _MAX_DOMAIN)
        case ("device", name, "@items" | "@values", "@keys") if name in _MAPS:
            return Span(0, _MAX_IDENTIFIER)
        case ("device", "attributes", "@items" | "@values", _):
            return Span(0, _MAX_ATTRIBUTE)
    return None


@cache
def device_environment() -> Environment:
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
