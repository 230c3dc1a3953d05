"""Functions as the checker and the evaluators see them: overloads with types and implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.cel.types import Kind, Type, parse_type
from watchkeeper.cel.values import runtime_type

Implementation = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function. `args` begins with the target's type for member functions."""

    id: str
    args: tuple[Type, ...]
    result: Type
    member: bool
    run: Implementation
    """Takes the target, if there is one, and the arguments; raises EvalError."""
    guarded: bool = True
    """Whether a dynamic call looks into lists and maps for what they hold."""

    def takes(self, args: Sequence[Any]) -> bool:
        """Whether values can be the arguments of a dynamic call."""
        if len(args) != len(self.args):
            return False
        if self.guarded:
            return all(map(_accepts_value, self.args, args))
        return all(accepts(wanted, runtime_type(arg)) for wanted, arg in zip(self.args, args, strict=True))


@dataclass(slots=True)
class Function:
    """A function and its overloads, in the order in which they are tried."""

    name: str
    overloads: list[Overload] = field(default_factory=list)

    def by_id(self, overload_id: str) -> Overload:
        """The overload with an identifier."""
        return next(o for o in self.overloads if o.id == overload_id)


def overload(overload_id: str, text: str, run: Implementation, *, guarded: bool = True) -> tuple[str, Overload]:
    """Declare an overload by its signature, such as `string.startsWith(string) -> bool`, with its function's name."""
    head, _, result = text.partition("->")
    head = head.strip()
    opening = _opening(head)
    path, args = head[:opening], _split(head[opening + 1 : -1])
    target, dot, name = _split_target(path)
    arg_types = [parse_type(a) for a in args]
    if dot:
        arg_types.insert(0, parse_type(target))
    return name, Overload(overload_id, tuple(arg_types), parse_type(result), bool(dot), run, guarded)


def _opening(head: str) -> int:
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            return i
    raise ValueError(f"no arguments in {head!r}")


def _split_target(path: str) -> tuple[str, str, str]:
    """`list(T).sum` is a member function; `ip.isCanonical` and `_==_` are names; `::` marks dotted global names."""
    if path.startswith("::"):
        return "", "", path[2:]
    target, dot, name = path.rpartition(".")
    return target, dot, name


def _split(text: str) -> list[str]:
    out: list[str] = []
    depth, start = 0, 0
    for i, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    if text[start:].strip():
        out.append(text[start:])
    return out


def collect(declared: Iterable[tuple[str, Overload]]) -> dict[str, Function]:
    """Put overloads of one name together."""
    functions: dict[str, Function] = {}
    for name, item in declared:
        functions.setdefault(name, Function(name)).overloads.append(item)
    return functions


def accepts(wanted: Type, value_type: Type) -> bool:
    """Whether a value of a runtime type can be an argument of the wanted type."""
    if wanted.kind in (Kind.DYN, Kind.PARAM, Kind.ANY):
        return True
    if wanted.kind is not value_type.kind:
        return False
    return wanted.kind not in (Kind.OPAQUE, Kind.STRUCT) or wanted.name == value_type.name


def _accepts_value(wanted: Type, value: Any) -> bool:
    """Whether a value can be an argument of the wanted type. Of a list or map the first item stands for all."""
    if not accepts(wanted, runtime_type(value)):
        return False
    if wanted.kind is Kind.LIST:
        return not value or _accepts_value(wanted.params[0], value[0])
    if wanted.kind is Kind.MAP and value:
        key, item = next(iter(value.items()))
        return _accepts_value(wanted.params[0], key) and _accepts_value(wanted.params[1], item)
    return True
