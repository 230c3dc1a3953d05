"""Views of stored objects as other kinds, such as a Deployment's Scale, in the shape that updates are given."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]


class DerivedObject(StoredObject):
    """An object that was made of a stored one and is stored nowhere itself."""

    __slots__ = ("_encoded",)

    def __init__(self, source: StoredObject, obj: Object) -> None:
        super().__init__(source.key, source.resource_version, b"", b"", source.codec)
        self._encoded = orjson.dumps(obj)

    def data(self) -> Object:
        """The object as a dict of the caller's own."""
        obj: Object = orjson.loads(self._encoded)
        return obj
