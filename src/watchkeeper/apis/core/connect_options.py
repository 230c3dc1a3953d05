"""The options of requests that connect to a Pod, a Service or a Node: query parameters as objects.

Admission sees them as the object of a CONNECT. They are not in the schema data, because no body has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.meta.go_numbers import parse_uint
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.schema import Field, Omit, Schema, SchemaType
from watchkeeper.runtime.scheme import Kind

Object = dict[str, Any]

_TEXT = Schema(SchemaType.STRING, go_type="string")
_FLAG = Schema(SchemaType.BOOLEAN, go_type="bool")
_PORT = Schema(SchemaType.INTEGER, go_type="int32", format="int32")
_TEXTS = Schema(SchemaType.LIST, go_type="[]string", element=_TEXT)
_PORTS = Schema(SchemaType.LIST, go_type="[]int32", element=_PORT)
_STREAMS = tuple(Field(name, _FLAG) for name in ("stdin", "stdout", "stderr", "tty"))
_FIELDS: Mapping[str, Sequence[Field]] = {
    "PodExecOptions": (*_STREAMS, Field("container", _TEXT), Field("command", _TEXTS, omit=Omit.NEVER)),
    "PodAttachOptions": (*_STREAMS, Field("container", _TEXT)),
    "PodPortForwardOptions": (Field("ports", _PORTS),),
    "PodProxyOptions": (Field("path", _TEXT),),
    "ServiceProxyOptions": (Field("path", _TEXT),),
    "NodeProxyOptions": (Field("path", _TEXT),),
}


def connect_kinds() -> list[Kind]:
    """The kinds of options."""
    return [_kind(name, fields) for name, fields in _FIELDS.items()]


def _kind(name: str, fields: Sequence[Field]) -> Kind:
    header = (Field("kind", _TEXT), Field("apiVersion", _TEXT))
    schema = Schema(SchemaType.STRUCT, go_type=f"v1.{name}", fields={f.name: f for f in (*header, *fields)})
    gvk = GroupVersionKind("", "v1", name)
    return Kind(gvk=gvk, hub=gvk, schema=schema, decode=compile_decoder(schema))


def connect_options(kind: str, params: Mapping[str, list[str]]) -> Object | None:
    """The options that query parameters say; None for what is no kind of options.

    Raises ValueError, in Go's words, for ports that are none.
    """
    fields = _FIELDS.get(kind)
    if fields is None:
        return None
    found: Object = {"kind": kind, "apiVersion": "v1"}
    for field in fields:
        values = params.get(field.name)
        if values:
            value = _value(field.schema, values)
            if value:
                found[field.name] = value
        elif field.omit is Omit.NEVER:
            found[field.name] = None
    return found


def connect_params(options: Object) -> dict[str, list[str]]:
    """The query parameters that say what options say."""
    found: dict[str, list[str]] = {}
    for name, value in options.items():
        if name in ("kind", "apiVersion") or value is None:
            continue
        values = value if isinstance(value, list) else [value]
        found[name] = ["true" if each is True else str(each) for each in values]
    return found


def _value(schema: Schema, values: list[str]) -> Any:
    if schema is _TEXTS:
        return list(values)
    if schema is _PORTS:
        return _ports(values)
    return values[0] if schema is _TEXT else values[0].lower() not in ("0", "false")


def _ports(values: list[str]) -> list[int]:
    """Ports, of which a value may have several between commas."""
    try:
        return [parse_uint(text, bits=16) for value in values for text in value.split(",")]
    except ValueError as problem:
        raise ValueError(f"cannot convert to []int32: {problem}") from None
