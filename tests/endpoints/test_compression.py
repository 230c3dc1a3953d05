"""Large lists are compressed for those who ask, by whichever library is there."""

from __future__ import annotations

import gzip
import json
import urllib.request
import zlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from isal import isal_zlib

from watchkeeper.endpoints import compression
from watchkeeper.testing import Handle
from watchkeeper.testing import Server as InProcess
from watchkeeper.testing.handle import RequestFailed


@pytest.mark.parametrize("library", [zlib, isal_zlib], ids=["zlib", "isal"])
def test_every_library_packs_what_gzip_unpacks(library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_library", lambda: library)
    data = json.dumps([{"name": f"pod-{n}"} for n in range(50_000)]).encode()
    assert gzip.decompress(compression.gzip(data)) == data
    compressor = compression.gzip_compressor()
    pieces = [compressor.compress(data[at : at + 100_000]) for at in range(0, len(data), 100_000)]
    packed = b"".join(pieces) + compressor.flush()
    assert gzip.decompress(packed) == data
    assert len(packed) < len(data) / 4


@pytest.fixture(scope="module")
def server() -> Iterator[Handle]:
    with InProcess(insecure_http=True) as handle:
        path = "/api/v1/namespaces/default/configmaps"
        for number in range(4):
            body = {"metadata": {"name": f"c{number}"}, "data": {"text": f"{number} lorem ipsum " * 10_000}}
            handle.request("POST", path, body)
        yield handle


@pytest.mark.parametrize("limit", ["", "?limit=1"])
def test_a_list_is_the_same_compressed_and_not(server: Handle, limit: str) -> None:
    def listed(**headers: str) -> tuple[str, bytes]:
        url = f"{server.url}/api/v1/namespaces/default/configmaps{limit}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {server.token}", **headers})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.headers.get("content-encoding", ""), answer.read()

    plain, packed = listed(), listed(**{"Accept-Encoding": "gzip"})
    assert (plain[0], packed[0]) == ("", "gzip")
    assert listed(**{"Accept-Encoding": "br, gzip"})[0] == "gzip"
    assert listed(**{"Accept-Encoding": "gzip;q=0, x-gzip"})[0] == "", "it is refused"
    assert json.loads(gzip.decompress(packed[1]))["items"] == json.loads(plain[1])["items"]
    assert len(packed[1]) < len(plain[1]) / 10


def test_a_small_list_is_not_worth_it(server: Handle) -> None:
    url = f"{server.url}/api/v1/namespaces/default/secrets"
    headers = {"Authorization": f"Bearer {server.token}", "Accept-Encoding": "gzip"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        assert answer.headers.get("content-encoding") is None
        assert json.loads(answer.read())["items"] == []


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"])
def test_every_large_answer_is_compressed_for_those_who_ask(server: Handle, accept: str) -> None:
    def asked(method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[str, str, bytes]:
        sent = {"Authorization": f"Bearer {server.token}", "Accept": accept, "Content-Type": "application/json"}
        request = urllib.request.Request(server.url + path, body, {**sent, **headers}, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.headers.get("content-encoding", ""), answer.headers["content-type"], answer.read()

    base = "/api/v1/namespaces/default/configmaps"
    plain = asked("GET", f"{base}/c1")
    packed = asked("GET", f"{base}/c1", **{"Accept-Encoding": "gzip"})
    assert (plain[0], packed[0], packed[1]) == ("", "gzip", accept)
    assert gzip.decompress(packed[2]) == plain[2]
    assert len(packed[2]) < len(plain[2]) / 10
    for method, path in (("POST", f"{base}?dryRun=All"), ("PUT", f"{base}/c1?dryRun=All")):
        name = "new" if method == "POST" else "c1"
        body = json.dumps({"metadata": {"name": name}, "data": {"text": "lorem ipsum " * 12_000}}).encode()
        assert asked(method, path, body, **{"Accept-Encoding": "gzip"})[0] == "gzip"
    assert asked("GET", "/api/v1/namespaces/default", **{"Accept-Encoding": "gzip"})[0] == ""


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadataList"])
def test_a_long_list_that_is_short_in_another_form_is_left_alone(server: Handle, form: str) -> None:
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Accept": f"application/json;as={form};v=v1;g=meta.k8s.io",
        "Accept-Encoding": "gzip",
    }
    request = urllib.request.Request(server.url + "/api/v1/namespaces/default/configmaps", headers=headers)
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["content-encoding"] is None
        assert len(json.loads(answer.read())["rows" if form == "Table" else "items"]) == 4


def test_a_long_list_that_was_asked_for_as_one_object_is_refused(server: Handle) -> None:
    wanted = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    with pytest.raises(RequestFailed) as refused:
        server.request("GET", "/api/v1/namespaces/default/configmaps", headers=wanted)
    assert refused.value.status == 406
