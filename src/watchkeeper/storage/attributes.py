"""Equal label sets share one dict, and equal field values one text: thousands of objects carry the same few."""

from __future__ import annotations

import sys
from collections.abc import Mapping

_MAX_SETS = 10_000
_MAX_VALUES = 10_000


class AttributesPool:
    """Remembers label sets and field values, up to a bound."""

    __slots__ = ("_sets", "_values")

    def __init__(self) -> None:
        self._sets: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        self._values: dict[str, str] = {}

    def labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """A dict equal to `labels`. The caller must not change it."""
        key = tuple(labels.items())
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) >= _MAX_SETS:
                self._sets.clear()
            found = self._sets[key] = {sys.intern(k): v for k, v in key}
        return found

    def add_fields(self, fields: dict[str, str], more: Mapping[str, str]) -> None:
        """Add to `fields`, with shared values."""
        values = self._values
        if len(values) < _MAX_VALUES:
            for name, value in more.items():
                fields[name] = values.setdefault(value, value)
        else:
            # What many share came early; what is unique, such as addresses, has filled the rest.
            for name, value in more.items():
                fields[name] = values.get(value, value)
