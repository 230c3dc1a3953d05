"""`--read-only`: a server over a store that somebody else owns, which it leaves exactly as it is."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from filled_etcd import filled, on_etcd
from stored_values import put
from test_values_of_kube_apiserver import AUTOSCALER, SECRET, definition

from watchkeeper.kv.interface import KV, KeyValue
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.testing import Server
from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.handle import Handle, RequestFailed

WHY = "this server is read-only (--read-only): nothing is written to its storage"
NAMESPACED = "/api/v1/namespaces/default"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default", "uid": "7", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ports": [{"port": 80}], "type": "ClusterIP"},
}
CART = {"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "c", "namespace": "default"}}
VALUES = {
    "/namespaces/default": json.dumps(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    ).encode(),
    "/secrets/default/mine": SECRET,
    "/secrets/default/broken": b"k8s:enc:aesgcm:v1:lost:" + bytes(40),
    "/horizontalpodautoscalers/default/web": AUTOSCALER,
    "/services/specs/default/web": json.dumps(SERVICE).encode(),
    "/apiextensions.k8s.io/customresourcedefinitions/carts.shop.example.com": definition(),
    "/shop.example.com/carts/default/c": json.dumps(CART).encode(),
    "/unknown/thing": b"\x00of somebody else",
}


def refusal(server: Handle, method: str, path: str, body: Any = None) -> dict[str, Any]:
    with pytest.raises(RequestFailed) as caught:
        server.request(method, path, body)
    status: dict[str, Any] = caught.value.answer
    return status


def rows(path: Path) -> list[Any]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return [database.execute(f"SELECT * FROM {table}").fetchall() for table in ("log", "current", "lease", "meta")]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with what a server has stored: an Event that is about to expire among other things."""
    path = tmp_path / "kept.db"
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"}}
    with Server(storage=f"sqlite:{path}", event_ttl=1) as server:
        server.request("POST", f"{NAMESPACED}/configmaps", {"metadata": {"name": "c"}, "data": {"a": "1"}})
        server.request("POST", f"{NAMESPACED}/serviceaccounts", {"metadata": {"name": "robot"}})
        server.request("POST", f"{NAMESPACED}/events", event)
    return path


def test_nothing_in_a_file_changes_not_even_what_has_expired(database: Path) -> None:
    time.sleep(1.1)
    before = rows(database)
    with Server(storage=f"sqlite:{database}", read_only=True) as server:
        assert server.request("GET", f"{NAMESPACED}/configmaps/c")["data"] == {"a": "1"}
        assert [item["metadata"]["name"] for item in server.request("GET", f"{NAMESPACED}/events")["items"]] == ["e"]
        time.sleep(0.2)
    assert rows(database) == before


def test_every_kind_of_write_is_refused_in_clear_words(database: Path) -> None:
    path = f"{NAMESPACED}/configmaps"
    with Server(storage=f"sqlite:{database}", read_only=True) as server:
        stored = server.request("GET", f"{path}/c")
        refused = [
            refusal(server, "POST", path, {"metadata": {"name": "new"}}),
            refusal(server, "PUT", f"{path}/c", {**stored, "data": {"a": "2"}}),
            refusal(server, "PATCH", f"{path}/c", {"data": {"a": "2"}}),
            refusal(server, "DELETE", f"{path}/c"),
            refusal(server, "DELETE", path),
        ]
        assert {(status["code"], status["reason"]) for status in refused} == {(403, "Forbidden")}
        assert refused[0]["message"] == f'configmaps "new" is forbidden: {WHY}'
        assert refused[1]["message"] == refused[3]["message"] == f'configmaps "c" is forbidden: {WHY}'
        assert server.request("GET", f"{path}/c") == stored


def test_what_stores_nothing_works(database: Path) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    token = f"{NAMESPACED}/serviceaccounts/robot/token"
    with Server(storage=f"sqlite:{database}", read_only=True) as server:
        tried = server.request("POST", f"{NAMESPACED}/configmaps?dryRun=All", {"metadata": {"name": "new"}})
        assert tried["metadata"]["name"] == "new"
        gone = server.request("DELETE", f"{NAMESPACED}/configmaps/c", {"dryRun": ["All"]})
        assert gone["status"] == "Success"
        reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert server.request("POST", reviews, review)["status"]["allowed"] is True
        assert server.request("POST", token, {"spec": {}})["status"]["token"]
        assert server.request("GET", f"{NAMESPACED}/configmaps/c")["data"] == {"a": "1"}


