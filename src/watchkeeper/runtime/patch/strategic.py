"""Strategic merge patch: a merge patch that knows, from the schema, how lists are merged.

Directives: `$patch` (replace, delete), `$retainKeys`, `$deleteFromPrimitiveList/FIELD`, `$setElementOrder/FIELD`. The
rules are those of apimachinery's `strategicpatch`, and of its design document on preserving order.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

import orjson

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_float
from watchkeeper.runtime.patch.documents import read_patch
from watchkeeper.runtime.patch.unstructured import go_numbers, mismatch, restored, unknown_fields
from watchkeeper.runtime.schema import Field, Schema, SchemaType
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.strict import strict_errors

Object = dict[str, Any]

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"
_GO_TYPES = {
    bool: "bool",
    str: "string",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
_GO_KINDS = {SchemaType.STRUCT: "struct", SchemaType.STRING: "string"}
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_DIRECTIVE = {
    DELETE_FROM: "invalid patch format of primitive list",
    SET_ORDER: "invalid patch format of setElementOrder list",
}


class StrategicPatch:
    """A parsed document for objects of one schema."""

    def __init__(self, body: bytes, schema: Schema) -> None:
        """`null` changes nothing. Raises a 400 for what is neither that nor an object."""
        patch, self._repeated = read_patch(body, prefix="")
        patch = go_numbers(body, patch)
        self._encoded = orjson.dumps(patch or {})
        directed = any(key.startswith("$") for key in patch or ())
        self.touches: frozenset[str] | None = None if directed else frozenset(patch or ())
        """The top-level fields that it changes, None when only applying it tells."""
        self._schema = schema

    def strict_errors(self) -> list[str]:
        """Fields that the patch sets twice."""
        return strict_errors(None, self._repeated) if self._repeated is not None else []

    def shown(self, document: Object) -> str:
        """How the patch shows in an error about what it makes of `document`, which is consumed.

        Merging takes directives and nulls out of the patch, and what is left is what the reference shows.
        """
        patch = orjson.loads(self._encoded)
        _merge_map(document, patch, self._schema)
        return go_value(patch)

    def restored(self, outcome: Object) -> Object:
        """An outcome that does not decode, with its numbers as Go converts them. Raises DecodeError."""
        if wrong := mismatch(self._schema, outcome):
            raise DecodeError(wrong)
        return cast(Object, restored(self._schema, outcome))

    def unknown_fields(self, outcome: Object) -> list[str]:
        """What is told of the fields of an outcome that its kind does not have."""
        return unknown_fields(self._schema, outcome)

    def apply(self, document: Object) -> Object:
        """The patched object. `document` is consumed: its parts are merged in place.

        Raises the errors of the reference: 400 for malformed directives, 500 (without a reason) for what its algorithm
        cannot merge.
        """
        # Merging takes the patch apart, so each attempt needs one of its own.
        patch = orjson.loads(self._encoded)
        said = {name: document[name] for name in ("kind", "apiVersion") if name in document}
        merged = _merge_map(document, patch, self._schema)
        for name, text in said.items():
            if merged.get(name) is None or merged[name].__class__ is str:
                merged[name] = text  # whatever it says; what is no text does not fit
        return merged


def _cannot(message: str) -> ApiError:
    return ApiError(500, "", message)


def _no_merge_key(item: Object, key: str) -> ApiError:
    return _cannot(f"map: {go_value(item)} does not contain declared merge key: {key}")


def _wrong_type(expected: str, found: Any) -> ApiError:
    return _cannot(f"expected a {expected}, but received a {_GO_TYPES.get(type(found), '%!s(<nil>)')}")


def _no_field(schema: Schema, name: str) -> ApiError:
    struct = schema.go_type.rpartition(".")[2]
    return _cannot(f'unable to find api field in struct {struct} for the json field "{name}"')


def _check_struct(schema: Schema | None) -> None:
    """The reference knows how to merge what structs hold, and nothing of what maps hold."""
    if schema is not None and schema.type is SchemaType.MAP:
        raise _cannot("merging an object in json but data type is not struct, instead is: map")


def _bad_type(directive: Any, item: Object) -> ApiError:
    return _cannot(f"unknown patch type: {_go_string(directive)} in map: {go_value(item)}")


def _check_list(schema: Schema | None) -> None:
    """The reference merges lists where the type has a list, not where anything may stand."""
    if schema is not None and schema.type is SchemaType.ANY:
        raise _cannot("expected slice or array type, but got: struct")


def _no_key(item: Schema | None) -> ApiError:
    kind = _GO_KINDS.get(item.type, item.format) if item is not None else "struct"
    return _cannot(f"cannot merge lists without merge key for {kind}")


def _go_string(value: Any) -> str:
    """A value as Go's %s prints it, which is meant for text alone."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{_go_string(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(_go_string(v) for v in value)}]"
    return "%!s(<nil>)" if value is None else f"%!s({_GO_TYPES[type(value)]}={go_value(value)})"


