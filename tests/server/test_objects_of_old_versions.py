"""Objects that older releases have stored at versions of their day are served as kube-apiserver 1.36 serves them.

So are those at present versions that lack what came later. `old_objects.json` has them as they are stored, in JSON and
in protobuf, and as kube-apiserver answers for them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from stored_values import put, value

from watchkeeper.apis.stored_versions import CURRENT
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import gvk_of
from watchkeeper.server import cli
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

Object = dict[str, Any]

OLD: dict[str, Object] = {
    old["name"]: old for old in json.loads((Path(__file__).parent / "old_objects.json").read_text())
}


def serving(folder: Path) -> Server:
    return Server(storage=f"sqlite:{folder / 'db'}", insecure_http=True, controllers=())


def filled(folder: Path, values: dict[str, bytes]) -> Path:
    with serving(folder):
        pass  # its file is made
    put(folder / "db", values)
    return folder


def as_json(old: Object) -> bytes:
    return json.dumps(old["stored"]).encode() + b"\n"


def as_protobuf(old: Object) -> bytes:
    return base64.b64decode(old["protobuf"])


@pytest.fixture(scope="module", params=[as_json, as_protobuf])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    """A server over all of them, in one of the forms."""
    values = {old["key"]: request.param(old) for old in OLD.values()}
    with serving(filled(tmp_path_factory.mktemp("old"), values)) as server:
        yield server


@pytest.mark.parametrize("name", OLD)
def test_an_old_object_is_served_as_kube_apiserver_serves_it(server: Handle, name: str) -> None:
    old = OLD[name]
    found = server.request("GET", old["path"])
    del found["metadata"]["resourceVersion"]
    assert found == old["served"]


def test_lists_hold_old_objects_beside_others(server: Handle) -> None:
    items = server.request("GET", "/apis/networking.k8s.io/v1/ingresses")["items"]
    assert [item["metadata"]["name"] for item in items] == ["a1", "a2", "a3", "a4"]
    assert "apiVersion" not in items[0]
    hosts = [rule.get("host") for rule in items[1]["spec"]["rules"]]
    assert hosts == ["cart.example.com", "empty.example.com"]


def test_a_write_stores_an_old_object_at_the_version_that_is_served(tmp_path: Path) -> None:
    old = OLD["ingress-extensions-v1beta1"]
    filled(tmp_path, {old["key"]: as_protobuf(old)})
    with serving(tmp_path) as server:
        server.request("PATCH", old["path"], {"metadata": {"labels": {"a": "b"}}})
    rewritten = json.loads(value(tmp_path / "db", old["key"]))
    assert (rewritten["apiVersion"], rewritten["kind"]) == ("networking.k8s.io/v1", "Ingress")
    assert rewritten["spec"] == old["served"]["spec"]
    assert rewritten["status"] == old["served"]["status"]


def test_writing_an_old_object_back_unchanged_stores_it_at_the_version_that_is_served(tmp_path: Path) -> None:
    old = OLD["resourceslice-v1beta1-all-nodes"]
    filled(tmp_path, {old["key"]: as_json(old)})
    with serving(tmp_path) as server:
        server.request("PUT", old["path"], server.request("GET", old["path"]))
    assert json.loads(value(tmp_path / "db", old["key"]))["spec"] == old["served"]["spec"]


def test_an_object_at_a_version_that_nobody_knows_is_named(tmp_path: Path) -> None:
    claim = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1alpha2", "metadata": {"name": "c"}}
    filled(tmp_path, {"/registry/resourceclaims/shop/c": json.dumps(claim).encode()})
    with serving(tmp_path) as server, pytest.raises(RequestFailed) as refused:
        server.request("GET", "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims/c")
    assert refused.value.status == 500
    assert "Key: /registry/resourceclaims/shop/c," in refused.value.answer["message"]
    assert (
        'no kind "ResourceClaim" is registered for version "resource.k8s.io/v1alpha2"'
        in refused.value.answer["message"]
    )


def test_an_old_store_is_exported_at_present_versions_and_what_has_none_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingress, binding = OLD["ingress-networking-v1beta1"], OLD["clusterrolebinding-v1alpha1"]
    values = {ingress["key"]: as_json(ingress), binding["key"]: as_protobuf(binding)}
    security = {"kind": "PodSecurityPolicy", "apiVersion": "policy/v1beta1", "metadata": {"name": "open"}}
    gone = {f"/registry/podsecuritypolicy/{name}": json.dumps(security).encode() for name in ("open", "shut")}
    storage = f"sqlite:{filled(tmp_path, values | gone | {'/registry/podpresets/shop/a': b'?'}) / 'db'}"

    assert cli.main(["export", "--all", "--storage", storage]) == 0
    told = capsys.readouterr()
    exported = {obj["metadata"]["name"]: obj for obj in yaml.safe_load_all(told.out)}
    assert exported["a1"]["apiVersion"] == "networking.k8s.io/v1"
    assert exported["a1"]["spec"] == ingress["served"]["spec"]
    assert exported["n1"]["subjects"] == binding["served"]["subjects"]
    assert told.err.splitlines()[:2] == [
        "watchkeeper: left out /registry/podpresets/: 1 key is of no kind that is served",
        "watchkeeper: left out /registry/podsecuritypolicy/: 2 keys are of no kind that is served",
    ]


def test_every_old_version_that_differs_is_tried() -> None:
    tried = {gvk_of(old["stored"]) for old in OLD.values()}
    assert {old for old in CURRENT if old.group in ("extensions", "discovery.k8s.io")} <= tried
    assert GroupVersionKind("node.k8s.io", "v1alpha1", "RuntimeClass") in tried
