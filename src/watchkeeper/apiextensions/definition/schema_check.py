"""What a definition may say in a schema, besides that it must be structural."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from watchkeeper.apiextensions.definition.list_keywords import (
    LIST_AND_MAP_KEYWORDS,
    list_and_map_errors,
    map_list_key_errors,
)
from watchkeeper.apiextensions.definition.rule_check import RuleScope, check_rules, rule_entry_errors
from watchkeeper.apiextensions.definition.walk import walk
from watchkeeper.meta.field import FieldError, forbidden, not_supported
from watchkeeper.runtime.with_empties import WithEmpties

Json = Any

TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = frozenset({"metadata", "kind", "apiVersion"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What is asked of schemas. An update asks no more than what the old definition fulfilled."""

    structural: bool = True
    open_api_schema: bool = True
    valid_types: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_list_keys: bool = True
    unchanged: frozenset[str] = frozenset()
    """Versions with the same schema as before: the costs of their single rules were accepted once."""


@dataclass(slots=True)
class SchemaErrors:
    """Errors of schemas, and those of their rules, which are told after them."""

    schema: list[FieldError]
    rules: list[FieldError]

    def add(self, other: SchemaErrors) -> None:
        """Take over the errors of a part."""
        self.schema += other.schema
        self.rules += other.rules

    def all(self) -> list[FieldError]:
        """All of them."""
        return self.schema + self.rules


@dataclass(frozen=True, slots=True)
class _Place:
    """What matters of where a node is."""

    defaults_forbidden: str | None = None
    """Why defaults are forbidden; None where they are allowed."""
    inside_meta: bool = False
    uncorrelatable: str | None = None
    """The path of what makes that oldSelf could not be told below."""


def check_schema(
    schema: Json, path: str, requirements: Requirements, scope: RuleScope | None, *, suppress_cost: bool
) -> SchemaErrors:
    """All errors of a root schema. Rules are compiled and priced when there is a scope for them."""
    return _Check(requirements, suppress_cost).node(schema, path, _Place(), scope, is_root=True)


class _Check:
    def __init__(self, requirements: Requirements, suppress_cost: bool) -> None:
        self.requirements = requirements
        self.suppress_cost = suppress_cost

    def node(
        self, schema: Json, path: str, place: _Place, scope: RuleScope | None, *, is_root: bool = False
    ) -> SchemaErrors:
        if _is_plain(schema):
            return SchemaErrors([], [])
        found = SchemaErrors([], [])
        if _is_usual(schema):
            self.additional(schema, path, place, scope, found)
            self.properties(schema, path, place, scope, found, is_root)
            self.items(schema, path, place, scope, found)
            return found
        found.schema = self.standard(schema, path, place)
        if schema.get("uniqueItems"):
            text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            found.schema.append(forbidden(f"{path}.uniqueItems", text))
        self.additional(schema, path, place, scope, found)
        self.properties(schema, path, place, scope, found, is_root)
        if not _JUNCTORS.isdisjoint(schema):
            for sub_path, sub in _junctors(schema):
                found.add(self.node(sub, path + sub_path, place, None))
        self.items(schema, path, place, scope, found)
        for name, sub in (schema.get("dependencies") or {}).items():
            if isinstance(sub, dict):
                found.add(self.node(sub, f"{path}.dependencies[{name}]", place, None))
        if not LIST_AND_MAP_KEYWORDS.isdisjoint(schema):
            found.schema += list_and_map_errors(schema, path, atomic_sets=self.requirements.atomic_sets)
            if self.requirements.map_list_keys:
                found.schema += map_list_key_errors(schema, path)
        if schema.get("x-kubernetes-validations"):
            node = scope.node if scope is not None else None
            found.schema += rule_entry_errors(schema, node, path)
            if not found.schema and scope is not None:
                found.rules += check_rules(schema, path, scope, place.uncorrelatable, self.suppress_cost)
        return found

    def additional(self, schema: Json, path: str, place: _Place, scope: RuleScope | None, found: SchemaErrors) -> None:
        additional = schema.get("additionalProperties")
        if additional is None:
            return
        where = f"{path}.additionalProperties"
        if schema.get("properties") and additional is not True:
            found.schema.append(forbidden(where, "additionalProperties and properties are mutual exclusive"))
        if isinstance(additional, dict):
            if place.inside_meta:
                place = replace(place, defaults_forbidden="inside additionalProperties applying to object metadata")
            found.add(self.node(additional, where, place, _child(scope, lambda s: s.values())))

    def properties(
        self, schema: Json, path: str, place: _Place, scope: RuleScope | None, found: SchemaErrors, is_root: bool
    ) -> None:
        if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
            place = _forbid_old_self(place, path)
        is_resource = is_root or schema.get("x-kubernetes-embedded-resource")
        for name, sub in (schema.get("properties") or {}).items():
            if _is_plain(sub):
                continue
            here = place
            if is_resource and name in _META:
                here = replace(here, inside_meta=True)
                if is_root:
                    here = replace(here, defaults_forbidden=f"in top-level {name}")
            child = _child(scope, lambda s, name=name: s.property(name))  # type: ignore[misc]
            found.add(self.node(sub, f"{path}.properties[{name}]", here, child))

    def items(self, schema: Json, path: str, place: _Place, scope: RuleScope | None, found: SchemaErrors) -> None:
        items = schema.get("items")
        if items is None:
            return
        if schema.get("x-kubernetes-list-type") != "map":
            place = _forbid_old_self(place, path)
        if isinstance(items, dict):
            if _is_plain(items):
                return
            found.add(self.node(items, f"{path}.items", place, _child(scope, lambda s: s.items())))
            return
        for i, sub in enumerate(items):
            found.add(self.node(sub, f"{path}.items[{i}]", place, None))

    def standard(self, schema: Json, path: str, place: _Place) -> list[FieldError]:
        """Keywords that are not supported, or not there."""
        errors: list[FieldError] = []
        kind = schema.get("type") or ""
        if self.requirements.valid_types and kind and kind not in TYPES:
            errors.append(not_supported(f"{path}.type", kind, TYPES, plain=True))
        if schema.get("default") is not None and place.defaults_forbidden is not None:
            errors.append(forbidden(f"{path}.default", f"must not be set {place.defaults_forbidden}".rstrip()))
        if schema.__class__ is WithEmpties or not _UNSUPPORTED_SET.isdisjoint(schema):
            given = (keyword for keyword in _UNSUPPORTED if _is_given(schema, keyword))
            errors += [forbidden(f"{path}.{keyword}", f"{keyword} is not supported") for keyword in given]
        if kind == "null":
            text = "type cannot be set to null, use nullable as an alternative"
            errors.append(forbidden(f"{path}.type", text))
        if isinstance(schema.get("items"), list) and schema["items"]:
            errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
        if place.inside_meta and schema.get("x-kubernetes-embedded-resource"):
            where = f"{path}.x-kubernetes-embedded-resource"
            errors.append(forbidden(where, "must not be used inside of resource meta"))
        return errors


