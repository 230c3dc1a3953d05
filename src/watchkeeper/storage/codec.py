"""Between dicts and stored bytes.

What is stored is JSON in a canonical form: `{"kind":K,"apiVersion":V,"metadata":{…},…}` with all other keys sorted and
no resourceVersion. So equal objects are equal bytes, and the resourceVersion can be spliced in without parsing: what
follows the head of a stored value, with `"resourceVersion":"7",` put in behind `"metadata":{`, is the object's tail.
kube-apiserver's own JSON begins alike and ends with a newline: such values are decoded as those of another version are,
because an older release has not filled in what later ones do. So is JSON in any other form, which people have put
there: as kubectl shows it, apiVersion comes first; as a server does, with a resourceVersion. What is stored as protobuf
is read by whoever knows the messages of the kinds, and becomes JSON when it is written again, which
kube-apiserver reads as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.attributes import AttributesPool
from watchkeeper.storage.errors import CorruptObject
from watchkeeper.storage.interface import Attributes, Object, StoredObject
from watchkeeper.storage.unmanaged import without_managed_fields

SelectableFields = Callable[[Object], Mapping[str, str]]
"""What field selectors can look at, besides metadata.name and metadata.namespace."""

Reader = Callable[[Object], Object]
"""Changes a freshly parsed object, or makes another of it."""

ProtobufReader = Callable[[bytes], Object]
"""Reads a value that begins with the protobuf mark into the JSON form of what it says it is. Raises ValueError."""

_METADATA = b'"metadata":{'
_METADATA_LENGTH = len(_METADATA)
_VERSION_MEMBER = b'"resourceVersion":'
_LEFT_OUT = frozenset({"kind", "apiVersion", "metadata"})
_PROTOBUF = b"k8s\x00"
_ENCRYPTED = b"k8s:enc:"

_dumps = orjson.dumps
_loads = orjson.loads
_SORT = orjson.OPT_SORT_KEYS


def splice(body: bytes, revision: int) -> bytes:
    """Put the resourceVersion into an encoding that begins with `"metadata":{`, as the first member."""
    if body[_METADATA_LENGTH : _METADATA_LENGTH + 1] == b"}":
        return b'"metadata":{"resourceVersion":"%d"%b' % (revision, body[_METADATA_LENGTH:])
    return b'"metadata":{"resourceVersion":"%d",%b' % (revision, body[_METADATA_LENGTH:])


_JSON_ONLY = (
    "it is protobuf-encoded and only JSON can be read; have its writer store JSON "
    "(kube-apiserver --storage-media-type=application/json) and rewrite the objects"
)


class JsonCodec:
    """Implements `ObjectCodec` for one kind.

    `decode_old` brings an object of another version of the kind, or one that kube-apiserver has written, to the hub
    version, defaults included. `protobuf` reads values that another server has stored in that form. A kind whose
    objects become something else each time they are read, such as a custom resource with its defaults, overrides
    `stored`.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        selectable_fields: SelectableFields | None = None,
        *,
        decode_old: Reader | None = None,
        protobuf: ProtobufReader | None = None,
    ) -> None:
        self.gvk = gvk
        kind, version = _dumps(gvk.kind), _dumps(gvk.api_version)
        self.head = b'{"kind":%b,"apiVersion":%b,' % (kind, version)
        self._starts = (
            self.head + _METADATA,
            b'{"apiVersion":%b,"kind":%b,' % (version, kind) + _METADATA,  # keys sorted, as custom resources are stored
        )
        # Stored metadata is sorted and says when it was made: it begins neither as this server nor as Go shows it.
        self._shown_starts = tuple(self._starts[0] + member for member in (_VERSION_MEMBER, b'"name":'))
        self._skip = len(self.head)
        self._selectable_fields = selectable_fields
        self._decode_old = decode_old
        self._protobuf = protobuf
        self._pool = AttributesPool()

    def __repr__(self) -> str:
        return f"<JsonCodec {self.gvk}>"

    def encode(self, obj: Object) -> bytes:
        """The canonical encoding. Ignores the object's resourceVersion. Raises TypeError for what JSON cannot say."""
        return self.head + self.body(obj)

    def body(self, obj: Object) -> bytes:
        """The canonical encoding without the head."""
        metadata = obj.get("metadata") or {}
        if "resourceVersion" in metadata or "selfLink" in metadata:
            metadata = metadata.copy()
            metadata.pop("resourceVersion", None)
            metadata.pop("selfLink", None)
        others = obj.copy()
        for name in _LEFT_OUT:
            others.pop(name, None)
        rest = _dumps(others, option=_SORT)
        start = b'"metadata":' + _dumps(metadata, option=_SORT)
        return start + b"}" if len(rest) == 2 else b"%b,%b" % (start, rest[1:])

    def read_body(self, obj: Object) -> bytes:
        """The same of an object that was read, whose `selfLink` is shown as long as nobody writes it."""
        body = self.body(obj)
        link = (obj.get("metadata") or {}).get("selfLink")
        if not link:
            return body
        written = {
            name: value for name, value in obj["metadata"].items() if name not in ("resourceVersion", "selfLink")
        }
        start = len(_METADATA) - 1 + len(_dumps(written, option=_SORT))
        return b"%b%b%b" % (_METADATA[:-1], _dumps({**written, "selfLink": link}, option=_SORT), body[start:])

    def body_of_new(self, obj: Object) -> bytes:
        """The encoding, without the head, with which an object begins."""
        return self.body(obj)

    def shown(self, obj: Object, body: bytes) -> tuple[bytes, Attributes]:
        """What the encoding of an object, without the head, is when it is read again, and what selectors look at."""
        return body, self.attributes(obj)

    def stored(self, key: str, value: bytes, revision: int) -> StoredObject:
        """Wrap stored bytes at a revision. Raises CorruptObject naming the key."""
        if self._is_own(value):
            return StoredObject(key, revision, self.head, splice(value[self._skip :], revision), self)
        # Both heads are equally long. What a client was shown has a version, and is no stored form.
        plain = self._decode_old is None and value.startswith(self._starts) and _VERSION_MEMBER not in value
        if plain and value[-1:] == b"\n":
            return StoredObject(key, revision, self.head, splice(value[self._skip : -1], revision), self)
        return self._read(key, value, revision)

    def _is_own(self, value: bytes) -> bool:
        if not value.startswith(self._starts[0]) or value[-1:] != b"}":
            return False
        return not value.startswith(self._shown_starts) or _VERSION_MEMBER not in value

    def wrap(self, key: str, body: bytes, revision: int) -> StoredObject:
        """A StoredObject of an encoding without head that `body` has made."""
        return StoredObject(key, revision, self.head, splice(body, revision), self)

    def restamp(self, stored: StoredObject, revision: int) -> StoredObject:
        """The same content at another version: what a DELETED event shows."""
        tail = stored.tail
        # A resourceVersion is digits, so the first quote behind its own closes it.
        end = tail.index(b'"', _METADATA_LENGTH + len(b'"resourceVersion":"')) + 1
        new = StoredObject(
            stored.key, revision, stored.head, b'"metadata":{"resourceVersion":"%d"%b' % (revision, tail[end:]), self
        )
        attributes = stored.known_attributes
        if attributes is not None:
            new.set_attributes(attributes)
        return new

    def _read(self, key: str, value: bytes, revision: int) -> StoredObject:
        obj = self.parse_value(key, value, revision)
        try:
            obj = self._to_hub(key, obj, revision)
            stored = self.wrap(key, self.read_body(obj), revision)
            stored.set_attributes(self.attributes(obj))
        except CorruptObject:
            raise
        except Exception as e:
            raise CorruptObject(f"what is stored cannot be read as {self.gvk}: {e}", key, revision=revision) from e
        return stored

    def parse_value(self, key: str, value: bytes, revision: int) -> Object:
        """What a stored value says, at whatever version. Raises CorruptObject naming the key."""
        try:
            if value.startswith(_PROTOBUF):
                if self._protobuf is None:
                    raise ValueError(_JSON_ONLY)
                return self._protobuf(value)
            obj = _loads(value)
        except ValueError as e:
            raise CorruptObject(_fault(value, e), key, revision=revision) from None
        if not isinstance(obj, dict) or not isinstance(obj.get("metadata", {}), dict):
            raise CorruptObject("the value is not an API object", key, revision=revision)
        return obj

    def _to_hub(self, key: str, obj: Object, revision: int) -> Object:
        kind, version = obj.get("kind"), obj.get("apiVersion")
        if kind == self.gvk.kind and version == self.gvk.api_version and self._decode_old is None:
            return obj  # the hub version, which nobody has to bring in order
        if self._decode_old is None or kind != self.gvk.kind or not isinstance(version, str):
            text = f"expected {self.gvk.api_version} {self.gvk.kind}, found {version} {kind}"
            raise CorruptObject(text, key, revision=revision)
        return self._decode_old(obj)

    def parse(self, stored: StoredObject) -> Object:
        """A fresh dict of the object, with its resourceVersion. Raises CorruptObject for what is not JSON inside."""
        try:
            obj: Object = _loads(stored.head + stored.tail)
        except ValueError as e:
            raise CorruptObject(f"the value is not JSON: {e}", stored.key, revision=stored.resource_version) from None
        return obj

    def prove(self, stored: StoredObject) -> None:
        """Raise CorruptObject for an object whose fields are not what its kind says."""
        if self._decode_old is None:
            return
        try:
            self._decode_old(self.parse(stored))
        except CorruptObject:
            raise
        except Exception as e:
            cause = f"what is stored cannot be read as {self.gvk}: {e}"
            raise CorruptObject(cause, stored.key, revision=stored.resource_version) from e

    def attributes(self, obj: Object) -> Attributes:
        """Labels and selectable fields of an object; equal label sets share one dict."""
        metadata = obj.get("metadata") or {}
        fields = {"metadata.name": metadata.get("name", "")}
        namespace = metadata.get("namespace")
        if namespace:
            fields["metadata.namespace"] = namespace
        if self._selectable_fields is not None:
            self._pool.add_fields(fields, self._selectable_fields(obj))
        labels = metadata.get("labels")
        return Attributes(self._pool.labels(labels) if labels else {}, fields, metadata.get("uid", ""))

    def attributes_of(self, stored: StoredObject) -> Attributes:
        """The same of an object that nobody has parsed yet. Raises CorruptObject for what is not JSON."""
        obj = without_managed_fields(stored.tail)
        return self.attributes(obj if obj is not None else self.parse(stored))


def _fault(value: bytes, error: ValueError) -> str:
    """What is wrong with a value that cannot be parsed."""
    if value.startswith(_PROTOBUF):
        return f"the value cannot be read: {error}"
    if value.startswith(_ENCRYPTED):
        return "the value is encrypted, and no encryption configuration says how"
    return f"the value is not JSON: {error}"
