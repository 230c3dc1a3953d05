"""Built-in objects in protobuf, as clients of the Go types send them and as kube-apiserver writes them to etcd."""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from typing import Any

import orjson

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.protobuf import ProtobufError, ProtobufReader, read_envelope

_FILE = Path(__file__).parent / "data" / "protobuf.json.gz"


def object_of(data: bytes) -> dict[str, Any]:
    """The object in its JSON form, with kind and apiVersion as it says them; not yet decoded as its kind.

    Raises ProtobufError: it is not protobuf, it is cut off, or its kind is not built in.
    """
    api_version, kind, message = read_envelope(data)
    group_version = GroupVersion.parse(api_version)
    schema = schema_data().kinds.get(GroupVersionKind(group_version.group, group_version.version, kind))
    if schema is None:
        raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"kind": kind, "apiVersion": api_version} | _reader().read(_message_name(schema.name), message)


def _message_name(definition: str) -> str:
    """The message of a definition, such as k8s.io.api.core.v1.Pod of io.k8s.api.core.v1.Pod."""
    return "k8s.io." + definition.removeprefix("io.k8s.").replace("-", "_")


@functools.cache
def _reader() -> ProtobufReader:
    """Read at the first use: servers whose clients speak JSON never pay for it."""
    raw = orjson.loads(gzip.decompress(_FILE.read_bytes()))
    return ProtobufReader(
        {
            name: {int(number): (field, kind, often) for number, (field, kind, often) in fields.items()}
            for name, fields in raw.items()
        }
    )