def _named_by(directive: str, prefix: str) -> str:
    """The field that a directive with this prefix is about. Raises a 400 for one that names none."""
    found, slash, name = directive.partition("/")
    if not slash or found != prefix:
        raise errors.bad_request(_BAD_DIRECTIVE[prefix])
    return name


def go_value(value: Any) -> str:
    """A value as Go's %v prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{go_value(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(go_value(v) for v in value)}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, float) else str(value)


def _field(schema: Schema | None, name: str) -> Field | None:
    return schema.fields.get(name) if schema is not None and schema.type is SchemaType.STRUCT else None


def _value_schema(schema: Schema | None, name: str) -> Schema | None:
    """The schema of a member of a struct or map."""
    if schema is None:
        return None
    if schema.type is SchemaType.MAP:
        return schema.element
    found = schema.fields.get(name)
    return found.schema if found is not None else None


def _merge_map(original: Object | None, patch: Object, schema: Schema | None) -> Object:
    if PATCH in patch:
        return _map_directive(patch)
    if original is None:
        original = {}
    _retain_keys(original, patch)
    _set_element_orders(original, patch, schema)
    for key, value in patch.items():
        deletes = key.startswith(DELETE_FROM)
        name = (_named_by(key, DELETE_FROM) or key) if deletes else key
        if value is None:
            original.pop(name, None)
        elif name not in original or type(original[name]) is not type(value):
            if not deletes:
                _take_over(original, name, value)
        elif isinstance(value, (dict, list)):
            original[name] = _merge_member(original[name], value, schema, name, deletes=deletes)
        else:
            original[name] = value
    return original


def _map_directive(patch: Object) -> Object:
    directive = patch[PATCH]
    if directive == "replace":
        del patch[PATCH]
        return patch
    if directive == "delete":
        return {}
    raise _bad_type(directive, patch)


def _take_over(original: Object, key: str, value: Any) -> None:
    """The patch's value as it is, without nulls and then without directives: one that is null is none."""
    _discard_nulls(value)
    if _is_directive(value):
        original.pop(key, None)
    else:
        original[key] = _without_directives(value)


def _discard_nulls(value: Any) -> None:
    """Take the nulls out of all maps, in place, so that the patch shows without them too."""
    if isinstance(value, dict):
        for key in [key for key, found in value.items() if found is None]:
            del value[key]
        value = value.values()
    elif not isinstance(value, list):
        return
    for found in value:
        _discard_nulls(found)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and PATCH in value


def _without_directives(value: Any) -> Any:
    """A value without what holds directives. Maps are changed in place, so that the patch shows without them too."""
    if isinstance(value, dict):
        for key, found in list(value.items()):
            if _is_directive(found):
                del value[key]
            else:
                value[key] = _without_directives(found)
        return value
    if isinstance(value, list):
        return [_without_directives(v) for v in value if not _is_directive(v)]
    return value


