"""Label sets that are equal share one dict: thousands of objects carry the same few."""

from __future__ import annotations

import sys
from collections.abc import Mapping

_MAX_SETS = 10_000


class AttributesPool:
    """Remembers label sets, up to a bound; beyond it, starts anew."""

    __slots__ = ("_sets",)

    def __init__(self) -> None:
        self._sets: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def share(self, labels: Mapping[str, str]) -> dict[str, str]:
        """A dict equal to `labels`. The caller must not change it."""
        key = tuple(labels.items())
        found = self._sets.get(key)
        if found is None:
            if len(self._sets) >= _MAX_SETS:
                self._sets.clear()
            found = self._sets[key] = {sys.intern(k): v for k, v in key}
        return found
