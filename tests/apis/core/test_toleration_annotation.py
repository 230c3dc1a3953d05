"""The annotation in which old clients say which taints a Pod tolerates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kind_writer import create, created, pod, update, update_status

KEY = "scheduler.alpha.kubernetes.io/tolerations"
PATH = "metadata.annotations"


def saying(text: str) -> Any:
    return pod(metadata={"annotations": {KEY: text}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '[{"key":"a","OPERATOR":"Exists","other":1e400}]',
        r'[{"\ud800":1,"key":"a","operator":"Exists"}]',
    ],
)
def test_what_can_be_read_is_taken(text: str) -> None:
    assert create(saying(text)).errors == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "unexpected end of JSON input"),
        ("{}", "json: cannot unmarshal object into Go value of type []core.Toleration"),
        ("[5]", "json: cannot unmarshal number into Go value of type core.Toleration"),
        ('[{"key":[]}]', "json: cannot unmarshal array into Go struct field Toleration.Key of type string"),
        (
            '[{"tolerationSeconds":1.5}]',
            "json: cannot unmarshal number 1.5 into Go struct field Toleration.TolerationSeconds of type int64",
        ),
        *(
            (
                f'[{{"tolerationSeconds":{number}}}]',
                f"json: cannot unmarshal number {number} into Go struct field "
                "Toleration.TolerationSeconds of type int64",
            )
            for number in ("1e3", "1.0", "1e400", "9223372036854775808")
        ),
        ("[" * 10_001 + "]" * 10_001, "invalid character '[' exceeded max depth"),
        (
            '[{"effect":true},{"operator":{}}]',
            "json: cannot unmarshal bool into Go struct field Toleration.Effect of type core.TaintEffect",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    refused = [f'{PATH}: Invalid value: "{KEY}": {why}']
    assert create(saying(text)).errors == refused
    assert update(created(pod()), saying(text)).errors == refused * 2


def test_what_it_says_is_judged_as_tolerations_are() -> None:
    text = json.dumps([{"operator": "Equal"}, {"key": "a", "operator": "Exists", "value": "b"}])
    assert [error.partition(": ")[0] for error in create(saying(text)).errors] == [
        f"{PATH}.{KEY}[0].operator",
        f"{PATH}.{KEY}[1].operator",
    ]


def test_writers_of_a_status_may_keep_a_deletion_cost_that_is_none() -> None:
    cost = {"controller.kubernetes.io/pod-deletion-cost": "much"}
    old = created(pod())
    stored = {**old, "metadata": {**old["metadata"], "annotations": cost}}
    assert update_status(stored, {**old["status"], "phase": "Running"}).errors == []
