"""What objects have in common that are made by the dozen: the Pods of a workload differ in little but their names.

What is found out about a part of an object is remembered by the text of that part, all of it, so it holds for every
part with that text, for ever. Only what depends on nothing else may be remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import orjson

V = TypeVar("V")
Object = dict[str, Any]

_MAX_REMEMBERED = 256
_MAX_BYTES = 16_384
_PATIENCE = 32
"""So many parts in a row that nobody has seen before, and only each sixteenth is looked up from then on."""
_SAMPLE = 16


class Memo(Generic[V]):
    """Values by texts, the newest ones. Costs next to nothing where nothing is alike."""

    __slots__ = ("_known", "_patience", "_skipped")

    def __init__(self) -> None:
        self._known: dict[bytes, V] = {}
        self._patience = _PATIENCE
        self._skipped = 0

    def __repr__(self) -> str:
        return f"<Memo of {len(self._known)}>"

    def key(self, *parts: Any) -> bytes | None:
        """The text of some JSON values; None when looking for it is not worth while."""
        if not self._patience:
            self._skipped += 1
            if self._skipped % _SAMPLE:
                return None
        try:
            text = orjson.dumps(parts)
        except TypeError:  # numbers and texts that only a lenient reader takes
            return None
        return text if len(text) <= _MAX_BYTES else None

    def get(self, key: bytes) -> V | None:
        """What is known, None for nothing."""
        found = self._known.get(key)
        if found is not None:
            self._patience = _PATIENCE
        elif self._patience:
            self._patience -= 1
        return found

    def add(self, key: bytes, value: V) -> None:
        """Remember something."""
        if len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = value


class KnownSpec:
    """A spec as many objects have it."""

    __slots__ = ("fields", "text")

    def __init__(self, spec: Object) -> None:
        self.text = orjson.dumps(spec)
        """The spec, decoded and with its defaults."""
        self.fields: dict[str, Any] | None = None
        """The set of fields that who makes it owns in it, once that is known."""


class Specs:
    """The specs of one kind at one version, whose decoding and defaults depend on nothing else in the object."""

    __slots__ = ("_given", "_known", "default_rest", "key")

    def __init__(self, default_rest: Callable[[Object], None]) -> None:
        """`default_rest` fills in defaults outside of the spec, in place."""
        self.default_rest = default_rest
        self._known: Memo[KnownSpec] = Memo()
        self._given: tuple[Object, KnownSpec] | None = None
        self.key = self._known.key

    def take(self, key: bytes) -> Object | None:
        """A spec of the caller's own, decoded and with its defaults, in place of the one with this text; if known."""
        known = self._known.get(key)
        if known is None:
            return None
        spec: Object = orjson.loads(known.text)
        self._given = (spec, known)
        return spec

    def add(self, key: bytes, spec: Object) -> None:
        """Remember what became of the spec with this text, without unknown fields."""
        self._known.add(key, KnownSpec(spec))

    def known(self, spec: Any) -> KnownSpec | None:
        """What is known of the very spec that was taken last, which nobody has changed; for one question."""
        given, self._given = self._given, None
        return given[1] if given is not None and given[0] is spec else None
