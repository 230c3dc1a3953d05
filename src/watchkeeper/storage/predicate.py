"""Which objects a list or watch selects: a label selector and a field selector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class Selector(Protocol):
    """A parsed label or field selector (see `meta.labels` and `meta.fields`)."""

    def matches(self, values: Mapping[str, str]) -> bool:
        """Whether labels, or fields, satisfy it."""
        ...

    def is_empty(self) -> bool:
        """Whether it selects everything."""
        ...

    def exact(self, key: str) -> str | None:
        """The one value that `key` must equal, if the selector says so."""
        ...

    def equalities(self) -> Mapping[str, str]:
        """All `key = value` requirements, for indexes."""
        ...

    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """For each key that must have one of some values: these values. Includes the equalities."""
        ...

    def is_single_choice(self) -> bool:
        """Whether it is one of the `choices` and demands nothing else."""
        ...


class _Everything:
    def matches(self, values: Mapping[str, str]) -> bool:
        return True

    def is_empty(self) -> bool:
        return True

    def exact(self, key: str) -> str | None:
        return None

    def equalities(self) -> Mapping[str, str]:
        return {}

    def choices(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    def is_single_choice(self) -> bool:
        return False


SELECT_ALL: Selector = _Everything()


@dataclass(frozen=True, slots=True)
class SelectionPredicate:
    """Both selectors of a request."""

    label: Selector = SELECT_ALL
    field: Selector = SELECT_ALL

    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return self.label.is_empty() and self.field.is_empty()

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether an object with these labels and selectable fields is selected."""
        return self.label.matches(labels) and self.field.matches(fields)


EVERYTHING = SelectionPredicate()