def _merge_member(original: Any, value: Any, schema: Schema | None, key: str, *, deletes: bool = False) -> Any:
    """A member merged; with `deletes`, the patch says what to take out of it if it is a list of scalars."""
    field = _field(schema, key)
    if schema is not None and schema.type is SchemaType.ANY:
        raise _no_field(schema, key)
    _check_struct(schema)
    below = _value_schema(schema, key)
    strategy = field.patch_strategy if field is not None else frozenset()
    if isinstance(value, dict):
        return value if "replace" in strategy else _merge_map(original, value, below)
    _check_list(below)
    if "merge" not in strategy and not deletes:
        return value
    merge_key = field.patch_merge_key if field is not None else ""
    if deletes and (original or value) and not _holds_maps(original, value):
        return [v for v in original if v not in value]
    return _merge_list(original, value, _item_schema(schema, key), merge_key)


def _item_schema(schema: Schema | None, key: str) -> Schema | None:
    """The schema of the items of a member that is a list."""
    below = _value_schema(schema, key)
    return below.element if below is not None else None


def _retain_keys(original: Object, patch: Object) -> None:
    if RETAIN_KEYS not in patch:
        return
    kept = patch.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        raise errors.bad_request(_BAD_RETAIN_KEYS)
    _check_hashable(kept)
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM, SET_ORDER)) and key not in kept:
            raise errors.bad_request(_BAD_RETAIN_KEYS)
    for key in [k for k in original if k not in kept]:
        del original[key]


# -- lists ----------------------------------------------------------------------------------------------------


def _merge_list(original: list[Any], patch: list[Any], item: Schema | None, key: str) -> list[Any]:
    if not original and not patch:
        return original
    if not _holds_maps(original, patch):
        merged = list(dict.fromkeys([*original, *patch]))
        return _ordered(merged, patch, original, "")
    if not key:
        raise _no_key(item)
    original, patch, replaced = _list_directives(original, patch, key)
    if replaced:
        return _ordered(patch, [], patch, key)
    merged = list(original)
    at: dict[Hashable, int] = {}
    for index, item_there in enumerate(original):
        if key in item_there:
            at.setdefault(_key_of(item_there, key), index)
    for entry in patch:
        found = at.get(_key_of(entry, key))
        if found is None:
            at[_key_of(entry, key)] = len(merged)
            merged.append(entry)
        else:
            merged[found] = _merge_map(merged[found], entry, item)
    return _ordered(merged, patch, original, key)


def _holds_maps(original: list[Any], patch: list[Any]) -> bool:
    """Whether the items of two lists that are not both empty are maps; they must all be of one type."""
    kinds = [type(v) for v in (*original, *patch)]
    if kinds[0] is list:
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})
    if any(kind is not kinds[0] for kind in kinds):
        raise _cannot(f"list element types are not identical: {go_value([original, patch])}")
    return kinds[0] is dict


def _key_of(item: Any, key: str) -> Hashable:
    if not isinstance(item, dict):
        raise _wrong_type("map[string]interface {}", item)
    if key not in item:
        raise _no_merge_key(item, key)
    return _exact(item[key])


def _exact(value: Any) -> Hashable:
    """What is equal for values that Go takes for equal: 80 is neither 80.0 nor true."""
    return value.__class__, value if not isinstance(value, (dict, list)) else orjson.dumps(value)


def _list_directives(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any], bool]:
    """(original without deleted items, patch without directives, whether the patch replaces all)."""
    rest: list[Any] = []
    replace = False
    for entry in patch:
        directive = entry.get(PATCH)
        if PATCH not in entry:
            rest.append(entry)
        elif directive == "delete":
            gone = _key_of(entry, key)
            original = [o for o in original if _key_of(o, key) != gone]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise _cannot("merging lists cannot yet be specified in the patch")
        else:
            raise _bad_type(directive, entry)
    return original, rest, replace


def _identity(item: Any, key: str) -> Hashable:
    return _key_of(item, key) if key else _exact(item)


def _ordered(merged: list[Any], order: list[Any], server_order: list[Any], key: str) -> list[Any]:
    """Items that the patch names in the patch's order, the others in the server's, both woven together.

    Where the server's list knows how two stand to each other that counts; else what the patch names goes first.
    """
    if key:
        _check_named(merged, order, key)
    patch_at = _positions(order, key)
    server_at = _positions(server_order, key)
    named = _sorted([i for i in merged if _identity(i, key) in patch_at], patch_at, key)
    others = _sorted([i for i in merged if _identity(i, key) not in patch_at], server_at, key)
    woven: list[Any] = []
    while named and others:
        left, right = server_at.get(_identity(others[0], key)), server_at.get(_identity(named[0], key))
        first = others if left is not None and right is not None and left < right else named
        woven.append(first.pop(0))
    return woven + named + others