SNAPSHOT = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77
cd "$1" && {
    $2 -m watchkeeper db info kept.db && $2 -m watchkeeper db check kept.db
    $2 -m watchkeeper db backup kept.db "$3/copy.db"
    $2 -m watchkeeper export -n default --storage sqlite:kept.db
    $2 -m watchkeeper db compact kept.db
    $2 -m watchkeeper serve --storage sqlite:kept.db --data-dir "$3/data" --port 0
}
"""


def test_a_file_on_a_file_system_that_is_read_only_is_read(
    database: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, other = database.parent, tmp_path_factory.mktemp("other")
    for left in folder.glob("kept.db-*"):
        left.unlink()
    command = ["unshare", "-rm", "sh", "-c", SNAPSHOT, "sh", str(folder), sys.executable, str(other)]
    environment = {**os.environ, "TMPDIR": str(other)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "unshare" in done.stderr or done.returncode == 77:
        pytest.skip(f"nothing can be mounted: {done.stderr}")
    assert "kept.db: sound" in done.stdout
    assert f"{other}/copy.db holds a copy of kept.db" in done.stdout
    assert "kind: ConfigMap" in done.stdout
    assert "kept.db-lock: Read-only file system" in done.stderr
    assert "is not writable; choose another with --storage" in done.stderr
    assert rows(other / "copy.db") == rows(database)
    assert not list(other.glob("watchkeeper-copy-*"))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "folder" / "missing.db"
    with (
        pytest.raises(StartupError, match=r"missing\.db: there is nothing to read"),
        Server(storage=f"sqlite:{missing}", read_only=True),
    ):
        pass
    assert not missing.parent.exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"storage": "memory:"}, "--read-only needs a --storage that holds something"),
        ({"crds": Path("somewhere")}, "--crds would write definitions, which --read-only does not let it"),
    ],
)
def test_what_cannot_go_with_it_is_said(options: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=told):
        ServeOptions(data_dir=tmp_path, read_only=True, **options).check()


def test_a_definition_that_nobody_has_settled_is_served_as_it_would_be(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    schema = {"openAPIV3Schema": {"type": "object"}}
    unsettled = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "carts.shop.example.com", "uid": "1"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"plural": "carts", "kind": "Cart"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    key = "/apiextensions.k8s.io/customresourcedefinitions/carts.shop.example.com"
    values = {**VALUES, key: json.dumps(unsettled).encode()}
    put(path, {f"/registry{name}": value for name, value in values.items()})
    before = rows(path)
    with Server(storage=f"sqlite:{path}", read_only=True) as server:
        [cart] = server.request("GET", "/apis/shop.example.com/v1/carts")["items"]
        assert cart["metadata"]["name"] == "c"
        kept = server.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.shop.example.com")
        assert not (kept.get("status") or {}).get("conditions")
    assert rows(path) == before


# -- on an etcd ---------------------------------------------------------------------------------------------------

PREFIX = "/looked-at"
needs_etcd = pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here")


@pytest.fixture
def etcd() -> str:
    """The URL of an etcd with what a kube-apiserver, an accident and somebody else have left in it."""
    return filled(PREFIX, VALUES)


async def everything(kv: KV) -> tuple[int, list[KeyValue]]:
    found = await kv.range(b"\0", b"\0")
    return found.revision, found.kvs


@pytest.mark.etcd
@needs_etcd
def test_an_etcd_is_as_it_was_afterwards(etcd: str) -> None:
    before = on_etcd(everything)
    options = {"storage": etcd, "etcd_prefix": PREFIX, "compaction_interval": 0.05, "bind": "0.0.0.0"}
    with Server(**options, advertise_address="10.1.2.3", read_only=True) as server:
        assert server.request("GET", f"{NAMESPACED}/secrets/mine")["kind"] == "Secret"
        assert server.request("GET", f"{NAMESPACED}/services/web")["spec"]["clusterIP"] == "10.0.0.9"
        assert server.request("GET", "/apis/shop.example.com/v1/namespaces/default/carts/c")["kind"] == "Cart"
        broken = refusal(server, "GET", f"{NAMESPACED}/secrets")
        assert f"{PREFIX}/secrets/default/broken" in broken["details"]["causes"][0]["field"]
        for path in ("secrets/mine", "services/web"):
            assert refusal(server, "PATCH", f"{NAMESPACED}/{path}", {"metadata": {"labels": {"a": "b"}}})["code"] == 403
        unsafe = "?ignoreStoreReadErrorWithClusterBreakingPotential=true"
        refused = refusal(server, "DELETE", f"{NAMESPACED}/secrets/broken{unsafe}")
        assert (refused["code"], refused["reason"]) == (403, "Forbidden")
        why = "the storage was opened for reading only, nothing is written to it"
        assert refused["message"] == f'secrets "broken" is forbidden: {why}'
        time.sleep(0.3)
    assert on_etcd(everything) == before
