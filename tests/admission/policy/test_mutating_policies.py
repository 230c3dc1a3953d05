"""Mutating policies change objects by configurations and JSON patches."""

from __future__ import annotations

from typing import Any

import pytest
from policy_kit import Asking, admit, binding, config_map, mutating, policy

from watchkeeper.admission.expression.compiled import ANYTHING, PATCHES
from watchkeeper.admission.expression.compiler import ExpressionCompiler
from watchkeeper.admission.expression.patch_values import ObjectValue, patched
from watchkeeper.admission.policy.apply_configuration import apply_configuration
from watchkeeper.admission.policy.params import ConfigurationError
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.schema import Field, Schema, SchemaType
from watchkeeper.runtime.scheme import Kind

Object = dict[str, Any]


def applying(expression: str) -> Object:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patching(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def changed(*mutations: Object, obj: Object | None = None, **spec: Any) -> Object:
    asking = Asking(obj or config_map(x="1"))
    error = admit(mutating(policy(mutations=mutations, **spec), binding()), asking)
    assert error is None, error
    assert asking.attributes.obj is not None
    return asking.attributes.obj


def refused(*mutations: Object, **spec: Any) -> ApiError:
    error = admit(mutating(policy(mutations=mutations, **spec), binding()), Asking(config_map(x="1")))
    assert error is not None
    return error


def test_a_configuration_is_merged_in() -> None:
    merged = changed(applying("Object{metadata: Object.metadata{labels: {'a': 'b'}}, data: {'y': object.data.x}}"))
    assert merged["metadata"]["labels"] == {"a": "b"}
    assert merged["data"] == {"x": "1", "y": "1"}
    assert merged["metadata"]["name"] == "a"


def test_mutations_run_in_order_and_see_each_other() -> None:
    merged = changed(applying("Object{data: {'n': '1'}}"), applying("Object{data: {'m': object.data.n + '2'}}"))
    assert merged["data"] == {"x": "1", "n": "1", "m": "12"}


def test_operations_of_a_json_patch_are_applied() -> None:
    patched = changed(
        patching(
            "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: 'c'},"
            " JSONPatch{op: 'remove', path: '/data/x'},"
            " JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
        )
    )
    assert patched["data"] == {"a/b": "c"}
    assert patched["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[JSONPatch{bogus: 1}]", "<input>:1:17: expected type of field 'bogus' is '' but provided type is 'int'"),
        (
            "[JSONPatch{op: JSONPatch{}.bogus}]",
            "<input>:1:14: expected type of field 'op' is 'string' but provided type is ''",
        ),
    ],
)
def test_what_no_operation_has_is_a_field_without_a_type(expression: str, why: str) -> None:
    found = ExpressionCompiler(params=False).compile(expression, PATCHES, patches=True)
    assert why in found.problem


def test_a_test_that_fails_leaves_the_object_as_it_is() -> None:
    patched = changed(
        patching(
            "[JSONPatch{op: 'add', path: '/data/y', value: '1'}, JSONPatch{op: 'test', path: '/data/x', value: '2'}]"
        )
    )
    assert patched["data"] == {"x": "1"}


def test_conditions_and_variables_decide_what_is_done() -> None:
    spec: Object = {
        "variables": [{"name": "v", "expression": "object.data.x + '!'"}],
        "matchConditions": [{"name": "c", "expression": "object.metadata.name == 'a'"}],
    }
    assert changed(applying("Object{data: {'y': variables.v}}"), **spec)["data"]["y"] == "1!"
    spec["matchConditions"] = [{"name": "c", "expression": "object.metadata.name == 'b'"}]
    assert "y" not in changed(applying("Object{data: {'y': variables.v}}"), **spec)["data"]


def test_what_goes_wrong_is_a_403_with_the_reason_invalid() -> None:
    error = refused(applying("Object{data: {'y': object.data.nope}}"))
    assert (error.code, error.reason) == (403, "Invalid")
    assert error.message == (
        "policy 'p' with binding 'b' denied request: expression 'Object{data: {'y': object.data.nope}}' resulted in "
        "error: no such key: nope"
    )
    assert error.details == {"name": "a", "kind": "configmaps", "causes": [{"message": error.message}]}


