"""From the JSON schemas that model libraries write to structural schemas."""

from __future__ import annotations

from typing import Any

Json = Any

ANYTHING: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}

_KEPT = (
    "type",
    "description",
    "format",
    "pattern",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
)
_SCALARS = frozenset({"string", "integer", "number", "boolean"})


def to_structural(schema: Json) -> Json:
    """A structural schema that allows what a JSON schema (2020-12) allows, or more where it cannot say as much.

    References are put in place; where a type holds itself, and where alternatives differ in more than null, anything
    goes. Extensions (`x-kubernetes-…`) are kept as they are.
    """
    return _Reader(schema.get("$defs") or schema.get("definitions") or {}).node(schema, ())


class _Reader:
    def __init__(self, definitions: Json) -> None:
        self.definitions = definitions

    def node(self, schema: Json, inside: tuple[str, ...]) -> Json:
        """One schema; `inside` names the definitions that it is part of."""
        if not isinstance(schema, dict):
            return dict(ANYTHING)
        reference = schema.get("$ref")
        if reference is not None:
            name = reference.rpartition("/")[2]
            if name in inside:
                return dict(ANYTHING)
            found = self.node(self.definitions.get(name, {}), (*inside, name))
            return self._also(found, {k: v for k, v in schema.items() if k != "$ref"})
        for keyword in ("anyOf", "oneOf"):
            if schema.get(keyword):
                return self._also(self._alternatives(schema[keyword], inside), schema)
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return self._also(self.node(schema["allOf"][0], inside), schema)
        return self._plain(schema, inside)

    def _also(self, found: Json, schema: Json) -> Json:
        """What stands beside a reference or alternatives."""
        for key in ("description", "default"):
            if schema.get(key) is not None:
                found[key] = schema[key]
        return found

    def _alternatives(self, schemas: list[Json], inside: tuple[str, ...]) -> Json:
        some = [s for s in schemas if s.get("type") != "null"]
        nullable = len(some) < len(schemas)
        types = [s.get("type") for s in some]
        if len(some) == 1:
            found = self.node(some[0], inside)
        elif sorted(map(str, types)) == ["integer", "string"]:
            found = {"x-kubernetes-int-or-string": True}
        elif sorted(map(str, types)) == ["integer", "number"]:
            found = {"type": "number"}
        else:
            return dict(ANYTHING)
        if nullable:
            found["nullable"] = True
        return found

    def _plain(self, schema: Json, inside: tuple[str, ...]) -> Json:
        found = {key: schema[key] for key in _KEPT if key in schema}
        found.update({key: value for key, value in schema.items() if key.startswith("x-kubernetes-")})
        if schema.get("default") is not None:
            found["default"] = schema["default"]
        if "const" in schema:
            found["enum"] = [schema["const"]]
        if isinstance(found.get("type"), list):
            alternatives = [{**schema, "type": kind} for kind in found["type"]]
            return self._also(self._alternatives(alternatives, inside), schema)
        if "type" not in found:
            kind = _type_of_values(found.get("enum"))
            if kind is None:
                return {**ANYTHING, **{k: v for k, v in found.items() if k in ("description", "default")}}
            found["type"] = kind
        self._bounds(schema, found)
        if found["type"] == "object":
            self._object(schema, found, inside)
        elif found["type"] == "array":
            items = schema.get("items")
            found["items"] = self.node(items, inside) if isinstance(items, dict) else dict(ANYTHING)
            if schema.get("uniqueItems") and found["items"].get("type") in _SCALARS:
                found["x-kubernetes-list-type"] = "set"
        return found

    def _bounds(self, schema: Json, found: Json) -> None:
        for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            value = schema.get(key)
            if value is not None and not isinstance(value, bool):
                found[bound], found[key] = value, True

    def _object(self, schema: Json, found: Json, inside: tuple[str, ...]) -> None:
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        if properties:
            found["properties"] = {name: self.node(sub, inside) for name, sub in properties.items()}
        elif isinstance(more, dict) and more:
            found["additionalProperties"] = self.node(more, inside)
        else:
            found["x-kubernetes-preserve-unknown-fields"] = True


def _type_of_values(values: list[Json] | None) -> str | None:
    kinds = {type(value) for value in values or ()}
    if kinds == {str}:
        return "string"
    return "integer" if kinds == {int} else None
