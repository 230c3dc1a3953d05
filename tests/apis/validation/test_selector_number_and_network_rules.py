from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.validation.conditions import validate_conditions
from watchkeeper.apis.validation.net import (
    cidr_warnings,
    ip_warnings,
    validate_ip,
    validate_legacy_cidr,
    validate_legacy_ip,
)
from watchkeeper.apis.validation.numbers import (
    scaled_value,
    validate_nonnegative,
    validate_nonnegative_int_or_percent,
    validate_not_over_100_percent,
    validate_port_number,
)
from watchkeeper.apis.validation.resources import validate_requirements, validate_resource_quantity
from watchkeeper.apis.validation.selectors import selector_matches, validate_label_selector


def texts(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def expression(operator: str, *values: str, key: str = "k") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    "selector", [None, {}, {"matchLabels": {"a": "b"}}, expression("In", "v"), expression("Exists")]
)
def test_good_selectors(selector: Any) -> None:
    assert validate_label_selector(selector, "s") == []


def test_operators_need_values_or_must_have_none() -> None:
    path = "s.matchExpressions[0]"
    need = "Required value: must be specified when `operator` is 'In' or 'NotIn'"
    assert texts(validate_label_selector(expression("In"), "s")) == [f"{path}.values: {need}"]
    none = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    assert texts(validate_label_selector(expression("Exists", "v"), "s")) == [f"{path}.values: {none}"]
    assert texts(validate_label_selector(expression("Like", "v"), "s")) == [
        f'{path}.operator: Invalid value: "Like": not a valid selector operator'
    ]


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        (None, {"k": "v"}, False),
        ({}, {"k": "v"}, True),
        ({"matchLabels": {"k": "v"}}, {"k": "v", "x": "y"}, True),
        ({"matchLabels": {"k": "v"}}, {"k": "w"}, False),
        (expression("NotIn", "v"), {}, True),
        (expression("In", "v", "w"), {"k": "w"}, True),
        (expression("DoesNotExist"), {"k": ""}, False),
        (expression("Exists"), {"k": ""}, True),
    ],
)
def test_selectors_match(selector: Any, labels: dict[str, str], matches: bool) -> None:
    assert selector_matches(selector, labels) is matches


def test_numbers() -> None:
    assert validate_nonnegative(0, "n") == []
    assert texts(validate_nonnegative(-1, "n")) == ["n: Invalid value: -1: must be greater than or equal to 0"]
    assert texts(validate_port_number(0, "p")) == ["p: Invalid value: 0: must be between 1 and 65535, inclusive"]
    assert texts(validate_nonnegative_int_or_percent("half", "x"))[0].startswith(
        'x: Invalid value: "half": a valid percent string must be a numeric string followed by an ending'
    )
    assert texts(validate_not_over_100_percent("101%", "x")) == [
        'x: Invalid value: "101%": must not be greater than 100%'
    ]


@pytest.mark.parametrize(
    ("value", "round_up", "scaled"), [(3, True, 3), ("25%", True, 3), ("25%", False, 2), ("0%", True, 0)]
)
def test_percents_are_rounded_as_asked(value: Any, round_up: bool, scaled: int) -> None:
    assert scaled_value(value, 10, round_up=round_up) == scaled


def test_addresses_have_one_form() -> None:
    assert validate_ip("10.0.0.1", "ip") == []
    assert texts(validate_ip("fe80:0::1", "ip")) == [
        'ip: Invalid value: "fe80:0::1": must be in canonical form ("fe80::1")'
    ]
    assert validate_legacy_ip("fe80:0::1", "ip") == []
    zeros = ("010.0.0.1", "::ffff:010.0.0.1", "00001::1", "::00abc", "1:00000:2::")
    assert {text for ip in zeros for text in texts(validate_legacy_ip(ip, "ip"))} == {
        f'ip: Invalid value: "{ip}": must not have leading 0s' for ip in zeros
    }
    assert texts(validate_legacy_ip("10.0.0.256", "ip"))[0].startswith(
        'ip: Invalid value: "10.0.0.256": must be a valid'
    )
    assert len(ip_warnings("fe80:0::1", "ip")) == 1


def test_blocks_have_no_bits_beyond_their_prefix() -> None:
    assert validate_legacy_cidr("10.0.0.0/8", "c") == []
    assert texts(validate_legacy_cidr("10.0.0.1/8", "c")) == [
        'c: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length'
    ]
    assert validate_legacy_cidr("10.0.0.1/8", "c", allowed=("10.0.0.1/8",)) == []
    assert "ambiguous" in cidr_warnings("10.0.0.1/8", "c")[0]


def test_requests_stay_below_limits() -> None:
    resources = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    assert texts(validate_requirements(resources, "r")) == [
        'r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'
    ]
    assert texts(validate_resource_quantity("pods", "1500m", "q")) == ['q: Invalid value: "1500m": must be an integer']


def test_conditions_have_types_times_and_reasons() -> None:
    good = {"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    assert validate_conditions([good], "c") == []
    errors = validate_conditions([good, {"type": "Ready", "status": "Maybe", "reason": "not so"}], "c")
    assert [e.field for e in errors] == ["c[1].type", "c[1].status", "c[1].lastTransitionTime", "c[1].reason"]
