"""The keywords that say how lists and objects merge: list-type, list-map-keys and map-type."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Json = Any

_LIST_TYPE, _MAP_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
LIST_AND_MAP_KEYWORDS = frozenset({_LIST_TYPE, _MAP_TYPE, _KEYS, _PRESERVE})
"""Nodes with none of these have nothing to be checked here."""


def list_and_map_errors(schema: Json, path: str, *, atomic_sets: bool) -> list[FieldError]:
    """What is wrong with these keywords at one node."""
    errors: list[FieldError] = []
    if schema.get(_PRESERVE) is False:
        errors.append(invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined"))
    map_type, list_type = schema.get(_MAP_TYPE), schema.get(_LIST_TYPE)
    if map_type is not None:
        errors += _wrong_type(schema, "object", _MAP_TYPE, path)
        if map_type not in ("atomic", "granular"):
            errors.append(not_supported(f"{path}.{_MAP_TYPE}", map_type, ["atomic", "granular"], plain=True))
    if list_type is not None:
        wrong = _wrong_type(schema, "array", _LIST_TYPE, path)
        errors += wrong
        if not wrong and atomic_sets and list_type == "set" and isinstance(schema.get("items"), dict):
            errors += _set_item_errors(schema["items"], f"{path}.items")
        if list_type not in ("atomic", "set", "map"):
            errors.append(not_supported(f"{path}.{_LIST_TYPE}", list_type, ["atomic", "set", "map"], plain=True))
    if schema.get(_KEYS):
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        if list_type is None:
            errors.append(required(f"{path}.{_LIST_TYPE}", text))
        elif list_type != "map":
            errors.append(invalid(f"{path}.{_LIST_TYPE}", list_type, text))
    if list_type == "map":
        errors += _map_errors(schema, path)
    return errors


def _wrong_type(schema: Json, wanted: str, keyword: str, path: str) -> list[FieldError]:
    kind, text = schema.get("type") or "", f"must be {wanted} if {keyword} is specified"
    if kind == wanted:
        return []
    return [invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text)]


def is_atomic(item: Json) -> bool:
    """Whether an item of a set is compared as a whole."""
    if item.get("type") == "array":
        return item.get(_LIST_TYPE) in (None, "atomic")
    return bool(item.get("type") != "object" or item.get(_MAP_TYPE) == "atomic")


def _set_item_errors(item: Json, path: str) -> list[FieldError]:
    if is_atomic(item):
        return []
    keyword = _LIST_TYPE if item.get("type") == "array" else _MAP_TYPE
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    return [invalid(f"{path}.{keyword}", item.get(_LIST_TYPE), text)]


def _map_errors(schema: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        errors.append(required(f"{path}.{_KEYS}", "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
        return errors
    if not isinstance(items, dict):
        text = "must only have a single schema if x-kubernetes-list-type is map"
        errors.append(invalid(f"{path}.items", items, text))
        return errors
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(f"{path}.items.type", items.get("type") or "", text))
        return errors
    seen: set[str] = set()
    for key in keys:
        prop = (items.get("properties") or {}).get(key)
        if prop is None:
            errors.append(invalid(f"{path}.{_KEYS}", keys, "entries must all be names of item properties"))
        elif prop.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(f"{path}.items.properties[{key}].type", items["type"], text))
        if key in seen:
            errors.append(invalid(f"{path}.{_KEYS}", keys, "must not contain duplicate entries"))
        seen.add(key)
    return errors


def map_list_key_errors(schema: Json, path: str) -> list[FieldError]:
    """Items of sets and maps are not null, and the keys of maps are always there."""
    items, list_type = schema.get("items"), schema.get(_LIST_TYPE)
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: list[FieldError] = []
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(forbidden(f"{path}.items.nullable", text))
    if list_type != "map":
        return errors
    for key in schema.get(_KEYS) or ():
        prop = (items.get("properties") or {}).get(key)
        if prop is None:
            continue
        where, words = f"{path}.items.properties[{key}]", "this property is in x-kubernetes-list-map-keys, so it"
        if key not in (items.get("required") or ()) and prop.get("default") is None:
            text = f"{words} must have a default or be a required property"
            errors.append(required(f"{where}.default", text))
        if prop.get("nullable"):
            errors.append(forbidden(f"{where}.nullable", f"{words} cannot be nullable"))
    return errors
