"""A compiled expression and the types that its result may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.cel import types
from watchkeeper.cel.program import Program
from watchkeeper.cel.types import Kind, Type
from watchkeeper.cel.values import TypeValue

ReturnType = Sequence[Type]
"""The types that the result of an expression may have; none at all is any."""

OBJECT = types.struct("Object")
JSON_PATCH = types.struct("JSONPatch")

ANYTHING: ReturnType = ()
BOOL: ReturnType = (types.BOOL,)
STRING: ReturnType = (types.STRING,)
STRING_OR_NULL: ReturnType = (types.STRING, types.NULL)
CONFIGURATION: ReturnType = (OBJECT,)
PATCHES: ReturnType = (types.list_of(JSON_PATCH),)


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, ready to run, or what is wrong with it."""

    source: str
    program: Program | None = None
    problem: str = ""
    sound: bool = False
    """Whether the problem came up only when a program was to be made of what is sound."""

    @property
    def type(self) -> Type:
        """The type of the result; dyn when that is known at evaluation only."""
        return self.program.type if self.program is not None else types.DYN


def unwanted_type(found: Type, wanted: ReturnType) -> str | None:
    """What is wrong with an expression of a type, None for nothing."""
    if not wanted or any(found.same(t) for t in wanted):
        return None
    shown = go_name(found)
    if len(wanted) == 1:
        return f"must evaluate to {go_name(wanted[0])} but got {shown}"
    return f"must evaluate to one of [{' '.join(map(go_name, wanted))}] but got {shown}"


def go_name(t: Type) -> str:
    """A type as cel-go prints it, which is not how its checker words it."""
    if t.params and t.kind in (Kind.LIST, Kind.MAP, Kind.OPAQUE, Kind.TYPE):
        return f"{t.name}({', '.join(map(go_name, t.params))})"
    return f"wrapper({t.name})" if t.nullable else TypeValue(t).name
