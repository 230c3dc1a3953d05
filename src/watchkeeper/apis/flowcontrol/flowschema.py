"""FlowSchemas: which requests belong to which priority level."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.flowcontrol.flowschema_validation import validate_condition_types, validate_spec
from watchkeeper.apis.status_metadata import keep_all_metadata
from watchkeeper.apis.validation.internal_form import InternalForm, Listed, Reference, internal_form
from watchkeeper.meta.field import FieldError, invalid
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

GROUP = "flowcontrol.apiserver.k8s.io"
_DEFAULT_PRECEDENCE = 1000


def _mandatory(level: str, precedence: int, *groups: str) -> Object:
    everything = {
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "clusterScope": True,
        "namespaces": ["*"],
    }
    rule = {
        "subjects": [{"kind": "Group", "group": {"name": name}} for name in groups],
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": [rule],
    }


MANDATORY: dict[str, Object] = {
    "exempt": _mandatory("exempt", 1, "system:masters"),
    "catch-all": {
        **_mandatory("catch-all", 10000, "system:unauthenticated", "system:authenticated"),
        "distinguisherMethod": {"type": "ByUser"},
    },
}
"""The specs that two schemas must have, by name: no request is without a schema."""

_SUBJECT = Listed(
    kind=("Kind", ""),
    user=("User", Reference(name=("Name", ""))),
    group=("Group", Reference(name=("Name", ""))),
    serviceAccount=("ServiceAccount", Reference(namespace=("Namespace", ""), name=("Name", ""))),
)
_RESOURCE_RULE = Listed(
    verbs=("Verbs", None),
    apiGroups=("APIGroups", None),
    resources=("Resources", None),
    clusterScope=("ClusterScope", False),
    namespaces=("Namespaces", None),
)
_SPEC: InternalForm = {
    "priorityLevelConfiguration": ("PriorityLevelConfiguration", {"name": ("Name", "")}),
    "matchingPrecedence": ("MatchingPrecedence", 0),
    "distinguisherMethod": ("DistinguisherMethod", Reference(type=("Type", ""))),
    "rules": (
        "Rules",
        Listed(
            subjects=("Subjects", _SUBJECT),
            resourceRules=("ResourceRules", _RESOURCE_RULE),
            nonResourceRules=(
                "NonResourceRules",
                Listed(verbs=("Verbs", None), nonResourceURLs=("NonResourceURLs", None)),
            ),
        ),
    ),
}


def default_schema(schema: Object) -> None:
    """A schema without a precedence is in the middle."""
    spec = schema.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = _DEFAULT_PRECEDENCE


def _validate(schema: Object) -> list[FieldError]:
    spec, name = schema.get("spec") or {}, schema["metadata"].get("name") or ""
    errors = validate_spec(spec, name)
    if name in MANDATORY and spec != MANDATORY[name]:
        errors.append(invalid("spec", internal_form(spec, _SPEC), f"spec of '{name}' must equal the fixed value"))
    return errors + validate_condition_types(schema.get("status") or {})


def _cells(schema: Object, now: float) -> list[Any]:
    spec, conditions = schema.get("spec") or {}, (schema.get("status") or {}).get("conditions") or ()
    method = spec.get("distinguisherMethod")
    dangling = next((each.get("status", "") for each in conditions if each.get("type") == "Dangling"), "?")
    return [
        printing.name_of(schema),
        (spec.get("priorityLevelConfiguration") or {}).get("name") or "",
        spec.get("matchingPrecedence") or 0,
        printing.NONE if method is None else method.get("type") or "",
        printing.age(schema, now),
        dangling,
    ]


def _matching_order(schema: Object) -> tuple[int, str]:
    return (schema.get("spec") or {}).get("matchingPrecedence") or 0, printing.name_of(schema)


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "FlowSchema"),
        prepare_for_status_update=keep_all_metadata,
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_status_update=lambda new, _old: validate_condition_types(new.get("status") or {}),
        has_generation=True,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("PriorityLevel", "string", "The priority level of its requests."),
                Column("MatchingPrecedence", "string", "Of the schemas that match, the one with the least is taken."),
                Column("DistinguisherMethod", "string", "How its requests are divided into flows."),
                printing.AGE,
                Column("MissingPL", "string", "Whether its priority level is missing or broken."),
            ),
            cells=_cells,
            order=_matching_order,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "FlowSchema"): default_schema}
