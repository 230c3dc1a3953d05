"""What a strategic merge patch makes of an object and its kind cannot hold."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.patch.strategic import StrategicPatch
from watchkeeper.runtime.patch.unstructured import mismatch

DEPLOYMENT = schema_data().kinds[GroupVersionKind("apps", "v1", "Deployment")]
SECRET = schema_data().kinds[GroupVersionKind("", "v1", "Secret")]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": True}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": "yes"}}, "unrecognized type: bool"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"labels": []}}, "cannot restore map from slice"),
        ({"spec": {"template": "x"}}, "cannot restore struct from: string"),
        ({"spec": {"template": {"spec": {"containers": {}}}}}, "cannot restore slice from map"),
        ({"spec": {"template": {"spec": {"containers": [7]}}}}, "cannot restore struct from: int64"),
        ({"spec": {"replicas": 2.0, "paused": None, "template": {}}}, None),
    ],
)
def test_the_first_value_of_a_wrong_type_is_named(outcome: dict[str, Any], words: str | None) -> None:
    assert mismatch(DEPLOYMENT, outcome) == words


def test_types_that_decode_themselves_say_what_is_wrong() -> None:
    times = {"metadata": {"creationTimestamp": 5}, "spec": {"strategy": {"rollingUpdate": {"maxSurge": "x"}}}}
    assert mismatch(DEPLOYMENT, times) is None
    assert mismatch(SECRET, {"data": {"a": "YQ=="}}) is None
    assert mismatch(SECRET, {"data": {"a": 1}}) == "cannot restore slice from int64"
    text = mismatch(SECRET, {"data": {"a": "?"}})
    assert text is not None
    assert text.startswith("error decoding from json: illegal base64 data")


def test_the_patch_shows_as_the_reference_prints_it() -> None:
    patch = StrategicPatch(b'{"spec":{"replicas":"x","paused":true},"metadata":null}', DEPLOYMENT)
    outcome = {"spec": {"replicas": "x"}}
    assert patch.refusal(outcome) == (
        "map[metadata:<nil> spec:map[paused:true replicas:x]]",
        "unrecognized type: int32",
    )


@pytest.mark.parametrize(
    ("patch", "struct"),
    [
        (b'{"$setElementOrder/none":[]}', "Deployment"),
        (b'{"spec":{"template":{"spec":{"$setElementOrder/none":[{"name":"a"}]}}}}', "PodSpec"),
    ],
)
def test_an_order_of_a_list_that_no_kind_has_is_refused(patch: bytes, struct: str) -> None:
    body: dict[str, Any] = {"spec": {"template": {"spec": {"containers": []}}}}
    with pytest.raises(ApiError) as refused:
        StrategicPatch(patch, DEPLOYMENT).apply(body)
    assert refused.value.code == 500
    assert refused.value.message == f'unable to find api field in struct {struct} for the json field "none"'
