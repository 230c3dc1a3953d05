"""Built-in objects in protobuf, as clients of the Go types send them and as kube-apiserver writes them to etcd."""

from __future__ import annotations

import functools
import gzip
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from watchkeeper.apis.apiregistration import schemas as apiregistration
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.apis.stored_versions import CURRENT, message_name
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.protobuf import Messages, ProtobufError, ProtobufReader, read_envelope
from watchkeeper.runtime.protobuf_writer import Fields, ProtobufWriter, envelope, write_envelope, write_field
from watchkeeper.runtime.scheme import Decoder

_OLD_APPS = re.compile(r"apps\.v1beta[12]\.")
"""Their messages are those of v1, but for the one that can be rolled back."""
_APPS_V1, _V1BETA1 = "k8s.io.api.apps.v1.", "k8s.io.api.apps.v1beta1."
_V1BETA1_DEPLOYMENT = f"{_V1BETA1}Deployment"

_META = "k8s.io.apimachinery.pkg.apis.meta"
_UNDESCRIBED = {
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"): "k8s.io.api.apidiscovery.v2.APIGroupDiscoveryList",
    ("meta.k8s.io/v1beta1", "PartialObjectMetadata"): f"{_META}.v1.PartialObjectMetadata",
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"): f"{_META}.v1beta1.PartialObjectMetadataList",
}
"""Messages of kinds that no OpenAPI document tells of. What their structs hold by value is always in their JSON."""

_FOLDER = Path(__file__).parent / "data"


def object_of(data: bytes) -> dict[str, Any]:
    """The object in its JSON form, with kind and apiVersion as it says them; not yet decoded as its kind.

    Raises ProtobufError: it is not protobuf, it is cut off, or its kind is not built in.
    """
    return object_in(*read_envelope(data))


def object_in(api_version: str, kind: str, message: bytes) -> dict[str, Any]:
    """As `object_of`, of what an envelope holds."""
    name = _old_message_of(api_version, kind)
    read = _reader().read(_message_of(api_version, kind), message) if not name else _old_reader().read(name, message)
    return {"kind": kind, "apiVersion": api_version} | read


def shown_object_of(data: bytes) -> dict[str, Any]:
    """As `object_of`, without what is in every message and yet left out of JSON. Raises a DecodeError, too."""
    api_version, kind, message = read_envelope(data)
    obj = object_in(api_version, kind, message)
    decode = _decoder(api_version, kind)
    return obj if decode is None else decode(obj, None)


@functools.cache
def _decoder(api_version: str, kind: str) -> Decoder | None:
    schema = schema_data().kinds.get(_gvk(api_version, kind))
    return None if schema is None else compile_decoder(schema)


def protobuf_of(obj: Mapping[str, Any]) -> bytes:
    """An object or a list, which says its kind and apiVersion, as the Go types write it.

    Raises ProtobufError: its kind is not built in, or the object is not of its kind.
    """
    api_version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind"))
    # Some discovery documents do not say their version.
    return write_envelope(api_version, kind, _writer().write(_message_of(api_version or "v1", kind), obj))


class ProtobufList:
    """Writes a list object by object: its parts, joined, are what `protobuf_of` makes of the whole."""

    def __init__(self, empty: Mapping[str, Any]) -> None:
        """`empty` is the list without items. Raises ProtobufError as `protobuf_of` does."""
        self._api_version, self._kind = str(empty.get("apiVersion") or ""), str(empty.get("kind"))
        name = _message_of(self._api_version or "v1", self._kind)
        self._tag, self._message, self._items_first = _writer().items(name)
        self._rest = _writer().write(name, empty)

    def item(self, obj: Mapping[str, Any]) -> bytes:
        """An object as part of the list. Raises ProtobufError when it is not of its kind."""
        return write_field(self._tag, _writer().write(self._message, obj))

    def around(self, size: int) -> tuple[bytes, bytes]:
        """What comes before and after all items, which have `size` bytes."""
        head, tail = envelope(self._api_version, self._kind, size + len(self._rest))
        return (head, self._rest + tail) if self._items_first else (head + self._rest, tail)


def _message_of(api_version: str, kind: str) -> str:
    gvk = _gvk(api_version, kind)
    schema = schema_data().kinds.get(gvk) or schema_data().kinds.get(CURRENT.get(gvk, gvk))
    if schema is None:
        if (api_version, kind) in _UNDESCRIBED:
            return _UNDESCRIBED[api_version, kind]
        raise ProtobufError(f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)}")
    return _message_name(schema.name)


def _gvk(api_version: str, kind: str) -> GroupVersionKind:
    group_version = GroupVersion.parse(api_version)
    return GroupVersionKind(group_version.group, group_version.version, kind)


def _old_message_of(api_version: str, kind: str) -> str:
    """The message of a kind that is only stored, if it differs from that of the served version."""
    gvk = _gvk(api_version, kind)
    if gvk not in CURRENT:
        return ""
    name = message_name(gvk)
    return name if name in _old_messages() else ""


def _message_name(definition: str) -> str:
    """The message of a definition, such as k8s.io.api.core.v1.Pod of io.k8s.api.core.v1.Pod."""
    name = "k8s.io." + definition.removeprefix("io.k8s.").replace("-", "_")
    if name == _V1BETA1_DEPLOYMENT:
        return name
    return _OLD_APPS.sub("apps.v1.", name)


@functools.cache
def _reader() -> ProtobufReader:
    return ProtobufReader(messages())


@functools.cache
def _writer() -> ProtobufWriter:
    return ProtobufWriter(messages(), _fields_of)


def _fields_of(message: str) -> Fields | None:
    """The fields of a message, None for one that has no definition: it is embedded in others."""
    definition = schema_data().definitions.get("io." + message.replace("k8s.io.", "k8s.", 1).replace("_", "-"))
    return definition.fields if definition is not None and definition.fields else None


@functools.cache
def messages() -> Messages:
    """The fields of the messages of what is served. Servers whose clients speak JSON never pay for it."""
    found = _read(_FOLDER / "protobuf.json.gz")
    deployment, spec = found[f"{_APPS_V1}Deployment"], found[f"{_APPS_V1}DeploymentSpec"]
    found[_V1BETA1_DEPLOYMENT] = {**deployment, 2: ("spec", f"{_V1BETA1}DeploymentSpec", "")}
    found[f"{_V1BETA1}DeploymentSpec"] = {**spec, 8: ("rollbackTo", f"{_V1BETA1}RollbackConfig", "")}
    found[f"{_V1BETA1}RollbackConfig"] = {1: ("revision", "int64", "")}
    return found | apiregistration.messages()


def _read(path: Path) -> dict[str, dict[int, tuple[str, str, str]]]:
    raw = orjson.loads(gzip.decompress(path.read_bytes()))
    return {
        name: {int(number): (field, kind, often) for number, (field, kind, often) in fields.items()}
        for name, fields in raw.items()
    }


@functools.cache
def _old_reader() -> ProtobufReader:
    return ProtobufReader({**messages(), **_old_messages()})


@functools.cache
def _old_messages() -> Messages:
    """Messages of kinds at versions that are only stored, as far as they differ; read when such an object is."""
    return _read(_FOLDER / "protobuf_old.json.gz")
