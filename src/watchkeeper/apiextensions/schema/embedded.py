"""Resources within resources: their kind, apiVersion and metadata are understood wherever they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.apis.validation.metadata import validate_object_meta
from watchkeeper.apis.validation.names import is_dns1035_label, is_path_segment_name
from watchkeeper.meta.field import FieldError, in_key_order, invalid, join, required
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.scheme import DecodeError, Decoder
from watchkeeper.runtime.unmarshal import described

OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class CoercionError(DecodeError):
    """A resource within a resource whose kind, apiVersion or metadata cannot be read."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


_COUNTS = ("generation", "deletionGracePeriodSeconds")
Coerce = Callable[[Any, "list[str] | None", str], None]
"""(value, paths of unknown fields or None, path); changes the value in place. Raises CoercionError."""
Check = Callable[[Any, str], list[FieldError]]


@functools.cache
def metadata_decoder() -> Decoder:
    """Decodes an ObjectMeta by itself."""
    return compile_decoder(schema_data().definitions[OBJECT_META])


def decode_metadata(value: Any, unknown: list[str] | None, path: str) -> dict[str, Any]:
    """The metadata of a resource, pruned and checked. Raises DecodeError in the words of Go's decoder."""
    if value is None:
        return {}
    if value.__class__ is not dict:
        raise DecodeError(f"json: cannot unmarshal {described(value)} into Go value of type v1.ObjectMeta")
    noted: list[str] | None = [] if unknown is not None else None
    for name in _COUNTS:
        number = value.get(name)
        if number.__class__ is float and number.is_integer():
            value[name] = int(number)  # as the reference's untyped objects write it
    decoded = dict(metadata_decoder()(value, noted))
    if noted and unknown is not None:
        for text in noted:
            name = text.removeprefix('unknown field "').removesuffix('"')
            unknown.append(f"{path}.{name}")
    return decoded


def well_formed_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a resource without what Go's decoder refuses, each field taken by itself."""
    try:
        return decode_metadata(orjson.loads(orjson.dumps(metadata)), None, "")
    except DecodeError:
        pass
    kept: dict[str, Any] = {}
    for name, value in metadata.items():
        try:
            kept |= decode_metadata({name: value}, None, "")
        except DecodeError:
            continue
    return kept


def compile_coercer(node: Structural | None, *, is_root: bool = True, lenient: bool = False) -> Coerce | None:
    """Decodes the metadata of embedded resources; None when the schema has none. The root is none of them.

    `lenient`: what cannot be read is dropped, as long as metadata is an object.
    """
    if node is None:
        return None
    own = node.embedded and not is_root
    coerce_own = drop_malformed if lenient else coerce_resource
    items = compile_coercer(node.items, is_root=False, lenient=lenient)
    rest = compile_coercer(node.additional, is_root=False, lenient=lenient)
    fields = {
        n: inner
        for n, child in node.properties.items()
        if (inner := compile_coercer(child, is_root=False, lenient=lenient)) is not None
    }
    if not own and items is None and rest is None and not fields:
        return None

    def coerce(value: Any, unknown: list[str] | None, path: str) -> None:
        if value.__class__ is dict:
            if own:
                coerce_own(value, unknown, path)
            for key, item in value.items():
                inner = fields.get(key)
                if inner is None and key not in node.properties:
                    inner = rest
                if inner is not None:
                    inner(item, unknown, join(path, key))
        elif value.__class__ is list and items is not None:
            for i, item in enumerate(value):
                items(item, unknown, f"{path}[{i}]")

    return coerce


def coerce_resource(value: dict[str, Any], unknown: list[str] | None, path: str) -> None:
    """Decode kind, apiVersion and metadata of a resource, in place. Raises CoercionError."""
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            raise CoercionError(invalid(join(path, name), value[name], "must be a string"))
    _coerce_metadata(value, unknown, path)


def _coerce_metadata(value: dict[str, Any], unknown: list[str] | None, path: str) -> None:
    if "metadata" in value:
        where = join(path, "metadata")
        sent = orjson.dumps(value["metadata"])  # decoding changes it, and an error shows it
        try:
            value["metadata"] = decode_metadata(value["metadata"], unknown, where)
        except DecodeError as problem:
            raise CoercionError(invalid(where, in_key_order(orjson.loads(sent)), str(problem))) from None


def drop_malformed(value: dict[str, Any], unknown: list[str] | None, path: str) -> None:
    """Drop what cannot be read of kind, apiVersion and metadata of a resource, in place. Raises CoercionError."""
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            del value[name]
    if value.get("metadata").__class__ is dict:
        value["metadata"] = well_formed_metadata(value["metadata"])
    else:
        _coerce_metadata(value, unknown, path)


def compile_embedded_check(node: Structural | None, *, is_root: bool = True) -> Check | None:
    """Validates kind, apiVersion and metadata of embedded resources; None when the schema has none."""
    if node is None:
        return None
    own = node.embedded and not is_root
    items = compile_embedded_check(node.items, is_root=False)
    rest = compile_embedded_check(node.additional, is_root=False)
    fields = {
        n: inner
        for n, child in node.properties.items()
        if (inner := compile_embedded_check(child, is_root=False)) is not None
    }
    if not own and items is None and rest is None and not fields:
        return None

    def check(value: Any, path: str) -> list[FieldError]:
        errors: list[FieldError] = []
        if value.__class__ is dict:
            if own:
                errors += resource_errors(value, path)
            for key, item in value.items():
                inner = fields.get(key)
                if inner is not None:
                    errors += inner(item, join(path, key))
                elif rest is not None and key not in node.properties:
                    errors += rest(item, f"{path}[{key}]")
        elif value.__class__ is list and items is not None:
            for i, item in enumerate(value):
                errors += items(item, f"{path}[{i}]")
        return errors

    return check


def resource_errors(value: dict[str, Any], path: str) -> list[FieldError]:
    """What is wrong with kind, apiVersion and metadata of a resource."""
    errors = [required(join(path, name)) for name in ("apiVersion", "kind") if name not in value]
    for name in ("apiVersion", "kind"):
        found = value.get(name)
        if found is None and name not in value:
            continue
        where = join(path, name)
        if not isinstance(found, str):
            errors.append(invalid(where, found, "must be a string"))
        elif not found:
            errors.append(invalid(where, found, "must not be empty"))
        elif name == "apiVersion":
            errors += _api_version_errors(found, where)
        elif wrong := is_dns1035_label(found.lower()):
            text = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            errors.append(invalid(where, found, text))
    if "metadata" in value:
        errors += _metadata_errors(value["metadata"], join(path, "metadata"))
    return errors


def _api_version_errors(text: str, path: str) -> list[FieldError]:
    try:
        GroupVersion.parse(text)
    except ValueError as problem:
        return [invalid(path, text, str(problem))]
    return []


def _metadata_errors(value: Any, path: str) -> list[FieldError]:
    try:
        meta = decode_metadata(dict(value) if isinstance(value, dict) else value, None, path)
    except DecodeError as problem:
        return [invalid(path, value, str(problem))]
    if not meta.get("name"):
        meta = {**meta, "name": "fakename"}
    return validate_object_meta(meta, namespaced=bool(meta.get("namespace")), name_rule=is_path_segment_name, path=path)
