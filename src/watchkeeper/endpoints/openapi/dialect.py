"""The two dialects of OpenAPI, and what differs between them."""

from __future__ import annotations

import enum
from typing import Any

JSON: tuple[str, ...] = ("application/json", "application/yaml")
WATCH: tuple[str, ...] = (*JSON, "application/json;stream=watch")
PATCH: tuple[str, ...] = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CUSTOM_PATCH: tuple[str, ...] = tuple(each for each in PATCH if "strategic" not in each)


class Dialect(enum.Enum):
    """Swagger 2.0 or OpenAPI 3.0."""

    V2 = "2.0"
    V3 = "3.0.0"

    def ref(self, name: str) -> dict[str, Any]:
        """A reference to a definition."""
        return {"$ref": f"#/{'definitions' if self is Dialect.V2 else 'components/schemas'}/{name}"}

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
            body = {"in": "body", "name": "body", "required": required, "schema": self.ref(name)}
            operation["parameters"].append(body)
            operation["consumes"] = list(types)
        else:
            operation["requestBody"] = {
                "content": {each: {"schema": self.ref(name)} for each in types},
                "required": required,
            }

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
