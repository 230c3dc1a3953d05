"""What a running server tells its audit log."""

from __future__ import annotations

import base64
import json
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.waiting import eventually

from watchkeeper.apis.protobuf import protobuf_of
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

Object = dict[str, Any]
BASE = "/api/v1/namespaces/default"
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- {level: None, nonResourceURLs: ["/healthz*"]}
- {level: Metadata, resources: [{resources: [secrets]}]}
- {level: Metadata, verbs: [watch]}
- {level: RequestResponse, omitStages: [RequestReceived], resources: [{resources: [configmaps]}]}
- {level: Metadata, omitStages: [RequestReceived]}
"""


def serving(directory: Path, policy: str = POLICY, mode: str = "blocking", **options: Any) -> Server:
    file = directory / "policy.yaml"
    file.write_text(policy)
    log = str(directory / "audit.log")
    options |= {"audit_policy_file": file, "audit_log_path": log, "audit_log_mode": mode}
    return Server(insecure_http=True, controllers=(), **options)


def events(directory: Path) -> list[Object]:
    lines = (directory / "audit.log").read_text().splitlines()
    return [json.loads(line) for line in lines]


def about(directory: Path, resource: str) -> list[Object]:
    return [e for e in events(directory) if (e.get("objectRef") or {}).get("resource") == resource]


def ask(server: Handle, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(server.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context()) as answer:
            return answer.status, dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers)


def test_a_request_is_told_of_with_both_objects(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        made = server.request("POST", f"{BASE}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "b"}})
    [event] = about(tmp_path, "configmaps")
    assert (event["kind"], event["apiVersion"]) == ("Event", "audit.k8s.io/v1")
    assert (event["level"], event["stage"], event["verb"]) == ("RequestResponse", "ResponseComplete", "create")
    assert event["requestURI"].split("?")[0] == f"{BASE}/configmaps"
    assert "system:masters" in event["user"]["groups"]
    assert event["sourceIPs"] == ["127.0.0.1"]
    assert event["objectRef"] == {
        "resource": "configmaps", "namespace": "default", "name": "c", "apiVersion": "v1"
    }  # fmt: skip
    assert event["responseStatus"] == {"metadata": {}, "code": 201}
    assert event["requestObject"]["data"] == {"a": "b"}
    assert event["responseObject"]["metadata"]["uid"] == made["metadata"]["uid"]
    assert "managedFields" in made["metadata"]
    assert "managedFields" not in event["responseObject"]["metadata"]
    assert event["requestReceivedTimestamp"] <= event["stageTimestamp"]
    assert event["annotations"]["authorization.k8s.io/decision"] == "allow"


def test_secrets_stay_out_where_the_policy_says_metadata(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.request("POST", f"{BASE}/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "hidden-value"}})
        server.request("GET", f"{BASE}/secrets/s")
    text = (tmp_path / "audit.log").read_text()
    assert "hidden-value" not in text
    assert base64.b64encode(b"hidden-value").decode() not in text
    found = [(e["stage"], e["verb"], e["objectRef"].get("name")) for e in about(tmp_path, "secrets")]
    assert found == [
        ("RequestReceived", "create", None),
        ("ResponseComplete", "create", "s"),
        ("RequestReceived", "get", "s"),
        ("ResponseComplete", "get", "s"),
    ]


def test_failures_carry_their_status(tmp_path: Path) -> None:
    with serving(tmp_path) as server, pytest.raises(RequestFailed):
        server.request("GET", f"{BASE}/pods/absent")
    [event] = about(tmp_path, "pods")
    status = event["responseStatus"]
    assert (status["code"], status["reason"], status["status"]) == (404, "NotFound", "Failure")
    assert status["message"] == 'pods "absent" not found'
    assert "responseObject" not in event


@pytest.mark.parametrize("form", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_a_status_is_told_of_without_what_says_nothing_whatever_form_it_is_sent_in(tmp_path: Path, form: str) -> None:
    options = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "A"}, "spec": {"containers": []}}
    with serving(tmp_path) as server:
        headers = {"Authorization": f"Bearer {server.token}", "Accept": form}
        assert httpx.post(f"{server.url}{BASE}/pods", json=options, headers=headers).status_code == 422
        ask(server, f"{BASE}/pods/absent", Accept=form, Authorization=f"Bearer {server.token}")
    invalid, absent = (event["responseStatus"]["details"] for event in about(tmp_path, "pods"))
    assert absent == {"name": "absent", "kind": "pods"}
    assert set(invalid) == {"name", "kind", "causes"}
    assert {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"} in invalid[
        "causes"
    ]


def test_what_is_sent_is_told_of_as_the_server_reads_it(tmp_path: Path) -> None:
    policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request, verbs: [create, update]}]\n"
    sent: Object = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}, "unknown": 1}
    read: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {
            "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }
    with serving(tmp_path, policy) as server:
        server.request("POST", f"{BASE}/services", sent)
    [event] = [event for event in about(tmp_path, "services") if event["stage"] == "ResponseComplete"]
    assert event["requestObject"] == read


def test_objects_in_protobuf_are_told_of_as_in_json(tmp_path: Path) -> None:
    obj: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": ""}}
    form = "application/vnd.kubernetes.protobuf"
    with serving(tmp_path) as server:
        headers = {"Authorization": f"Bearer {server.token}", "Accept": form, "Content-Type": form}
        url = f"{server.url}{BASE}/configmaps"
        assert httpx.post(url, content=protobuf_of(obj), headers=headers).status_code == 201
        assert httpx.get(url, headers=headers).status_code == 200
        stored = server.request("GET", f"{BASE}/configmaps/a")
    created, listed, _ = about(tmp_path, "configmaps")
    assert created["requestObject"] == obj
    del stored["metadata"]["managedFields"]
    assert created["responseObject"] == stored
    assert listed["responseObject"]["items"] == [{k: v for k, v in stored.items() if k not in ("apiVersion", "kind")}]


def test_who_fails_to_authenticate_is_told_of(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        code, _ = ask(server, f"{BASE}/pods", Authorization="Bearer wrong-token-value")
    assert code == 401
    [event] = about(tmp_path, "pods")
    assert (event["stage"], event["user"]) == ("ResponseStarted", {})
    assert event["responseStatus"]["message"] == "Authentication failed, attempted: bearer"
    assert event["responseStatus"]["code"] == 401
    assert "wrong-token-value" not in (tmp_path / "audit.log").read_text()


def test_the_impersonated_user_stands_beside_the_one_who_asks(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ask(
            server,
            f"{BASE}/pods",
            **{"Authorization": f"Bearer {server.token}", "Impersonate-User": "ann", "Audit-ID": "my-id"},
        )
    [event] = about(tmp_path, "pods")
    assert event["impersonatedUser"]["username"] == "ann"
    assert event["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}
    assert event["user"]["username"] != "ann"
    assert event["auditID"] == "my-id"
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert event["responseStatus"]["code"] == 403


def test_the_unconstrained_right_to_impersonate_is_not_told_of(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        headers = {"Authorization": f"Bearer {server.token}", "Impersonate-User": "ann"}
        ask(server, f"{BASE}/pods", **headers, **{"Impersonate-Group": "system:masters"})
        ask(server, f"{BASE}/services", Authorization=headers["Authorization"])
    [event] = about(tmp_path, "pods")
    assert event["impersonatedUser"]["groups"] == ["system:masters", "system:authenticated"]
    assert "authenticationMetadata" not in event
    [event] = about(tmp_path, "services")
    assert "authenticationMetadata" not in event


def test_a_watch_is_told_of_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        path = f"{BASE}/services?watch=true&timeoutSeconds=1"
        request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(request) as answer:
            eventually(
                lambda: [e["stage"] for e in about(tmp_path, "services")] == ["RequestReceived", "ResponseStarted"]
            )
            answer.read()
    found = about(tmp_path, "services")
    assert [e["stage"] for e in found] == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert len({e["auditID"] for e in found}) == 1
    assert found[2]["responseStatus"]["code"] == 200


def test_requests_at_deprecated_versions_are_marked_when_they_are_over(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        token = {"Authorization": f"Bearer {server.token}"}
        ask(server, f"{BASE}/endpoints/absent", **token)
        ask(server, f"{BASE}/endpoints?watch=true&timeoutSeconds=1", **token)
    found = [(e["stage"], e.get("annotations", {}).get("k8s.io/deprecated")) for e in about(tmp_path, "endpoints")]
    assert found == [
        ("ResponseComplete", "true"),
        ("RequestReceived", None),
        ("ResponseStarted", None),
        ("ResponseComplete", "true"),
    ]


def test_the_audit_id_of_the_answer_is_that_of_the_events(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        _, headers = ask(server, "/version", Authorization=f"Bearer {server.token}")
        ask(server, "/healthz")
    [event] = [e for e in events(tmp_path) if e["requestURI"] == "/version"]
    assert event["auditID"] == headers["audit-id"]
    assert not [e for e in events(tmp_path) if e["requestURI"] == "/healthz"]


def test_patches_in_yaml_and_their_outcome_are_told_of(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        request = urllib.request.Request(
            f"{server.url}{BASE}/configmaps/c?fieldManager=me",
            data=b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n",
            method="PATCH",
            headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/apply-patch+yaml"},
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 201
    [event] = about(tmp_path, "configmaps")
    assert event["verb"] == "patch"
    assert event["requestObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {"a": "b"},
    }
    assert event["responseObject"]["data"] == {"a": "b"}


def test_compressed_answers_and_lists_are_told_of_without_managed_fields(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.request("POST", f"{BASE}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "b" * 200_000}})
        table = "application/json;as=Table;g=meta.k8s.io;v=v1"
        token = f"Bearer {server.token}"
        for accept in ("application/json", table, "application/yaml"):
            path = f"{BASE}/configmaps?limit=1&pretty=1&fieldSelector=metadata.name=c"
            ask(server, path, **{"Authorization": token, "Accept": accept, "Accept-Encoding": "gzip"})
    _, plain, rows, yaml = (e["responseObject"] for e in about(tmp_path, "configmaps"))
    assert [plain["items"][0]["data"], yaml["items"][0]["data"]] == [{"a": "b" * 200_000}] * 2
    assert "managedFields" not in plain["items"][0]["metadata"]
    assert "managedFields" not in yaml["items"][0]["metadata"]
    assert rows["rows"][0]["object"]["metadata"]["name"] == "c"
    assert "managedFields" not in rows["rows"][0]["object"]["metadata"]


def test_a_policy_that_cannot_be_used_keeps_the_server_from_starting(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="loaded illegal policy with 0 rules"):
        serving(tmp_path, "apiVersion: audit.k8s.io/v1\nkind: Policy\n").__enter__()


def test_who_has_an_answer_finds_it_in_the_log(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for i in range(20):
            server.request("POST", f"{BASE}/configmaps", {"metadata": {"name": f"c{i}"}})
            assert [e["objectRef"]["name"] for e in about(tmp_path, "configmaps")] == [f"c{n}" for n in range(i + 1)]
        ask(server, f"{BASE}/pods", Authorization="Bearer wrong-token-value")
        assert [e["stage"] for e in about(tmp_path, "pods")] == ["ResponseStarted"]
        with pytest.raises(RequestFailed):
            server.request("GET", f"{BASE}/services/absent")
        assert [e["responseStatus"]["code"] for e in about(tmp_path, "services")] == [404]


def test_events_are_told_once_in_a_batch(tmp_path: Path) -> None:
    with serving(tmp_path, mode="batch") as server:
        server.request("POST", f"{BASE}/configmaps", {"metadata": {"name": "c"}})
    assert [e["stage"] for e in about(tmp_path, "configmaps")] == ["ResponseComplete"]


@pytest.mark.parametrize(("mode", "status"), [("blocking", 200), ("blocking-strict", 500)])
def test_only_a_strict_log_refuses_what_cannot_be_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, status: int
) -> None:
    def full(_file: object, _lines: list[bytes]) -> None:
        raise OSError("no space left on device")

    with serving(tmp_path, "{kind: Policy, apiVersion: audit.k8s.io/v1, rules: [{level: Metadata}]}", mode) as server:
        monkeypatch.setattr("watchkeeper.audit.log._RotatedFile.append", full)
        head = {"Authorization": f"Bearer {server.token}"}
        answer = httpx.get(f"{server.url}{BASE}/p%6Fds?limit=1&x=y", headers=head, verify=server.ssl_context())
        monkeypatch.undo()
    assert answer.status_code == status
    if status == 500:
        uri = f"{BASE}/p%6Fds?limit=1&amp;x=y"
        assert answer.text == f'Internal Server Error: "{uri}": failed to store audit event\n'
    else:
        assert answer.json()["kind"] == "PodList"
    assert not about(tmp_path, "pods")


def test_a_uri_is_told_as_it_was_sent(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ask(server, f"{BASE}/configmaps/%61?x=%20y", Authorization=f"Bearer {server.token}")
    assert [e["requestURI"] for e in about(tmp_path, "configmaps")] == [f"{BASE}/configmaps/%61?x=%20y"]


def test_a_mode_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match='invalid audit log mode all, allowed modes are "batch,blocking,'):
        serving(tmp_path, mode="all").start()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"audit_log_format": "xml"}, 'invalid audit log format xml, allowed formats are "legacy,json"'),
        ({"audit_log_batch_buffer_size": 0}, "invalid audit batch log buffer size 0, must be a positive number"),
        ({"audit_log_batch_max_size": 0}, "invalid audit batch log max batch size 0, must be a positive number"),
        ({"audit_log_batch_throttle_enable": True}, "invalid audit batch log throttle QPS 0, must be a positive"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    with pytest.raises(StartupError, match=why):
        serving(tmp_path, mode="batch", **options).start()


def test_batches_are_written_in_time_and_at_the_end_as_text_where_that_is_asked_for(tmp_path: Path) -> None:
    batches = {"audit_log_batch_max_size": 1000, "audit_log_batch_max_wait": 0.05, "audit_log_format": "legacy"}
    with serving(tmp_path, mode="batch", **batches) as server:
        server.request("GET", f"{BASE}/configmaps")
        deadline = time.monotonic() + 5
        while not (text := (tmp_path / "audit.log").read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert 'stage="ResponseComplete"' in text
        server.request("GET", f"{BASE}/configmaps?limit=1")
    assert f'uri="{BASE}/configmaps?limit=1" response="200"' in (tmp_path / "audit.log").read_text()


def test_long_lists_are_told_of_as_a_whole(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for name in ("a", "b", "c"):
            server.request("POST", f"{BASE}/configmaps", {"metadata": {"name": name}, "data": {"k": "v" * 200_000}})
        listed = server.request("GET", f"{BASE}/configmaps?fieldSelector=metadata.name!=kube-root-ca.crt")
    event = about(tmp_path, "configmaps")[-1]
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a", "b", "c"]
    assert [item["data"] for item in event["responseObject"]["items"]] == [item["data"] for item in listed["items"]]
