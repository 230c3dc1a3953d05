"""Numbers of the wrong width and system metadata in patches and applied configurations, as kube-apiserver has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def deployment(name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "d"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    whole = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": whole}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        running.request("POST", DEPLOYMENTS, deployment("d"))
        yield running


def patch(server: Handle, path: str, body: str, content_type: str, **query: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": content_type}
    answer = httpx.patch(server.url + path, content=body, headers=headers, params=query)
    return answer.status_code, answer.json()


def test_a_strategic_patch_takes_whole_floats_for_integers(server: Handle) -> None:
    body = '{"spec":{"replicas":2.0,"strategy":{"rollingUpdate":{"maxSurge":3.0}}}}'
    status, found = patch(server, f"{DEPLOYMENTS}/d", body, STRATEGIC, dryRun="All")
    assert status == 200
    assert found["spec"]["replicas"] == 2
    assert found["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 3
    assert patch(server, f"{DEPLOYMENTS}/d", body, MERGE)[0] == 422


def test_what_is_cut_off_is_judged_afterwards(server: Handle) -> None:
    status, found = patch(server, f"{DEPLOYMENTS}/d", '{"spec":{"replicas":3000000000}}', STRATEGIC)
    assert status == 422
    assert found["details"]["causes"][0]["message"] == (
        "Invalid value: -1294967296: must be greater than or equal to 0"
    )
    body = json.dumps(deployment("d", replicas=2**32 + 1))
    status, found = patch(server, f"{DEPLOYMENTS}/d", body, APPLY, fieldManager="m", force="true", dryRun="All")
    assert (status, found["spec"]["replicas"]) == (200, 1)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/replicas", "value": 1.5},
        {"op": "copy", "from": "/spec/replicas", "path": "/spec/minReadySeconds"},
    ],
)
def test_a_number_that_a_json_patch_looks_at_again_is_refused_for_what_it_is(
    server: Handle, operation: dict[str, Any]
) -> None:
    body = json.dumps([{"op": "add", "path": "/spec/replicas", "value": 1.5}, operation])
    status, found = patch(server, f"{DEPLOYMENTS}/d", body, "application/json-patch+json")
    assert status == 422
    assert "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec." in found["message"]


def test_an_applied_integer_or_text_of_another_type_is_refused_when_it_is_converted(server: Handle) -> None:
    for surge, words in (
        ("[1]", "json: cannot unmarshal array into Go value of type int32"),
        ("1.5", "json: cannot unmarshal number 1.5 into Go value of type int32"),
    ):
        body = json.dumps(deployment("d", strategy={"rollingUpdate": {"maxSurge": json.loads(surge)}}))
        status, found = patch(server, f"{DEPLOYMENTS}/d", body, APPLY, fieldManager="m", force="true")
        assert status == 500
        assert found["message"].endswith(f"unable to convert unstructured object to apps/v1, Kind=Deployment: {words}")


def test_unknown_fields_are_told_once_when_values_are_converted(server: Handle) -> None:
    body = '{"spec":{"bogus":1,"replicas":1.0}}'
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": STRATEGIC}
    answer = httpx.patch(f"{server.url}{DEPLOYMENTS}/d", content=body, headers=headers, params={"dryRun": "All"})
    assert answer.status_code == 200
    assert answer.headers.get_list("warning") == ['299 - "unknown field \\"spec.bogus\\""']


def test_an_apply_that_creates_keeps_when_the_object_is_said_to_go(server: Handle) -> None:
    times = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "going", **times}}
    status, found = patch(server, f"{CONFIGMAPS}/going", json.dumps(config), APPLY, fieldManager="m")
    assert status == 201
    assert times.items() <= found["metadata"].items()
    posted = server.request("POST", CONFIGMAPS, {"metadata": {"name": "posted", **times}})
    assert not times.keys() & posted["metadata"].keys()
    # A PUT that creates does the same.
    lease = {"metadata": {"name": "going", **times}}
    made = server.request("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/going", lease)
    assert times.items() <= made["metadata"].items()


def test_unknown_fields_of_a_strategic_outcome_are_quoted_as_they_are(server: Handle) -> None:
    body = json.dumps({"spec": {'say "a"': 1, "template": {"spec": {"containers": [{"name": "main", "n": None}]}}}})
    options = {"fieldValidation": "Strict", "dryRun": "All"}
    _, found = patch(server, f"{DEPLOYMENTS}/d", body, STRATEGIC, **options)
    assert found["message"].endswith('strict decoding error: unknown field "spec.say "a""')
    _, found = patch(server, f"{DEPLOYMENTS}/d", body, MERGE, **options)
    assert 'unknown field "spec.say \\"a\\""' in found["message"]