def test_ignored_failures_leave_the_object_as_it_is() -> None:
    assert changed(applying("Object{data: {'y': object.data.nope}}"), failurePolicy="Ignore")["data"] == {"x": "1"}


JSON_VALUES = [
    ("9007199254740993", "9007199254740993"),
    ("9007199254740991", 9007199254740991),
    ("18446744073709551615u", "18446744073709551615"),
    ("[1u, 2u]", [1, 2]),
    ("optional.of(1)", 1),
    ("[dyn(b'abc')] + [dyn(duration('1s'))]", ["YWJj", "1s"]),
    ("Object{y: 9007199254740993, z: optional.none(), t: int}", {"y": 9007199254740992, "z": None, "t": "int"}),
]


@pytest.mark.parametrize(("expression", "value"), JSON_VALUES)
def test_values_of_a_json_patch_are_what_protobuf_makes_of_them(expression: str, value: Any) -> None:
    program = ExpressionCompiler().compile(expression, ANYTHING, patches=True).program
    assert program is not None
    assert patched(program.evaluate({})[0]) == value


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("{1: 'a'}", "unsupported type conversion from 'int' to string"),
        ("{true: 'a'}", "type conversion error from bool to 'string'"),
        ("{dyn(null): 'a'}", "type conversion error from 'null_type' to 'string'"),
        ("int", "type conversion not supported for 'type'"),
        ("optional.none()", "optional.none() dereference"),
        ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("Object{y: null}", "proto: invalid type: structpb.NullValue"),
        ("Object{y: [duration('1s')]}", "proto: invalid type: time.Duration"),
        (
            "double('NaN')",
            "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: "
            "invalid NaN value",
        ),
    ],
)
def test_a_value_that_json_has_no_form_for_is_refused(expression: str, why: str) -> None:
    error = refused(patching(f"[JSONPatch{{op: 'add', path: '/data', value: {expression}}}]"))
    told = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
    assert error.message.endswith(told + why)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("duration('1s')", "&{1s}"),
        ("1u", "&{1}"),
        ("null", "&{NULL_VALUE}"),
        ("b'abc'", "&{[97 98 99]}"),
    ],
)
def test_a_value_that_objects_cannot_hold_is_not_applied(expression: str, why: str) -> None:
    error = refused(applying(f"Object{{data: {expression}}}"))
    told = "error applying patch: failed to convert patch object to typed object: .data: expected map, got "
    assert error.message.endswith(told + why)


def test_lists_that_are_replaced_as_a_whole_are_looked_for_where_the_schema_has_names() -> None:
    text, anything = Schema(SchemaType.STRING), Schema(SchemaType.ANY)
    whole = Schema(
        SchemaType.STRUCT, fields={"items": Field("items", Schema(SchemaType.LIST, element=text))}, atomic=True
    )
    named = {"free": Field("free", anything), "whole": Field("whole", whole)}
    root = Schema(SchemaType.STRUCT, fields=named, preserve_unknown_fields=True)
    gvk = GroupVersionKind("example.com", "v1", "Thing")
    kind = Kind(gvk=gvk, hub=gvk, schema=root, decode=lambda obj, _unknown: obj, builtin=False)
    assert apply_configuration(kind, {}, ObjectValue("Object", {"other": [1], "free": {"x": [1]}}))["other"] == [1]
    with pytest.raises(ConfigurationError, match=r"maps or structs: \.free, \.whole, \.whole\.items$"):
        apply_configuration(kind, {}, ObjectValue("Object", {"free": [1], "whole": {"items": ["a"]}}))


def test_keys_of_what_is_applied_are_texts() -> None:
    assert refused(applying("Object{data: {1: 'a'}}")).message.endswith("invalid return type: *dynamic.ObjectVal")


def test_types_have_to_be_named_by_the_fields_that_lead_to_them() -> None:
    error = refused(applying("Object{metadata: Object.spec{labels: {'a': 'b'}}}"))
    assert error.message.endswith(
        'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path '
        "from root Object type"
    )


