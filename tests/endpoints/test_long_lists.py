"""Long lists leave piece by piece, and are in every form what they would be at one go."""

from __future__ import annotations

import asyncio
import gzip
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from watchkeeper.aio.turns import TURN_SECONDS, in_turns
from watchkeeper.apis.protobuf import object_of, protobuf_of
from watchkeeper.endpoints import long_lists
from watchkeeper.runtime.yaml import dump_yaml, load_yaml
from watchkeeper.testing import Handle
from watchkeeper.testing import Server as InProcess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TEXTS = [
    "",
    "one line",
    "two\nlines",
    "  \n indented\n",
    "- yes\n- no\n",
    "é \u2028 \x07",
    '"quoted"',
    "1e3",
    "x" * 5000,
    "a\n\n\n",
]


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        for n in range(90):
            metadata = {"name": f"map-{n:03}", "labels": {"of": "long", "part": str(n % 3)}}
            data = {f"key-{i}": TEXTS[(n + i) % len(TEXTS)] for i in range(n % 7)}
            handle.request("POST", CONFIG_MAPS, {"metadata": metadata, "data": data})
        for n in range(60):
            container: Any = {
                "name": "c",
                "image": f"image:{n}",
                "env": [{"name": f"E{i}", "value": str(i)} for i in range(n)],
            }
            if n % 2:
                container["resources"] = {"requests": {"cpu": f"{n}m"}}
                container["livenessProbe"] = {"httpGet": {"port": "web" if n % 4 == 1 else 80}}
            metadata = {"name": f"pod-{n:03}", "labels": {"of": "long"}}
            handle.request("POST", PODS, {"metadata": metadata, "spec": {"containers": [container]}})
        yield handle


def answer(server: Handle, path: str, accept: str, **headers: str) -> tuple[bytes, Any]:
    told = {"Authorization": f"Bearer {server.token}", "Accept": accept} | headers
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=told), timeout=20) as found:
        return found.read(), found.headers


def whole_and(server: Handle, asked: str, form: str, path: str, accept: str) -> tuple[Any, bytes, Any]:
    """A list in JSON, and the same list in another form: ages in tables change between two answers now and then."""
    while True:
        before = answer(server, asked, f"application/json{form}")[0]
        body, headers = answer(server, path, f"{accept}{form}")
        if answer(server, asked, f"application/json{form}")[0] == before:
            return orjson.loads(before), body, headers


def path_of(server: Handle, path: str, **params: str) -> str:
    """A list as of now, whatever else the server writes meanwhile."""
    version = server.request("GET", f"{path}?limit=1")["metadata"]["resourceVersion"]
    query = {"labelSelector": "of=long", "resourceVersion": version, "resourceVersionMatch": "Exact"} | params
    return f"{path}?{urllib.parse.urlencode(query)}"


FORMS = [
    "",
    ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    ";as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
]
TABLE = ";as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", [CONFIG_MAPS, PODS])
def test_in_protobuf(server: Handle, path: str, form: str) -> None:
    asked = path_of(server, path)
    whole = orjson.loads(answer(server, asked, f"application/json{form}")[0])
    for _ in range(2):  # made, and remembered
        body, headers = answer(server, asked, f"{PROTOBUF}{form}")
        assert headers["Content-Type"] == PROTOBUF
        assert body == protobuf_of(whole)
    assert [item["metadata"]["name"] for item in object_of(body)["items"]] == [
        item["metadata"]["name"] for item in whole["items"]
    ]


@pytest.mark.parametrize("form", [*FORMS, TABLE])
@pytest.mark.parametrize("path", [CONFIG_MAPS, PODS])
def test_in_yaml(server: Handle, path: str, form: str) -> None:
    asked = path_of(server, path)
    whole, body, headers = whole_and(server, asked, form, asked, "application/yaml")
    assert headers["Content-Type"] == "application/yaml"
    assert body == dump_yaml(whole)


