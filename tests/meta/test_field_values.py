"""Values in messages: printed as the reference does."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.meta.field import format_value, go_float, go_json, in_declared_order, in_key_order, not_supported


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.5, "1.5"),
        (100000.5, "100000.5"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-12345678901234567890.5, "-1.2345678901234567e+19"),
        (1e21, "1e+21"),
        (1e100, "1e+100"),
        (float("nan"), "NaN"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
    ],
)
def test_numbers_have_as_few_digits_as_tell_them(value: float, text: str) -> None:
    assert go_float(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n", '"a\\n"'),
        (None, "null"),
        (True, "true"),
        (3, "3"),
        (12345678.5, "1.23456785e+07"),
        ({"b": 1, "a": "<"}, '{"b":1,"a":"\\u003c"}'),
        (["\u2028&"], '["\\u2028\\u0026"]'),
        ({"a": [3.0, 1e16, 1.5]}, '{"a":[3,10000000000000000,1.5]}'),
    ],
)
def test_values_are_quoted_or_encoded(value: Any, text: str) -> None:
    assert format_value(value) == text


def test_what_has_no_struct_is_told_in_the_order_of_its_keys() -> None:
    value = {"b": [{"d": 1, "c": 2}], "a": {}}
    assert go_json(value) == '{"a":{},"b":[{"c":2,"d":1}]}'
    assert format_value(in_key_order(value)) == go_json(value)


def test_a_selector_names_its_labels_before_its_expressions() -> None:
    value = {"matchExpressions": [{"operator": "Exists", "key": "k"}], "matchLabels": {"b": "1", "a": "2"}}
    expected = '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"k","operator":"Exists"}]}'
    assert format_value(in_declared_order(value)) == expected


def test_text_with_known_values_is_shown_as_json_unless_it_is_plain() -> None:
    assert not_supported("spec.restartPolicy", "<é\x7f&", ["Always"]).body() == (
        'Unsupported value: "\\u003cé\x7f\\u0026": supported values: "Always"'
    )
    assert not_supported("scope", "<é\x7f&", ["Cluster"], plain=True).body() == (
        'Unsupported value: "<é\\x7f&": supported values: "Cluster"'
    )
