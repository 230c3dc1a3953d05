"""How kinds are stored that have raw objects within, whose texts are kept."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.raw_json import Path, mark_as_written, with_texts
from watchkeeper.storage.codec import JsonCodec, SelectableFields
from watchkeeper.storage.interface import Object, StoredObject


class RawCodec(JsonCodec):
    """A JsonCodec for a kind with raw objects: these are stored as they are written, all else in the canonical form."""

    def __init__(
        self,
        gvk: GroupVersionKind,
        selectable_fields: SelectableFields | None = None,
        *,
        raw_paths: tuple[Path, ...],
        **options: Any,
    ) -> None:
        super().__init__(gvk, selectable_fields, **options)
        self._raw_paths = raw_paths

    def body(self, obj: Object) -> bytes:
        """The encoding without the head."""
        return super().body(with_texts(obj, self._raw_paths))

    def parse(self, stored: StoredObject) -> Object:
        """A fresh dict of the object, whose raw objects know their texts. Raises CorruptObject for what is not JSON."""
        obj = super().parse(stored)
        mark_as_written(obj, self._raw_paths, (stored.head + stored.tail).decode())
        return obj
