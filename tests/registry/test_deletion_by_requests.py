"""Deletions as clients see them: what the answers carry, and what they come to where options take finalizers off."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from watchkeeper.testing import Handle, RequestFailed, Server

Object = dict[str, Any]
CORE = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
POD: Object = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
EMPTY_TEMPLATE: Object = {"metadata": {}, "spec": {"containers": None}}
SELECTED: Object = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        yield handle


def make(server: Handle, collection: str, name: str, *finalizers: str, **parts: Any) -> Object:
    obj = {"metadata": {"name": name, "finalizers": list(finalizers)}, **parts}
    made: Object = server.request("POST", collection, obj)
    return made


def events(server: Handle, path: str, version: str) -> list[tuple[str, str]]:
    url = f"{server.url}{path}?watch=1&timeoutSeconds=1&resourceVersion={version}"
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(asked) as answer:
        found = [json.loads(line) for line in answer]
    return [(event["type"], event["object"]["metadata"]["resourceVersion"]) for event in found]


def test_a_pod_that_goes_at_once_is_answered_at_the_version_of_its_end(server: Handle) -> None:
    pod = make(server, f"{CORE}/pods", "short", spec=POD)
    answer = server.request("DELETE", f"{CORE}/pods/short")
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 0
    marked, deleted = events(server, f"{CORE}/pods", pod["metadata"]["resourceVersion"])
    assert (marked[0], deleted[0]) == ("MODIFIED", "DELETED")
    assert answer["metadata"]["resourceVersion"] == deleted[1]


@pytest.mark.parametrize("finalizer", ["foregroundDeletion", "orphan"])
def test_a_version_never_holds_where_the_options_take_the_last_finalizer_off(server: Handle, finalizer: str) -> None:
    path = f"{CORE}/configmaps/{finalizer.lower()}"
    made = make(server, f"{CORE}/configmaps", finalizer.lower(), finalizer)
    meta, options = made["metadata"], {"propagationPolicy": "Background"}
    with pytest.raises(RequestFailed) as failure:
        server.request("DELETE", path, {**options, "preconditions": {"resourceVersion": meta["resourceVersion"]}})
    assert failure.value.status == 409
    told = f"ResourceVersion in precondition: , ResourceVersion in object meta: {meta['resourceVersion']}"
    assert str(failure.value.answer["message"]).endswith(told)
    gone = server.request("DELETE", path, {**options, "preconditions": {"uid": meta["uid"]}})
    assert gone["status"] == "Success"


def test_a_version_holds_where_nothing_is_taken_off(server: Handle) -> None:
    meta = make(server, f"{CORE}/configmaps", "plain")["metadata"]
    options = {"preconditions": {"resourceVersion": meta["resourceVersion"]}, "propagationPolicy": "Background"}
    assert server.request("DELETE", f"{CORE}/configmaps/plain", options)["status"] == "Success"


@pytest.mark.parametrize(
    ("collection", "parts", "expected"),
    [
        (f"{CORE}/configmaps", {"data": {"a": "b"}}, {}),
        (f"{CORE}/limitranges", {"spec": {"limits": []}}, {"spec": {"limits": None}}),
        (
            f"{APPS}/deployments",
            {"spec": SELECTED},
            {
                "spec": {"replicas": 0, "selector": None, "template": EMPTY_TEMPLATE, "strategy": {}},
                "status": {},
            },
        ),
    ],
)
def test_a_rehearsal_of_such_a_deletion_answers_with_nothing(
    server: Handle, collection: str, parts: Object, expected: Object
) -> None:
    made = make(server, collection, "dry", "foregroundDeletion", **parts)
    options = {"propagationPolicy": "Background", "dryRun": ["All"]}
    answer = server.request("DELETE", f"{collection}/dry", options)
    assert answer == {"kind": made["kind"], "apiVersion": made["apiVersion"], "metadata": {}, **expected}
    assert server.request("GET", f"{collection}/dry")["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_a_period_that_an_apply_created_an_object_with_stays_unless_it_is_changed(server: Handle) -> None:
    path = f"{CORE}/configmaps/applied?fieldManager=m"
    kind: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    sent = {**kind, "metadata": {"name": "applied", "deletionGracePeriodSeconds": 5}}
    made = server.request("PATCH", path, sent, headers=headers)
    assert made["metadata"]["deletionGracePeriodSeconds"] == 5
    kept = server.request("PATCH", path, {**kind, "metadata": {"name": "applied"}}, headers=headers)
    assert kept["metadata"]["deletionGracePeriodSeconds"] == 5
    with pytest.raises(RequestFailed) as failure:
        server.request("PATCH", path, {"metadata": {"deletionGracePeriodSeconds": 6}})
    assert failure.value.status == 422
