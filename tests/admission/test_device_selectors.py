"""Expressions that select devices compile, and are true or false, or claims and classes are refused."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.admission.expression.device_selectors import (
    device_environment,
    device_selecting_behaviors,
    selector_errors,
    worst_cost,
)
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.builtin import builtin_behaviors
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.source import CompileError
from watchkeeper.meta.field import ErrorType
from watchkeeper.meta.gvk import GroupKind

BEHAVIORS = builtin_behaviors().including(device_selecting_behaviors())


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.example.com'",
        "device.attributes['a'].x",
        "device.attributes['a'].version.isGreaterThan(semver('1.0.0'))",
        "device.capacity['a'].memory.compareTo(quantity('1Gi')) >= 0",
        "device.allowMultipleAllocations",
        "cel.bind(mine, device.attributes['a'], mine.one && mine.another)",
    ],
)
def test_what_is_true_or_may_be_selects_devices(expression: str) -> None:
    assert selector_errors("at", expression) == []


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("device.attributes['a']", "must evaluate to bool or the unknown type, not map(string, any)"),
        ("device.other", "compilation failed: ERROR: <input>:1:7: undefined field 'other'"),
        ("object", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'object' (in container '')"),
        (
            "cel.bind(1, 2, true)",
            "compilation failed: ERROR: <input>:1:10: cel.bind() variable names must be simple identifiers",
        ),
    ],
)
def test_what_is_not_does_not(expression: str, start: str) -> None:
    (error,) = selector_errors("at", expression)
    assert (error.value, error.detail[: len(start)]) == (expression, start)


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("'a' in device.attributes", 3),
        ("device.driver == 'dra.example.com'", 4),
        ("cel.bind(dra, device.attributes['a'], dra.name)", 15),
        ("device.attributes['a'].name.exists(x, x > 0)", 389),
        ("device.attributes['a'].names.all(x, x != '')", 261),
        ("device.attributes['a'].name.isGreaterThan(semver('v0.0.1', true)) && isSemver('v1.0.0', true)", 7),
        ("!('name' in device.capacity['a']) || device.capacity['a'].name.isGreaterThan(quantity('1Ki'))", 11),
        ("device.attributes.exists_one(x, x == 'dra.example.com')", 164),
        ("device.capacity['a'].exists_one(x, x == 'memory')", 133),
        ("device.attributes['a'].services.split('example').size() >= 2", 19),
        ("device.attributes['a'].services.matches('[^a]?sym')", 18),
        ("1 in device.attributes['a'].names", 68),
    ],
)
def test_what_an_expression_may_cost_depends_on_what_devices_may_have(expression: str, cost: int) -> None:
    assert worst_cost(device_environment().compile(expression)) == cost


def test_what_may_cost_too_much_selects_no_devices() -> None:
    def nested(depth: int) -> str:
        return "device.attributes.all(a, " * depth + "true" + ")" * depth

    assert selector_errors("at", nested(3)) == []
    (error,) = selector_errors("at", nested(4))
    assert (error.type, error.detail) == (ErrorType.FORBIDDEN, "too complex, exceeds cost limit")


def test_only_devices_are_selected_with_bindings() -> None:
    with pytest.raises(CompileError, match="undeclared reference to 'cel'"):
        base_environment().compile("cel.bind(a, 1, a == 1)")


def of(kind: str) -> KindBehavior:
    return BEHAVIORS.of(GroupKind("resource.k8s.io", kind))


def test_refusals_name_the_expression() -> None:
    bad = {"selectors": [{"cel": {"expression": "true"}}, {"cel": {"expression": "1"}}]}
    wanted = {"deviceClassName": "c", "allocationMode": "All", **bad}
    devices = {
        "requests": [{"name": "a", "exactly": wanted}, {"name": "b", "firstAvailable": [{"name": "s", **wanted}]}]
    }
    at = "selectors[1].cel.expression"

    def fields(kind: str, spec: dict[str, Any]) -> list[str]:
        return [error.field for error in of(kind).validate({"metadata": {"name": "x"}, "spec": spec})]

    paths = [f"spec.devices.requests[0].exactly.{at}", f"spec.devices.requests[1].firstAvailable[0].{at}"]
    assert fields("ResourceClaim", {"devices": devices}) == paths
    assert fields("ResourceClaimTemplate", {"spec": {"devices": devices}}) == [f"spec.{path}" for path in paths]
    assert fields("DeviceClass", bad) == [f"spec.{at}"]


def test_what_is_wrong_is_told_where_the_selector_is() -> None:
    wanted = {"deviceClassName": "c", "allocationMode": "All", "count": 1}
    bad = {"selectors": [{"cel": {"expression": "1"}}]}
    devices = {"requests": [{"name": "a", "exactly": wanted | bad}], "config": [{}]}
    errors = of("ResourceClaim").validate({"metadata": {"name": "x"}, "spec": {"devices": devices}})
    at = "spec.devices.requests[0].exactly"
    assert [error.field for error in errors] == [
        f"{at}.selectors[0].cel.expression",
        f"{at}.count",
        "spec.devices.config[0].opaque",
    ]


def test_a_changed_spec_is_refused_and_only_that_of_a_template_is_compiled() -> None:
    def asking(expression: str) -> dict[str, Any]:
        wanted = {"deviceClassName": "c", "allocationMode": "All", "selectors": [{"cel": {"expression": expression}}]}
        return {"devices": {"requests": [{"name": "a", "exactly": wanted}]}}

    def fields(kind: str, new: dict[str, Any], old: dict[str, Any]) -> list[str]:
        metadata = {"name": "x", "namespace": "n"}
        states = {"metadata": metadata, "spec": new}, {"metadata": metadata, "spec": old}
        errors = of(kind).validate_update(*states) + of(kind).validate_change(*states)
        return [error.field for error in errors]

    assert fields("ResourceClaim", asking("1"), asking("true")) == ["spec"]
    at = "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert fields("ResourceClaimTemplate", {"spec": asking("1")}, {"spec": asking("true")}) == [at, "spec"]


def test_what_a_class_says_already_is_judged_again() -> None:
    def named(expression: str) -> dict[str, Any]:
        return {"metadata": {"name": "x"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}

    validate = of("DeviceClass").validate_change
    for old in ("1", "true"):
        assert [error.field for error in validate(named("1"), named(old))] == ["spec.selectors[0].cel.expression"]
    assert validate(named("true"), named("1")) == []


def test_what_is_too_long_is_not_compiled() -> None:
    selector = {"cel": {"expression": "1" + " " * 10 * 1024}}
    errors = of("DeviceClass").validate({"metadata": {"name": "a"}, "spec": {"selectors": [selector]}})
    assert [str(error) for error in errors] == [
        "spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"
    ]