def test_unknown_fields_and_atomic_lists_are_refused() -> None:
    unknown = refused(applying("Object{nope: 'x'}"))
    assert unknown.message.endswith(
        "error applying patch: failed to convert patch object to typed object: .nope: field not declared in schema"
    )
    missing = refused(patching("[JSONPatch{op: 'add', path: '/nope/x', value: 'c'}]"))
    assert missing.message.endswith(
        'JSON Patch: add operation does not apply: doc is missing path: "/nope/x": missing value'
    )
    strict = refused(patching("[JSONPatch{op: 'add', path: '/nope', value: 'c'}]"))
    assert (strict.code, strict.message) == (
        500,
        'Internal error occurred: strict decoding error: unknown field "nope"',
    )


@pytest.mark.parametrize(
    ("operations", "why"),
    [
        (
            "op: 'remove', path: '/data/no'",
            "error in remove for path: '/data/no': Unable to remove nonexistent key: no",
        ),
        ("op: 'move', from: '/data/no', path: '/data/y'", "error in move for path: 'no': Unable to remove nonexistent"),
        (
            "op: 'copy', from: '/data/x', path: '/nope/y'",
            "copy operation does not apply: doc is missing destination path: /nope/y: missing value",
        ),
        ("op: 'test', path: '/nope/y', value: 'c'", "test operation does not apply: is missing path: /nope/y: missing"),
    ],
)
def test_a_patch_that_does_not_apply_is_told_operation_by_operation(operations: str, why: str) -> None:
    assert f"denied request: JSON Patch: {why}" in refused(patching(f"[JSONPatch{{{operations}}}]")).message


def test_a_patch_with_a_test_that_fails_changes_nothing() -> None:
    operations = (
        "[JSONPatch{op: 'add', path: '/data/y', value: 'c'}, JSONPatch{op: 'test', path: '/data/x', value: 'z'}]"
    )
    assert changed(patching(operations))["data"] == {"x": "1"}


def test_a_policy_is_run_again_only_if_it_wants_to_be() -> None:
    count = applying("Object{data: {'n': 'n' in object.data ? object.data.n + 'i' : 'i'}}")
    for wish, expected in (("Never", "i"), ("IfNeeded", "ii")):
        asking = Asking(config_map())
        plugin = mutating(policy(mutations=[count], reinvocationPolicy=wish), binding())
        assert admit(plugin, asking) is None
        passes = asking.attributes.reinvocation
        assert passes is not None
        assert passes.requested
        passes.running = True
        assert admit(plugin, asking) is None
        assert asking.attributes.obj is not None
        assert asking.attributes.obj["data"]["n"] == expected


@pytest.mark.parametrize(("wish", "seen"), [("Never", False), ("IfNeeded", True)])
def test_a_policy_whose_failure_was_ignored_runs_again_after_others_have_changed_the_object(
    wish: str, seen: bool
) -> None:
    copy = applying("Object{data: {'team': object.metadata.labels.team}}")
    asking = Asking(config_map(x="1"))
    plugin = mutating(policy(mutations=[copy], reinvocationPolicy=wish, failurePolicy="Ignore"), binding())
    assert admit(plugin, asking) is None
    passes, obj = asking.attributes.reinvocation, asking.attributes.obj
    assert passes is not None and obj is not None
    assert not passes.requested
    passes.running = True
    asking.attributes.obj = {**obj, "metadata": {**obj["metadata"], "labels": {"team": "a"}}}
    assert admit(plugin, asking) is None
    assert ("team" in asking.attributes.obj["data"]) is seen


def test_a_policy_that_changed_nothing_does_not_run_again_for_nothing() -> None:
    failing = applying("Object{data: {'team': object.metadata.labels.team}}")
    asking = Asking(config_map(x="1"))
    spec = {"reinvocationPolicy": "IfNeeded", "failurePolicy": "Ignore"}
    plugin = mutating(policy(mutations=[failing], **spec), binding())
    assert admit(plugin, asking) is None
    passes = asking.attributes.reinvocation
    assert passes is not None
    passes.running = True
    assert admit(plugin, asking) is None
    assert not passes.requested
