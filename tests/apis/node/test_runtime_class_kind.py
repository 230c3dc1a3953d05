"""RuntimeClasses."""

from typing import Any

import pytest
from kind_writer import create, created, row, update


def runtime_class(handler: str = "fast", **fields: Any) -> Any:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "r"},
        "handler": handler,
        **fields,
    }


TOLERATION = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}
LASTING = {"key": "k", "operator": "Exists", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"handler": "Not A Label"}, 'handler: Invalid value: "Not A Label": a lowercase RFC 1123 label must'),
        ({"handler": ""}, "handler: Required value"),
        (
            {"scheduling": {"tolerations": [LASTING, {**LASTING, "tolerationSeconds": 5}]}},
            'scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"",'
            '"Effect":"NoExecute","TolerationSeconds":5}',
        ),
        ({"overhead": {"podFixed": {"cpu": "-1"}}}, 'overhead.limits[cpu]: Invalid value: "-1": must be greater'),
        ({"scheduling": {"nodeSelector": {"a b": "c"}}}, 'scheduling.nodeSelector: Invalid value: "a b"'),
        ({"scheduling": {"tolerations": [TOLERATION, TOLERATION]}}, "scheduling.tolerations[1]: Duplicate value: "),
    ],
)
def test_what_a_class_must_say(fields: Any, error: str) -> None:
    (found,) = create(runtime_class(**fields)).errors
    assert found.startswith(error)


def test_the_overhead_is_kept_as_written() -> None:
    assert created(runtime_class(overhead={"podFixed": {"cpu": "1n"}}))["overhead"]["podFixed"]["cpu"] == "1n"


def test_the_handler_stays() -> None:
    old = created(runtime_class())
    assert update(old, runtime_class("other")).errors == ['handler: Invalid value: "other": field is immutable']
    assert row(old)["Handler"] == "fast"


def test_old_labels_of_nodes_are_warned_of() -> None:
    body = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "r"},
        "handler": "h",
        "scheduling": {"nodeSelector": {"beta.kubernetes.io/arch": "arm"}},
    }
    warning = 'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead'
    assert create(body).warnings == [warning]
    assert update(created(body), body).warnings == [warning]
