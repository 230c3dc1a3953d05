"""`watchkeeper export` and `watchkeeper import`: from a server or from its store to another server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from stored_values import put

from watchkeeper.client.errors import ClientError
from watchkeeper.server import cli
from watchkeeper.server.transfer.importing import Import
from watchkeeper.server.transfer.interface import TransferError
from watchkeeper.server.transfer.manifests import read_manifests, write_manifests
from watchkeeper.server.transfer.server_source import ServerSource
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

CONFIG_MAPS = "/api/v1/namespaces/shop/configmaps"
CARTS = "/apis/shop.example.com/v1/namespaces/shop/carts"
OBJECTS: list[tuple[str, dict[str, Any]]] = [
    ("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "a"}}}),
    (
        CONFIG_MAPS,
        {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"on": "yes", "n": "1", "text": "a\n---\nb\n"}},
    ),
    ("/api/v1/namespaces/shop/secrets", {"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "hidden"}}),
    (
        "/api/v1/namespaces/shop/services",
        {"kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}},
    ),
    ("/api/v1/namespaces/default/configmaps", {"kind": "ConfigMap", "metadata": {"name": "elsewhere"}}),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "carts.shop.example.com"},
            "spec": {
                "group": "shop.example.com",
                "names": {"plural": "carts", "singular": "cart", "kind": "Cart", "listKind": "CartList"},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                        "subresources": {"status": {}},
                    }
                ],
            },
        },
    ),
]
CART = {
    "apiVersion": "shop.example.com/v1",
    "kind": "Cart",
    "metadata": {"name": "mine"},
    "spec": {"size": 9007199254740993, "ratio": 0.5},
    "status": {"full": True},
}


def serving(storage: str = "memory:", **options: Any) -> Server:
    return Server(storage=storage, controllers=(), **options)


def fill(server: Handle) -> None:
    for path, obj in OBJECTS:
        server.request("POST", path, obj)
    for attempt in range(100):
        try:
            server.request("POST", CARTS, CART)
            return
        except RequestFailed:
            assert attempt < 99


def run(server: Handle | None, *arguments: str) -> int:
    kubeconfig = ["--kubeconfig", str(server.kubeconfig)] if server is not None else []
    return cli.main([*arguments, *kubeconfig])


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [f"{obj['kind']}/{obj['metadata']['name']}" for obj in objects]


def config_map(name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}}


def check_copy(server: Handle, *, secret: bool) -> None:
    assert server.request("GET", "/api/v1/namespaces/shop")["metadata"]["labels"]["team"] == "a"
    assert server.request("GET", f"{CONFIG_MAPS}/c")["data"] == OBJECTS[1][1]["data"]
    assert server.request("GET", "/api/v1/namespaces/shop/services/web")["spec"]["clusterIP"]
    cart = server.request("GET", f"{CARTS}/mine")
    assert cart["spec"] == CART["spec"]
    assert "status" not in cart
    found = [item["metadata"]["name"] for item in server.request("GET", "/api/v1/namespaces/shop/secrets")["items"]]
    assert found == (["s"] if secret else [])


def test_everything_is_exported_and_another_server_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        fill(server)
        assert run(server, "export", "--all", "-o", str(tmp_path / "all.yaml")) == 0
        assert "without 1 secret (--include-secrets)" in capsys.readouterr().err
        assert run(server, "export", "--all", "--include-secrets", "-o", str(tmp_path / "all")) == 0
    found = documents((tmp_path / "all.yaml").read_text())
    assert names(found)[:2] == ["Namespace/shop", "CustomResourceDefinition/carts.shop.example.com"]
    assert sorted(names(found)[2:]) == ["Cart/mine", "ConfigMap/c", "ConfigMap/elsewhere", "Service/web"]
    for obj in found:
        assert "status" not in obj
        assert obj["metadata"].keys() <= {"name", "namespace", "labels", "annotations"}
    with serving() as server:
        assert run(server, "import", str(tmp_path / "all.yaml")) == 0
        check_copy(server, secret=False)
        assert "6 objects applied" in capsys.readouterr().err
        assert run(server, "import", str(tmp_path / "all")) == 0
        check_copy(server, secret=True)


def test_secrets_lie_in_files_for_their_owner_alone(tmp_path: Path) -> None:
    with serving() as server:
        fill(server)
        for target in ("dir", "one.json"):
            assert run(server, "export", "-n", "shop", "--include-secrets", "-o", str(tmp_path / target)) == 0
    path = tmp_path / "dir" / "namespaces" / "shop" / "secret" / "s.yaml"
    assert path.stat().st_mode & 0o777 == 0o600
    assert documents(path.read_text())[0]["data"] == {"k": base64.b64encode(b"hidden").decode()}
    assert (tmp_path / "dir" / "namespaces" / "shop" / "cart.shop.example.com" / "mine.yaml").exists()
    assert [file.name for file in (tmp_path / "dir" / "cluster").rglob("*.yaml")] == ["shop.yaml"]
    one = tmp_path / "one.json"
    assert one.stat().st_mode & 0o777 == 0o600
    assert json.loads(one.read_text())["kind"] == "List"
    cart = next(obj for obj in json.loads(one.read_text())["items"] if obj["kind"] == "Cart")
    assert cart["spec"] == CART["spec"]


def test_one_namespace_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        fill(server)
        assert run(server, "export") == 0
        assert names(documents(capsys.readouterr().out)) == ["ConfigMap/elsewhere"]
        assert run(server, "export", "-n", "shop") == 0
        found = documents(capsys.readouterr().out)
        assert names(found) == ["Namespace/shop", "ConfigMap/c", "Service/web", "Cart/mine"]
        assert found[0]["metadata"]["labels"]["team"] == "a"
        assert run(server, "export", "-n", "shoo") == 1
        assert capsys.readouterr().err == f"watchkeeper: {server.url}: there is no namespace 'shoo'\n"


def test_a_namespace_of_a_store_comes_with_itself_and_one_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:{tmp_path / 'db'}"
    with serving(storage) as server:
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "shopping"}})
        fill(server)
    assert run(None, "export", "-n", "shop", "--storage", storage) == 0
    assert names(documents(capsys.readouterr().out)) == ["Namespace/shop", "ConfigMap/c", "Service/web", "Cart/mine"]
    assert run(None, "export", "-n", "shoo", "--storage", storage) == 1
    assert capsys.readouterr().err == f"watchkeeper: {storage}: there is no namespace 'shoo'\n"


def test_what_is_there_and_no_directory_is_written_to_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o622)
    pipe.chmod(0o622)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with serving() as server:
            fill(server)
            assert run(server, "export", "-n", "shop", "--include-secrets", "-o", str(pipe)) == 0
        assert len(documents(os.read(reader, 65_536).decode())) == 5
    finally:
        os.close(reader)
    assert pipe.stat().st_mode & 0o777 == 0o622


def test_an_api_that_does_not_answer_is_named_and_does_not_keep_the_rest_from_being_exported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = {"group": "away.io", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    away = {"metadata": {"name": "v1.away.io"}, "spec": {**spec, "service": {"name": "s", "namespace": "default"}}}
    with serving() as server:
        fill(server)
        server.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", away)
        assert run(server, "export", "-n", "shop") == 1
    told = capsys.readouterr()
    assert names(documents(told.out)) == ["Namespace/shop", "ConfigMap/c", "Service/web", "Cart/mine"]
    assert told.err.startswith("watchkeeper: cannot read away.io/v1: ")


def test_a_server_that_is_not_there_is_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kubeconfig"
    with serving() as server:
        url = server.url
        path.write_bytes(server.kubeconfig.read_bytes())
    assert cli.main(["export", "--kubeconfig", str(path)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"watchkeeper: {url}: ")
    assert told.count(url) == 1


def test_what_can_only_be_listed_is_left_out() -> None:
    answers = {
        "/api": {"versions": []},
        "/apis": {"groups": [{"preferredVersion": {"groupVersion": "m.io/v1"}, "versions": []}]},
        "/apis/m.io/v1": {
            "resources": [
                {"name": "measures", "kind": "Measure", "namespaced": True, "verbs": ["get", "list"]},
                {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["create", "get", "list"]},
            ]
        },
        "/apis/m.io/v1/things": {"items": [{"metadata": {"name": "a"}}]},
    }

    class Client:
        async def request(self, method: str, path: str, **_: Any) -> Any:
            return answers[path]

    async def read() -> list[Any]:
        return [found async for found in ServerSource(Client()).objects("")]  # type: ignore[arg-type]

    assert asyncio.run(read()) == [{"apiVersion": "m.io/v1", "kind": "Thing", "metadata": {"name": "a"}}]


def test_a_dry_run_tells_what_it_cannot_judge_before_something_else_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "all.yaml")
    with serving() as server:
        fill(server)
        assert run(server, "export", "--all", "-o", path) == 0
    with serving() as server:
        capsys.readouterr()
        assert run(server, "import", "--dry-run", path) == 0
        told = "3 objects applied (dry run), 3 not judged: their namespaces or definitions are to come first\n"
        assert capsys.readouterr().err == told
        with Path(path).open("a") as file:
            file.write("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: elsewhere}}\n")
        assert run(server, "import", "--dry-run", path) == 1
        assert 'ConfigMap a in elsewhere: namespaces "elsewhere" not found' in capsys.readouterr().err


def test_a_store_is_exported_without_a_server_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:{tmp_path / 'db'}"
    secret = base64.b64encode(bytes(32)).decode()
    (tmp_path / "config").write_text(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: "
        f"['*.shop.example.com'], providers: [{{aesgcm: {{keys: [{{name: k, secret: {secret}}}]}}}}]}}]}}"
    )
    encrypted = ("--encryption-provider-config", str(tmp_path / "config"))
    with serving(storage, encryption_provider_config=tmp_path / "config") as server:
        fill(server)
        assert run(None, "export", "--all", "--storage", storage, *encrypted) == 1
        assert "db" in capsys.readouterr().err
    put(tmp_path / "db", {"/registry/configmaps/shop/broken": b"junk"})
    before = revision(tmp_path, capsys)
    target = str(tmp_path / "all.yaml")
    data = ("--data-dir", str(tmp_path / "nothing"))
    assert run(None, "export", "--all", "--storage", storage, "-o", target, *encrypted, *data) == 1
    assert "cannot read /registry/configmaps/shop/broken: the value is not JSON" in capsys.readouterr().err
    assert revision(tmp_path, capsys) == before
    with serving() as server:
        assert run(server, "import", target) == 0
        check_copy(server, secret=False)


def revision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["db", "info", str(tmp_path / "db")]) == 0
    return next(line for line in capsys.readouterr().out.splitlines() if line.startswith("revision:"))


def test_a_dry_run_changes_nothing_and_what_fails_does_not_stop_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifests = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Bad Name"}},
        {"apiVersion": "nowhere.io/v1", "kind": "Thing", "metadata": {"name": "x"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}, "data": {"a": "b"}},
    ]
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    configmaps = "/api/v1/namespaces/default/configmaps"
    with serving() as server:
        assert run(server, "import", "--dry-run", str(path)) == 1
        assert server.request("GET", configmaps)["items"] == []
        assert run(server, "import", str(path)) == 1
        told = capsys.readouterr().err
        assert "1 object applied, 2 failed" in told
        assert "watchkeeper: Thing x" in told
        assert server.request("GET", f"{configmaps}/good")["data"] == {"a": "b"}


TWICE = {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}]}


def test_what_applying_cannot_tell_apart_is_taken_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifests = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "twice", "namespace": "shop"}, "spec": TWICE},
    ]
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    pods = "/api/v1/namespaces/shop/pods"
    with serving() as server:
        assert run(server, "import", "--dry-run", str(path)) == 0
        assert "1 object applied (dry run), 1 not judged" in capsys.readouterr().err
        for image in ("i", "another"):
            TWICE["containers"][0]["image"] = image
            path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
            assert run(server, "import", str(path)) == 0
            [container] = server.request("GET", f"{pods}/twice")["spec"]["containers"]
            assert container["image"] == image
            assert [variable["value"] for variable in container["env"]] == ["1", "2"]
        assert run(server, "import", "--dry-run", str(path)) == 0


def test_what_others_were_not_subject_to_comes_after_them(tmp_path: Path) -> None:
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "1"}}]}
    pod = {"containers": [{"name": "c", "image": "i"}]}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    default_class = {"name": "c", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    default_ingress = {"name": "i", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    made = [
        ("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": pod}),
        ("/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "v"}, "spec": claim}),
        ("/apis/networking.k8s.io/v1/namespaces/default/ingresses",
         {"metadata": {"name": "w"}, "spec": {"defaultBackend": backend}}),
        ("/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": limits}),
        ("/apis/storage.k8s.io/v1/storageclasses", {"metadata": default_class, "provisioner": "a.b/c"}),
        ("/apis/networking.k8s.io/v1/ingressclasses",
         {"metadata": default_ingress, "spec": {"controller": "a.b/c"}}),
    ]  # fmt: skip
    with serving() as server:
        for path, obj in made:
            server.request("POST", path, obj)
        assert run(server, "export", "--all", "-o", str(tmp_path / "all.yaml")) == 0
    with serving() as server:
        assert run(server, "import", str(tmp_path / "all.yaml")) == 0
        for path, obj in made:
            assert server.request("GET", f"{path}/{obj['metadata']['name']}")
        [pod_path, claim_path, ingress_path] = (f"{path}/{obj['metadata']['name']}" for path, obj in made[:3])
        assert server.request("GET", pod_path)["spec"]["containers"][0]["resources"] == {}
        assert "storageClassName" not in server.request("GET", claim_path)["spec"]
        assert "ingressClassName" not in server.request("GET", ingress_path)["spec"]


def test_a_file_is_written_as_a_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text("before")
    path.chmod(0o640)
    with pytest.raises(UnicodeEncodeError):
        write_manifests([config_map("c", "\ud800")], str(path), private=False)
    assert path.read_text() == "before"
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    assert write_manifests([config_map("c", "v")], str(link), private=False) == 1
    assert link.is_symlink()
    assert names(documents(path.read_text())) == ["ConfigMap/c"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(tmp_path.iterdir()) == [path, link]


@pytest.mark.parametrize("leads", [False, True])
def test_what_an_export_has_left_half_written_is_not_written_to(tmp_path: Path, leads: bool) -> None:
    target, left, other = tmp_path / "all.yaml", tmp_path / f".all.yaml.{os.getpid()}", tmp_path / "other"
    other.write_text("as it was")
    if leads:
        left.symlink_to(other)
    else:
        left.touch(0o644)
    write_manifests([config_map("a", "1")], str(target), private=True)
    assert (target.is_symlink(), target.stat().st_mode & 0o777, other.read_text()) == (False, 0o600, "as it was")
    assert not left.exists()


def test_manifests_of_an_earlier_export_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_manifests([config_map("a", "v"), config_map("b", "v")], str(tmp_path / "all"), private=False)
    assert capsys.readouterr().err == ""
    write_manifests([config_map("a", "v")], str(tmp_path / "all"), private=False)
    assert "all has 1 other manifest, which an import would apply, too" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1\n", "not everything in it is an object"),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {}\n", "an object in it has no name"),
        ("{", "some.yaml"),
    ],
)
def test_what_is_no_manifest_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "some.yaml").write_text(text)
    assert cli.main(["import", str(tmp_path / "some.yaml"), "--kubeconfig", str(tmp_path / "none")]) == 1
    error = capsys.readouterr().err
    assert "some.yaml" in error
    assert message in error


def test_a_server_that_is_not_there_and_a_store_that_is_none_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
              "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}  # fmt: skip
    (tmp_path / "config").write_text(json.dumps(config))
    for arguments, word in (
        (["export", "--kubeconfig", str(tmp_path / "config")], "http://127.0.0.1:1"),
        (["export", "--kubeconfig", str(tmp_path / "gone")], "gone"),
        (["export", "--storage", f"sqlite:{tmp_path / 'gone.db'}"], "there is no such file"),
    ):
        assert cli.main(arguments) == 1
        [line] = capsys.readouterr().err.splitlines()
        assert word in line


@pytest.mark.parametrize(
    ("kind", "namespace", "name"),
    [
        ("ConfigMap", "", "../../../outside"),
        ("ConfigMap", "..", "a"),
        ("ConfigMap", "", ".."),
        ("../../Outside", "", "a"),
        ("ConfigMap", "", ""),
    ],
)
def test_no_name_leads_out_of_the_directory_that_is_written_to(
    tmp_path: Path, kind: str, namespace: str, name: str
) -> None:
    sound = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    hostile = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    with pytest.raises(TransferError, match="cannot be the name of a file"):
        write_manifests([sound, hostile], str(tmp_path / "a" / "b"), private=False)
    assert list(tmp_path.rglob("*")) == []


def test_documents_are_told_apart_whatever_ends_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_bytes(
        b"apiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: a}\r\n---\r\n"
        b"apiVersion: v1\r\nkind: ConfigMap\r\nmetadata: {name: b}\r\n"
    )
    assert [obj["kind"] for obj in read_manifests([str(file)])] == ["Namespace", "ConfigMap"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{apiVersion: v1, kind: A, metadata: x}", "has no name"),
        ("{apiVersion: v1, kind: A, metadata: {name: {}}}", "has no name"),
        ("{apiVersion: v1, kind: List, items: 5}", "has no name"),
        ("{apiVersion: v1, kind: List, items: [5]}", "has no name"),
        ("{apiVersion: [v1], kind: A, metadata: {name: a}}", "apiVersion and kind"),
        ("{apiVersion: v1, kind: A, metadata: {name: a/status}}", "'a/status' cannot be the name"),
        ("{apiVersion: v1, kind: A, metadata: {name: a, namespace: ..}}", "'..' cannot be the namespace"),
    ],
)
def test_what_only_resembles_a_manifest_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(TransferError, match=wrong):
        read_manifests([str(tmp_path)])


def test_when_nobody_answers_any_more_nothing_is_still_under_way() -> None:
    class Client:
        """One object is answered by nobody; all others take long."""

        def __init__(self) -> None:
            self.under_way = 0
            self.rest = type("Rest", (), {"config": type("Config", (), {"namespace": "default"})})

        async def of_kind(self, api_version: str, kind: str, *, namespace: str) -> Any:
            return self

        namespace = "default"

        async def patch(self, name: str, obj: Any, **_: Any) -> None:
            self.under_way += 1
            try:
                await asyncio.sleep(0.01 if name == "c3" else 60)
                raise ClientError("nobody is there")
            finally:
                self.under_way -= 1

    async def run_import() -> None:
        client = Client()
        objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}"}} for n in range(8)]
        with pytest.raises(TransferError, match="nobody is there"):
            await Import(client).run(objects)  # type: ignore[arg-type]
        assert client.under_way == 0

    asyncio.run(run_import())
