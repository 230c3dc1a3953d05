"""What may be written into a definition, and in which words the rest is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from watchkeeper.apiextensions.definition.behavior import DEFINITION_BEHAVIOR
from watchkeeper.apiextensions.definition.defaults import set_defaults
from watchkeeper.apiextensions.definition.validation import definition_errors, definition_update_errors

SPEC_SCHEMA = {"type": "object", "properties": {"size": {"type": "integer"}}}


def _schema(spec: Any = None, **root: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec or SPEC_SCHEMA}, **root}


def _version(name: str = "v1", schema: Any = None, *, storage: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema or _schema()},
        **more,
    }


def _definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    group = spec.get("group", "example.io")
    found = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": list(versions) or [_version()],
            **spec,
        },
    }
    set_defaults(found)
    prepare = DEFINITION_BEHAVIOR.prepare_for_create
    assert prepare is not None
    prepare(found)
    return found


def _errors(*versions: dict[str, Any], **spec: Any) -> list[str]:
    return [str(e) for e in definition_errors(_definition(*versions, **spec))]


def test_names_conversion_and_stored_versions_are_filled_in() -> None:
    found = _definition()
    assert found["spec"]["names"] == {
        "kind": "Widget",
        "plural": "widgets",
        "singular": "widget",
        "listKind": "WidgetList",
    }
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["status"] == {
        "conditions": None,
        "acceptedNames": {"kind": "", "plural": ""},
        "storedVersions": ["v1"],
    }
    assert definition_errors(found) == []


def test_of_a_conversion_webhook_that_says_nothing_nothing_is_kept() -> None:
    assert "webhook" not in _definition(conversion={"strategy": "None", "webhook": {}})["spec"]["conversion"]
    asked = _definition(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": []}})
    assert asked["spec"]["conversion"]["webhook"] == {"conversionReviewVersions": []}


def test_the_name_is_made_of_plural_and_group() -> None:
    assert DEFINITION_BEHAVIOR.name_rule_of is not None
    wrong = DEFINITION_BEHAVIOR.name_rule_of(_definition())
    assert wrong("widgets.example.io", False) == []
    assert wrong("gadgets.example.io", False) == ['must be spec.names.plural+"."+spec.group']
    subdomain, made = wrong("X_", True)
    assert subdomain.startswith("a lowercase RFC 1123 subdomain must consist of")
    assert made == 'must be spec.names.plural+"."+spec.group'


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"group": "example"}, ["spec.group"]),
        ({"group": ""}, ["spec.group"]),
        ({"scope": "Global"}, ["spec.scope"]),
        ({"scope": ""}, ["spec.scope"]),
        ({"versions": []}, ["spec.versions", "status.storedVersions"]),
        ({"versions": [_version("1.0")]}, ["spec.versions[0].name", "spec.version"]),
        ({"versions": [_version(), _version(storage=False)]}, ["spec.versions"]),
        ({"versions": [_version(), _version("v2")]}, ["spec.versions", "status.storedVersions"]),
        ({"versions": [_version(storage=False)]}, ["spec.versions", "status.storedVersions"]),
        ({"names": {"kind": "Widget", "plural": "widgets", "listKind": "Widget"}}, ["spec.names.listKind"]),
        (
            {"names": {"kind": "Widget_", "plural": "widgets"}},
            ["spec.names.singular", "spec.names.kind", "spec.names.listKind"],
        ),
        ({"names": {"kind": "W", "plural": "widgets", "shortNames": ["a", "B"]}}, ["spec.names.shortNames[1]"]),
        ({"preserveUnknownFields": True}, ["spec.preserveUnknownFields"]),
    ],
)
def test_what_is_wrong_is_told_at_its_place(spec: dict[str, Any], fields: list[str]) -> None:
    assert [e.field for e in definition_errors(_definition(**spec))] == fields


def test_versions_that_differ_are_named_and_what_they_share_is_not() -> None:
    bad = {"type": "object", "properties": {"list": {"type": "array"}}}
    assert _errors(_version(schema=_schema(bad))) == [
        "spec.validation.openAPIV3Schema.properties[spec].properties[list].items: Required value: must be specified"
    ]
    assert _errors(_version(), _version("v2", _schema(bad), storage=False)) == [
        "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[list].items: "
        "Required value: must be specified"
    ]


def test_each_version_needs_a_schema() -> None:
    assert _errors({"name": "v1", "served": True, "storage": True}) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value"
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, ['type: Invalid value: "string": must be object at the root']),
        *(
            (
                {"type": "object", "properties": {"metadata": {"type": "object", **more}}},
                [
                    "properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
                    "metadata is implicitly specified"
                ],
            )
            for more in ({"additionalProperties": False}, {"minProperties": 0}, {"description": "x"})
        ),
        (
            _schema({"properties": {"size": {"minimum": 1}}}),
            [
                "properties[spec].properties[size].type: Required value: must not be empty for specified object fields",
                "properties[spec].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (
            _schema({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            [
                "properties[spec].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
                "complexity becomes quadratic"
            ],
        ),
        (
            _schema({"type": "objekt"}),
            [
                'properties[spec].type: Unsupported value: "objekt": supported values: "array", "boolean", "integer", '
                '"number", "object", "string"'
            ],
        ),
        (
            _schema({**SPEC_SCHEMA, "additionalProperties": {"type": "string"}}),
            [
                "properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual "
                "exclusive"
            ],
        ),
        (
            _schema({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"}),
            [
                "properties[spec].items.x-kubernetes-map-type: Invalid value: null: "
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            ],
        ),
        (
            _schema(
                {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                }
            ),
            [
                "properties[spec].items.properties[name].default: Required value: this property is in "
                "x-kubernetes-list-map-keys, so it must have a default or be a required property"
            ],
        ),
        (
            _schema({"type": "object", "properties": {"a": {"type": "string", "default": 3}}}),
            [
                'properties[spec].properties[a].default: Invalid value: "integer":  in body must be of type string: '
                '"integer"'
            ],
        ),
        (
            _schema({"type": "object", "default": {"odd": 1}, "properties": {"a": {"type": "string"}}}),
            ['properties[spec].default: Invalid value: {"odd":1}: must not have unknown fields'],
        ),
        (
            # What is unknown does not keep the rest from being checked, and objects are shown in the order of keys.
            _schema({"type": "object", "default": {"odd": 1, "a": 3}, "properties": {"a": {"type": "string"}}}),
            [
                'properties[spec].default: Invalid value: {"a":3,"odd":1}: must not have unknown fields',
                'properties[spec].default.a: Invalid value: "integer": a in body must be of type string: "integer"',
            ],
        ),
        # Defaults of what may be a whole number or a text are held against their type only where one is given.
        (_schema({"x-kubernetes-int-or-string": True, "default": [1.5]}), []),
        (
            _schema({"type": "object", "anyOf": [{"default": False}]}),
            ["properties[spec].anyOf[0].default: Forbidden: must be undefined to be structural"],
        ),
        (
            _schema({"type": "string", "$ref": "#/x"}),
            ["properties[spec].$ref: Forbidden: $ref is not supported"],
        ),
        (_schema(nullable=True), ["nullable: Forbidden: nullable cannot be true at the root"]),
    ],
)
def test_schemas_are_checked(schema: dict[str, Any], expected: list[str]) -> None:
    assert _errors(_version(schema=schema)) == [f"spec.validation.openAPIV3Schema.{text}" for text in expected]


def test_with_a_status_subresource_the_root_says_little() -> None:
    version = _version(schema=_schema(anyOf=[{"required": ["spec"]}]), subresources={"status": {}})
    (error,) = definition_errors(_definition(version))
    assert error.field == "spec.validation.openAPIV3Schema"
    assert error.detail.startswith("only [Description Type Format Title ")
    assert '"AnyOf":[' in str(error)


RULE = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]"


@pytest.mark.parametrize(
    ("rule", "field", "words"),
    [
        ({"rule": "self.size >"}, "rule", "compilation failed: ERROR: <input>:1:12: Syntax error"),
        ({"rule": "self.nothing == 1"}, "rule", "undefined field 'nothing'"),
        ({"rule": "self.size + 1"}, "rule", "cel expression must evaluate to a bool"),
        ({"rule": "self.size == 'x'"}, "rule", "found no matching overload for '_==_'"),
        ({"rule": ""}, "rule", "rule is not specified"),
        ({"rule": "true", "messageExpression": "self.size"}, "messageExpression", "must evaluate to a string"),
        ({"rule": "true", "message": "two\nlines"}, "message", "must not contain line breaks"),
        ({"rule": "true", "fieldPath": ".nothing"}, "fieldPath", "must be a valid path"),
        ({"rule": "true", "reason": "Whatever"}, "reason", "supported values"),
        ({"rule": "true", "optionalOldSelf": True}, "optionalOldSelf", "may not be set if oldSelf is not used"),
    ],
)
def test_rules_are_compiled(rule: dict[str, Any], field: str, words: str) -> None:
    schema = _schema({**SPEC_SCHEMA, "x-kubernetes-validations": [rule]})
    (error,) = definition_errors(_definition(_version(schema=schema)))
    assert error.field == f"{RULE}.{field}"
    assert words in error.detail


def test_a_rule_is_shown_as_the_reference_has_it() -> None:
    schema = _schema({**SPEC_SCHEMA, "x-kubernetes-validations": [{"rule": "self.size > 'a'"}]})
    (error,) = definition_errors(_definition(_version(schema=schema)))
    assert 'Invalid value: {"Rule":"self.size \\u003e \'a\'","Message":"","MessageExpression":"",' in str(error)


def test_a_new_version_may_not_be_as_expensive_as_the_old_ones_are() -> None:
    def expensive(count: int) -> dict[str, Any]:
        rule = {"rule": "true", "messageExpression": " + ".join(f"self[{i}]" for i in range(count))}
        listing = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule]}
        return {"type": "object", "properties": {"l": listing}}

    def served(count: int, name: str = "v1") -> dict[str, Any]:
        return _version(name=name, storage=name == "v1", schema=expensive(count))

    old = _definition(served(8), served(8, "v2"))
    new = _definition(served(8), served(7, "v2"), served(8, "v3"))
    assert [e.field.split(".")[1] for e in definition_update_errors(new, old)] == ["versions[2]"]


def test_expensive_rules_are_refused() -> None:
    rule = {"rule": "self.l.all(x, self.l.all(y, x == y))"}
    spec = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [rule],
    }
    found = definition_errors(_definition(_version(schema=_schema(spec))))
    assert [e.field for e in found] == [f"{RULE}.rule", f"{RULE}.rule", "spec.validation.openAPIV3Schema"]
    assert "estimated rule cost exceeds budget by factor of more than 100x" in found[0].detail
    bounded = copy.deepcopy(spec)
    bounded["properties"]["l"].update({"maxItems": 10})
    bounded["properties"]["l"]["items"]["maxLength"] = 10
    assert definition_errors(_definition(_version(schema=_schema(bounded)))) == []


def test_old_values_cannot_be_told_in_lists_without_keys() -> None:
    item = {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    spec = {"type": "object", "properties": {"l": {"type": "array", "maxItems": 3, "items": item}}}
    (error,) = definition_errors(_definition(_version(schema=_schema(spec))))
    assert error.detail == (
        "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        "spec.validation.openAPIV3Schema.properties[spec].properties[l]"
    )


def test_paths_of_scale_columns_and_selectable_fields_are_checked() -> None:
    version = _version(
        subresources={"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n"}},
        additionalPrinterColumns=[{"name": "", "type": "text", "jsonPath": "x"}, {"type": "", "name": "a"}],
        selectableFields=[{"jsonPath": ".spec.size"}, {"jsonPath": ".spec"}, {"jsonPath": ".spec.size"}, {}],
    )
    assert _errors(version) == [
        'spec.subresources.scale.specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
        'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
        "spec.additionalPrinterColumns[0].name: Required value",
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
        "boolean,date,integer,number,string",
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .',
        "spec.additionalPrinterColumns[1].type: Required value: must be one of boolean,date,integer,number,string",
        "spec.additionalPrinterColumns[1].JSONPath: Required value",
        'spec.selectableFields[1].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or '
        "integer. Enum string fields and strings with formats are allowed.",
        'spec.selectableFields[2].jsonPath: Duplicate value: ".spec.size"',
        "spec.selectableFields[3].jsonPath: Required value",
    ]


def test_selectable_fields_of_a_schema_that_is_not_structural_are_checked_as_texts() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "$ref": "#/x"}}}
    told = _errors(_version(schema=schema, selectableFields=[{"jsonPath": "a"}, {}]))
    assert told[-3:] == [
        "spec.schema.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema '$ref' is not supported",
        'spec.selectableFields[0].jsonPath: Invalid value: "a": is an invalid path: expected [ or . but got: a',
        "spec.selectableFields[1].jsonPath: Required value",
    ]


def test_webhook_conversion_needs_a_client_and_review_versions() -> None:
    assert _errors(conversion={"strategy": "Webhook"}) == [
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        "spec.conversion.conversionReviewVersions: Required value",
    ]
    config = {"url": "http://u:p@x/?a=b#c"}
    webhook = {"clientConfig": config, "conversionReviewVersions": ["v2"]}
    assert [
        e.field for e in definition_errors(_definition(conversion={"strategy": "Webhook", "webhook": webhook}))
    ] == [
        *["spec.conversion.webhookClientConfig.url"] * 4,
        "spec.conversion.conversionReviewVersions",
    ]
    webhook = {"clientConfig": {"url": "https://x/convert"}, "conversionReviewVersions": ["v1"]}
    assert _errors(conversion={"strategy": "Webhook", "webhook": webhook}) == []
    assert _errors(conversion={"strategy": "None", "webhook": webhook}) == [
        "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
    ]


def test_the_name_and_namespace_of_a_service_are_missed_as_each_other() -> None:
    for service, told in (({"name": "a"}, "name"), ({"namespace": "b"}, "namespace")):
        webhook = {"clientConfig": {"service": {**service, "port": 443}}, "conversionReviewVersions": ["v1"]}
        assert _errors(conversion={"strategy": "Webhook", "webhook": webhook}) == [
            f"spec.conversion.webhookClientConfig.service.{told}: Required value"
        ]


def test_groups_of_the_community_need_an_approval() -> None:
    found = _definition(group="example.k8s.io")
    assert [e.field for e in definition_errors(found)] == ["metadata.annotations[api-approved.kubernetes.io]"]
    for text, wrong in (("unapproved, for testing", 0), ("https://github.com/x/pull/1", 0), ("yes please", 1)):
        found["metadata"]["annotations"] = {"api-approved.kubernetes.io": text}
        assert len(definition_errors(found)) == wrong


def test_deprecation_warnings_are_short_and_printable() -> None:
    assert _errors(_version(deprecationWarning="old")) == [
        'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions'
    ]
    assert _errors(_version(deprecated=True, deprecationWarning="")) == [
        'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string'
    ]
    assert len(_errors(_version(deprecated=True, deprecationWarning="x\n"))) == 1


def _established(definition: dict[str, Any]) -> dict[str, Any]:
    definition["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    return definition


def _update(change: Any) -> list[str]:
    old = _established(_definition())
    new = copy.deepcopy(old)
    change(new)
    prepare = DEFINITION_BEHAVIOR.prepare_for_update
    assert prepare is not None
    prepare(new, old)
    return [str(e) for e in definition_update_errors(new, old)]


def test_what_storage_depends_on_cannot_be_changed() -> None:
    assert _update(lambda d: d["spec"].update(scope="Cluster")) == [
        'spec.scope: Invalid value: "Cluster": field is immutable'
    ]
    assert _update(lambda d: d["spec"].update(group="other.io")) == [
        'spec.group: Invalid value: "other.io": field is immutable'
    ]
    assert _update(lambda d: d["spec"]["names"].update(shortNames=["w"])) == []


def test_versions_that_objects_may_be_stored_at_cannot_go() -> None:
    (error,) = _update(lambda d: d["spec"].update(versions=[_version("v2")]))
    assert error.startswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously'
    )


def test_an_update_is_asked_no_more_than_what_the_old_definition_fulfilled() -> None:
    unpruned = {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"odd": 1}}
    old = _established(_definition(_version(schema=_schema(unpruned))))
    assert any("must not have unknown fields" in str(e) for e in definition_errors(old))
    new = copy.deepcopy(old)
    assert definition_update_errors(new, old) == []
    new["spec"]["names"]["singular"] = ""
    assert [str(e) for e in definition_update_errors(new, old)] == ["spec.names.singular: Required value"]
    assert any(
        "must not have unknown fields" in str(e) for e in definition_update_errors(old, _established(_definition()))
    )


def test_formats_that_nobody_knows_are_warned_about_once_they_come() -> None:
    shiny = _definition(
        _version(schema=_schema({"type": "object", "properties": {"a": {"type": "string", "format": "shiny"}}}))
    )
    assert DEFINITION_BEHAVIOR.warnings_on_create(shiny) == ['unrecognized format "shiny"']
    assert DEFINITION_BEHAVIOR.warnings_on_update(shiny, _definition()) == ['unrecognized format "shiny"']
    assert DEFINITION_BEHAVIOR.warnings_on_update(shiny, shiny) == []


def test_a_definition_without_a_name_is_not_told_what_it_should_be_called() -> None:
    found = _definition()
    del found["metadata"]["name"]
    assert definition_errors(found) == []


def test_a_storage_version_that_is_named_twice_counts_as_stored_once() -> None:
    errors = _errors(_version(), _version())
    assert errors[-1] == 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1'


def test_a_deprecation_warning_is_shown_as_json() -> None:
    errors = _errors(_version(deprecated=True, deprecationWarning="<\a"))
    text = "must only contain printable UTF-8 characters; non-printable character found at index 1"
    assert errors == [f'spec.versions[0].deprecationWarning: Invalid value: "\\u003c\\u0007": {text}']


def test_a_default_whose_metadata_is_none_is_wrong_at_its_metadata() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    default = {"apiVersion": "v1", "kind": "Pod", "metadata": []}
    schema = _schema({"type": "object", "properties": {"x": {**embedded, "default": default}}})
    where = "spec.validation.openAPIV3Schema.properties[spec].properties[x].default.metadata"
    words = "json: cannot unmarshal array into Go value of type v1.ObjectMeta"
    assert _errors(_version(schema=schema)) == [f"{where}: Invalid value: []: {words}"]


@pytest.mark.parametrize(
    ("name", "value", "where", "problem"),
    [
        (
            "name",
            {"type": "string", "default": "a%"},
            "default",
            "metadata.name: Invalid value: \"a%\": may not contain '%'",
        ),
        (
            "name",
            {"type": "integer", "default": 1},
            "default",
            'metadata: Invalid value: {"name":1}: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
        (
            "finalizers",
            {"type": "array", "items": {"type": "string", "default": "a/b/c"}},
            "items.default",
            'metadata.finalizers: Invalid value: "a/b/c": ',
        ),
    ],
)
def test_defaults_within_metadata_of_resources_make_valid_metadata(
    name: str, value: Any, where: str, problem: str
) -> None:
    kind = {"type": "object", "x-kubernetes-embedded-resource": True}
    metadata = {"type": "object", "properties": {name: value}}
    schema = _schema({"type": "object", "properties": {"x": {**kind, "properties": {"metadata": metadata}}}})
    path = f"spec.validation.openAPIV3Schema.properties[spec].properties[x].properties[metadata].properties[{name}]"
    (error,) = _errors(_version(schema=schema))
    assert error.startswith(f"{path}.{where}: Invalid value: ")
    assert f": must result in valid metadata: {problem}" in error


def test_whole_numbers_in_defaults_are_written_without_a_fraction() -> None:
    value = {"type": "number", "minimum": 1.5, "default": 2.0, "enum": [2.0, 2.5], "example": {"a": [1e3, 1e21]}}
    found = _definition(_version(schema=_schema({"type": "object", "properties": {"x": value}})))
    written = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["x"]
    assert repr([written[k] for k in ("default", "enum", "example")]) == "[2, [2, 2.5], {'a': [1000, 1e+21]}]"


def test_defaults_keep_only_what_metadata_of_resources_can_have() -> None:
    resource = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "bogus": 1, "labels": None}}
    wrong = {**resource, "metadata": {"labels": {"a": 5}}}
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    properties = {
        "one": {**embedded, "default": resource},
        "around": {"type": "object", "properties": {"in": embedded}, "default": {"in": resource}},
        "none": {**embedded, "default": {**resource, "metadata": None}},
        "wrong": {**embedded, "default": wrong},
        "plain": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": resource},
    }
    definition = _definition(_version(schema={"type": "object", "properties": properties}))
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = {name: node["default"] for name, node in schema["properties"].items()}
    pruned = {**resource, "metadata": {"name": "a"}}
    assert found == {
        "one": pruned,
        "around": {"in": pruned},
        "none": {**resource, "metadata": {}},
        "wrong": wrong,
        "plain": resource,
    }
