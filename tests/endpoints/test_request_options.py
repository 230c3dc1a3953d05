"""What the options of requests are refused for, and in which order they are looked at."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

METADATA = "PartialObjectMetadata"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
NO_NUMBER = 'strconv.ParseInt: parsing "": invalid syntax'
CONVERTING = "converting ({}) to (v1.DeleteOptions): unknown conversion"
NOT_A_MAP = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with Server(insecure_http=True) as running:
        running.request("POST", CONFIGMAPS, {"metadata": {"name": "c"}})
        yield running


def ask(server: Handle, method: str, path: str, body: str | None = None, content_type: str = "application/json") -> Any:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": content_type}
    return httpx.request(method, server.url + path, content=body, headers=headers)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("limit=", 400, NO_NUMBER),
        ("timeoutSeconds=", 400, NO_NUMBER),
        ("labelSelector=a b&limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("labelSelector=a b&fieldSelector=x&resourceVersionMatch=Exact", 400, "unable to parse requirement: found 'b'"),
        ("fieldSelector=x&resourceVersionMatch=Exact", 400, "invalid selector: 'x'; can't understand 'x'"),
        ("fieldSelector=data.x=1&resourceVersionMatch=Exact", 422, "resourceVersionMatch is forbidden unless"),
        ("watch=1&continue=x", 422, "resourceVersionMatch is forbidden when continue is provided"),
        ("watch=1&continue=x&resourceVersion=0", 422, "resourceVersionMatch is forbidden when continue is provided"),
    ],
)
def test_options_of_a_list_are_refused(server: Handle, query: str, code: int, message: str) -> None:
    answer = ask(server, "GET", f"{CONFIGMAPS}?{query}")
    assert answer.status_code == code
    assert message in answer.json()["message"]


STREAMS = "only the following media types are accepted: application/json;stream=watch, application/vnd"
NO_VERSION = 'resourceVersion: Invalid value: "abc"'
AS_TABLE = "as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "query", "code", "message"),
    [
        ("application/yaml", "limit=x", 400, "strconv.ParseInt"),
        ("application/yaml", "fieldSelector=data.x=1", 400, "is not a known field selector"),
        ("application/yaml", "resourceVersion=abc", 500, NO_VERSION),
        ("application/yaml", "", 406, STREAMS),
        (f"application/json;{AS_TABLE}", "includeObject=All&resourceVersion=abc", 500, NO_VERSION),
        (f"application/yaml;{AS_TABLE}", "includeObject=All", 400, "Unable to convert to Table"),
        (f"application/yaml;{AS_TABLE}", "", 406, STREAMS),
    ],
)
def test_whether_events_can_be_written_a_watch_is_told_last(
    server: Handle, accept: str, query: str, code: int, message: str
) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    answer = httpx.get(f"{server.url}{CONFIGMAPS}?watch=1&timeoutSeconds=1&{query}", headers=headers)
    assert answer.status_code == code
    assert " ".join(message.split()) in " ".join(answer.text.replace('\\"', '"').split())


def test_what_cannot_be_watched_says_so_once_the_options_are_sound(server: Handle) -> None:
    path = "/api/v1/componentstatuses?watch=1"
    assert ask(server, "GET", f"{path}&limit=x").status_code == 400
    assert ask(server, "GET", f"{path}&fieldSelector=a%3Db").status_code == 400
    refused = ask(server, "GET", path)
    assert (refused.status_code, refused.json()["details"]) == (405, {"kind": "componentstatuses"})
    assert ask(server, "GET", "/api/v1/watch/componentstatuses").status_code == 404
    assert ask(server, "POST", "/api/v1/watch/configmaps").status_code == 405


def test_a_list_that_goes_on_does_not_look_for_an_object_by_its_name(server: Handle) -> None:
    selected = f"{CONFIGMAPS}?fieldSelector=metadata.name%3Dc"
    assert [item["metadata"]["name"] for item in ask(server, "GET", selected).json()["items"]] == ["c"]
    refused = ask(server, "GET", f"{selected}&continue=abc")
    assert (refused.status_code, refused.json()["message"][:23]) == (400, "invalid continue token:")
    server.request("POST", CONFIGMAPS, {"metadata": {"name": "d"}})
    token = ask(server, "GET", f"{CONFIGMAPS}?limit=1").json()["metadata"]["continue"]
    assert ask(server, "GET", f"{selected}&continue={token}").json()["items"] == []


def test_the_old_watch_path_is_checked_like_a_list_unless_it_says_watch(server: Handle) -> None:
    path = "/api/v1/watch/namespaces/default/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    refused = ask(server, "GET", path)
    assert refused.status_code == 422
    assert "sendInitialEvents is forbidden for list" in refused.json()["message"]
    assert ask(server, "GET", f"{path}&watch=true&timeoutSeconds=1").status_code == 200


@pytest.mark.parametrize("version", ["", "&resourceVersion=0"])
def test_a_watch_from_the_present_state_with_bookmarks_marks_its_end(server: Handle, version: str) -> None:
    query = f"watch=1&allowWatchBookmarks=1&timeoutSeconds=1&fieldSelector=metadata.name=c{version}"
    lines = ask(server, "GET", f"{CONFIGMAPS}?{query}").text.splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["type"] for event in events[:2]] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("uid=x", 409, "the UID in the precondition (x) does not match the UID in record"),
        ("resourceVersion=1", 409, "the ResourceVersion in the precondition (1) does not match"),
        ("propagationPolicy=", 422, 'propagationPolicy: Unsupported value: ""'),
        ("propagationPolicy=Orphan&orphanDependents=", 422, "cannot be both set"),
        ("gracePeriodSeconds=", 400, NO_NUMBER),
    ],
)
def test_options_of_a_deletion_in_the_query_count(server: Handle, query: str, code: int, message: str) -> None:
    answer = ask(server, "DELETE", f"{CONFIGMAPS}/c?{query}")
    assert answer.status_code == code
    assert message in answer.json()["message"]


def test_the_options_of_a_replacement_are_looked_at_before_its_media_type(server: Handle) -> None:
    assert ask(server, "PUT", f"{CONFIGMAPS}/c?dryRun=x", "{}", "text/plain").status_code == 422
    assert ask(server, "PUT", f"{CONFIGMAPS}/c", "{}", "text/plain").status_code == 415
    assert ask(server, "POST", f"{CONFIGMAPS}?dryRun=x", "{}", "text/plain").status_code == 415


@pytest.mark.parametrize(("kind", "code"), [(f" {MERGE}\t", 200), (f"{MERGE};x", 200), (f"{MERGE} ;x", 415)])
def test_spaces_around_a_media_type_do_not_count(server: Handle, kind: str, code: int) -> None:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": kind}
    connection.request("PATCH", f"{CONFIGMAPS}/c", "{}", headers)
    assert connection.getresponse().status == code
    connection.close()


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE, STRATEGIC])
def test_nobody_reads_a_patch_for_what_is_not_there(server: Handle, kind: str) -> None:
    assert ask(server, "PATCH", f"{CONFIGMAPS}/absent", "garbage", kind).status_code == 404
    assert ask(server, "PATCH", f"{CONFIGMAPS}/c", "garbage", kind).status_code == 400


@pytest.mark.parametrize(
    ("kind", "body", "code", "message"),
    [
        (JSON_PATCH, "garbage", 400, "invalid character 'g' looking for beginning of value"),
        (JSON_PATCH, "{}", 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON_PATCH, '[{"op": 1}]', 422, "the server rejected our request due to an error in our request"),
        (MERGE, "garbage", 400, "Invalid JSON Patch"),
        (MERGE, "1", 400, "Invalid JSON Patch"),
    ],
)
def test_a_patch_that_is_none_is_refused_in_few_words_when_fields_are_not_validated(
    server: Handle, kind: str, body: str, code: int, message: str
) -> None:
    answer = ask(server, "PATCH", f"{CONFIGMAPS}/c?fieldValidation=Ignore", body, kind)
    assert (answer.status_code, answer.json()["message"]) == (code, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("text", f"{NOT_A_MAP} string into Go value of type map[string]interface {{}}"),
        ("[1]", f"{NOT_A_MAP} array into Go value of type map[string]interface {{}}"),
        ("", "invalid object type: /, Kind="),
        ("null", "invalid object type: /, Kind="),
        (
            "a: b: c",
            "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context",
        ),
    ],
)
@pytest.mark.parametrize("name", ["c", "absent"])
def test_an_applied_configuration_is_a_map(server: Handle, name: str, body: str, message: str) -> None:
    answer = ask(server, "PATCH", f"{CONFIGMAPS}/{name}?fieldManager=m", body, APPLY)
    assert (answer.status_code, answer.json()["message"]) == (400, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "CreateOptions", "apiVersion": "v1"}, CONVERTING.format("v1.CreateOptions")),
        ({"kind": "ListOptions", "apiVersion": "meta.k8s.io/v1"}, CONVERTING.format("v1.ListOptions")),
        ({"kind": "ListOptions", "apiVersion": "v1"}, 'no kind "ListOptions" is registered for version "v1"'),
        ({"kind": "Status", "apiVersion": "apps/v1"}, CONVERTING.format("v1.Status")),
        ({"kind": "WatchEvent"}, CONVERTING.format("v1.WatchEvent")),
        ({"kind": "Table", "apiVersion": "meta.k8s.io/v1beta1"}, CONVERTING.format("v1.Table")),
        (
            {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1beta1"},
            CONVERTING.format("v1beta1.PartialObjectMetadataList"),
        ),
        ({"apiVersion": "apps/"}, """Object 'apiVersion' is missing in '{"apiVersion": "apps/"}'"""),
        ({"kind": "Pod"}, 'no kind "Pod" is registered for version "meta.k8s.io/v1" in scheme'),
    ],
)
def test_options_of_a_deletion_are_no_other_options(server: Handle, body: dict[str, str], message: str) -> None:
    answer = ask(server, "DELETE", f"{CONFIGMAPS}/c", json.dumps(body))
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)


def test_the_deletion_of_a_collection_goes_on_where_its_token_says(server: Handle) -> None:
    refused = ask(server, "DELETE", f"{CONFIGMAPS}?continue=x")
    assert refused.status_code == 400
    for name in ("p1", "p2", "p3"):
        server.request("POST", CONFIGMAPS, {"metadata": {"name": name, "labels": {"paged": ""}}})
    first = server.request("GET", f"{CONFIGMAPS}?labelSelector=paged&limit=1")
    token = first["metadata"]["continue"]
    deleted = server.request("DELETE", f"{CONFIGMAPS}?labelSelector=paged&continue={token}")
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["p2", "p3"]
    left = server.request("GET", f"{CONFIGMAPS}?labelSelector=paged")
    assert [item["metadata"]["name"] for item in left["items"]] == ["p1"]


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        (CONFIGMAPS, "PartialObjectMetadata", "the requested object is a list (*core.ConfigMapList)"),
        (f"{CONFIGMAPS}/c", "PartialObjectMetadataList", "the requested object is not a list (*core.ConfigMap)"),
        ("/apis/apps/v1/deployments", "PartialObjectMetadata", "is a list (*apps.DeploymentList)"),
    ],
)
def test_metadata_is_asked_for_as_what_it_is(server: Handle, path: str, kind: str, message: str) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": f"application/json;as={kind};v=v1;g=meta.k8s.io"}
    answer = httpx.get(server.url + path, headers=headers)
    assert answer.status_code == 406
    assert answer.json()["message"].endswith(message)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
        ("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}),
    ],
)
def test_there_are_no_tables_of_what_is_never_listed(server: Handle, path: str, body: dict[str, object]) -> None:
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    for accept, code in ((table, 406), (f"{table},application/json", 201), (table.replace("Table", METADATA), 201)):
        headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
        assert httpx.post(server.url + path, json=body, headers=headers).status_code == code


def test_errors_are_indented_for_those_who_ask_for_that_or_accept_nothing_that_there_is(server: Handle) -> None:
    for headers, lines in (({}, 1), ({"User-Agent": "curl/8"}, 10), ({"Accept": "text/plain"}, 10)):
        sent = {"Authorization": f"Bearer {server.token}", **headers}
        text = httpx.get(f"{server.url}{CONFIGMAPS}/absent", headers=sent).text
        assert len(text.strip().splitlines()) >= lines
        assert lines > 1 or len(text.strip().splitlines()) == 1


@pytest.mark.parametrize("path", [f"{CONFIGMAPS}/c?resourceVersion=x", f"{CONFIGMAPS}?watch=1&resourceVersion=x"])
def test_a_version_that_is_none_is_nobodys_fault_but_in_lists(server: Handle, path: str) -> None:
    status = ask(server, "GET", path).json()
    why = 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    assert (status["code"], status.get("reason"), status["message"]) == (500, None, why)
    listed = ask(server, "GET", f"{CONFIGMAPS}?resourceVersion=x").json()
    assert (listed["code"], listed["message"]) == (400, f"invalid resource version: {why}")
    event = ask(server, "GET", "/apis/events.k8s.io/v1/namespaces/default/events/e?resourceVersion=x").json()
    assert (event["code"], event["message"]) == (400, f"invalid resource version: {why}")


def test_of_a_repeated_header_the_first_counts(server: Handle) -> None:
    headers = [
        ("Authorization", f"Bearer {server.token}"),
        ("Authorization", "Bearer other"),
        ("Accept", "application/yaml"),
        ("Accept", "application/json"),
    ]
    answer = httpx.get(f"{server.url}{CONFIGMAPS}", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/yaml")


@pytest.mark.parametrize("query", ["limit=%zz", "limit=x;y", "limit=1&timeoutSeconds=%"])
def test_malformed_parts_of_a_query_do_not_count(server: Handle, query: str) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    url = httpx.URL(server.url + CONFIGMAPS).copy_with(query=query.encode())
    assert httpx.get(url, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (
            '[{"op":"replace","path":"","value":[1]}]',
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
            r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }',
        ),
        (
            '[{"op":"replace","path":"/kind","value":"Pod"}]',
            "converting (v1.Pod) to (core.ConfigMap): unknown conversion",
        ),
        (
            '[{"op":"replace","path":"/apiVersion","value":"v2"}]',
            'no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        ('[{"op":"replace","path":"/apiVersion","value":"a/b/c"}]', "unexpected GroupVersion string: a/b/c"),
        (
            '[{"op":"replace","path":"/kind","value":5}]',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of "
            "type string",
        ),
    ],
)
def test_a_patched_object_that_says_it_is_something_else_is_read_as_that(server: Handle, patch: str, why: str) -> None:
    status = ask(server, "PATCH", f"{CONFIGMAPS}/c", patch, "application/json-patch+json").json()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"].startswith(' "" is invalid: patch: Invalid value: ')
    assert status["message"].endswith(f'": {why}')


def test_what_a_patch_made_is_shown_fit_to_stand_in_html(server: Handle) -> None:
    patch = '[{"op":"replace","path":"","value":[1,"<&>"]}]'
    status = ask(server, "PATCH", f"{CONFIGMAPS}/c", patch, "application/json-patch+json").json()
    assert r'Invalid value: "[1,\"\\u003c\\u0026\\u003e\"]": ' in status["message"]


@pytest.mark.parametrize("path", [CONFIGMAPS, f"{CONFIGMAPS}/c", f"{CONFIGMAPS}/nosuch", "/api/v1", "/apis"])
def test_only_answers_in_one_line_end_it(server: Handle, path: str) -> None:
    assert ask(server, "GET", path).content.endswith(b"}\n")
    assert ask(server, "GET", f"{path}?pretty=true").content.endswith(b"\n}")


def test_an_outcome_that_does_not_decode_is_shown_in_the_order_of_its_types(server: Handle) -> None:
    server.request("POST", CONFIGMAPS, {"metadata": {"name": "shown", "labels": {"b": "1", "a": "2"}}})
    patch = [{"op": "add", "path": "/data", "value": {"z": {"y": 1, "x": 2}}}]
    refused = ask(server, "PATCH", f"{CONFIGMAPS}/shown", json.dumps(patch), JSON_PATCH).json()
    shown = json.loads(refused["message"].partition("Invalid value: ")[2].rpartition(": json: ")[0])
    assert list(json.loads(shown)) == ["apiVersion", "data", "kind", "metadata"]
    assert shown.startswith(
        '{"apiVersion":"v1","data":{"z":{"y":1,"x":2}},"kind":"ConfigMap","metadata":{"name":"shown",'
    )
    labels, managed = (
        '"labels":{"a":"2","b":"1"},"managedFields":[{"manager":',
        '"operation":"Update","apiVersion":"v1"',
    )
    assert labels in shown
    assert managed in shown


def test_unknown_fields_of_a_json_patch_are_told_in_the_order_of_its_values(server: Handle) -> None:
    pods, container = "/api/v1/namespaces/default/pods", {"name": "c", "image": "i", "z": 1, "a": 2}
    server.request("POST", pods, {"metadata": {"name": "u"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    patch = json.dumps([{"op": "replace", "path": "/spec/containers/0", "value": container}])
    refused = ask(server, "PATCH", f"{pods}/u?fieldValidation=Strict", patch, JSON_PATCH).json()
    assert refused["message"].endswith('unknown field "spec.containers[0].z", unknown field "spec.containers[0].a"')


@pytest.mark.parametrize("content_type", [MERGE, JSON_PATCH])
@pytest.mark.parametrize("number", ["1.0", "2.50", "5e1", "1e30"])
def test_numbers_of_a_patch_are_shown_as_they_are_written(server: Handle, content_type: str, number: str) -> None:
    operation = f'[{{"op":"add","path":"/immutable","value":{number}}}]'
    patch = operation if content_type == JSON_PATCH else f'{{"immutable":{number}}}'
    refused = ask(server, "PATCH", f"{CONFIGMAPS}/c", patch, content_type).json()
    assert f'\\"immutable\\":{number},' in refused["message"]
    assert refused["message"].endswith(
        ": json: cannot unmarshal number into Go struct field ConfigMap.immutable of type bool"
    )


def test_a_number_that_is_no_whole_one_is_told_as_it_is_written(server: Handle) -> None:
    pods = "/api/v1/namespaces/default/pods"
    server.request("POST", pods, {"metadata": {"name": "n"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    refused = ask(server, "PATCH", f"{pods}/n", '{"spec":{"activeDeadlineSeconds":5.0}}', MERGE).json()
    assert refused["message"].endswith(
        "json: cannot unmarshal number 5.0 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64"
    )


@pytest.mark.parametrize(
    ("patch", "shown", "why"),
    [
        ('{"kind":5}', "map[kind:5]", "cannot convert int64 to string"),
        ('{"apiVersion":true}', "map[apiVersion:true]", "unrecognized type: string"),
    ],
)
def test_a_strategic_patch_may_say_any_kind_that_is_a_text(server: Handle, patch: str, shown: str, why: str) -> None:
    refused = ask(server, "PATCH", f"{CONFIGMAPS}/c", patch, STRATEGIC)
    assert refused.status_code == 422
    assert refused.json()["message"] == f' "" is invalid: patch: Invalid value: "{shown}": {why}'
    assert ask(server, "PATCH", f"{CONFIGMAPS}/c", '{"kind":"Other","apiVersion":"v9"}', STRATEGIC).status_code == 200


def test_a_version_that_is_no_text_is_not_a_missing_one(server: Handle) -> None:
    refused = ask(server, "PATCH", f"{CONFIGMAPS}/c?fieldValidation=Strict", '{"apiVersion":{"a":1}}', MERGE).json()
    assert refused["message"].endswith("cannot unmarshal object into Go struct field .apiVersion of type string")
    refused = ask(server, "PATCH", f"{CONFIGMAPS}/c?fieldValidation=Strict", '{"apiVersion":{}}', MERGE).json()
    assert "couldn't get version/kind" in refused["message"]


def test_a_refused_outcome_shows_the_record_of_owners_in_the_order_of_paths(server: Handle) -> None:
    ports = [{"name": f"p{port}", "port": port} for port in (443, 80, 7070)]
    server.request("POST", SERVICES, {"metadata": {"name": "ports"}, "spec": {"ports": ports}})
    refused = ask(server, "PATCH", f"{SERVICES}/ports", '{"spec":{"selector":[1]}}', MERGE).json()
    message = refused["message"].replace("\\", "")
    places = [message.index(f'"k:{{"port":{port},"protocol":"TCP"}}"') for port in (80, 443, 7070)]
    assert places == sorted(places)
