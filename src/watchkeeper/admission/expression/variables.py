"""The variables that a policy composes: each is computed when it is first used, and once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.environment import FieldDef, StructDef
from watchkeeper.cel.program import Program
from watchkeeper.cel.types import Kind, Type
from watchkeeper.cel.values import CostLimitExceeded, EvalError, register_value_type
from watchkeeper.meta.field import go_quote

VARIABLES = types.struct("kubernetes.variables")
_KNOWN = frozenset(
    {
        Kind.ANY,
        Kind.BOOL,
        Kind.BYTES,
        Kind.DOUBLE,
        Kind.DURATION,
        Kind.INT,
        Kind.NULL,
        Kind.STRING,
        Kind.TIMESTAMP,
        Kind.UINT,
    }
)


def declared_type(t: Type) -> Type:
    """What other expressions know of a variable's type: scalars, lists and maps; all else only when it is there."""
    if t.kind in (Kind.LIST, Kind.MAP):
        return Type(t.kind, t.name, tuple(map(declared_type, t.params)))
    return t if t.kind in _KNOWN else types.DYN


def struct_of(fields: Mapping[str, Type]) -> StructDef:
    """The structure of all variables."""
    return StructDef(VARIABLES.name, {name: FieldDef(name, declared_type(t)) for name, t in fields.items()})


class Variables:
    """The value of `variables` in one evaluation."""

    __slots__ = ("_known", "_pay", "_programs", "_values")

    def __init__(self, programs: Mapping[str, Program], values: dict[str, Any], pay: Callable[[int], None]) -> None:
        """`values` are what the programs see; `pay` takes what computing a variable has cost."""
        self._programs = programs
        self._values = values
        self._pay = pay
        self._known: dict[str, Any] = {}

    def has(self, name: str) -> bool:
        """Whether there is such a variable. Raises EvalError when it cannot be computed."""
        return name in self._programs and self.get(name) is not ...

    def get(self, name: str) -> Any:
        """The value. Raises EvalError, the same each time."""
        if name not in self._known:
            self._known[name] = self._compute(name)
        found = self._known[name]
        if isinstance(found, EvalError):
            raise found
        return found

    def _compute(self, name: str) -> Any:
        program = self._programs.get(name)
        if program is None:
            return EvalError(f"composited variable {go_quote(name)} fails to compile")
        try:
            value, cost = program.evaluate(self._values)
        except CostLimitExceeded as problem:
            self._pay(problem.cost)
            return EvalError(f"composited variable {go_quote(name)} fails to evaluate: {problem}")
        except EvalError as problem:
            self._pay(problem.cost)
            return EvalError(f"composited variable {go_quote(name)} fails to evaluate: {problem}")
        self._pay(cost)
        return value


register_value_type(Variables, VARIABLES)
