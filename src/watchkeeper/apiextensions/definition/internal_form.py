"""Schemas, rules and versions as the reference's internal types print in errors: all fields, with Go's names."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.spec import DefinedSpec, DefinedVersion
from watchkeeper.meta.field import in_key_order

Json = Any

SCHEMA_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("id", "ID", ""),
    ("$schema", "Schema", ""),
    ("$ref", "Ref", None),
    ("description", "Description", ""),
    ("type", "Type", ""),
    ("nullable", "Nullable", False),
    ("format", "Format", ""),
    ("title", "Title", ""),
    ("default", "Default", None),
    ("maximum", "Maximum", None),
    ("exclusiveMaximum", "ExclusiveMaximum", False),
    ("minimum", "Minimum", None),
    ("exclusiveMinimum", "ExclusiveMinimum", False),
    ("maxLength", "MaxLength", None),
    ("minLength", "MinLength", None),
    ("pattern", "Pattern", ""),
    ("maxItems", "MaxItems", None),
    ("minItems", "MinItems", None),
    ("uniqueItems", "UniqueItems", False),
    ("multipleOf", "MultipleOf", None),
    ("enum", "Enum", None),
    ("maxProperties", "MaxProperties", None),
    ("minProperties", "MinProperties", None),
    ("required", "Required", None),
    ("items", "Items", None),
    ("allOf", "AllOf", None),
    ("oneOf", "OneOf", None),
    ("anyOf", "AnyOf", None),
    ("not", "Not", None),
    ("properties", "Properties", None),
    ("additionalProperties", "AdditionalProperties", None),
    ("patternProperties", "PatternProperties", None),
    ("dependencies", "Dependencies", None),
    ("additionalItems", "AdditionalItems", None),
    ("definitions", "Definitions", None),
    ("externalDocs", "ExternalDocs", None),
    ("example", "Example", None),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", None),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", False),
    ("x-kubernetes-int-or-string", "XIntOrString", False),
    ("x-kubernetes-list-map-keys", "XListMapKeys", None),
    ("x-kubernetes-list-type", "XListType", None),
    ("x-kubernetes-map-type", "XMapType", None),
    ("x-kubernetes-validations", "XValidations", None),
)
"""The keyword, the internal name and the zero value of each field, in the order of the internal type."""


def schema_form(schema: Json) -> Json:
    """A schema; None for none."""
    if schema is None:
        return None
    return {name: _field_form(key, schema.get(key, zero), zero) for key, name, zero in SCHEMA_FIELDS}


def _field_form(key: str, value: Json, zero: Json) -> Json:
    if value is None or value is zero:
        return value
    match key:
        case "items":
            if isinstance(value, list):
                return {"Schema": None, "JSONSchemas": [schema_form(v) for v in value]}
            return {"Schema": schema_form(value), "JSONSchemas": None}
        case "additionalProperties" | "additionalItems":
            if isinstance(value, bool):
                return {"Allows": value, "Schema": None}
            return {"Allows": True, "Schema": schema_form(value)}
        case "allOf" | "oneOf" | "anyOf":
            return [schema_form(v) for v in value]
        case "not":
            return schema_form(value)
        case "properties" | "patternProperties" | "definitions":
            return {k: schema_form(value[k]) for k in sorted(value)}
        case "dependencies":
            return {
                k: {"Schema": None, "Property": v}
                if isinstance(v, list)
                else {"Schema": schema_form(v), "Property": None}
                for k, v in sorted(value.items())
            }
        case "externalDocs":
            return {"Description": value.get("description", ""), "URL": value.get("url", "")}
        case "x-kubernetes-validations":
            return [rule_form(v) for v in value]
        case "default" | "enum" | "example":
            return in_key_order(value)
    return value


def rule_form(rule: Json) -> Json:
    """A validation rule."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def versions_form(spec: DefinedSpec) -> Json:
    """All versions; null when there is no list of them."""
    return [_version_form(version) for version in spec.versions] if spec.lists_versions else None


def _version_form(version: DefinedVersion) -> Json:
    return {
        "Name": version.name,
        "Served": version.served,
        "Storage": version.storage,
        "Deprecated": version.deprecated,
        "DeprecationWarning": version.deprecation_warning,
        "Schema": None if version.validation is None else {"OpenAPIV3Schema": schema_form(version.schema)},
        "Subresources": _subresources_form(version.subresources),
        "AdditionalPrinterColumns": [_column_form(c) for c in version.columns] or None,
        "SelectableFields": [{"JSONPath": f.get("jsonPath", "")} for f in version.selectable_fields] or None,
    }


def _subresources_form(subresources: Json) -> Json:
    if subresources is None:
        return None
    scale = subresources.get("scale")
    return {
        "Status": None if subresources.get("status") is None else {},
        "Scale": None if scale is None else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }  # fmt: skip


def _column_form(column: Json) -> Json:
    return {
        "Name": column.get("name", ""),
        "Type": column.get("type", ""),
        "Format": column.get("format", ""),
        "Description": column.get("description", ""),
        "Priority": column.get("priority", 0),
        "JSONPath": column.get("jsonPath", ""),
    }
