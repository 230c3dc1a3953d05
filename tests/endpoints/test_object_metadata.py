"""What clients may write into the metadata of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        running.request("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
        yield running


def refusal(server: Handle, method: str, path: str, body: Any) -> tuple[int, str]:
    with pytest.raises(RequestFailed) as refused:
        server.request(method, path, body)
    return refused.value.status, json.loads(str(refused.value).split(": ", 2)[2])["message"]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"finalizers": ["bad name/x"]}, 'metadata.finalizers: Invalid value: "bad name/x": prefix part'),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        ({"generateName": "a/b"}, "metadata.generateName: Invalid value: \"a/b\": may not contain '/'"),
        (
            {"deletionGracePeriodSeconds": 0},
            "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
        ),
    ],
)
def test_metadata_is_as_sound_after_an_update_as_at_the_beginning(
    server: Handle, metadata: dict[str, Any], message: str
) -> None:
    status, text = refusal(server, "PUT", f"{CONFIGMAPS}/c", {"metadata": {"name": "c", **metadata}})
    assert status == 422
    assert message in text


def test_the_version_of_an_update_is_a_number(server: Handle) -> None:
    found = server.request("GET", f"{CONFIGMAPS}/c")["metadata"]["resourceVersion"]
    for version, message in (
        ("9" * 20, f'strconv.ParseUint: parsing "{"9" * 20}": value out of range'),
        ("-1", 'strconv.ParseUint: parsing "-1": invalid syntax'),
    ):
        body = {"metadata": {"name": "c", "resourceVersion": version}}
        status, text = refusal(server, "PUT", f"{CONFIGMAPS}/c", body)
        assert status == 500
        assert message in text
    for version in (f"0{found}", "00"):
        server.request("PUT", f"{CONFIGMAPS}/c", {"metadata": {"name": "c", "resourceVersion": version}})


def test_a_name_that_is_taken_is_blamed_on_the_generator_where_there_is_one(server: Handle) -> None:
    status, text = refusal(server, "POST", CONFIGMAPS, {"metadata": {"name": "c", "generateName": "x-"}})
    assert status == 409
    assert "the server was not able to generate a unique name for the object" in text


def test_the_namespace_of_what_has_none_is_dropped(server: Handle) -> None:
    path = "/api/v1/nodes?dryRun=All"
    assert "namespace" not in server.request("POST", path, {"metadata": {"name": "n", "namespace": "x"}})["metadata"]


def test_a_dry_run_does_not_mind_the_version_of_something_new(server: Handle) -> None:
    body = {"metadata": {"name": "new", "resourceVersion": "5"}}
    assert server.request("POST", f"{CONFIGMAPS}?dryRun=All", body)["metadata"]["resourceVersion"] == "5"
    assert refusal(server, "POST", CONFIGMAPS, body)[0] == 500


def test_the_finalizers_of_a_namespace_are_written_without_owning_its_status(server: Handle) -> None:
    path = "/api/v1/namespaces/held"
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "held"}})
    body = {"metadata": {"name": "held"}, "spec": {"finalizers": ["example.com/x"]}, "status": {"phase": "Other"}}
    answer = server.request("PUT", f"{path}/finalize", body)
    entries = [e for e in answer["metadata"]["managedFields"] if e.get("subresource") == "finalize"]
    assert [entry["fieldsV1"] for entry in entries] == [{"f:spec": {"f:finalizers": {}}}]
    assert answer["status"] == {"phase": "Active"}


@pytest.mark.parametrize(("query", "root"), [("", "/registry"), ("?dryRun=All", "")])
def test_what_does_not_exist_has_no_uid_that_could_be_asked_for(server: Handle, query: str, root: str) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/absent"
    status, text = refusal(server, "PUT", path + query, {"metadata": {"name": "absent", "uid": "x"}})
    assert status == 409
    assert f"Key: {root}/roles/default/absent, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed" in text


def test_bad_metadata_makes_as_many_causes_as_there_are_rules_that_find_it(server: Handle) -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    server.request("POST", lease, {"metadata": {"name": "c"}})
    for path, causes in ((CONFIGMAPS, 4), (lease, 3)):
        version = server.request("GET", f"{path}/c")["metadata"]["resourceVersion"]
        body = {"metadata": {"name": "c", "resourceVersion": version, "labels": {"a b": ""}}}
        with pytest.raises(RequestFailed) as refused:
            server.request("PUT", f"{path}/c", body)
        status = json.loads(str(refused.value).split(": ", 2)[2])
        assert status["message"].count("metadata.labels") == 1
        assert [cause["field"] for cause in status["details"]["causes"]] == ["metadata.labels"] * causes


def test_the_name_of_a_client_may_be_in_any_script(server: Handle) -> None:
    headers = {b"Authorization": f"Bearer {server.token}".encode(), b"User-Agent": "größe\t€\u200b/1".encode()}
    body = {"metadata": {"name": "named", "labels": {"a": "b"}}}
    made = httpx.post(server.url + CONFIGMAPS, json=body, headers=headers).json()
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["größe€"]


def test_an_api_service_is_named_by_what_it_serves_which_is_judged_ahead_of_its_labels(server: Any) -> None:
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    spec = {"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10}
    code, text = refusal(server, "POST", path, {"metadata": {"name": "a", "labels": {"a b": ""}}, "spec": spec})
    assert code == 422
    assert text.index("metadata.name: ") < text.index("metadata.labels: ")
    made = {"metadata": {"name": "v1.x.example.com", "finalizers": ["plain"]}, "spec": spec}
    server.request("POST", path, made)
    changed = {**server.request("GET", f"{path}/v1.x.example.com"), "spec": {**spec, "version": "v2"}}
    code, text = refusal(server, "PUT", f"{path}/v1.x.example.com", changed)
    assert code == 422
    assert 'metadata.name: Invalid value: "v1.x.example.com": must be `spec.version+"."+spec.group`' in text


def test_a_name_that_was_made_up_for_a_namespace_is_its_label_when_it_is_found_to_be_one(server: Any) -> None:
    code, text = refusal(server, "POST", "/api/v1/namespaces", {"metadata": {"generateName": "a_"}})
    assert (code, "metadata.labels" in text) == (422, False)
    code, text = refusal(server, "POST", "/api/v1/namespaces", {"metadata": {"name": "-a"}})
    assert (code, "metadata.labels" in text) == (422, True)
    made = server.request("POST", "/api/v1/namespaces", {"metadata": {"generateName": "made-"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": made["metadata"]["name"]}
