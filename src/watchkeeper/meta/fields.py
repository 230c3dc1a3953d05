"""Field selectors: `metadata.name=a,status.phase!=Running`. Set operators do not exist here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from watchkeeper.meta.label_selector import SelectorError

__all__ = ["EVERYTHING", "FieldSelector", "FieldTerm", "SelectorError", "escape", "from_set", "parse"]

Transform = Callable[[str, str], tuple[str, str]]
"""(label, value) as a client wrote them -> as the hub version names them. Raises for what a kind does not know."""


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One comparison. A field that an object lacks counts as empty."""

    field: str
    value: str
    negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the field has the value, or has another one if negated."""
        return (fields.get(self.field, "") == self.value) is not self.negated

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape(self.value)}"


class FieldSelector:
    """Terms that must all hold; none select everything. Implements `Selector`."""

    __slots__ = ("_equal", "_unequal", "terms")

    def __init__(self, terms: Iterable[FieldTerm] = ()) -> None:
        self.terms = tuple(terms)
        self._equal = tuple((t.field, t.value) for t in self.terms if not t.negated)
        self._unequal = tuple((t.field, t.value) for t in self.terms if t.negated)

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether fields satisfy all terms."""
        for field, value in self._equal:
            if values.get(field, "") != value:
                return False
        for field, value in self._unequal:  # noqa: SIM110  (a generator would cost more than most terms)
            if values.get(field, "") == value:
                return False
        return True

    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return not self.terms

    def exact(self, key: str) -> str | None:
        """The value that the field must have, if a term says so; of several, the first."""
        for field, value in self._equal:
            if field == key:
                return value
        return None

    def transform(self, transform: Transform) -> FieldSelector:
        """The same with other fields and values. A term that becomes two empty texts is dropped."""
        changed = [FieldTerm(*transform(term.field, term.value), term.negated) for term in self.terms]
        return FieldSelector(term for term in changed if term.field or term.value)

    def equalities(self) -> Mapping[str, str]:
        """All `field = value` terms; of contradictory ones, the first."""
        return dict(reversed(self._equal))

    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The equalities, each as a choice of one value."""
        return {field: (value,) for field, value in reversed(self._equal)}

    def is_single_choice(self) -> bool:
        """Whether it is one equality and nothing else."""
        return len(self._equal) == 1 and not self._unequal

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))

    def __repr__(self) -> str:
        return f"<FieldSelector {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)


EVERYTHING = FieldSelector()


def parse(text: str, transform: Transform | None = None) -> FieldSelector:
    """Read a selector. Raises SelectorError, and what `transform` raises for a field it does not know.

    Terms are taken in sorted order, so of several faults the same one is always reported.
    """
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        field, operator, value = _split_term(part)
        if not operator:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        if field or value:  # a term of two empty texts asks nothing
            terms.append(FieldTerm(field, _unescape(value), operator == "!="))
    selector = FieldSelector(terms) if terms else EVERYTHING
    return selector if transform is None else selector.transform(transform)


def from_set(fields: Mapping[str, str]) -> FieldSelector:
    """The selector of exactly these values; {} selects everything."""
    return FieldSelector(FieldTerm(k, v) for k, v in fields.items()) if fields else EVERYTHING


def escape(value: str) -> str:
    """Write a value so that it can stand in a selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _split(text: str) -> list[str]:
    """At commas, but for those behind a backslash; backslashes stay."""
    parts, start, escaped = [], 0, False
    for i, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return parts


def _split_term(term: str) -> tuple[str, str, str]:
    """(field, operator, rest) at the first operator; no operator when there is none."""
    for i in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, i):
                return term[:i], operator, term[i + len(operator) :]
    return term, "", ""


def _unescape(value: str) -> str:
    out, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)
