"""The two dialects of OpenAPI, and what differs between them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

_JSON, _YAML, _PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
_PATCH = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
ANYTHING = ("*/*",)


@dataclass(frozen=True, slots=True)
class Media:
    """The media types that operations on a resource are said to take and to answer in."""

    bodies: tuple[str, ...]
    answers: tuple[str, ...]
    lists: tuple[str, ...]
    """Of what can be watched as well."""
    patches: tuple[str, ...]


BUILTIN = Media(
    ANYTHING,
    (_JSON, _YAML, _PROTOBUF),
    (_JSON, _YAML, _PROTOBUF, f"{_JSON};stream=watch", f"{_PROTOBUF};stream=watch"),
    _PATCH,
)
CUSTOM = Media(
    (_JSON, _YAML), (_JSON, _YAML), (_JSON, _YAML), tuple(each for each in _PATCH if "strategic" not in each)
)


class Dialect(enum.Enum):
    """Swagger 2.0 or OpenAPI 3.0."""

    V2 = "2.0"
    V3 = "3.0.0"

    def ref(self, name: str) -> dict[str, Any]:
        """A reference to a definition."""
        return {"$ref": f"#/{'definitions' if self is Dialect.V2 else 'components/schemas'}/{name}"}

    def field_ref(self, name: str, **more: Any) -> dict[str, Any]:
        """A reference to the definition of a field, which may have more to it than that."""
        reference = self.ref(name)
        return {**(reference if self is Dialect.V2 else {"allOf": [reference]}), **more}

    def parameter(self, name: str, kind: str, where: str) -> dict[str, Any]:
        """A query or path parameter of a JSON type."""
        found: dict[str, Any] = {"name": name, "in": where}
        if where == "path":
            found["required"] = True
        unique = {"type": kind, "uniqueItems": True}
        return found | (unique if self is Dialect.V2 else {"schema": unique})

    def add_body(self, operation: dict[str, Any], name: str, types: tuple[str, ...], *, required: bool) -> None:
        """Let an operation take a body of a definition, in any of some media types."""
        if self is Dialect.V2:
            body = {"in": "body", "name": "body", "schema": self.ref(name)}
            operation["parameters"].insert(0, {**body, "required": True} if required else body)
            operation["consumes"] = list(types)
        else:
            found = {"content": {each: {"schema": self.ref(name)} for each in types}}
            operation["requestBody"] = {**found, "required": True} if required else found

    def add_responses(
        self, operation: dict[str, Any], name: str, codes: tuple[int, ...], types: tuple[str, ...]
    ) -> None:
        """Let an operation answer with a definition ("" for text)."""
        schema = self.ref(name) if name else {"type": "string"}
        words = {200: "OK", 201: "Created", 202: "Accepted"}
        if self is Dialect.V2:
            operation["produces"] = list(types)
            answers: dict[str, Any] = {str(c): {"description": words[c], "schema": schema} for c in codes}
        else:
            content = {each: {"schema": schema} for each in types}
            answers = {str(c): {"description": words[c], "content": content} for c in codes}
        operation["responses"] = {**answers, "401": {"description": "Unauthorized"}}
