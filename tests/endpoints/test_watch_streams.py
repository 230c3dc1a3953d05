"""Watches as HTTP answers: the old paths, and that a watch is freed however its stream ends."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from watchkeeper.endpoints.response import Response
from watchkeeper.request.request import Request
from watchkeeper.testing import Handle, RequestFailed
from watchkeeper.testing import Server as InProcess

INITIAL = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5"


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        yield handle


def first_event(server: Handle, path: str) -> Any:
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.readline())


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/watch/services",
        "/api/v1/watch/namespaces/default/services?watch=false",
        "/api/v1/watch/namespaces/default/services/kubernetes",
    ],
)
def test_old_paths_watch_with_or_without_the_parameter(server: Handle, path: str) -> None:
    event = first_event(server, path)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "kubernetes")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/api/v1/watch/namespaces/default/services", 405),
        ("DELETE", "/api/v1/watch/namespaces/default/services/kubernetes", 405),
        ("GET", "/api/v1/watch/namespaces/default/services/kubernetes/status", 404),
        ("GET", "/api/v1/watch/nosuch", 404),
    ],
)
def test_old_paths_can_do_nothing_else(server: Handle, method: str, path: str, status: int) -> None:
    with pytest.raises(RequestFailed) as refused:
        server.request(method, path)
    assert refused.value.status == status


class Pieces:
    """A stream that remembers whether it was freed."""

    def __init__(self) -> None:
        self.freed = False

    async def __aiter__(self) -> Any:
        while True:
            yield b"piece"

    async def aclose(self) -> None:
        self.freed = True


@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_a_stream_is_freed_when_its_client_goes_at_any_time(pieces: int) -> None:
    left = pieces

    async def send(message: Any) -> None:
        nonlocal left
        if not left:
            raise OSError("gone")
        left -= 1

    async def run() -> bool:
        scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
        request = Request(scope, asyncio.Event().wait, send)
        stream = Pieces()
        with pytest.raises(OSError, match="gone"):
            await Response(200, stream=stream).send(request)
        return stream.freed

    assert asyncio.run(run())


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("size", [10, 20_000, 300_000, 900_000])
def test_events_of_every_size_come_one_by_one_as_they_happen(server: Handle, size: int) -> None:
    path = f"{CONFIG_MAPS}?watch=1&labelSelector=size%3D{size}"
    request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        for n in range(3):
            metadata = {"name": f"sized-{size}-{n}", "labels": {"size": str(size)}}
            server.request("POST", CONFIG_MAPS, {"metadata": metadata, "data": {"fill": "x" * size}})
            event = json.loads(answer.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", f"sized-{size}-{n}")
            assert len(event["object"]["data"]["fill"]) == size


@pytest.mark.parametrize("before", [0, 1])
def test_only_the_first_event_of_a_watched_table_has_columns(server: Handle, before: int) -> None:
    label = f"table-{before}"

    def create(name: str) -> None:
        server.request("POST", CONFIG_MAPS, {"metadata": {"name": f"{label}-{name}", "labels": {"of": label}}})

    for n in range(before):
        create(f"before-{n}")
    headers = {"Authorization": f"Bearer {server.token}", "Accept": TABLE}
    path = f"{CONFIG_MAPS}?watch=1&labelSelector=of%3D{label}"
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=10) as answer:
        tables = [json.loads(answer.readline())["object"] for _ in range(before)]
        for name in ("a", "b"):
            create(name)
            tables.append(json.loads(answer.readline())["object"])
    assert [bool(table["columnDefinitions"]) for table in tables] == [True] + [False] * (len(tables) - 1)
    assert [len(table["rows"]) for table in tables] == [1] * len(tables)


def test_a_query_that_was_refused_is_refused_again_and_one_that_was_read_is_read_alike(server: Handle) -> None:
    for _ in range(2):
        with pytest.raises(RequestFailed) as refused:
            server.request("GET", f"{CONFIG_MAPS}?limit=x&labelSelector=a%3Db")
        assert refused.value.status == 400
        found = server.request("GET", f"{CONFIG_MAPS}?labelSelector=of%3Dnobody&limit=3")
        assert found["items"] == []
        event = first_event(server, "/api/v1/services?watch=1&fieldSelector=metadata.name%3Dkubernetes")
        assert event["object"]["metadata"]["name"] == "kubernetes"


@pytest.mark.parametrize("media_type", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_a_watch_of_lists_ends_at_the_first_object(server: Handle, media_type: str) -> None:
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Accept": f"{media_type};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    }
    path = "/api/v1/namespaces/default/services?watch=true&timeoutSeconds=60"
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=10) as answer:
        assert (answer.status, answer.read()) == (200, b"")


MARKED = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=no"


def first_mark(server: Handle, path: str, accept: str, query: str = "") -> Any:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    request = urllib.request.Request(f"{server.url}{path}?{MARKED}{query}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        event = json.loads(answer.readline())
    assert event["type"] == "BOOKMARK"
    return event["object"]


@pytest.mark.parametrize("include", ["", "None", "Metadata", "Object"])
def test_the_mark_of_a_watched_table_is_in_its_row_whatever_rows_are_to_include(server: Handle, include: str) -> None:
    query = f"&includeObject={include}" if include else ""
    (row,) = first_mark(server, CONFIG_MAPS, TABLE, query)["rows"]
    shown = row["object"]
    assert shown["kind"] == ("ConfigMap" if include == "Object" else "PartialObjectMetadata")
    assert shown["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_mark_was_never_created(server: Handle) -> None:
    partial = first_mark(server, CONFIG_MAPS, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    assert sorted(partial["metadata"]) == ["annotations", "resourceVersion"]
    roles = first_mark(server, "/apis/rbac.authorization.k8s.io/v1/clusterroles", TABLE)
    assert roles["rows"][0]["cells"] == ["", "0001-01-01T00:00:00Z"]


def refusal(server: Handle, path: str, accept: str) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    try:
        with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_form_that_only_lists_have_is_refused_after_all_else() -> None:
    with InProcess(insecure_http=True, controllers=()) as server:
        wrong = "/api/v1/services?watch=1&labelSelector=a+in"
        code, text = refusal(server, wrong, "application/yaml")
        assert (code, "unable to parse requirement" in text) == (400, True)
        assert refusal(server, wrong, "text/html")[0] == 406
        assert refusal(server, "/api/v1/services?watch=1", "application/yaml")[0] == 406


@pytest.mark.parametrize("seconds", [-5, 2**63 - 1, 10**10])
def test_a_watch_whose_time_is_over_before_it_begins_sends_nothing(server: Handle, seconds: int) -> None:
    """Nanoseconds are counted in 64 bits: ten thousand million seconds are less than none."""
    assert refusal(server, f"/api/v1/services?watch=1&timeoutSeconds={seconds}", "application/json") == (200, "")


@pytest.mark.parametrize("path", ["/api/v1/watch", "/api/v1/proxy/", "/apis/apps/v1/watch?a=b"])
def test_an_old_path_that_ends_with_its_verb_asks_nothing(server: Handle, path: str) -> None:
    said = "failed to create RequestInfo: unable to determine kind and namespace from url"
    assert refusal(server, path, "*/*") == (500, f'Internal Server Error: "{path}": {said}, {path}\n')


def test_a_path_that_is_told_is_no_markup(server: Handle) -> None:
    told = refusal(server, '/api/v1/wat%63h?a=1&b=<x>"', "*/*")[1]
    assert told.startswith(r'Internal Server Error: "/api/v1/wat%63h?a=1&amp;b=&lt;x&gt;\"": failed to create')


@pytest.mark.parametrize("kind", ["deployments", "replicasets", "statefulsets"])
def test_bookmarks_show_what_the_internal_types_have_values_for(server: Handle, kind: str) -> None:
    event = first_event(server, f"/apis/apps/v1/{kind}?{INITIAL}")
    assert (event["type"], event["object"]["spec"]["replicas"]) == ("BOOKMARK", 0)


def test_bookmarks_of_daemon_sets_have_the_generation_of_their_template(server: Handle) -> None:
    event = first_event(server, f"/apis/apps/v1/daemonsets?{INITIAL}")
    assert event["object"]["metadata"]["annotations"] == {
        "deprecated.daemonset.template.generation": "0",
        "k8s.io/initial-events-end": "true",
    }


def lines_until_the_mark(server: Handle, path: str, accept: str = "application/json") -> list[bytes]:
    """The lines of a watch-list, the mark among them."""
    headers = {"Authorization": f"Bearer {server.token}", "Accept": accept}
    lines = []
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=10) as answer:
        while b"initial-events-end" not in (line := answer.readline()):
            assert line, "it ended before its mark"
            lines.append(line)
    return [*lines, line]


@pytest.fixture(scope="module")
def many(server: Handle) -> list[str]:
    """Objects of many sizes, together more than several pieces."""
    names = [f"many-{n:03}" for n in range(120)]
    for n, name in enumerate(names):
        metadata = {"name": name, "labels": {"of": "many", "half": str(n % 2)}}
        server.request("POST", CONFIG_MAPS, {"metadata": metadata, "data": {"fill": "x" * (n % 13 * 2_000)}})
    return names


@pytest.mark.parametrize(
    ("selector", "step"), [("of%3Dmany", 1), ("of%3Dmany,half%3D1", 2), ("half%3D1,of%21%3Dfew", 2)]
)
def test_a_watch_begins_with_each_object_as_it_is_read(
    server: Handle, many: list[str], selector: str, step: int
) -> None:
    *lines, _ = lines_until_the_mark(server, f"{CONFIG_MAPS}?{INITIAL}&labelSelector={selector}")
    expected = many[step - 1 :: step]
    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == expected
    for line, name in zip(lines, expected, strict=True):
        shown = orjson.dumps(server.request("GET", f"{CONFIG_MAPS}/{name}"))
        assert line == b'{"type":"ADDED","object":%b}\n' % shown


def test_a_watched_table_begins_with_its_columns_and_every_row(server: Handle, many: list[str]) -> None:
    *lines, _ = lines_until_the_mark(server, f"{CONFIG_MAPS}?{INITIAL}&labelSelector=of%3Dmany", TABLE)
    tables = [json.loads(line)["object"] for line in lines]
    assert [row["cells"][0] for table in tables for row in table["rows"]] == many
    assert [bool(table["columnDefinitions"]) for table in tables] == [True] + [False] * (len(many) - 1)


def test_watched_metadata_begins_with_that_of_every_object(server: Handle, many: list[str]) -> None:
    form = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    *lines, _ = lines_until_the_mark(server, f"{CONFIG_MAPS}?{INITIAL}&labelSelector=of%3Dmany", form)
    shown = [json.loads(line)["object"] for line in lines]
    assert [each["metadata"]["name"] for each in shown] == many
    assert {(each["kind"], "data" in each) for each in shown} == {("PartialObjectMetadata", False)}
