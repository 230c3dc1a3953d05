"""Every keyword, in the words of the reference, and the fast check in agreement with the slow one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.apiextensions.schema.correlation import Correlation
from watchkeeper.apiextensions.schema.quick import compile_check
from watchkeeper.apiextensions.schema.structural import read_structural
from watchkeeper.apiextensions.schema.validator import Validator, in_enum


def _errors(schema: dict[str, Any], value: Any) -> list[str]:
    root = read_structural({"type": "object", "properties": {"spec": schema}})
    obj = {"spec": value}
    found = [str(e) for e in Validator(root).errors(obj)]
    if compile_check(root)(obj):
        assert found == [], "the fast check lets pass what the slow one refuses"
    return found


OBJECT = "object"
ONE_OF = {
    "type": OBJECT,
    "properties": {"file": {"type": "string"}, "url": {"type": "string"}},
    "oneOf": [{"required": ["file"]}, {"required": ["url"]}],
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "3", ['spec: Invalid value: "string": spec in body must be of type integer: "string"']),
        ({"type": "string"}, 3, ['spec: Invalid value: "integer": spec in body must be of type string: "integer"']),
        ({"type": "boolean"}, "t", ['spec: Invalid value: "string": spec in body must be of type boolean: "string"']),
        (
            {"type": "integer"},
            1.5,
            [
                'spec: Invalid value: "number": spec in body must be of type integer: "number"',
                '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
            ],
        ),
        ({"type": "number"}, 7, []),
        (
            {"type": "array", "items": {"type": "string"}},
            ["x", 1],
            ['spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer"'],
        ),
        (
            {"type": "array", "items": {"type": "string"}},
            "x",
            ['spec: Invalid value: "string": spec in body must be of type array: "string"'],
        ),
        (
            {"type": "object", "properties": {}},
            [1],
            ['spec: Invalid value: "array": spec in body must be of type object: "array"'],
        ),
        (
            {"x-kubernetes-int-or-string": True},
            1.5,
            ['spec: Invalid value: "number": spec in body must be of type integer,string: "number"'],
        ),
        ({"x-kubernetes-int-or-string": True}, "http", []),
        ({"type": "object", "required": ["a", "b"]}, {"b": 1}, ["spec.a: Required value"]),
        (
            {"type": "string", "pattern": "^a$"},
            "b",
            ["spec: Invalid value: \"b\": spec in body should match '^a$'"],
        ),
        (
            {"type": "string", "minLength": 2},
            "é",
            ['spec: Invalid value: "é": spec in body should be at least 2 chars long'],
        ),
        ({"type": "string", "maxLength": 4}, "abcde", ["spec: Too long: may not be more than 4 bytes"]),
        ({"type": "string", "maxLength": 4}, "éàüö", []),
        (
            {"type": "string", "enum": ["Low", "High"]},
            "low",
            ['spec: Unsupported value: "low": supported values: "Low", "High"'],
        ),
        (
            {"type": "string", "format": "ipv4"},
            "x",
            ['spec: Invalid value: "x": spec in body must be of type ipv4: "x"'],
        ),
        ({"type": "string", "format": "shiny"}, "x", []),
        (
            {"type": "integer", "minimum": 1, "maximum": 10},
            11,
            ["spec: Invalid value: 11: spec in body should be less than or equal to 10"],
        ),
        (
            {"type": "integer", "minimum": 1},
            0,
            ["spec: Invalid value: 0: spec in body should be greater than or equal to 1"],
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            0,
            ["spec: Invalid value: 0: spec in body should be greater than 0"],
        ),
        (
            {"type": "number", "maximum": 1, "exclusiveMaximum": True},
            1,
            ["spec: Invalid value: 1: spec in body should be less than 1"],
        ),
        (
            {"type": "integer", "multipleOf": 5},
            7,
            ["spec: Invalid value: 7: spec in body should be a multiple of 5"],
        ),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], True),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            ["spec: Too many: 2: must have at most 1 item"],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"a": "x"},
            ['spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'],
        ),
        (
            ONE_OF,
            {},
            [
                '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid',
                "spec.file: Required value",
            ],
        ),
        (
            ONE_OF,
            {"file": "f", "url": "u"},
            [
                '<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). '
                "Found 2 valid alternatives"
            ],
        ),
        (
            {"type": "integer", "not": {"enum": [13]}},
            13,
            ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
        ),
        (
            {"type": "integer", "anyOf": [{"maximum": 10}, {"minimum": 100}]},
            50,
            [
                '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
                "spec: Invalid value: 50: spec in body should be less than or equal to 10",
            ],
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            7,
            [],
        ),
    ],
)
def test_a_breach_is_told_as_the_reference_tells_it(schema: dict[str, Any], value: Any, expected: Any) -> None:
    found = _errors(schema, value)
    if expected is True:
        assert len(found) == 1
    else:
        assert found == expected


def test_what_an_update_leaves_as_it_was_is_not_held_against_it() -> None:
    root = read_structural(
        {"type": "object", "properties": {"a": {"type": "integer", "maximum": 3}, "b": {"type": "string"}}}
    )
    old = {"a": 9, "b": "x"}
    new = {"a": 9, "b": "y"}
    assert Validator(root).errors(new)
    assert Validator(root).errors(new, "", Correlation(root, new, old)) == []
    worse = {"a": 10, "b": "x"}
    assert [e.field for e in Validator(root).errors(worse, "", Correlation(root, worse, old))] == ["a"]


def test_items_with_keys_are_correlated_by_them_and_others_are_not() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer", "maximum": 3}}}
    keyed = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    plain = {"type": "array", "items": item}
    old = {"l": [{"name": "a", "n": 9}, {"name": "b", "n": 1}]}
    new = {"l": [{"name": "b", "n": 2}, {"name": "a", "n": 9}]}
    for schema, fields in ((keyed, []), (plain, ["l[1].n"])):
        root = read_structural({"type": "object", "properties": {"l": schema}})
        assert [e.field for e in Validator(root).errors(new, "", Correlation(root, new, old))] == fields


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 15), st.sampled_from([0.5, 2.5, 10.0]), st.text("ab1.", max_size=4)
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
_LEAVES = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-2, 3),
            "maximum": st.integers(3, 9),
            "exclusiveMaximum": st.booleans(),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "nullable": st.booleans(),
            "format": st.sampled_from(["int32", "double", "odd"]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(1, 3),
            "pattern": st.sampled_from(["^a", "b+"]),
            "enum": st.just(["a", "b", "ab"]),
            "format": st.sampled_from(["ipv4", "odd", "byte"]),
            "nullable": st.booleans(),
        },
    ),
    st.just({"type": "boolean"}),
    st.just({"x-kubernetes-int-or-string": True}),
    st.just({"x-kubernetes-preserve-unknown-fields": True}),
)
_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)},
            optional={
                "required": st.just(["a"]),
                "maxProperties": st.integers(0, 3),
                "oneOf": st.just([{"required": ["a"]}, {"required": ["b"]}]),
                "nullable": st.booleans(),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("object"), "additionalProperties": inner}, optional={"minProperties": st.integers(0, 2)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"maxItems": st.integers(0, 2), "uniqueItems": st.just(True)},
        ),
    ),
    max_leaves=6,
)


@given(_SCHEMAS, _VALUES)
@settings(max_examples=400, deadline=None)
def test_the_fast_check_and_the_validator_agree(schema: dict[str, Any], value: Any) -> None:
    root = read_structural(schema)
    # What the fast check refuses without reason costs time only, what it lets pass must be valid.
    if compile_check(root)(value):
        assert Validator(root).errors(value) == []


FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        # A bound that is no whole number is told of even where it is kept.
        (
            {"type": "integer", "minimum": -2.5},
            0,
            ['<nil>: Invalid value: "": Minimum boundary value must be of type integer (default format) in v'],
        ),
        # Fractions are compared and shown as such, whole numbers as whole numbers.
        (
            {"type": "number", "minimum": 1000000},
            1.5,
            ["v: Invalid value: 1.5: v in body should be greater than or equal to 1e+06"],
        ),
        (
            {"type": "number", "minimum": 1000000},
            1,
            ["v: Invalid value: 1: v in body should be greater than or equal to 1000000"],
        ),
        ({"type": "number", "maximum": 10}, 12345678.5, ["v: Invalid value: 1.23456785e+07: v in body should be less"]),
        # Null is in no enumeration, even where it is listed.
        (
            {"type": "string", "nullable": True, "enum": ["a", None]},
            None,
            ['v: Unsupported value: null: supported values: "a", "null"'],
        ),
        # Objects are shown in the order of their keys.
        (
            {**FREE, "enum": [{"d": 1, "c": 2}]},
            {"b": 1, "a": {"y": 1, "x": 2}},
            ['v: Unsupported value: {"a":{"x":2,"y":1},"b":1}: supported values: "{\\"c\\":2,\\"d\\":1}"'],
        ),
        # A format that is not checked for its type does not count when the best alternative is looked for.
        (
            {"type": "boolean", "oneOf": [{"enum": [3]}, {"enum": [4], "format": "int32"}]},
            True,
            [
                '<nil>: Invalid value: "": "v" must validate one and only one schema (oneOf). Found none valid',
                'v: Unsupported value: true: supported values: "3"',
            ],
        ),
    ],
)
def test_rare_values_are_told_as_the_reference_does(schema: dict[str, Any], value: Any, errors: list[str]) -> None:
    node = read_structural({"type": "object", "properties": {"v": schema}})
    found = [str(e) for e in Validator(node).errors({"v": value})]
    assert [text[: len(wanted)] for text, wanted in zip(found, errors, strict=True)] == errors
    assert not compile_check(node)({"v": value})


@pytest.mark.parametrize("items", [[{"k": True}, {}], [{"k": {}}], [3], [{"k": 1, "n": 1}, {"k": 1, "n": 2}]])
def test_items_that_cannot_be_told_apart_by_their_keys_count_as_changed(items: list[Any]) -> None:
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    item = {**FREE, "properties": {"k": FREE, "n": {"type": "integer"}}}
    node = read_structural({"type": "array", "items": item, "maxItems": 0, **keyed})
    correlation = Correlation(node, items, [dict(i) if isinstance(i, dict) else i for i in items])
    assert str(Validator(node).errors(items, "v", correlation)[-1]).endswith("must have at most 0 items")
    same = [{"k": 1, "n": 1}, {"k": True}]
    assert Validator(node).errors(same, "v", Correlation(node, same, same[::-1])) == []


@pytest.mark.parametrize(
    ("value", "allowed", "found"),
    [(2.7, 2, True), (-2.7, -2, True), (2, 2.0, True), (2, 2.5, False), (97, "a", True), (-1, "\ufffd", True),
     (97.0, "a", False), ("a", 97, False), (True, 1, False), (1e30, 1, False), ([True], [1], False),
     ({"a": 1.0}, {"a": 1}, False), ({"a": [1]}, {"a": [1]}, True)],
)  # fmt: skip
def test_a_value_is_made_of_the_type_of_what_is_allowed_before_both_are_compared(
    value: Any, allowed: Any, found: bool
) -> None:
    assert in_enum(value, [allowed]) is found


def test_a_number_that_a_float_cannot_hold_is_told_of() -> None:
    node = read_structural({"type": "object", "properties": {"v": {"type": "number", "format": "float"}}})
    words = "Checked value must be of type number with format float in v"
    assert [str(e) for e in Validator(node).errors({"v": 1e39})] == [f'<nil>: Invalid value: "": {words}']
    assert not compile_check(node)({"v": 1e39})
