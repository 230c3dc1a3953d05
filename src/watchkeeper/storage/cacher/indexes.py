"""Which objects have that label, or that field? Answered without looking at all of them.

An index is built when it is first asked, and kept up to date from then on: most resources are never asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from watchkeeper.storage.interface import Attributes, StoredObject
from watchkeeper.storage.predicate import SelectionPredicate

_NONE: frozenset[str] = frozenset()


class _ValueIndex:
    """name -> value -> keys. Every name of the attributes is indexed, or only the given ones."""

    __slots__ = ("_keys", "_names")

    def __init__(self, names: frozenset[str] | None) -> None:
        self._names = names
        self._keys: dict[str, dict[str, set[str]]] = {}

    def _pairs(self, values: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        return values.items() if self._names is None else [(n, values.get(n, "")) for n in self._names]

    def add(self, key: str, values: Mapping[str, str]) -> None:
        for name, value in self._pairs(values):
            by_value = self._keys.get(name)
            if by_value is None:
                by_value = self._keys[name] = {}
            keys = by_value.get(value)
            if keys is None:
                by_value[value] = {key}
            else:
                keys.add(key)

    def remove(self, key: str, values: Mapping[str, str]) -> None:
        for name, value in self._pairs(values):
            by_value = self._keys[name]
            keys = by_value[value]
            keys.discard(key)
            if not keys:
                del by_value[value]
                if not by_value:
                    del self._keys[name]

    def get(self, name: str, values: tuple[str, ...]) -> set[str] | frozenset[str]:
        by_value = self._keys.get(name, {})
        if len(values) == 1:
            return by_value.get(values[0], _NONE)
        return _NONE.union(*(by_value.get(value, _NONE) for value in values))


class Indexes:
    """The label index and the field index of one resource."""

    def __init__(self, index_fields: Iterable[str] = ()) -> None:
        """`index_fields`: labels of the fields that are worth an index, such as spec.nodeName."""
        self.fields = frozenset(index_fields)
        self._by_label: _ValueIndex | None = None
        self._by_field: _ValueIndex | None = None

    def __repr__(self) -> str:
        built = [name for name, index in (("labels", self._by_label), ("fields", self._by_field)) if index is not None]
        return f"<Indexes of {' and '.join(built) or 'nothing yet'}>"

    def reset(self) -> None:
        """Forget everything; built again when asked."""
        self._by_label = self._by_field = None

    def change(self, key: str, new: StoredObject | None, old: StoredObject | None) -> None:
        """The object under a key has changed."""
        if self._by_label is None and self._by_field is None:
            return
        now = new.attributes if new is not None else None
        before = old.attributes if old is not None else None
        if self._by_label is not None:
            _move(self._by_label, key, now.labels if now else None, before.labels if before else None)
        if self._by_field is not None and not self._same_fields(now, before):
            _move(self._by_field, key, now.fields if now else None, before.fields if before else None)

    def _same_fields(self, now: Attributes | None, before: Attributes | None) -> bool:
        if now is None or before is None:
            return False
        return all(now.fields.get(name) == before.fields.get(name) for name in self.fields)

    def candidates(
        self, predicate: SelectionPredicate, objects: Iterable[StoredObject]
    ) -> set[str] | frozenset[str] | None:
        """Keys among which everything selected is, the fewest that an index can tell; None when none can.

        `objects` are all there are, for building an index.
        """
        best: set[str] | frozenset[str] | None = None
        for name, values in predicate.label.choices().items():
            keys = self._labels(objects).get(name, values)
            if best is None or len(keys) < len(best):
                best = keys
        for name, values in predicate.field.choices().items():
            if name in self.fields:
                keys = self._fields(objects).get(name, values)
                if best is None or len(keys) < len(best):
                    best = keys
        return best

    def decides(self, predicate: SelectionPredicate) -> bool:
        """Whether the candidates are all selected: the predicate is one look-up in one index and nothing else."""
        if predicate.field.is_empty():
            return predicate.label.is_single_choice()
        if not predicate.label.is_empty() or not predicate.field.is_single_choice():
            return False
        return next(iter(predicate.field.choices())) in self.fields

    def _labels(self, objects: Iterable[StoredObject]) -> _ValueIndex:
        if self._by_label is None:
            self._by_label = _ValueIndex(None)
            for stored in objects:
                self._by_label.add(stored.key, stored.attributes.labels)
        return self._by_label

    def _fields(self, objects: Iterable[StoredObject]) -> _ValueIndex:
        if self._by_field is None:
            self._by_field = _ValueIndex(self.fields)
            for stored in objects:
                self._by_field.add(stored.key, stored.attributes.fields)
        return self._by_field


def _move(index: _ValueIndex, key: str, new: Mapping[str, str] | None, old: Mapping[str, str] | None) -> None:
    if new is old or new == old:
        return
    if old is not None:
        index.remove(key, old)
    if new is not None:
        index.add(key, new)