@pytest.mark.parametrize("form", [*FORMS, TABLE])
@pytest.mark.parametrize("path", [CONFIG_MAPS, PODS])
def test_to_be_read_by_people(server: Handle, path: str, form: str) -> None:
    asked = path_of(server, path)
    whole, body, headers = whole_and(server, asked, form, f"{asked}&pretty=1", "application/json")
    assert headers["Content-Type"] == "application/json"
    shown = orjson.loads(body)
    assert body == orjson.dumps(shown, option=orjson.OPT_INDENT_2)
    for each in (shown, whole):
        each["metadata"].pop("resourceVersion")
    assert shown == whole


@pytest.mark.parametrize("accept", [PROTOBUF, "application/yaml", "application/json"])
def test_compressed(server: Handle, accept: str) -> None:
    asked = path_of(server, PODS, pretty="1")
    plain, _ = answer(server, asked, accept)
    packed, headers = answer(server, asked, accept, **{"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert len(plain) > len(packed)


def test_tables_have_no_form_in_protobuf(server: Handle) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        answer(server, path_of(server, PODS), PROTOBUF + TABLE)
    assert refused.value.code == 406


def test_what_is_worked_out_before_anything_can_be_sent_leaves_others_their_turns() -> None:
    async def run() -> list[bytes]:
        turns_of_others = 0

        async def other() -> None:
            nonlocal turns_of_others
            while True:
                turns_of_others += 1
                await asyncio.sleep(0)

        def slow() -> Iterator[bytes]:
            for n in range(10):
                time.sleep(TURN_SECONDS)
                yield b"" if n < 8 else b"%d" % n

        task = asyncio.create_task(other())
        found = []
        async for piece in in_turns(slow()):
            found.append(piece)
            assert turns_of_others >= 8
        task.cancel()
        return found

    assert asyncio.run(run()) == [b"8", b"9"]


EVENTS = "/api/v1/namespaces/default/events"


def test_a_time_of_the_year_0_is_shown_in_every_form(server: Handle) -> None:
    involved = {"kind": "Pod", "namespace": "default", "name": "x"}
    event = {"metadata": {"name": "old"}, "involvedObject": involved, "firstTimestamp": "0000-01-01T00:00:00Z"}
    server.request("POST", EVENTS, event)
    [found] = object_of(answer(server, EVENTS, PROTOBUF)[0])["items"]
    assert found["firstTimestamp"] == "0000-01-01T00:00:00Z"
    table = orjson.loads(answer(server, EVENTS, f"application/json{TABLE}")[0])
    names = [column["name"] for column in table["columnDefinitions"]]
    assert dict(zip(names, table["rows"][0]["cells"], strict=True))["First Seen"] == "292y"


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
def test_rows_of_a_long_table_are_in_the_kinds_own_order(server: Handle, accept: str) -> None:
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
    for n in range(40):
        metadata = {"name": f"schema-{n:02}", "annotations": {"fill": "x" * 10_000}}
        spec = {"priorityLevelConfiguration": {"name": "global-default"}, "matchingPrecedence": 5000 - n * 10}
        if accept == "application/json":
            server.request("POST", path, {"metadata": metadata, "spec": spec})
    body, _ = answer(server, f"{path}?pretty=1", f"{accept}{TABLE};includeObject=Metadata")
    rows = (orjson.loads(body) if accept == "application/json" else load_yaml(body))["rows"]
    precedences = [row["cells"][2] for row in rows]
    assert len(rows) > 40
    assert len(body) > 400_000
    assert precedences == sorted(precedences)


@pytest.mark.parametrize("accept", ["application/yaml", PROTOBUF])
def test_what_cannot_be_written_is_told_however_late_it_comes(
    server: Handle, accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = long_lists._parsed

    def parsed(renderer: Any, items: list[Any]) -> list[Any]:
        if any(item.key.endswith("/map-089") for item in items):
            raise RuntimeError("cannot be written")
        return real(renderer, items)

    monkeypatch.setattr(long_lists, "_parsed", parsed)
    monkeypatch.setattr(long_lists, "_REMEMBERED_SHARE", 1 << 40)
    with pytest.raises(urllib.error.HTTPError) as refused:
        answer(server, path_of(server, CONFIG_MAPS), accept)
    assert refused.value.code == 500
