"""Objects that show more than what is stored of them while they are new."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.codec import JsonCodec, SelectableFields
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


class FillingCodec(JsonCodec):
    """Stores new objects without a value that every reader fills in, as kube-apiserver does.

    The first write after the creation of an object stores the value, so that it makes a new version even when nothing
    changes.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        selectable_fields: SelectableFields | None,
        *,
        stored: bytes,
        shown: bytes,
        **options: Any,
    ) -> None:
        """`stored` is how the encoding of a new object ends, `shown` how it ends for readers."""
        super().__init__(gvk, selectable_fields, **options)
        self._stored_end = stored
        self._shown_end = shown

    def body_of_new(self, obj: Object) -> bytes:
        """The encoding without the value."""
        body = self.body(obj)
        return body.removesuffix(self._shown_end) + self._stored_end if body.endswith(self._shown_end) else body

    def stored(self, key: str, value: bytes, revision: int) -> StoredObject:
        """Wrap stored bytes, filled. Raises CorruptObject naming the key."""
        return super().stored(key, self._filled(value), revision)

    def wrap(self, key: str, body: bytes, revision: int) -> StoredObject:
        """A StoredObject of an encoding, filled."""
        return super().wrap(key, self._filled(body), revision)

    def _filled(self, text: bytes) -> bytes:
        return text.removesuffix(self._stored_end) + self._shown_end if text.endswith(self._stored_end) else text
