"""Numbers of 64 bits keep all their digits, whatever way they come and go; JavaScript's would lose some."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

BIG = 2**53 + 1
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
THINGS = "/apis/digits.example.com/v1/namespaces/default/things"
APPLY = "application/apply-patch+yaml"
POD = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": BIG}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}},
}
NUMBERS = {"size": BIG, "top": 2**63 - 1, "bottom": -(2**63), "part": 0.1}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.digits.example.com"},
    "spec": {
        "group": "digits.example.com",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                                "properties": {
                                    "size": {"type": "integer", "format": "int64", "maximum": 2**63 - 1},
                                    "given": {"type": "integer", "default": BIG},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True, controllers=()) as handle:
        handle.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        handle.request("POST", DEPLOYMENTS, DEPLOYMENT)
        end = time.monotonic() + 10
        while True:
            try:
                handle.request("POST", THINGS, thing("t"))
                break
            except RequestFailed:
                assert time.monotonic() < end
        yield handle


def thing(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "digits.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": name},
        "spec": {**NUMBERS, **spec},
    }


def send(server: Handle, method: str, path: str, body: str = "", **headers: str) -> str:
    request = urllib.request.Request(server.url + path, data=body.encode() or None, method=method)
    request.add_header("Authorization", f"Bearer {server.token}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def grace(deployment: Any) -> int:
    found = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/merge-patch+json", '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":%d}}}}'),
        (
            "application/strategic-merge-patch+json",
            '{"spec":{"template":{"spec":{"terminationGracePeriodSeconds":%d}}}}',
        ),
        (
            "application/json-patch+json",
            '[{"op":"replace","path":"/spec/template/spec/terminationGracePeriodSeconds","value":%d}]',
        ),
        (
            APPLY,
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
            "spec: {template: {spec: {terminationGracePeriodSeconds: %d}}}\n",
        ),
    ],
)
def test_every_patch_keeps_them(server: Handle, content_type: str, body: str) -> None:
    for value in (BIG + 2, 2**63 - 1, BIG):
        path = f"{DEPLOYMENTS}/d?fieldManager=m" + ("&force=true" if content_type == APPLY else "")
        assert grace(json.loads(send(server, "PATCH", path, body % value, Content_Type=content_type))) == value
        assert grace(server.request("GET", f"{DEPLOYMENTS}/d")) == value


def test_a_json_patch_tells_neighbors_apart(server: Handle) -> None:
    server.request("PUT", f"{THINGS}/t", {**server.request("GET", f"{THINGS}/t"), "spec": NUMBERS})
    patch = '[{"op":"test","path":"/spec/size","value":%d},{"op":"copy","from":"/spec/size","path":"/spec/copy"}]'
    with pytest.raises(urllib.error.HTTPError) as caught:
        send(server, "PATCH", f"{THINGS}/t", patch % (BIG - 1), Content_Type="application/json-patch+json")
    assert caught.value.code == 422
    done = json.loads(send(server, "PATCH", f"{THINGS}/t", patch % BIG, Content_Type="application/json-patch+json"))
    assert done["spec"]["copy"] == BIG


def test_custom_resources_keep_them_in_every_form(server: Handle) -> None:
    made = server.request("POST", THINGS, thing("forms"))
    expected = {**NUMBERS, "given": BIG}
    assert made["spec"] == expected
    assert server.request("GET", f"{THINGS}/forms")["spec"] == expected
    listed = server.request("GET", f"{THINGS}?fieldSelector=metadata.name%3Dforms")["items"]
    assert [item["spec"] for item in listed] == [expected]
    as_yaml = yaml.safe_load(send(server, "GET", f"{THINGS}/forms", Accept="application/yaml"))
    assert as_yaml["spec"] == expected
    version = int(made["metadata"]["resourceVersion"]) - 1
    line = send(server, "GET", f"{THINGS}?watch=true&timeoutSeconds=1&resourceVersion={version}").splitlines()[0]
    assert json.loads(line)["object"]["spec"] == expected
    body = yaml.safe_dump(thing("yaml"))
    posted = json.loads(send(server, "POST", THINGS, body, Content_Type="application/yaml"))
    assert posted["spec"] == expected


def test_an_update_that_changes_the_last_digit_is_a_change(server: Handle) -> None:
    found = server.request("POST", THINGS, thing("last"))
    found["spec"]["size"] = BIG - 1
    changed = server.request("PUT", f"{THINGS}/last", found)
    assert changed["spec"]["size"] == BIG - 1
    assert changed["metadata"]["generation"] == found["metadata"]["generation"] + 1
