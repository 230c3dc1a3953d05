"""Label selectors as values: requirements, and what they match."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from watchkeeper.meta import label_syntax
from watchkeeper.meta.field import FieldError, aggregate, invalid
from watchkeeper.meta.go_numbers import parse_int


class SelectorError(ValueError):
    """A selector that cannot be understood. The message is the reference's."""


class Operator(enum.Enum):
    """How a requirement relates a key and values."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_SELECTS_VALUES = (Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS)
_REFUSES_VALUES = (Operator.NOT_IN, Operator.NOT_EQUALS)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label. `values` are sorted and distinct."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it. The negative operators are also satisfied by labels without the key."""
        value = labels.get(self.key)
        operator = self.operator
        if operator in _SELECTS_VALUES:
            return value in self.values
        if operator in _REFUSES_VALUES:
            return value not in self.values
        if operator is Operator.EXISTS:
            return value is not None
        if operator is Operator.DOES_NOT_EXIST:
            return value is None
        number = parse_int64(value) if value is not None else None
        bound = parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        operator = self.operator
        if operator is Operator.EXISTS:
            return self.key
        if operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        values = ",".join(self.values)
        if operator in (Operator.IN, Operator.NOT_IN):
            return f"{self.key} {operator.value} ({values})"
        sign = {Operator.GREATER_THAN: ">", Operator.LESS_THAN: "<"}.get(operator, operator.value)
        return f"{self.key}{sign}{values}"


class LabelSelector:
    """Requirements that must all hold, ordered by key. None at all select everything. Implements `Selector`."""

    __slots__ = ("_equalities", "_others", "requirements")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: r.key))
        # Equalities are nearly all there is in practice, so they are compared without a call for each.
        equalities: list[tuple[str, str]] = []
        others: list[Requirement] = []
        for r in self.requirements:
            if r.operator in _SELECTS_VALUES and len(r.values) == 1:
                equalities.append((r.key, r.values[0]))
            else:
                others.append(r)
        self._equalities, self._others = tuple(equalities), tuple(others)

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether labels satisfy all requirements."""
        for key, value in self._equalities:
            if values.get(key) != value:
                return False
        for requirement in self._others:  # noqa: SIM110  (a generator would cost more than most requirements)
            if not requirement.matches(values):
                return False
        return True

    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements

    def exact(self, key: str) -> str | None:
        """The one value that the label must have, if the first requirement on it says so."""
        for requirement in self.requirements:
            if requirement.key == key:
                selects_one = requirement.operator in _SELECTS_VALUES and len(requirement.values) == 1
                return requirement.values[0] if selects_one else None
        return None

    def equalities(self) -> Mapping[str, str]:
        """All `key = value` requirements; of contradictory ones, the last."""
        return dict(self._equalities)

    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """For each label that must have one of some values: these values; of several such demands, the last."""
        return {r.key: r.values for r in self.requirements if r.operator in _SELECTS_VALUES}

    def is_single_choice(self) -> bool:
        """Whether it demands that one label has one of some values, and nothing else."""
        return len(self.requirements) == 1 and self.requirements[0].operator in _SELECTS_VALUES

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"<LabelSelector {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


class _Nothing(LabelSelector):
    __slots__ = ()

    def matches(self, values: Mapping[str, str]) -> bool:
        return False

    def is_empty(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "<LabelSelector of nothing>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Nothing)

    def __hash__(self) -> int:
        return 0


EVERYTHING = LabelSelector()
NOTHING: LabelSelector = _Nothing()


def parse_int64(text: str) -> int | None:
    """A whole decimal number of 64 bits, as Go's strconv.ParseInt reads it; None for anything else."""
    try:
        return parse_int(text)
    except ValueError:
        return None


def requirement(key: str, operator: Operator, values: Iterable[str] = (), *, path: str = "") -> Requirement:
    """Make a valid requirement. Raises SelectorError with everything that is wrong with it.

    `path` is where the selector was found, for the message.
    """
    values = tuple(values)
    prefix = f"{path}." if path else ""
    faults: list[FieldError] = _fault(f"{prefix}key", key, label_syntax.label_key_faults(key))
    faults += _count_faults(operator, values, f"{prefix}values")
    for i, value in enumerate(values):
        faults += _fault(f"{prefix}values[{i}][{key}]", value, label_syntax.label_value_faults(value))
    if faults:
        raise SelectorError(aggregate(faults))
    return Requirement(key, operator, tuple(sorted(set(values))))


def _fault(path: str, value: str, faults: list[str]) -> list[FieldError]:
    return [invalid(path, value, "; ".join(faults))] if faults else []


def _count_faults(operator: Operator, values: tuple[str, ...], path: str) -> list[FieldError]:
    shown = list(values)
    if operator in (Operator.IN, Operator.NOT_IN):
        return [] if values else [invalid(path, shown, "for 'in', 'notin' operators, values set can't be empty")]
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return [invalid(path, shown, "values set must be empty for exists and does not exist")] if values else []
    if operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        faults = []
        if len(values) != 1:
            faults.append(invalid(path, shown, "for 'Gt', 'Lt' operators, exactly one value is required"))
        for i, value in enumerate(values):
            if parse_int64(value) is None:
                text = "for 'Gt', 'Lt' operators, the value must be an integer"
                faults.append(invalid(f"{path}[{i}]", value, text))
        return faults
    return [] if len(values) == 1 else [invalid(path, shown, "exact-match compatibility requires one single value")]