_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_UNSUPPORTED_SET = frozenset(_UNSUPPORTED)
_JUNCTORS = frozenset({"not", "allOf", "oneOf", "anyOf", "definitions"})
_LOOKED_AT = (
    frozenset({"default", "uniqueItems", "properties", "additionalProperties", "items", "dependencies"})
    | {"x-kubernetes-validations", "x-kubernetes-embedded-resource"}
    | _UNSUPPORTED_SET
    | _JUNCTORS
    | LIST_AND_MAP_KEYWORDS
)
"""All keywords that are checked, but the type: most nodes have none of them."""
_UNUSUAL = _LOOKED_AT - {"properties", "additionalProperties", "items"}


def _is_plain(schema: Json) -> bool:
    """Whether nothing but a known type has to be looked at."""
    return _LOOKED_AT.isdisjoint(schema) and schema.get("type") in TYPES and schema.__class__ is not WithEmpties


def _is_usual(schema: Json) -> bool:
    """Whether nothing but a known type and what is below has to be looked at."""
    if schema.__class__ is WithEmpties or isinstance(schema.get("items"), list):
        return False
    return _UNUSUAL.isdisjoint(schema) and schema.get("type") in TYPES


def _is_given(schema: Json, keyword: str) -> bool:
    value = schema.get(keyword)
    if keyword in ("id", "patternProperties", "definitions"):
        return bool(value)
    return value is not None


def _forbid_old_self(place: _Place, path: str) -> _Place:
    return place if place.uncorrelatable is not None else replace(place, uncorrelatable=path)


def _child(scope: RuleScope | None, step: Callable[[RuleScope], RuleScope | None]) -> RuleScope | None:
    return None if scope is None else step(scope)


def _junctors(schema: Json) -> Iterator[tuple[str, Json]]:
    if schema.get("not") is not None:
        yield ".not", schema["not"]
    for keyword in ("allOf", "oneOf", "anyOf"):
        for i, sub in enumerate(schema.get(keyword) or ()):
            yield f".{keyword}[{i}]", sub
    for name, sub in (schema.get("definitions") or {}).items():
        yield f".definitions[{name}]", sub


def has_invalid_type(schema: Json) -> bool:
    """Whether any type is none of OpenAPI's."""
    return any(s.get("type") and s["type"] not in TYPES for s in walk(schema))
