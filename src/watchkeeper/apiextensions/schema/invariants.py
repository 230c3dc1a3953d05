"""What makes a schema structural (apiextensions-apiserver's ValidateStructural)."""

from __future__ import annotations

import enum

from watchkeeper.apiextensions.schema.structural import Structural
from watchkeeper.cel.regex import RegexError, compile_pattern
from watchkeeper.meta.field import FieldError, forbidden, invalid, required

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


class _Level(enum.Enum):
    ROOT = "root"
    ITEM = "item"
    FIELD = "field"


_EMPTY_TYPE = {
    _Level.ROOT: "must not be empty at the root",
    _Level.ITEM: "must not be empty for specified array items",
    _Level.FIELD: "must not be empty for specified object fields",
}


def validate_structural(root: Structural, path: str) -> list[FieldError]:
    """All that keeps a schema from being structural, sorted by the text of the errors."""
    errors: list[FieldError] = []
    _invariants(root, _Level.ROOT, path, errors)
    _completeness(root, root, path, path, errors)
    return sorted(errors, key=str)


def _invariants(node: Structural, level: _Level, path: str, errors: list[FieldError]) -> None:
    if node.type == "array" and node.items is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if node.items is not None and not node.items.plain:
        _invariants(node.items, _Level.ITEM, f"{path}.items", errors)
    for name, child in node.properties.items():
        if not child.plain:
            _invariants(child, _Level.FIELD, f"{path}.properties[{name}]", errors)
    if node.has_additional:
        if level is _Level.ROOT:
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if node.additional is not None and not node.additional.plain:
            _invariants(node.additional, _Level.FIELD, f"{path}.additionalProperties", errors)
    _extensions(node, path, errors)
    skip_any = node.source.get("anyOf") == _INT_OR_STRING
    skip_first = bool(node.all_of) and node.source["allOf"][0].get("anyOf") == _INT_OR_STRING
    _value_validation(node, skip_any, skip_first, level, path, errors)
    _types(node, level, path, errors)
    _resource_fields(node, level, path, errors)


def _extensions(node: Structural, path: str, errors: list[FieldError]) -> None:
    text = "must be false if x-kubernetes-int-or-string is true"
    if node.int_or_string and node.preserve:
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", True, text))
    if node.int_or_string and node.embedded:
        errors.append(invalid(f"{path}.x-kubernetes-embedded-resource", True, text))


def _types(node: Structural, level: _Level, path: str, errors: list[FieldError]) -> None:
    where = f"{path}.type"
    if node.embedded and node.type != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(where, node.type, text) if node.type else required(where, text))
    elif not node.type and not node.int_or_string and not node.preserve:
        errors.append(required(where, _EMPTY_TYPE[level]))
    if node.embedded and node.has_additional:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(f"{path}.additionalProperties", text))
    if level is _Level.ROOT and node.type and node.type != "object":
        errors.append(invalid(where, node.type, "must be object at the root"))


def _resource_fields(node: Structural, level: _Level, path: str, errors: list[FieldError]) -> None:
    is_resource = level is _Level.ROOT or node.embedded
    for name in ("kind", "apiVersion"):
        child = node.properties.get(name)
        if child is not None and is_resource and child.type != "string":
            errors.append(invalid(f"{path}.properties[{name}].type", child.type, "must be string"))
    metadata = node.properties.get("metadata")
    if metadata is not None:
        where = f"{path}.properties[metadata]"
        if is_resource and metadata.type != "object":
            errors.append(invalid(f"{where}.type", metadata.type, "must be object"))
        if level is _Level.ROOT and not _restricts_names_only(metadata):
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(where, text))
    if node.embedded and not node.preserve and not node.properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", text))


def _restricts_names_only(metadata: Structural) -> bool:
    rest = set()
    for key, value in metadata.source.items():
        says_nothing = value is False or value in ("", [], {})
        if value is not None and (key in _SAYS_MORE or not says_nothing):
            rest.add(key)
    if metadata.properties.keys() <= {"name", "generateName"}:
        rest.discard("properties")
    return rest <= {"type", "default"}


_SAYS_MORE = ("items", "additionalProperties", "not")
"""What counts even where it is an empty schema or false."""


def _value_validation(
    node: Structural, skip_any: bool, skip_first_any: bool, level: _Level, path: str, errors: list[FieldError]
) -> None:
    if not skip_any:
        for i, sub in enumerate(node.any_of):
            _nested(sub, False, level, f"{path}.anyOf[{i}]", errors)
    for i, sub in enumerate(node.all_of):
        _nested(sub, skip_first_any and i == 0, level, f"{path}.allOf[{i}]", errors)
    for i, sub in enumerate(node.one_of):
        _nested(sub, False, level, f"{path}.oneOf[{i}]", errors)
    if node.negated is not None:
        _nested(node.negated, False, level, f"{path}.not", errors)
    pattern = node.get("pattern")
    if pattern:
        try:
            compile_pattern(pattern)
        except RegexError as problem:
            text = f"must be a valid regular expression, but isn't: {problem}"
            errors.append(invalid(f"{path}.pattern", pattern, text))


_FORBIDDEN_IN_JUNCTORS = (
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)


_POINTERS = ("x-kubernetes-list-type", "x-kubernetes-map-type")
"""Of these an empty text is something, too."""


def _nested(node: Structural, skip_any: bool, level: _Level, path: str, errors: list[FieldError]) -> None:
    """A schema below a junctor validates and says nothing about structure."""
    _value_validation(node, skip_any, False, level, path, errors)
    if node.items is not None:
        _nested(node.items, False, level, f"{path}.items", errors)
    for name, child in node.properties.items():
        _nested(child, False, _Level.FIELD, f"{path}.properties[{name}]", errors)
    if node.type:
        errors.append(forbidden(f"{path}.type", "must be empty to be structural"))
    if node.open_map:
        errors.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))
    if node.has_default:
        errors.append(forbidden(f"{path}.default", "must be undefined to be structural"))
    for keyword, text in _FORBIDDEN_IN_JUNCTORS:
        value = node.source.get(keyword)
        if value if keyword not in _POINTERS else value is not None:
            errors.append(forbidden(f"{path}.{keyword}", text))
    if "metadata" in node.properties:
        errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))


def _completeness(
    validation: Structural, node: Structural | None, node_path: str, path: str, errors: list[FieldError]
) -> None:
    """Whatever a junctor validates must be specified by the structure, too."""
    if node is None:
        errors.append(required(node_path, f"because it is defined in {path}"))
        return
    if validation.negated is not None:
        _nested_completeness(validation.negated, node, node_path, f"{path}.not", errors)
    for keyword, subs in (("allOf", validation.all_of), ("anyOf", validation.any_of), ("oneOf", validation.one_of)):
        for i, sub in enumerate(subs):
            _nested_completeness(sub, node, node_path, f"{path}.{keyword}[{i}]", errors)


def _nested_completeness(
    validation: Structural, node: Structural | None, node_path: str, path: str, errors: list[FieldError]
) -> None:
    if node is None:
        errors.append(required(node_path, f"because it is defined in {path}"))
        return
    _completeness(validation, node, node_path, path, errors)
    if validation.items is not None:
        _nested_completeness(validation.items, node.items, f"{node_path}.items", f"{path}.items", errors)
    for name, sub in validation.properties.items():
        sub_path = f"{path}.properties[{name}]"
        _nested_completeness(sub, node.properties.get(name), f"{node_path}.properties[{name}]", sub_path, errors)
