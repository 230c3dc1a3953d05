"""What custom resources answer to each method, wherever it points."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
_LISTED = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def get_as(api: Any, path: str, accept: str) -> tuple[int, Any]:
    connection: http.client.HTTPConnection = api._connection()
    connection.request("GET", path, headers={"Authorization": f"Bearer {api.handle.token}", "Accept": accept})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_a_verb_that_a_subresource_lacks_is_named_with_the_resource(api: Any, kit: Any) -> None:
    path = api.install(kit.version(subresources={"status": {}}))
    api.call("POST", path, api.widget("a", {}))
    for method, verb in (("POST", "create"), ("DELETE", "delete")):
        answer = api.call(method, f"{path}/a/status", {})
        assert answer.status == 405
        assert answer.body["message"] == f'{verb} is not supported on resources of kind "widgets.{api.group}"'
        assert answer.body["details"] == {"group": api.group, "kind": "widgets"}
    assert api.call("OPTIONS", path).body["message"] == f' is not supported on resources of kind "widgets.{api.group}"'


def test_a_collection_cannot_be_updated_and_says_that_a_name_is_missing(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    for method in ("PUT", "PATCH"):
        answer = api.call(method, path, {}, MERGE if method == "PATCH" else "application/json")
        assert (answer.status, answer.body["message"]) == (400, "name must be provided")
    assert api.call("PATCH", path, {}, "application/json").status == 415


def test_an_object_may_be_posted_to_a_name_and_head_is_a_get(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    assert api.call("POST", f"{path}/a", api.widget("a", {})).status == 201
    assert api.call("POST", f"{path}/a", api.widget("a", {})).body["reason"] == "AlreadyExists"
    assert (api.call("HEAD", path).status, api.call("HEAD", f"{path}/a").status) == (200, 200)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
def test_an_old_path_of_watches_watches_with_any_method(api: Any, kit: Any, method: str) -> None:
    path = api.install(kit.version())
    api.call("POST", path, api.widget("a", {}))
    group, _, rest = path.partition("/v1/")
    answer = api.call(method, f"{group}/v1/watch/{rest}/a?timeoutSeconds=1")
    assert (answer.status, answer.body["type"], answer.body["object"]["metadata"]["name"]) == (200, "ADDED", "a")
    missing = api.call(method, f"{group}/v1/watch/{rest}/a/status")
    assert (missing.status, missing.body["message"]) == (404, f'widgets.{api.group} "a" not found')


def test_a_body_without_a_kind_is_unrecognized(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    message = api.call("POST", path, {"metadata": {"name": "n"}}).body["message"]
    shown = '{"metadata": {"name": "n"}}'
    assert message == (
        f"the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{shown}' ({shown})"
    )


def test_yaml_without_a_kind_is_shown_as_it_was_sent(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    message = api.call("POST", path, {"a": 1}, "application/yaml").body["message"]
    assert "Object 'Kind' is missing in '{\"a\": 1}' (" in message


def test_an_object_of_a_version_that_is_not_there_has_no_fields(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    assert api.call("POST", path, api.widget("a", {})).status == 201
    patch = {"apiVersion": f"{api.group}/v9", "metadata": {"labels": {"a": "b"}}}
    refused = api.call("PATCH", f"{path}/a?fieldValidation=Strict", patch, MERGE)
    assert refused.status == 422
    assert refused.body["message"].endswith('strict decoding error: unknown field "spec"')
    message = api.call("PATCH", f"{path}/a", patch, MERGE).body["message"]
    assert f'apiVersion: Invalid value: "{api.group}/v9": must be {api.group}/v1' in message


def test_a_number_beyond_all_floats_cannot_be_handled(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    request = urllib.request.Request(
        api.handle.url + path,
        f'{{"apiVersion":"{api.group}/v1","kind":"Widget","metadata":{{"name":"n"}},"spec":{{"n":1e400}}}}'.encode(),
        {"Authorization": f"Bearer {api.handle.token}", "Content-Type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert json.loads(refused.value.read())["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of '
        "type float64"
    )


def test_metadata_alone_has_no_empty_continue_and_a_list_of_one_object_is_none(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    api.call("POST", path, api.widget("a", {}))
    assert "continue" not in get_as(api, path, _LISTED)[1]["metadata"]
    status, body = get_as(api, f"{path}/a", _LISTED)
    assert (status, body["message"]) == (500, "content is not a list")


def test_a_scale_has_columns_of_its_own_and_takes_no_strategic_merge_patch(api: Any, kit: Any) -> None:
    path = api.install(kit.version(subresources={"scale": SCALE}))
    api.call("POST", path, api.widget("a", {"n": 3}))
    table = get_as(api, f"{path}/a/scale", _TABLE)[1]
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"][:3] == ["a", 3, 0]
    answer = api.call("PATCH", f"{path}/a/scale", {"spec": {"replicas": 1}}, STRATEGIC)
    assert answer.status == 415
    assert answer.body["message"].endswith(
        "media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize(
    "changed",
    [{"kind": "Other"}, {"apiVersion": "extensions/v1beta1"}, {"spec": 3}, {"spec": {"replicas": "1"}}, {"x": 1}],
)
def test_a_scale_that_does_not_decode_is_refused_in_the_same_words_whatever_it_is(
    api: Any, kit: Any, changed: dict[str, Any]
) -> None:
    path = api.install(kit.version(subresources={"scale": SCALE}))
    assert api.call("POST", path, api.widget("a", {"n": 1})).status == 201
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 1}}
    answer = api.call("PUT", f"{path}/a/scale?fieldValidation=Strict", scale | changed)
    assert answer.status == 400
    assert answer.body["message"] == (
        'no kind is registered for the type v1.Scale in scheme "pkg/apiserver/customresource_handler.go:781"'
    )


@pytest.mark.parametrize(
    ("patch", "code", "words"),
    [
        ({"kind": None}, 422, " \"\" is invalid: patch: Invalid value: {outcome}: Object 'Kind' is missing in '{"),
        ({"kind": ""}, 422, " \"\" is invalid: patch: Invalid value: {outcome}: Object 'Kind' is missing in '{"),
        (
            {"kind": 5},
            422,
            ' "" is invalid: patch: Invalid value: {outcome}: couldn\'t get version/kind; json parse error: json: '
            "cannot unmarshal number into Go struct field .kind of type string",
        ),
        (
            {"apiVersion": {}},
            422,
            ' "" is invalid: patch: Invalid value: {outcome}: couldn\'t get version/kind; json parse error: json: '
            "cannot unmarshal object into Go struct field .apiVersion of type string",
        ),
        (
            {"apiVersion": None},
            500,
            "Internal error occurred: Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        (
            {"apiVersion": "a/b/c"},
            422,
            ' "" is invalid: patch: Invalid value: {outcome}: unexpected GroupVersion string: a/b/c',
        ),
    ],
)
def test_a_patch_leaves_a_custom_object_saying_what_it_is(
    api: Any, kit: Any, patch: dict[str, Any], code: int, words: str
) -> None:
    path = api.install(kit.version())
    assert api.call("POST", path, api.widget("a", {})).status == 201
    answer = api.call("PATCH", f"{path}/a", patch, MERGE)
    assert answer.status == code
    start, _, end = words.partition("{outcome}")
    assert answer.body["message"].startswith(start)
    assert end in answer.body["message"]
    assert api.call("GET", f"{path}/a").body["kind"] == "Widget"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("x", ".spec.box accessor error: x is of the type string, expected map[string]interface{}"),
        ({"box": True}, ".spec.box.n accessor error: true is of the type bool, expected map[string]interface{}"),
        ({"box": {"n": {"a": [1]}}}, ".spec.box.n accessor error: map[a:[1]] is of the type map[string]interface {}, "),
        ({"box": {"n": None}}, ".spec.box.n accessor error: <nil> is of the type <nil>, expected int64"),
    ],
)
def test_replicas_that_cannot_be_reached_name_the_field_beyond_what_is_in_the_way(
    api: Any, kit: Any, spec: Any, words: str
) -> None:
    scale = {"specReplicasPath": ".spec.box.n", "statusReplicasPath": ".status.n"}
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    path = api.install(kit.version(spec=anything, subresources={"scale": scale}))
    refused = api.call("POST", path, api.widget("a", spec))
    assert refused.status == 422
    assert words in refused.body["message"]
    assert api.call("POST", path, api.widget("b", {"box": None})).status == 201


def test_a_patched_scale_cannot_become_another_kind(api: Any, kit: Any) -> None:
    path = api.install(kit.version(subresources={"scale": SCALE}))
    assert api.call("POST", path, api.widget("a", {"n": 1})).status == 201
    refused = api.call("PATCH", f"{path}/a/scale", {"apiVersion": "apps/v1", "kind": "Deployment"}, MERGE)
    assert refused.status == 422
    assert refused.body["message"].endswith(
        'no kind "Deployment" is registered for version "apps/v1" in scheme "k8s.io/client-go/scale/util.go:146"'
    )
    assert api.call("PATCH", f"{path}/a/scale", {"apiVersion": None}, MERGE).status == 200


@pytest.mark.parametrize("accept", ["application/vnd.kubernetes.protobuf", "text/html"])
def test_a_scale_is_refused_in_the_forms_that_custom_objects_do_not_have(api: Any, kit: Any, accept: str) -> None:
    path = api.install(kit.version(subresources={"scale": SCALE}))
    assert api.call("POST", path, api.widget("a", {"n": 1})).status == 201
    request = urllib.request.Request(
        f"{api.handle.url}{path}/a/scale", headers={"Authorization": f"Bearer {api.handle.token}", "Accept": accept}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    said = "only the following media types are accepted: application/json, application/yaml, "
    assert (refused.value.code, said in refused.value.read().decode(errors="replace")) == (406, True)
