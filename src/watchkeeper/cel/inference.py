"""Type inference: substitution of type parameters, and whether one type can stand for another."""

from __future__ import annotations

from watchkeeper.cel.types import Kind, Type, is_dyn, is_dyn_or_error

_SCALARS = frozenset(
    (Kind.BOOL, Kind.BYTES, Kind.DOUBLE, Kind.INT, Kind.STRING, Kind.UINT, Kind.DURATION, Kind.TIMESTAMP, Kind.STRUCT)
)
_NULLABLE = frozenset((Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL))
_COMPOUND = frozenset((Kind.OPAQUE, Kind.LIST, Kind.MAP, Kind.TYPE))


class Mapping:
    """What is known of type parameters so far."""

    __slots__ = ("_before", "_bound")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._before: list[tuple[str, Type | None]] = []
        """What parameters stood for before the last attempt changed it."""

    def bind(self, parameter: Type, to: Type) -> None:
        """Say what a parameter stands for."""
        self._before.append((parameter.name, self._bound.get(parameter.name)))
        self._bound[parameter.name] = to

    def assign(self, wanted: list[Type], given: list[Type]) -> bool:
        """Whether each given type can stand for the wanted one. What that says of parameters is known from then on."""
        self._before.clear()
        if _assignable_all(self, given, wanted):
            return True
        for name, before in reversed(self._before):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def find(self, t: Type) -> Type | None:
        """What a type stands for, None when it stands for itself."""
        return self._bound.get(t.name) if t.kind is Kind.PARAM else None


def substitute(m: Mapping, t: Type, param_to_dyn: bool = False) -> Type:
    """Replace all parameters by what they stand for; free ones become dyn if asked."""
    found = m.find(t)
    if found is not None:
        return substitute(m, found, param_to_dyn)
    if t.kind is Kind.PARAM:
        return _DYN if param_to_dyn else t
    if not t.params:
        return t
    params = tuple(substitute(m, p, param_to_dyn) for p in t.params)
    if all(a is b for a, b in zip(params, t.params, strict=True)):
        return t
    return Type(t.kind, t.name, params, t.shape)


_DYN = Type(Kind.DYN, "dyn")


def _assignable_all(m: Mapping, first: list[Type], second: list[Type]) -> bool:
    return len(first) == len(second) and all(_assignable(m, a, b) for a, b in zip(first, second, strict=True))


def _assignable(m: Mapping, a: Type, b: Type) -> bool:
    if b.kind is Kind.PARAM:
        valid, bound = _substitution(m, a, b)
        if valid:
            return True
        if bound:
            return False
    if a.kind is Kind.PARAM:
        return _substitution(m, b, a)[0]
    if is_dyn_or_error(a) or is_dyn_or_error(b):
        return True
    if a.kind is Kind.NULL or b.kind is Kind.NULL:
        other = b if a.kind is Kind.NULL else a
        return other.kind in _NULLABLE or other.nullable
    if a.kind in _SCALARS:
        return a.kind is b.kind and a.name == b.name
    if a.kind is Kind.TYPE:
        return b.kind is Kind.TYPE
    if a.kind in _COMPOUND:
        return a.kind is b.kind and a.name == b.name and _assignable_all(m, list(a.params), list(b.params))
    return False


def _substitution(m: Mapping, a: Type, parameter: Type) -> tuple[bool, bool]:
    if a.kind is Kind.PARAM and a.name == parameter.name:
        return True, True
    bound = m.find(parameter)
    if bound is not None:
        if a.same(bound):
            return True, True
        if not _assignable(m, a, bound):
            return False, True
        general = most_general(a, bound)
        if _not_within(m, parameter, general):
            m.bind(parameter, general)
        return True, True
    if _not_within(m, parameter, a):
        m.bind(parameter, a)
        return True, False
    return False, False


def most_general(a: Type, b: Type) -> Type:
    """Which of two types says less about its values."""
    return a if _equal_or_less_specific(a, b) else b


def _equal_or_less_specific(a: Type, b: Type) -> bool:
    if is_dyn(a) or a.kind is Kind.PARAM:
        return True
    if is_dyn(b) or b.kind is Kind.PARAM or a.kind is not b.kind:
        return False
    if a.kind is Kind.TYPE:
        return True
    if a.kind in _COMPOUND:
        return (
            a.name == b.name
            and len(a.params) == len(b.params)
            and all(_equal_or_less_specific(x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return a.same(b)


def _not_within(m: Mapping, parameter: Type, t: Type) -> bool:
    if t.kind is Kind.PARAM:
        if t.name == parameter.name:
            return False
        bound = m.find(t)
        return bound is None or _not_within(m, parameter, bound)
    return all(_not_within(m, parameter, p) for p in t.params)
