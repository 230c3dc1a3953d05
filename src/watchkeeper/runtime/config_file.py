"""Files that configure a server: an object of one kind, in YAML or JSON, that has no fields but those of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.field import go_json, go_quote
from watchkeeper.runtime.unmarshal import described
from watchkeeper.runtime.yaml import YamlError, load_yaml, repeated_text

Spec = Any
"""What stands in a place: a type, a list of one spec, a mapping of fields to specs, or ANYTHING."""

ANYTHING = object()
TEXTS = {None: str}
"""Texts by any name."""

_GO = {str: "string", bool: "bool", int: "int32", float: "float32"}


_SCHEME = "pkg/runtime/scheme.go:111"


class ConfigFileError(Exception):
    """The text breaks a rule. The message says which, in the reference's words."""


class OtherKindError(ConfigFileError):
    """The object is of another kind or version, or does not say of which."""


def parse_config(data: str | Mapping[str, Any], kind: str, specs: Mapping[str, Mapping[str, Spec]]) -> dict[str, Any]:
    """Read an object of a kind; `specs` are the fields that it has in each version. Raises ConfigFileError."""
    obj = data if isinstance(data, Mapping) else _loaded(data)
    shown = data if isinstance(data, str) else go_json(data)
    for field in ("kind", "apiVersion"):
        if not isinstance(obj.get(field) or "", str):
            raise ConfigFileError(f"couldn't get version/kind; json parse error: {field} is no string")
    if not obj.get("kind"):
        raise OtherKindError(f"Object 'Kind' is missing in '{shown}'")
    if not obj.get("apiVersion"):
        raise OtherKindError(f"Object 'apiVersion' is missing in '{shown}'")
    if obj["kind"] != kind or obj["apiVersion"] not in specs:
        raise OtherKindError(
            f"no kind {go_quote(obj['kind'])} is registered for version {go_quote(obj['apiVersion'])}"
            f' in scheme "{_SCHEME}"'
        )
    unknown: list[str] = []
    fields = {"apiVersion": str, "kind": str, **specs[obj["apiVersion"]]}
    found: dict[str, Any] = _read(obj, fields, "", unknown)
    if unknown:
        problems = ", ".join(f"unknown field {go_quote(path)}" for path in unknown)
        raise ConfigFileError(f"strict decoding error: {problems}")
    return found


def _loaded(text: str) -> dict[str, Any]:
    repeated: list[str] = []
    try:
        data = load_yaml(text.encode(errors="surrogateescape"), repeated)
    except YamlError as error:
        raise ConfigFileError(str(error)) from None
    if repeated:
        raise ConfigFileError(f"strict decoding error: {repeated_text(repeated)}")
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigFileError("couldn't get version/kind; json parse error: the file holds no object")
    return data


def _read(data: Any, spec: Spec, path: str, unknown: list[str]) -> Any:
    """What stands in a place as it is; null counts as nothing, and in a list as an item without anything."""
    if data is None or spec is ANYTHING:
        return data
    if isinstance(spec, list):
        if not isinstance(data, list):
            raise _wrong(data, path, "a list")
        items = (_empty(spec[0]) if item is None else item for item in data)
        return [_read(item, spec[0], f"{path}[{i}]", unknown) for i, item in enumerate(items)]
    if isinstance(spec, Mapping):
        if not isinstance(data, Mapping):
            raise _wrong(data, path, "an object")
        found: dict[str, Any] = {}
        for name, value in data.items():
            where = f"{path}.{name}" if path else str(name)
            if None in spec:
                found[str(name)] = _read(value, spec[None], where, unknown)
            elif name in spec:
                found[name] = _read(value, spec[name], where, unknown)
            else:
                unknown.append(where)
        return found
    fits = type(data) is spec or (spec is float and type(data) is int)
    if not fits:
        raise _wrong(data, path, f"of type {_GO[spec]}")
    return data


def _empty(spec: Spec) -> Any:
    """What null is in a list, as in Go: an item with nothing in it."""
    if spec is ANYTHING:
        return None
    return spec() if isinstance(spec, type) else type(spec)()


def _wrong(data: Any, path: str, wanted: str) -> ConfigFileError:
    return ConfigFileError(f"json: cannot unmarshal {described(data)} into field {path}, which is {wanted}")
