"""Dataclasses as models: the schema comes from annotations, instances from data."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, get_args, get_origin

import orjson

from watchkeeper.apiextensions.declared.json_schema import ANYTHING
from watchkeeper.apiextensions.declared.models import ModelError, described

Json = Any

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "format": "byte"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
}
_UNIONS = (typing.Union, types.UnionType)


class DataclassModel:
    """A dataclass. `Annotated[int, {"minimum": 1}]` adds keywords to a field's schema."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def schema(self) -> Json:
        """The structural schema."""
        return _schema_of(self._cls, ())

    def load(self, data: Json) -> Any:
        """An instance. Raises ModelError for what `__post_init__` refuses."""
        return _load(self._cls, data, "")


def _schema_of(kind: Any, inside: tuple[Any, ...]) -> Json:
    origin, arguments = get_origin(kind), get_args(kind)
    # First, because what annotates may not be hashable.
    if origin is typing.Annotated:
        found = _schema_of(arguments[0], inside)
        for extra in arguments[1:]:
            if isinstance(extra, Mapping):
                found.update(extra)
        return found
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if origin is typing.Literal:
        return _values(list(arguments))
    if origin in _UNIONS:
        return _union(arguments, inside)
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return _values([member.value for member in kind])
    if dataclasses.is_dataclass(kind):
        return dict(ANYTHING) if kind in inside else _object(kind, (*inside, kind))
    container = origin or kind
    if inspect.isclass(container) and issubclass(container, Mapping):
        if len(arguments) == 2 and arguments[1] is not Any:
            return {"type": "object", "additionalProperties": _schema_of(arguments[1], inside)}
        return {"type": "object", **ANYTHING}
    if inspect.isclass(container) and issubclass(container, Sequence | AbstractSet):
        items = _schema_of(arguments[0], inside) if arguments else dict(ANYTHING)
        found = {"type": "array", "items": items}
        if issubclass(container, AbstractSet):
            found["x-kubernetes-list-type"] = "set"
        return found
    return dict(ANYTHING)


def _values(values: list[Any]) -> Json:
    kinds = {type(value) for value in values}
    if kinds == {str, int}:
        return {"x-kubernetes-int-or-string": True, "enum": values}
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer")):
        if kinds == {kind}:
            return {"type": name, "enum": values}
    return dict(ANYTHING)


def _union(kinds: tuple[Any, ...], inside: tuple[Any, ...]) -> Json:
    some = [kind for kind in kinds if kind is not type(None)]
    if len(some) == 1:
        found = _schema_of(some[0], inside)
    elif set(some) == {int, str}:
        found = {"x-kubernetes-int-or-string": True}
    elif set(some) == {int, float}:
        found = {"type": "number"}
    else:
        return dict(ANYTHING)
    if len(some) < len(kinds):
        found["nullable"] = True
    return found


def _object(cls: Any, inside: tuple[Any, ...]) -> Json:
    hints = typing.get_type_hints(cls, include_extras=True)
    properties: dict[str, Json] = {}
    required: list[str] = []
    for each in _given(cls):
        properties[each.name] = found = _schema_of(hints[each.name], inside)
        default = _default(each)
        if default is ...:
            required.append(each.name)
        elif default is not None:
            found["default"] = default
    schema: Json = {"type": "object", "properties": properties}
    text = described(cls)
    if text:
        schema["description"] = text
    if required:
        schema["required"] = required
    return schema if properties else {"type": "object", **ANYTHING}


def _given(cls: Any) -> list[dataclasses.Field[Any]]:
    """The fields that instances are made with."""
    return [each for each in dataclasses.fields(cls) if each.init]


def _default(each: dataclasses.Field[Any]) -> Json:
    """The default as JSON; None when JSON cannot say it, `...` when there is none."""
    if each.default is not dataclasses.MISSING:
        value = each.default
    elif each.default_factory is not dataclasses.MISSING:
        value = each.default_factory()
    else:
        return ...
    try:
        return orjson.loads(orjson.dumps(value, default=_plain))
    except TypeError:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, AbstractSet):
        return sorted(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError


def _load(kind: Any, data: Json, path: str) -> Any:
    if data is None:
        return None
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is typing.Annotated:
        return _load(arguments[0], data, path)
    if origin in _UNIONS:
        some = [each for each in arguments if each is not type(None)]
        return _load(some[0], data, path) if len(some) == 1 else data
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return _made(kind, data, path)
    if kind in (datetime.datetime, datetime.date):
        # The schema lets t and z pass, Python does not.
        return _made(kind.fromisoformat, data.upper(), path)
    if kind is bytes:
        return _made(base64.b64decode, data, path)
    if dataclasses.is_dataclass(kind):
        return _instance(kind, data, path)
    container = origin or kind
    if inspect.isclass(container) and issubclass(container, Mapping) and len(arguments) == 2:
        return {key: _load(arguments[1], item, f"{path}[{key}]") for key, item in data.items()}
    if isinstance(data, list) and arguments:
        items = [_load(arguments[0], item, f"{path}[{i}]") for i, item in enumerate(data)]
        return items if container in (list, Sequence) else container(items)
    return data


def _made(make: Callable[[Any], Any], data: Json, path: str) -> Any:
    """What the schema allows may still be more than Python can hold, such as the year 0."""
    try:
        return make(data)
    except ValueError as problem:
        raise ModelError([(path, str(problem))]) from problem


def _instance(cls: Any, data: Json, path: str) -> Any:
    hints = typing.get_type_hints(cls, include_extras=True)
    given = {
        each.name: _load(hints[each.name], data[each.name], f"{path}.{each.name}" if path else each.name)
        for each in _given(cls)
        if each.name in data
    }
    try:
        return cls(**given)
    except (ValueError, TypeError) as problem:
        raise ModelError([(path, str(problem))]) from problem
