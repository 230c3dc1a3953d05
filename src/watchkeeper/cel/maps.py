"""Maps with keys that are not all texts.

A map whose keys are texts is a dict. To Python true, 1 and 1.0 are one key, to an expression they are several, and a
key may be of any type; so a map with other keys is a `KeyedMap`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from watchkeeper.cel import types
from watchkeeper.cel.values import MAX_INT, MAX_UINT, MIN_INT, Uint, register_value_type


class KeyedMap(dict[Any, Any]):
    """A map from keys of any type. Beneath it is a dict whose keys are pairs: the type of a key, and the key.

    Numbers are found by others of the same value, whatever their type, except doubles, which only doubles find.
    """

    __slots__ = ()

    def __init__(self, entries: Iterable[tuple[Any, Any]]) -> None:
        super().__init__((_token(key), value) for key, value in entries)

    def __iter__(self) -> Iterator[Any]:
        return map(_key, super().__iter__())

    def keys(self) -> Any:
        """The keys, in the order in which they were written."""
        return list(self)

    def items(self) -> Any:
        """Pairs of keys and values."""
        return [(_key(token), value) for token, value in super().items()]

    def __contains__(self, key: Any) -> bool:
        return self._found(key) is not None

    def __getitem__(self, key: Any) -> Any:
        found = self._found(key)
        if found is None:
            raise KeyError(key)
        return super().__getitem__(found)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, `default` where there is none."""
        found = self._found(key)
        return default if found is None else super().__getitem__(found)

    def _found(self, key: Any) -> tuple[type, Any] | None:
        """The pair that stands for a key; None where there is none."""
        for token in _tokens(key):
            if super().__contains__(token):
                return token
        return None


register_value_type(KeyedMap, types.map_of(types.DYN, types.DYN))


def map_from(entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """The map of these entries; of two with the same key the latter counts."""
    return dict(entries) if all(key.__class__ is str for key, _ in entries) else KeyedMap(entries)


class _Identity:
    """Stands for a key that only itself is equal to, such as a list."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


def _token(key: Any) -> tuple[type, Any]:
    try:
        hash(key)
    except TypeError:
        key = _Identity(key)
    return key.__class__, key


def _key(token: tuple[type, Any]) -> Any:
    kind, key = token
    return key.of if kind is _Identity else key


def _tokens(key: Any) -> Iterator[tuple[type, Any]]:
    """The pairs under which a key may be held, the likeliest first."""
    yield _token(key)
    kind = key.__class__
    if kind is float and key.is_integer():
        key = int(key)
    elif kind is not int and kind is not Uint:
        return
    if kind is not int and MIN_INT <= key <= MAX_INT:
        yield int, int(key)
    if kind is not Uint and 0 <= key <= MAX_UINT:
        yield Uint, Uint(key)
