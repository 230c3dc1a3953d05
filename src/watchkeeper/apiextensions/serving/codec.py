"""Between stored bytes and custom resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from watchkeeper.apiextensions.schema.embedded import CoercionError
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.json_text import with_digits
from watchkeeper.storage.codec import JsonCodec, SelectableFields, splice
from watchkeeper.storage.errors import CorruptObject, NotOfItsKind
from watchkeeper.storage.interface import Attributes, StoredObject

Object = dict[str, Any]


class GoNumbersCodec(JsonCodec):
    """Writes objects of one kind with numbers as kube-apiserver writes them."""

    def body(self, obj: Object) -> bytes:
        """The canonical encoding without the head."""
        return with_digits(b"{" + super().body(obj))[1:]


class CustomCodec(GoNumbersCodec):
    """Reads and writes objects of one custom resource at its storage version.

    What is read is what the schema of today makes of it, defaults included: that of the version at which it is stored.
    Objects stored at an older version come as they are stored: what only that version knows it still shows.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        versions: Mapping[str, CompiledVersion],
        selectable_fields: SelectableFields | None = None,
    ) -> None:
        """`versions`: all that objects may be stored at, the storage version included."""
        self.versions = versions
        super().__init__(gvk, selectable_fields)
        self._foreign: dict[str, JsonCodec] = {}
        self._hub = versions[gvk.version]

    def shown(self, obj: Object, body: bytes) -> tuple[bytes, Attributes]:
        """With the defaults of the storage version, which objects that were sent at another one are stored without."""
        if len(self.versions) == 1 or not self._hub.fills_in:
            return super().shown(obj, body)
        read = self._hub.on_read(orjson.loads(self.head + body))
        return self.body(read), self.attributes(read)

    def prove(self, stored: StoredObject) -> None:
        """Nothing is left to prove: whatever is read is looked into."""

    def stored(self, key: str, value: bytes, revision: int) -> StoredObject:
        """As the schema of the version at which it is stored makes it. Raises UnknownVersion as well."""
        obj = self.parse_value(key, value, revision)
        found = self._version_of(key, obj, revision)
        try:
            obj = found.on_read(obj)
            body = self.read_body(obj)
            stored = StoredObject(key, revision, self._head_of(found.gvk), splice(body, revision), self)
            stored.set_attributes(self.attributes(obj))
        except CoercionError as e:
            raise NotOfItsKind(str(e), key, revision=revision) from None
        except Exception as e:
            raise CorruptObject(f"what is stored cannot be read as {found.gvk}: {e}", key, revision=revision) from e
        return stored

    def _version_of(self, key: str, obj: Object, revision: int) -> CompiledVersion:
        api_version = str(obj.get("apiVersion") or "")
        group, _, version = api_version.rpartition("/")
        found = self.versions.get(version)
        ours = group == self.gvk.group and obj.get("kind") == self.gvk.kind
        if ours and found is None:
            text = f"request to convert CR from an invalid group/version: {api_version}"
            raise NotOfItsKind(text, key, revision=revision)
        if not ours or found is None:
            text = f"expected {self.gvk.api_version} {self.gvk.kind}, found {obj.get('apiVersion')} {obj.get('kind')}"
            raise CorruptObject(text, key, revision=revision)
        return found

    def _head_of(self, gvk: GroupVersionKind) -> bytes:
        if gvk is self.gvk or gvk == self.gvk:
            return self.head
        codec = self._foreign.get(gvk.version)
        if codec is None:
            codec = self._foreign[gvk.version] = JsonCodec(gvk)
        return codec.head
