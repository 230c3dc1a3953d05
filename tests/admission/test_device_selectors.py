"""Expressions that select devices compile, and are true or false, or claims and classes are refused."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.admission.expression.device_selectors import problem, with_device_selectors
from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.builtin import builtin_behaviors
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.source import CompileError
from watchkeeper.meta.gvk import GroupKind

BEHAVIORS = with_device_selectors(builtin_behaviors())


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
    assert problem(expression) is None


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
    assert (problem(expression) or "").startswith(start)


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


def test_a_changed_spec_is_refused_and_only_that_of_a_template_is_compiled() -> None:
    def asking(expression: str) -> dict[str, Any]:
        wanted = {"deviceClassName": "c", "allocationMode": "All", "selectors": [{"cel": {"expression": expression}}]}
        return {"devices": {"requests": [{"name": "a", "exactly": wanted}]}}

    def fields(kind: str, new: dict[str, Any], old: dict[str, Any]) -> list[str]:
        metadata = {"name": "x", "namespace": "n"}
        changed = of(kind).validate_update({"metadata": metadata, "spec": new}, {"metadata": metadata, "spec": old})
        return [error.field for error in changed]

    assert fields("ResourceClaim", asking("1"), asking("true")) == ["spec"]
    at = "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression"
    assert fields("ResourceClaimTemplate", {"spec": asking("1")}, {"spec": asking("true")}) == [at, "spec"]


def test_what_a_class_says_already_is_not_compiled_again() -> None:
    def named(expression: str) -> dict[str, Any]:
        return {"metadata": {"name": "x"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}

    validate = of("DeviceClass").validate_update
    assert validate(named("1"), named("1")) == []
    assert [error.field for error in validate(named("1"), named("true"))] == ["spec.selectors[0].cel.expression"]


def test_what_is_too_long_is_not_compiled() -> None:
    selector = {"cel": {"expression": "1" + " " * 10 * 1024}}
    errors = of("DeviceClass").validate({"metadata": {"name": "a"}, "spec": {"selectors": [selector]}})
    assert [str(error) for error in errors] == [
        "spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"
    ]