def _check_named(merged: list[Any], order: list[Any], key: str) -> None:
    """Refuse items without a merge key, and an order that has something else than maps before what is looked for."""
    odd = next((index for index, item in enumerate(order) if not isinstance(item, dict)), None)
    known = {_key_of(item, key) for item in order[:odd] if key in item}
    for item in merged:
        if _key_of(item, key) not in known and odd is not None:
            raise _cannot(f"value for key {odd} is not a map")


def _sorted(items: list[Any], at: dict[Hashable, int], key: str) -> list[Any]:
    """Items in an order. One that the order does not name goes before all that come before it."""
    wanted = [at.get(_identity(item, key)) for item in items]
    if None not in wanted:
        return sorted(items, key=lambda item: at[_identity(item, key)])
    found: list[Any] = []
    places: list[int | None] = []
    for item, place in zip(items, wanted, strict=True):
        index = len(found)
        while index and (place is None or (before := places[index - 1]) is None or place < before):
            index -= 1
        found.insert(index, item)
        places.insert(index, place)
    return found


def _positions(items: list[Any], key: str) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        found.setdefault(_identity(item, key), index)
    return found


def _set_element_orders(original: Object, patch: Object, schema: Schema | None) -> None:
    """Merge each list that a $setElementOrder speaks of, and put its items in that order."""
    for directive in [k for k in patch if k.startswith(SET_ORDER)]:
        order = _list(patch.pop(directive))
        name = _named_by(directive, SET_ORDER)
        current, changes = (_list(source[name]) if name in source else None for source in (original, patch))
        field = _field(schema, name)
        if field is None and schema is not None and schema.type is SchemaType.STRUCT:
            raise _no_field(schema, name)
        _check_struct(schema)
        key = field.patch_merge_key if field is not None else ""
        _check_order(changes or [], order, key)
        if changes is None and current is None:
            continue
        if changes is None:
            merged: list[Any] = current or []
        elif current is None:
            merged = _without_directives(changes)
        else:
            merged = _merge_member(list(current), changes, schema, name)
        patch.pop(name, None)
        if not current and not changes:
            raise _cannot("no elements in any of the given slices")
        if not key:
            _check_hashable([*order, *merged])
        if _holds_maps(current or [], changes or []) and not key:
            _check_keyless([*order, *(current or [])])
        original[name] = _ordered(merged, order, current or [], key)


def _check_hashable(values: list[Any]) -> None:
    """Refuse maps and lists where only scalars can be looked up: the reference gives up there altogether."""
    for value in values:
        if isinstance(value, (dict, list)):
            raise errors.internal_error(f"runtime error: hash of unhashable type {_GO_TYPES[type(value)]}")


def _check_keyless(items: list[Any]) -> None:
    """Maps that have no merge key cannot be ordered, whatever there is."""
    for item in items:
        raise _no_merge_key(item, "") if isinstance(item, dict) else _wrong_type("map[string]interface {}", item)


def _list(found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise _wrong_type("[]interface {}", found)
    return found


def _check_order(changes: list[Any], order: list[Any], key: str) -> None:
    """What the patch changes must be named in the order, in the same sequence."""
    if not changes or not order:
        return
    at = 0
    for entry in changes:
        if isinstance(entry, dict) and PATCH in entry and (entry[PATCH] == "delete" or at < len(order)):
            continue  # what replaces or merges is passed over only while the order goes on
        while at < len(order) and _identity(entry, key) != _identity(order[at], key):
            at += 1
        at += 1
        if at > len(order):
            raise _cannot(
                f"The order in patch list:\n{go_value(changes)}\n doesn't match $setElementOrder list:\n"
                f"{go_value(order)}\n"
            )
